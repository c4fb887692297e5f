"""Texts with labels in named fields: JSONL, CSV, TSV, Excel, Parquet and DataFrames.

The caller names the fields that hold the text and the labels; otherwise they are found in the first record that has
them. A text field may hold a list, whose items are joined by line feeds. Labels are written

- in JSONL as a list of strings or whole numbers, or of objects like Annif's, ``{"uri": …, "label": …}``, whose URI
  counts if there is one; a single string or number is one label, ``null`` means no label;
- in tables, and in Parquet and DataFrames unless they hold lists, as a JSON list, or as names separated by the first of
  line ends, ``|``, ``;`` and ``,`` that many cells have: a mark that is in less than a tenth of the cells of another
  belongs to names. Blanks around names are removed. URIs are separated by blanks, or by one of the marks before the
  next URI; this holds for the field ``subject_uris``, and for any field that has nothing but URIs;
- in several fields, such as ``tag1``, ``tag2`` and ``tag3``, with one label in each, unless a separator is named.

Fields inside the object ``metadata`` of a JSON record can be named like other text fields. The cells of a CSV file are
separated by the mark that a line such as ``sep=;`` before its header names, or else by the first of ``,``, ``;``, tab
and ``|`` that separates most cells of its header.
"""

from __future__ import annotations

import contextlib
import csv
import itertools
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from tacit.data.cells import labels_of_column, separator_of
from tacit.data.columns import notes_on
from tacit.data.dataset import Dataset, ReadColumns, Table, TableStyle
from tacit.data.fields import (
    LABEL_FIELDS,
    TEXT_FIELDS,
    URIS_FIELD,
    default_label_fields,
    default_text_fields,
    joined_text,
    with_metadata,
)
from tacit.data.files import STDIN, UTF8, first_lines, marked_encoding, text_lines, unpacked
from tacit.data.formats import Source
from tacit.data.frames import (
    FRAME,
    column_names,
    column_values,
    frame_records,
    is_column,
    is_frame,
    parquet_records,
    plain_value,
)
from tacit.data.label_names import text_dataset
from tacit.data.limits import FileLimits
from tacit.data.record_writer import write as write
from tacit.data.sheets import checked_header, sheet_records
from tacit.errors import FileError, did_you_mean
from tacit.progress import announce

_DELIMITERS = ",;\t|"
_SEP_LINE = re.compile(r'"?sep=(.)"?\s*', re.IGNORECASE)  # Excel's way to name the delimiter
_N_COMPARED = 1000  # records whose texts are compared with their labels

Record = tuple[int, Mapping[str, Any]]


def read(source: Source, *, syntax: str) -> Dataset:
    """Read records in one of the syntaxes of `RECORDS`."""
    style = table_style(source, syntax) if source.keep else TableStyle()
    records = RECORDS[syntax](source)
    return _read(source, records, has_lists=syntax == "jsonl", style=style)


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
    named = {*source.text, *source.labels, *source.default_text}
    defaults = {*(() if source.text else TEXT_FIELDS), *(() if source.labels else LABEL_FIELDS)}
    wanted = {name for name in column_names(frame) if name in named or name.casefold() in defaults}
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
    kinds = {type(value) for _, record in rows for value in record.values()}
    if str not in kinds and not (known and kinds == {type(None)}):  # features
        return samples
    fields = default_text_fields(FRAME, 1, rows[0][1]) if known else tuple(rows[0][1])
    are_missing = [all(record[name] is None for name in fields) for _, record in rows]
    joined = (joined_text(FRAME, row, record, fields) for row, record in rows)
    return _without_missing([None if lacks else text for text, lacks in zip(joined, are_missing, strict=True)])


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


