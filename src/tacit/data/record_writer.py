"""Data sets of texts as records: JSONL, CSV, TSV, Excel and Parquet."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from tacit.data.cells import cell_of, labels_of_column, separator_of
from tacit.data.dataset import Dataset, Table, TableStyle, label_lists, texts_of
from tacit.data.fields import LABEL_FIELDS, TEXT_FIELD, URIS_FIELD
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
    records = _with_cells(target.path, dataset) if with_cells else _with_lists(dataset)
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


def _with_lists(dataset: Dataset) -> list[dict[str, Any]]:
    """Records whose labels are lists; those that have not changed stay as they were."""
    records, field, cells, labels = _to_write(dataset)
    is_list = dataset.table is not None and dataset.table.separator is None
    for record, cell, names in zip(records, cells, labels, strict=True):
        if cell is None or not is_list:
            record[field] = names
    return records


def _with_cells(path: Path, dataset: Dataset) -> list[dict[str, Any]]:
    """Records whose labels are cells, which are read as the same labels; JSON lists if names cannot be separated."""
    table = dataset.table
    if table is not None and len(table.label_fields) > 1:
        return _with_spread_labels(table, dataset)
    records, field, cells, labels = _to_write(dataset)
    lines, mark = range(1, len(records) + 1), (table.separator if table is not None else None) or "|"
    written = [
        cell if isinstance(cell, str) and table is not None and table.separator is not None else mark.join(names)
        for cell, names in zip(cells, labels, strict=True)
    ]
    try:
        separator = separator_of(written, are_uris=field == URIS_FIELD)
        are_clear = labels_of_column(path, lines, written, separator) == labels
    except FileError:
        are_clear = False
    for record, cell, names in zip(records, written, labels, strict=True):
        record[field] = cell if are_clear else json.dumps(names, ensure_ascii=False)
    return records


def _with_spread_labels(table: Table, dataset: Dataset) -> list[dict[str, Any]]:
    """Records with a label in each of several fields, of which the last has the rest; unchanged ones stay."""
    records = [dict(record) for record in table.records]
    rows = zip(records, label_lists(dataset), table.unchanged(dataset.Y), strict=True)
    *fields, last = table.label_fields
    for record, labels, is_same in rows:
        if not is_same:
            record |= {name: cell_of(labels[position : position + 1]) for position, name in enumerate(fields)}
            rest = labels[len(fields) :]
            record[last] = json.dumps(rest, ensure_ascii=False) if len(rest) > 1 else cell_of(rest)
    return records


def _to_write(dataset: Dataset) -> tuple[list[dict[str, Any]], str, list[Any], list[list[str]]]:
    """Records without new labels, the field of the labels, their cells (None for those to be written), and labels."""
    table, labels = dataset.table, label_lists(dataset)
    if table is None:
        return [{TEXT_FIELD: text} for text in texts_of(dataset)], LABEL_FIELDS[0], [None] * len(dataset), labels
    field = next(iter(table.label_fields), LABEL_FIELDS[0])
    others = table.label_fields[1:]
    records = [{name: cell for name, cell in record.items() if name not in others} for record in table.records]
    given: list[Any] = [None] * len(records)
    for row, is_same in enumerate(table.unchanged(dataset.Y)):
        if is_same:
            labels[row] = list(table.label_cells[row])
            given[row] = None if others else records[row].get(field, None if labels[row] else [])
    return records, field, given, labels
