"""Texts with labels in named fields: JSONL, CSV, TSV, Excel, Parquet and DataFrames; see docs/data-formats.md."""

from __future__ import annotations

import contextlib
import csv
import io
import itertools
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import IO, Any

from tacit.data.dataset import Dataset, ReadColumns, Table, TableStyle, label_lists, texts_of
from tacit.data.fields import (
    LABEL_FIELDS,
    TEXT_FIELD,
    TEXT_FIELDS,
    URIS_FIELD,
    check_fields,
    default_label_fields,
    default_text_fields,
    joined_text,
    labels_of_column,
    separator_of,
    with_metadata,
)
from tacit.data.files import STDIN, UTF8, Staging, first_lines, marked_encoding, text_lines, unpacked
from tacit.data.formats import Source, Target
from tacit.data.frames import (
    FRAME,
    column_names,
    column_values,
    frame_records,
    is_column,
    is_frame,
    parquet_records,
    plain_value,
    write_parquet,
)
from tacit.data.label_names import text_dataset, write_label_names
from tacit.data.limits import FileLimits
from tacit.data.sheets import checked_header, sheet_records, write_sheet
from tacit.errors import FileError
from tacit.progress import announce

_DELIMITERS = ",;\t|"
_SEP_LINE = re.compile(r'"?sep=(.)"?\s*', re.IGNORECASE)  # Excel's way to name the delimiter

Record = tuple[int, Mapping[str, Any]]


def read(source: Source, *, syntax: str) -> Dataset:
    """Read records in one of the syntaxes of `RECORDS`."""
    dataset = _read(source, RECORDS[syntax](source), has_lists=syntax == "jsonl")
    if dataset.table is not None:
        dataset.table = replace(dataset.table, style=table_style(source, syntax))
    return dataset


def table_style(source: Source, syntax: str) -> TableStyle:
    """How the cells of a table are separated, and whether Excel needs a byte order mark to read it as UTF-8."""
    if syntax not in ("csv", "tsv") or source.path == STDIN:
        return TableStyle(has_mark=syntax == "xlsx")
    with unpacked(source.path) as file:
        has_mark = marked_encoding(file) is not None or source.encoding != UTF8
    delimiter = "\t" if syntax == "tsv" else _opening(first_lines(source.path, source.encoding))[1]
    return TableStyle(delimiter, has_mark)


def read_frame(frame: Any, source: Source) -> Dataset:
    """Read the rows of a DataFrame."""
    usual = {*source.text, *source.labels, *source.default_text, *TEXT_FIELDS, *LABEL_FIELDS}
    wanted = {name for name in column_names(frame) if name in usual or name.casefold() in usual}
    return _read(source, frame_records(frame, None if source.keep else wanted))


def texts_in(samples: Any) -> Any:
    """The texts of a list, a DataFrame or its column, missing ones blank; samples that are no texts stay unchanged."""
    if is_column(samples):
        return _without_missing(column_values(samples))
    if not is_frame(samples):
        is_list = isinstance(samples, list | tuple) or getattr(getattr(samples, "dtype", None), "kind", "") == "O"
        return _without_missing(samples) if is_list else samples
    known = tuple(name for name in column_names(samples) if name.casefold() in TEXT_FIELDS)
    rows = list(frame_records(samples, known or None))
    if not known and not any(isinstance(value, str) for _, record in rows for value in record.values()):  # features
        return samples
    fields = default_text_fields(FRAME, 1, rows[0][1]) if known and rows else tuple(column_names(samples))
    return [joined_text(FRAME, row, record, fields) for row, record in rows]


def _without_missing(texts: Sequence[Any]) -> Sequence[Any]:
    """Texts of which those that are None or NaN become blank, and are counted; anything else stays unchanged."""
    others = [text for text in texts if not isinstance(text, str)]
    if not others or not all(plain_value(other) is None for other in others):
        return texts
    announce(f"{len(others):,} of {len(texts):,} texts are missing (None or NaN); they count as blank")
    return [text if isinstance(text, str) else "" for text in texts]


def tags_in(tags: Any) -> Any:
    """The labels in a column of a DataFrame as lists; labels in any other form are returned unchanged."""
    if not is_column(tags):
        return tags
    cells = column_values(tags)
    if any(cell is not None and not isinstance(cell, str) for cell in cells):
        return [cell if isinstance(cell, list) else [] if cell is None else [cell] for cell in cells]
    return labels_of_column(FRAME, range(1, len(cells) + 1), cells, separator_of(cells))


