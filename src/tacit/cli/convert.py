"""``tacit convert``: from one data format to another."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from tacit.cli.options import PATH, input_options
from tacit.cli.say import say
from tacit.data.save import convert as convert_file


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
