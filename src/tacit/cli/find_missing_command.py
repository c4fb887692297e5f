"""``tacit find-missing``: labels that are missing from a tagged corpus."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from tacit.cli.options import (
    PATH,
    computing_options,
    data_argument,
    input_options,
    model_argument,
    untagged_option,
    vector_options,
)
from tacit.cli.say import progress_shown, say
from tacit.cli.source import (
    check_columns,
    columns_of,
    load_tagger,
    names_of,
    read_records,
    say_labels,
    split_options,
    text_columns,
    verdict,
    with_vectors,
)
from tacit.data.columns import UNTAGGED
from tacit.data.dataset import Dataset, TableStyle, inputs_of, with_labels
from tacit.data.files import UTF8_MARK, Staging, check_place, check_unread
from tacit.data.load import load_data, output_style
from tacit.data.save import save_data
from tacit.errors import FileError
from tacit.tagger.find_missing import MissingLabel
from tacit.tagger.tagger import Tagger

_OWN = frozenset(("row", "label", "name", "probability", "evidence", "text", "accepted"))


@click.command()
@model_argument
@data_argument
@click.option("-n", type=click.IntRange(min=1), default=100, show_default=True, help="Number of pairs to list.")
@click.option("--out", type=PATH, help="Write here, .jsonl or .csv.  [default: JSON to stdout]")
@click.option("--folds", type=click.IntRange(min=2), default=3, show_default=True, help="Cross-validation folds.")
@click.option(
    "--missing", type=click.FloatRange(0, 1, True, True), help="Fraction of labels that is missing, if known."
)
@click.option("--id", "key", metavar="COLUMN", help="Column of DATA that identifies a sample; written after its row.")
@click.option("--keep", metavar="COLUMN,…", help="Columns of DATA to write beside the pairs.")
@click.option("--accept", type=PATH, help="Add the pairs of this list to DATA, written to --out.")
@vector_options
@computing_options
@untagged_option
@input_options
def find_missing(
    model: Path, data: Path, n: int, out: Path | None, folds: int, missing: float | None, key: str | None,
    keep: str | None, accept: Path | None,
    encoder: str | None, vectors: Path | None, seed: int, jobs: int, **source: Any,
) -> None:  # fmt: skip
    """List the labels that are most probably missing in DATA, with their samples, most probable first.

    Models like MODEL are trained by cross-validation, so that each one judges samples it was not trained on. Look
    through the list, delete wrong lines (or add a field 'accepted' with yes and no), and add the rest with --accept,
    which writes DATA with all its columns. Rows are counted from 1.

    \b
    Examples:
      tacit find-missing model train.csv -n 200 --out missing.csv
      tacit find-missing model train.csv --id article_id --keep date --out missing.csv
      tacit find-missing model train.csv --accept missing.csv --out more-complete.csv
    """
    if out is not None:
        check_place(out)
        check_unread(out, data, *([] if accept is None else [accept]))
    if accept is not None:
        known: dict[str, Any] = {"default_text": text_columns(load_tagger(model, encoder)), "keep_columns": True}
        dataset = load_data(data, **split_options(data, source)[0], **known)
        _accept(dataset, accept, out, source["encoding"])
        return
    tagger = load_tagger(model, encoder)
    tagger.set_params(n_jobs=jobs)
    columns = columns_of(data, key, keep)
    if taken := _OWN.intersection(columns):
        raise click.UsageError(f"the list has a column '{min(taken)}' of its own; rename that of {data}")
    style = output_style(data, source["format"], source["encoding"])
    source, untagged = split_options(data, source)
    dataset = load_data(data, keep_columns=bool(columns), **source, default_text=text_columns(tagger))
    check_columns(data, columns, () if dataset.table is None else dataset.table.records)
    say_labels(dataset, "also ranked" if untagged == "skip" else UNTAGGED["negative"], err=out is None)
    dataset = with_vectors(dataset, vectors)
    options = {"folds": folds, "missing": missing, "label_names": dataset.label_names, "seed": seed}
    options["untagged"] = untagged
    with progress_shown():
        found = tagger.find_missing(inputs_of(tagger, dataset), dataset.Y, n, **options)
    _write(found, tagger, dataset, columns, out, style)
    expected = "" if missing is None else f"; about {sum(pair.probability for pair in found):.0f} should be right"
    say(f"{len(found):,} pairs{expected}", err=out is None)


def _write(
    found: list[MissingLabel],
    tagger: Tagger,
    dataset: Dataset,
    columns: Sequence[str],
    out: Path | None,
    style: TableStyle,
) -> None:
    """Write pairs as JSON lines or CSV, with the columns to keep, names of labels, and the start of the text."""
    readable, rows = names_of(tagger), () if dataset.table is None else dataset.table.records
    records = [
        {"row": pair.row + 1}
        | {name: rows[pair.row].get(name) for name in columns}
        | {"label": pair.label}
        | ({} if readable is str else {"name": readable(pair.label)})
        | {"probability": round(pair.probability, 4), "evidence": pair.evidence}
        | ({} if dataset.texts is None else {"text": " ".join(dataset.texts[pair.row].split())[:200]})
        for pair in found
    ]
    content = io.StringIO()
    if out is not None and out.suffix.lower() == ".csv":
        content.write(UTF8_MARK.decode() if style.has_mark else "")
        fields = list(records[0]) if records else ["row", "label"]
        table = csv.DictWriter(content, fields, delimiter=style.delimiter, lineterminator="\n")
        table.writeheader()
        table.writerows(records)
    else:
        content.writelines(json.dumps(record, ensure_ascii=False) + "\n" for record in records)
    if out is None:
        click.echo(content.getvalue(), nl=False)
        return
    with Staging() as staging, staging.open(out) as file:
        file.write(content.getvalue().encode())


def _accept(dataset: Dataset, accepted: Path, out: Path | None, encoding: str | None) -> None:
    """Write `dataset` with the pairs of a list added to its labels."""
    if out is None:
        raise click.UsageError("--accept needs --out, the data file to write")
    pairs = []
    for line, record in read_records(accepted, encoding):
        row, label = str(record.get("row", "")), str(record.get("label", "")).strip()
        if not row.isdecimal() or not 1 <= int(row) <= len(dataset) or not label:
            message = f"must name a row from 1 to {len(dataset)} and a label; got row '{row}' and label '{label}'"
            raise FileError(accepted, f"{message}; use the list that find-missing wrote for this data", line=line)
        if verdict(accepted, line, record, default=True):
            pairs.append((int(row) - 1, label))
    new = dict.fromkeys(label for _, label in pairs if label not in set(dataset.label_names))
    say_labels(dataset)
    for path in save_data(with_labels(dataset, pairs), out):
        say(f"wrote {path}: {len(pairs):,} labels added" if path == out else f"wrote {path}")
    if new:
        say(f"labels that the data did not have before: {', '.join(new)}", err=True)