def _read(
    source: Source, records: Iterator[Record], *, has_lists: bool = False, style: TableStyle | None = None
) -> Dataset:
    """Build a data set of records; label cells that are not all text are lists, or else they are if `has_lists`."""
    path, text_fields, label_fields = source.path, source.text, source.labels
    texts: list[str] = []
    cells: list[list[Any]] = []
    lines: list[int] = []
    kept: list[Mapping[str, Any]] = []
    for line, record in _with_named_fields(source, records, is_table=not has_lists):
        if not texts:
            text_fields = text_fields or default_text_fields(path, line, record, source.default_text)
        label_fields = label_fields or default_label_fields(record)  # the first records may have no labels
        texts.append(joined_text(path, line, record, text_fields))
        cells.append([record.get(name) for name in label_fields])
        lines.append(line)
        if source.keep or len(kept) < _N_COMPARED:
            kept.append(record)
    _check_label_fields(source, kept, cells)
    columns = [[row[position] if row else None for row in cells] for position in range(len(label_fields))]
    separators = [
        _separator(source, name, column, has_lists) for name, column in zip(label_fields, columns, strict=True)
    ]
    parsed = [labels_of_column(path, lines, *both) for both in zip(columns, separators, strict=True)]
    rows = [list(itertools.chain(*row)) for row in zip(*parsed, strict=True)] if parsed else [[] for _ in texts]
    dataset = text_dataset(source, lines, texts, rows)
    separator = separators[0] if separators else None
    notes = notes_on(list(map(with_metadata, kept[:_N_COMPARED])), text_fields, label_fields, rows)
    dataset.columns = ReadColumns(text_fields, label_fields, separator, notes)
    if source.keep:
        dataset.table = Table(kept, label_fields, rows, dataset.Y, separator, style or TableStyle())
    return dataset


def _check_label_fields(source: Source, records: Sequence[Mapping[str, Any]], cells: Sequence[Sequence[Any]]) -> None:
    """Raise if no record has labels, or none has one of the fields that are named."""
    if not cells or (source.labels_path is not None and not source.labels):
        return
    absent = [name for position, name in enumerate(source.labels) if all(row[position] is None for row in cells)]
    if len(absent) < len(source.labels):
        absent = [name for name in absent if not any(name in record for record in records)]
    if absent or all(cell is None for row in cells for cell in row):
        wanted = f"'{absent[0]}'" if absent else f"for labels ({', '.join(LABEL_FIELDS)})"
        hint = did_you_mean(absent[0] if absent else "", records[0])
        others = f"the fields are {', '.join(list(records[0])[:10])}"
        raise FileError(
            source.path, f"no record has a field {wanted}{hint}; {others}: name that of the labels with labels="
        )


def _separator(source: Source, field: str, cells: Sequence[Any], has_lists: bool) -> str | None:
    """What separates labels in a column; None where it holds lists."""
    if source.separator is not None:
        return source.separator
    if has_lists or any(cell is not None and not isinstance(cell, str) for cell in cells):
        return None
    return "" if len(source.labels) > 1 else separator_of(cells, are_uris=field == URIS_FIELD)


def samples_of_records(source: Source, syntax: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the text of each record, and the record; labels are ignored."""
    fields, records = source.text, RECORDS[syntax](source)
    if syntax != "jsonl":  # where no record need have all fields
        records = _with_named_fields(source, records, is_table=True)
    for line, record in records:
        fields = fields or default_text_fields(source.path, line, record, source.default_text)
        yield joined_text(source.path, line, record, fields), record


def _with_named_fields(source: Source, records: Iterator[Record], *, is_table: bool) -> Iterator[Record]:
    """The records, of which each must have the text fields that were named if `is_table`, or else one of them."""
    absent = dict.fromkeys(source.text)
    for line, record in records:
        fields = with_metadata(record) if absent else {}
        absent = {name: None for name in absent if name not in fields}
        if is_table and absent and len(absent) < len(source.text):
            raise _no_field(source.path, next(iter(absent)), fields)
        yield line, record
    if absent and len(absent) < len(source.text):
        raise _no_field(source.path, next(iter(absent)), fields)


def _no_field(path: Path, name: str, fields: Mapping[str, Any]) -> FileError:
    others = f"the fields are {', '.join(list(fields)[:10])}"
    return FileError(
        path, f"has no field '{name}'{did_you_mean(name, fields)}; {others}: name those with text by text="
    )


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
        header: list[str] = []
        start = 1 + n_before
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
    named = _SEP_LINE.fullmatch(header)
    if named:
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