def _read(source: Source, records: Iterator[Record], *, has_lists: bool = False) -> Dataset:
    """Build a data set of records; label cells that are not all text are lists, or else they are if `has_lists`."""
    path, text_fields, label_fields = source.path, source.text, source.labels
    texts: list[str] = []
    cells: list[list[Any]] = []
    lines: list[int] = []
    kept: list[Mapping[str, Any]] = []
    absent = {*text_fields, *label_fields}
    for line, record in records:
        text_fields = text_fields or default_text_fields(path, line, record, source.default_text)
        label_fields = label_fields or default_label_fields(record)  # the first records may have no labels
        texts.append(joined_text(path, line, record, text_fields))
        cells.append([record.get(name) for name in label_fields])
        lines.append(line)
        absent -= with_metadata(record).keys() if absent else set()
        if source.keep or not kept:
            kept.append(record)
    if kept:
        check_fields(path, (name for name in (*text_fields, *label_fields) if name in absent), with_metadata(kept[0]))
        if not label_fields and source.labels_path is None:
            others = f"the fields are {', '.join(list(kept[0])[:10])}"
            message = f"no record has a field for labels ({', '.join(LABEL_FIELDS)}); {others}"
            raise FileError(path, f"{message}: name that of the labels with labels=")
    columns = [[row[position] if row else None for row in cells] for position in range(len(label_fields))]
    separators = [
        _separator(source, name, column, has_lists) for name, column in zip(label_fields, columns, strict=True)
    ]
    parsed = [labels_of_column(path, lines, *both) for both in zip(columns, separators, strict=True)]
    rows = [list(itertools.chain(*row)) for row in zip(*parsed, strict=True)] if parsed else [[] for _ in texts]
    dataset = text_dataset(source, lines, texts, rows)
    separator = separators[0] if separators else None
    dataset.columns = ReadColumns(text_fields, label_fields, separator)
    if source.keep:
        dataset.table = Table(kept, label_fields, rows, dataset.Y, separator)
    return dataset


def _separator(source: Source, field: str, cells: Sequence[Any], has_lists: bool) -> str | None:
    """What separates labels in a column; None where it holds lists."""
    if source.separator is not None:
        return source.separator
    if has_lists or any(cell is not None and not isinstance(cell, str) for cell in cells):
        return None
    return "" if len(source.labels) > 1 else separator_of(cells, are_uris=field == URIS_FIELD)


def samples_of_records(source: Source, syntax: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the text of each record, and the record; labels are ignored."""
    fields, unchecked = source.text, () if syntax == "jsonl" else source.text  # a record of JSON may lack fields
    for line, record in RECORDS[syntax](source):
        fields = fields or default_text_fields(source.path, line, record, source.default_text)
        text = joined_text(source.path, line, record, fields)
        check_fields(source.path, unchecked, with_metadata(record))
        unchecked = ()
        yield text, record


def _json_records(source: Source) -> Iterator[Record]:
    for number, line in text_lines(source.path, source.limits, encoding=source.encoding):
        if line.strip():
            yield number, json_record(source.path, line, number)


def json_record(path: Path, content: str, line: int | None = None) -> Mapping[str, Any]:
    """Parse a JSON object with named fields."""
    try:
        record = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise FileError(path, f"must be a JSON object ({error}); correct it", line=line) from error
    if not isinstance(record, dict):
        got = type(record).__name__
        raise FileError(path, f"must be a JSON object with named fields; got a {got}", line=line)
    return record


def _table_records(source: Source, *, delimiter: str | None = None) -> Iterator[Record]:
    path, limits = source.path, source.limits
    with _large_cells(limits):
        lines = (line for _, line in text_lines(path, limits, keep_ends=True, encoding=source.encoding))
        opening, mark, n_before = _opening(lines)
        header, start = list[str](), 1 + n_before
        try:
            rows = csv.reader(itertools.chain([opening], lines), delimiter=delimiter or mark, strict=True)
            for row in rows:
                if not header:
                    header = checked_header(path, row, start)
                elif row:
                    if len(row) > len(header) and not any(row[len(header) :]):
                        del row[len(header) :]  # as Excel writes columns without a name
                    if len(row) != len(header):
                        expected = f"must have {len(header)} cells, as the header"
                        raise FileError(path, f"{expected}; got {len(row)}; quote cells with separators", line=start)
                    yield start, dict(zip(header, row, strict=True))
                start = rows.line_num + n_before + 1
        except csv.Error as error:
            message = f"{error}; quote cells as CSV demands"
            if "field limit" in str(error):
                message = f"a cell must have at most {limits.max_line} characters; close its quotes, or raise max_line"
            raise FileError(path, message, line=start) from error


def _opening(lines: Iterator[str]) -> tuple[str, str, int]:
    """The header line, the delimiter, and the number of lines before the header: one such as ``sep=;``, or none.

    Without such a line it is the mark that separates most cells: Excel writes semicolons where commas are in numbers.
    """
    header = next(lines, "")
    if named := _SEP_LINE.fullmatch(header):
        return next(lines, ""), named[1], 1
    return header, max(_DELIMITERS, key=lambda mark: _n_cells(header, mark)), 0


def _n_cells(header: str, delimiter: str) -> int:
    try:
        return len(next(csv.reader([header], delimiter=delimiter), ()))
    except csv.Error:
        return 0


#: For each syntax, a function that yields the line numbers and records of a file.
RECORDS: Mapping[str, Callable[[Source], Iterator[Record]]] = {
    "jsonl": _json_records,
    "csv": _table_records,
    "tsv": partial(_table_records, delimiter="\t"),
    "xlsx": sheet_records,
    "parquet": parquet_records,
}


@contextlib.contextmanager
def _large_cells(limits: FileLimits) -> Iterator[None]:
    """Lift the csv module's limit of 128 KiB per cell, which long documents exceed."""
    limit = csv.field_size_limit(min(limits.max_line, 2**31 - 1))
    try:
        yield
    finally:
        csv.field_size_limit(limit)


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
        with contextlib.suppress(FileError):
            is_clear = labels_of_column(path, range(1, len(cells) + 1), cells, separator) == labels
        values = cells if is_clear else list[Any](labels)
    for record, value in zip(records, values, strict=True):
        record[field] = json.dumps(value, ensure_ascii=False) if isinstance(value, list) else value
