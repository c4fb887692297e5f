"""Data sets of texts as records: JSONL, CSV, TSV, Excel and Parquet."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

from tacit.data.dataset import Dataset, TableStyle, label_lists, texts_of
from tacit.data.fields import LABEL_FIELDS, TEXT_FIELD, URIS_FIELD, labels_of_column, separator_of
from tacit.data.files import Staging
from tacit.data.formats import Target
from tacit.data.frames import write_parquet
from tacit.data.label_names import write_label_names
from tacit.data.sheets import write_sheet
from tacit.errors import FileError


def write(dataset: Dataset, target: Target, staging: Staging, *, syntax: str) -> None:
    """Write records with the columns that the data set was read with, or else with the fields text and labels."""
    has_cells = dataset.table is not None and dataset.table.separator is not None
    with_cells = syntax in ("csv", "tsv", "xlsx") or (syntax == "parquet" and has_cells)
    records = _records(target.path, dataset, with_cells=with_cells)
    with staging.open(target.path) as file:
        if syntax == "parquet":
            write_parquet(file, records)
        elif syntax == "xlsx":
            write_sheet(target.path, file, _rows(records))
        elif syntax == "jsonl":
            lines = (json.dumps(record, ensure_ascii=False, default=str) for record in records)
            file.writelines(f"{line}\n".encode() for line in lines)
        else:
            style = (dataset.table and dataset.table.style) or TableStyle()
            _write_table(target.path, file, records, style if syntax == "csv" else style._replace(delimiter="\t"))
    write_label_names(staging, target, dataset)


def _write_table(path: Path, file: IO[bytes], records: Sequence[Mapping[str, Any]], style: TableStyle) -> None:
    with io.TextIOWrapper(file, "utf-8-sig" if style.has_mark else "utf-8", newline="") as text:
        table = csv.writer(text, delimiter=style.delimiter, lineterminator="\n", quoting=csv.QUOTE_ALL)
        try:
            table.writerows(_rows(records))
        except csv.Error as error:  # Python 3.10 has no way to write NUL
            raise FileError(path, f"a table cannot hold this ({error}); write .jsonl") from error


def _rows(records: Sequence[Mapping[str, Any]]) -> Iterator[list[str]]:
    header = list(dict.fromkeys(name for record in records for name in record))
    yield header
    yield from ([as_cell(record.get(name)) for name in header] for record in records)


def as_cell(value: Any) -> str:
    """A value as a cell of a table: text as it is, anything else as JSON."""
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def _records(path: Path, dataset: Dataset, *, with_cells: bool) -> list[dict[str, Any]]:
    """The records of the samples; labels that have changed or take another form are in the first of their fields."""
    table, labels = dataset.table, label_lists(dataset)
    fields = (table.label_fields if table is not None else ()) or LABEL_FIELDS[:1]
    is_same, mark = [False] * len(labels), "|"
    if table is None:
        records: list[dict[str, Any]] = [{TEXT_FIELD: text} for text in texts_of(dataset)]
    else:
        records = [dict(record) for record in table.records]
        mark, keeps_form = table.separator or "|", with_cells == (table.separator is not None)
        for row, same in enumerate(table.unchanged(dataset.Y)):
            labels[row] = list(table.label_cells[row]) if same else labels[row]
            has_field = any(name in records[row] for name in fields)
            is_same[row] = same and keeps_form and (has_field or not labels[row])
    for record, names, same in zip(records, labels, is_same, strict=True):
        if not same:
            record |= {fields[0]: names, **dict.fromkeys(fields[1:])}
    if with_cells:
        _join_labels(path, records, labels, fields, mark)
    return records


def _join_labels(
    path: Path, records: list[dict[str, Any]], labels: list[list[str]], fields: Sequence[str], mark: str
) -> None:
    """Turn lists of labels into cells, which are JSON lists if a reader would separate the names differently."""
    field, is_clear = fields[0], False
    values = [record.get(field) for record in records]
    if len(fields) == 1:
        cells = [mark.join(value) if isinstance(value, list) else value for value in values]
        separator = separator_of(cells, are_uris=field == URIS_FIELD)
        with suppress(FileError):
            is_clear = labels_of_column(path, range(1, len(cells) + 1), cells, separator) == labels
        values = cells if is_clear else list[Any](labels)
    for record, value in zip(records, values, strict=True):
        record[field] = json.dumps(value, ensure_ascii=False) if isinstance(value, list) else value
