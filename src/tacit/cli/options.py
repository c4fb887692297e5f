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


def _data(_context: click.Context, _argument: click.Parameter, value: Path) -> Path:
    if (value / "manifest.json").is_file():
        raise click.UsageError(f"DATA must be a data file; {value} is the folder of a model")
    return value


def _model(_context: click.Context, _argument: click.Parameter, value: Path) -> Path:
    if value.is_file():
        raise click.UsageError(f"MODEL must be a folder that `tacit train` wrote; {value} is a file")
    return value


data_argument = click.argument("data", type=PATH, callback=_data)
model_argument = click.argument("model", type=PATH, callback=_model)
seed_option = click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Random seed.")


def _jobs(_context: click.Context, _option: click.Parameter, value: int) -> int:
    if value == 0:
        raise click.BadParameter("must be a number of tasks, or -1 for as many as there are cores; got 0")
    return value


jobs_option = click.option(
    "--jobs", type=int, default=-1, callback=_jobs, help="Number of parallel tasks.  [default: all cores]"
)


def cluster_option(function: Function) -> Function:
    """Add an option that runs the tasks of a command on a cluster."""

    @functools.wraps(function)
    def run(*arguments: Any, address: str | None, **options: Any) -> Any:
        from tacit.runtime.cluster import on_cluster  # imports much, which other commands need not

        with on_cluster(address):
            return function(*arguments, **options)

    told = "Run on a Dask cluster: its scheduler, tcp://…, or local:N for N processes here."
    return click.option("--cluster", "address", metavar="ADDRESS", help=told)(run)  # type: ignore[return-value]


def _size(_context: click.Context, _option: click.Parameter, value: str | None) -> int | None:
    return None if value is None else parse_size(value)


max_memory_option = click.option("--max-memory", metavar="SIZE", callback=_size, help="Memory limit, such as 8G.")


def computing_options(function: Function) -> Function:
    """Add options for long work: its seed, its parallel tasks, and a cluster to run them on."""
    return seed_option(jobs_option(cluster_option(function)))


def input_options(function: Function) -> Function:
    """Add options for reading a data file, with the names of the parameters of `tacit.load_data`."""
    for option in (
        click.option(
            "--max-expansion", type=click.IntRange(min=1), help="Most bytes per compressed byte.  [default: 500]"
        ),
        click.option("--max-line", metavar="SIZE", callback=_size, help="Maximum line length.  [default: 32M]"),
        click.option("--max-features", type=click.IntRange(min=1), help="Maximum number of features.  [default: 10^8]"),
        click.option("--max-labels", type=click.IntRange(min=1), help="Maximum number of labels.  [default: 10^7]"),
        click.option("--labels-path", type=PATH, help="Label names; for pairs, the label file."),
        click.option("--encoding", metavar="NAME", help="Encoding of the data, such as cp1252.  [default: utf-8]"),
        click.option("--label-separator", metavar="MARK", help=r"Between labels in a cell, such as \n."),
        click.option("--labels", metavar="FIELD,…", help="Field with the labels, or several with one label each."),
        click.option("--text", metavar="FIELD,…", help="Field or fields with the text, in files with named fields."),
        click.option("--format", metavar="NAME", help=f"Format of the data: {NAMES}.  [default: detected]"),
    ):
        function = option(function)
    return function


untagged_option = click.option(
    "--untagged",
    type=click.Choice(["skip", "negative"]),
    help="Rows without labels: nobody has tagged them, or they have none.  [default: skip for texts]",
)


def vector_options(function: Function) -> Function:
    """Add options for vectors of texts: an encoder, or a file."""
    file = click.option("--vectors", type=PATH, help="Vectors made elsewhere: a .npy file with a row for each sample.")
    told = "Encoder of the texts: model2vec:NAME, sentence-transformers:NAME."
    return file(click.option("--encoder", metavar="NAME", help=told)(function))
