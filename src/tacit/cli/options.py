"""Options that several commands share."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from tacit.data.formats import NAMES
from tacit.sizes import parse_size

Function = TypeVar("Function", bound=Callable[..., Any])

PATH = click.Path(path_type=Path)
COUNT = click.IntRange(min=1)


def parsed(parse: Callable[[str], Any]) -> Callable[..., Any]:
    """A callback of click that parses the value of an option, if there is one."""
    return lambda _context, _option, value: None if value is None else parse(value)


data_argument = click.argument("data", type=PATH)
model_argument = click.argument("model", type=PATH)
seed_option = click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Random seed.")
jobs_option = click.option("--jobs", type=int, default=-1, help="Number of parallel tasks.  [default: all cores]")
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
max_memory_option = click.option(
    "--max-memory", metavar="SIZE", callback=parsed(parse_size), help="Memory limit, such as 8G."
)
vocabulary_language_option = click.option(
    "--vocabulary-language", metavar="TAG", default="en", show_default=True, help="Language of the vocabulary's names."
)
untagged_option = click.option(
    "--untagged",
    type=click.Choice(["skip", "negative"]),
    help="Rows without labels: nobody has tagged them, or they have none.  [default: skip for texts]",
)


def all_of(*options: Callable[[Function], Function]) -> Callable[[Function], Function]:
    """One decorator that adds several options, in this order."""
    return lambda function: functools.reduce(lambda done, option: option(done), reversed(options), function)


def _cluster_option(function: Function) -> Function:
    @functools.wraps(function)
    def run(*arguments: Any, address: str | None, **options: Any) -> Any:
        from tacit.runtime.cluster import on_cluster  # imports much, which other commands need not

        with on_cluster(address):
            return function(*arguments, **options)

    told = "Run on a Dask cluster: its scheduler, tcp://…, or local:N for N processes here."
    return click.option("--cluster", "address", metavar="ADDRESS", help=told)(run)  # type: ignore[return-value]


computing_options = all_of(seed_option, jobs_option, _cluster_option)
vector_options = all_of(
    click.option("--encoder", metavar="NAME", help="Encoder of texts: model2vec:NAME, sentence-transformers:NAME."),
    click.option("--vectors", type=PATH, help="Vectors made elsewhere: a .npy file with a row for each sample."),
)
#: For reading a data file, with the names of the parameters of `tacit.load_data`.
input_options = all_of(
    click.option("--format", metavar="NAME", help=f"Format of the data: {NAMES}.  [default: detected]"),
    click.option("--text", metavar="FIELD,…", help="Field or fields with the text, in files with named fields."),
    click.option("--labels", metavar="FIELD,…", help="Field with the labels, or several with one label each."),
    click.option("--label-separator", metavar="MARK", help=r"Between labels in a cell, such as \n."),
    click.option("--encoding", metavar="NAME", help="Encoding of the data, such as cp1252.  [default: utf-8]"),
    click.option("--labels-path", type=PATH, help="Label names; for pairs, the label file."),
    click.option("--max-labels", type=COUNT, help="Maximum number of labels.  [default: 10^7]"),
    click.option("--max-features", type=COUNT, help="Maximum number of features.  [default: 10^8]"),
    click.option("--max-line", metavar="SIZE", callback=parsed(parse_size), help="Longest line.  [default: 8M]"),
    click.option("--max-expansion", type=COUNT, help="Most bytes per compressed byte.  [default: 500]"),
)
labelled_options = all_of(untagged_option, input_options)
