"""``tacit suggest``: labels for new samples."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import numpy as np

from tacit.cli.interrupt import keeps
from tacit.cli.options import COUNT, PATH, data_argument, input_options, model_argument, vector_options
from tacit.cli.output import KINDS, open_output
from tacit.cli.say import say
from tacit.cli.source import check_columns, columns_of, load_tagger, names_of, stream_unlabelled
from tacit.cli.startup import quick_start
from tacit.data.files import check_place, check_unread, existing_file, text_lines
from tacit.data.load import output_style
from tacit.progress import stop_if_asked

_SHOWN = 10  # rows that a message names


@click.command()
@model_argument
@data_argument
@click.option("-k", type=COUNT, help="Labels per sample.  [default: 5; no limit with --threshold]")
@click.option(
    "--threshold",
    metavar="SCORE|TARGET",
    help="Lowest score to suggest: a number, 'auto' (stored in the model), or a target: 'precision=0.8', 'labels=3', …",
)
@click.option("--include", metavar="LABEL,…", help="Suggest only these labels; @FILE reads them from a file.")
@click.option("--exclude", metavar="LABEL,…", help="Suggest none of these labels; @FILE reads them from a file.")
@click.option(
    "--damp-head", metavar="SHARE", type=click.FloatRange(0, 1), default=0.0, help="Rank frequent labels lower."
)
@click.option("--language", metavar="TAG", help="Language of the labels' names, if the vocabulary has several.")
@click.option("--id", "key", metavar="COLUMN", help="Column of DATA that identifies a sample; written after its row.")
@click.option("--keep", metavar="COLUMN,…", help="Columns of DATA to write beside the suggestions.")
@click.option("--out", type=PATH, help="Write here, .jsonl or .csv.  [default: -, stdout]")
@click.option("--to", "kind", type=click.Choice(KINDS), help="Format to write.  [default: by OUT, or jsonl]")
@vector_options
@input_options
def suggest(
    model: Path, data: Path, k: int | None, threshold: str | None, include: str | None, exclude: str | None,
    damp_head: float, language: str | None, key: str | None, keep: str | None, out: Path | None, kind: str | None,
    encoder: str | None, vectors: Path | None, **source: Any,
) -> None:  # fmt: skip
    """Suggest labels for the samples of DATA (- reads one text per line).

    Each sample is written with its row in DATA, counted from 1, and the columns named by --id and --keep; documents of
    a folder with the name of their file. A text without a word that the model knows gets no suggestions.

    DATA may be larger than memory. With --out, the file appears when it is complete.

    \b
    Examples:
      tacit suggest model new.csv -k 3
      tacit suggest model new.jsonl --threshold precision=0.8 --out suggestions.csv
      tacit suggest model new.csv --id article_id --keep title,date --out suggestions.csv
      echo "a text to tag" | tacit suggest model -
    """
    with quick_start():
        tagger = load_tagger(model, encoder)
    wish: dict[str, Any] = {
        "k": k, "threshold": threshold, "include": label_list(include), "exclude": label_list(exclude),
        "damp_head": damp_head,
    }  # fmt: skip
    nothing: Any = [] if tagger.takes_texts else np.empty((0, tagger.n_features_in_), np.float32)
    tagger.suggest(nothing, language=language, **wish)  # raises for invalid options before any data are read
    out = None if out == Path("-") else out
    if out is not None:
        check_unread(check_place(out), data)
    columns, style = columns_of(data, key, keep), output_style(data, source["format"], source["encoding"])
    without: list[int] = []
    if out is None:
        keeps("only the printed output is kept; run the same command to start again")
    with open_output(out, names_of(tagger, language), columns, style, kind) as output:
        for block in stream_unlabelled(data, tagger, vectors, **source):
            if not output.n_done:
                check_columns(data, columns, block.fields)
            rows = tagger.suggest(block.samples, **wish)
            without += [row for row, found in enumerate(rows, output.n_done + 1) if not found]
            output.write(zip(block.fields, rows, strict=True))
            stop_if_asked()
    if without:
        shown = ", ".join(map(str, without[:_SHOWN])) + (", …" if len(without) > _SHOWN else "")
        say(f"rows without suggestions: {len(without):,} ({shown})", err=True)


def label_list(text: str | None) -> list[str] | None:
    """Labels separated by commas, or one per line in the file that follows an @."""
    if text is None:
        return None
    names = [line for _, line in text_lines(existing_file(text[1:]))] if text.startswith("@") else text.split(",")
    return [name.strip() for name in names if name.strip()]
