"""``tacit convert`` and ``tacit split``: data files from data files."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from tacit.cli.options import PATH, data_argument, input_options, seed_option
from tacit.cli.say import say
from tacit.data.files import is_gzip, suffix
from tacit.data.load import load_data
from tacit.data.save import convert as convert_file
from tacit.data.save import save_data
from tacit.data.split import hide_positives, train_test_split


@click.command()
@click.argument("source", type=PATH)
@click.argument("target", type=PATH)
@click.option("--to", "to_format", metavar="NAME", help="Format to write.  [default: by the name of TARGET]")
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
    for path in convert_file(source, target, from_format=options.pop("format"), to_format=to_format, **options):
        say(f"wrote {path}")


@click.command()
@data_argument
@click.option("--out", type=PATH, required=True, help="Folder for the files.")
@click.option("--test-size", default=0.2, show_default=True, help="Share of the samples, or their number, for test.")
@click.option("--hide", metavar="SHARE", type=float, help="Hide this share of the training positives at random.")
@click.option("--to", "to_format", metavar="NAME", help="Format to write.  [default: that of DATA's name]")
@seed_option
@input_options
def split(
    data: Path, out: Path, test_size: float, hide: float | None, to_format: str | None, seed: int, **source: Any
) -> None:
    """Split DATA into a training and a test file; every label keeps at least one training sample.

    Both files have all columns of DATA. The parts of a folder of documents are folders.

    \b
    Example: tacit split articles.csv --test-size 0.1 --out parts
    """
    dataset = load_data(data, keep_columns=True, **source)
    parts = train_test_split(dataset.Y, int(test_size) if test_size >= 1 else test_size, seed)
    train, test = dataset.rows(parts.train), dataset.rows(parts.test)
    if hide is not None:
        train = replace(train, Y=hide_positives(train.Y, hide, seed))
    ending = suffix(data) + (".gz" if is_gzip(data) else "")
    to_format = "folder" if data.is_dir() and to_format is None else to_format
    out.mkdir(parents=True, exist_ok=True)
    for name, part in (("train", train), ("test", test)):
        files = save_data(part, out / f"{name}{ending}", format=to_format)
        say(f"{name}: {len(part):,} samples in {', '.join(str(file) for file in files)}")
    if len(parts.missed):
        names = [dataset.label_names[label] for label in parts.missed]
        more = f" and {len(names) - 5:,} more" if len(names) > 5 else ""
        say(f"labels with too few samples to appear in test: {', '.join(names[:5])}{more}")
