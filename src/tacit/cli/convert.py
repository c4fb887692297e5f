"""``tacit convert`` and ``tacit split``: data files from data files."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from tacit.cli.options import PATH, data_argument, input_options, parsed, seed_option
from tacit.cli.say import say
from tacit.cli.source import read_labelled, say_labels
from tacit.data.dataset import samples_of
from tacit.data.files import check_unread, is_gzip, make_folder, suffix
from tacit.data.formats import named_format
from tacit.data.repeats import groups_of, n_repeated
from tacit.data.save import convert as convert_file
from tacit.data.save import save_data
from tacit.data.split import hide_positives, random_split

_format_option = click.option(
    "--to", "to_format", metavar="NAME", callback=parsed(lambda name: named_format(name).name),
    help="Format to write.  [default: by the name of the file]",
)  # fmt: skip


@click.command()
@click.argument("source", type=PATH)
@click.argument("target", type=PATH)
@_format_option
@input_options
def convert(source: Path, target: Path, to_format: str | None, **options: Any) -> None:
    """Convert the data file SOURCE to TARGET; both may end in .gz.

    Where both formats have named fields, all of them are kept. Texts converted to numbers become tf-idf features, whose
    words are written to features.txt. Features cannot become text.

    \b
    Examples:
      tacit convert articles.csv articles.jsonl.gz
      tacit convert bibtex-train.arff train.txt
    """
    check_unread(target, source)
    options |= {"from_format": options.pop("format"), "to_format": to_format, "look": say_labels}
    for path in convert_file(source, target, **options):
        say(f"wrote {path}")


@click.command()
@data_argument
@click.option("--out", type=PATH, required=True, help="Folder for the files.")
@click.option("--test-size", type=float, default=0.2, show_default=True, help="Share or number of test samples.")
@click.option("--hide", metavar="SHARE", type=float, help="Hide this share of the training positives at random.")
@_format_option
@seed_option
@input_options
def split(
    data: Path, out: Path, test_size: float, hide: float | None, to_format: str | None, seed: int, **source: Any
) -> None:
    """Split DATA at random into a training and a test file.

    Samples that are alike stay together, and every label keeps at least one training sample. Both files have all
    columns of DATA. The parts of a folder of documents are JSONL.

    \b
    Example: tacit split articles.csv --test-size 0.1 --out parts
    """
    to_format = "jsonl" if data.is_dir() and to_format is None else to_format
    files = {name: out / f"{name}{_ending(data, to_format)}" for name in ("train", "test")}
    for file in files.values():
        check_unread(file, data)
    dataset = read_labelled(data, source, keep_columns=True)
    size = int(test_size) if test_size.is_integer() else test_size
    groups = groups_of(samples_of(dataset)[0])
    train, test = map(dataset.rows, random_split(len(dataset), size, seed, groups=groups, Y=dataset.Y))
    if hide is not None:
        train = replace(train, Y=hide_positives(train.Y, hide, seed))
    make_folder(out)
    for name, part in (("train", train), ("test", test)):
        written = save_data(part, files[name], format=to_format)
        say(f"{name}: {len(part):,} samples in {', '.join(map(str, written))}")
    if n_like_others := n_repeated(groups):
        say(f"{n_like_others:,} of {len(dataset):,} samples repeat others; they are in the same part")


def _ending(data: Path, to_format: str | None) -> str:
    """The suffix of files in a format: that of DATA if it fits."""
    suffixes = () if to_format is None else named_format(to_format).suffixes
    own = suffix(data)
    return (own if not suffixes or own in suffixes else suffixes[0]) + (".gz" if is_gzip(data) else "")
