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
import io
import itertools
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from tacit.core.checks import has_half_character
from tacit.data.cells import cell_of, labels_of_column, separator_of
from tacit.data.columns import notes_on
from tacit.data.dataset import Dataset, ReadColumns, Table, TableStyle, label_lists, texts_of
from tacit.data.files import STDIN, UTF8, UTF8_MARK, Staging, first_lines, marked_encoding, text_lines, unpacked
from tacit.data.formats import Source, Target
from tacit.data.frames import (
    FRAME,
    column_names,
    column_values,
    frame_records,
    is_column,
    is_frame,
    parquet_records,
    write_parquet,
)
from tacit.data.label_names import text_dataset, write_label_names
from tacit.data.limits import LIMITS, FileLimits
from tacit.data.sheets import checked_header, sheet_records, write_sheet
from tacit.errors import FileError, did_you_mean

TEXT_FIELD = "text"
TEXT_PARTS = ("title", "body", "content", "document")
TEXT_FIELDS = (TEXT_FIELD, *TEXT_PARTS)
URIS_FIELD = "subject_uris"
LABEL_FIELDS = ("labels", "tags", "label", "concepts", "subjects", URIS_FIELD, "subject_labels", "keywords")
_DELIMITERS = ",;\t|"
_SEP_LINE = re.compile(r'"?sep=(.)"?\s*', re.IGNORECASE)  # Excel's way to name the delimiter
_N_COMPARED = 1000  # records whose texts are compared with their labels

Record = tuple[int, Mapping[str, Any]]


def read(source: Source, *, syntax: str) -> Dataset:
    """Read records in one of the syntaxes of `RECORDS`."""
    style = table_style(source, syntax) if source.keep else TableStyle()
    records = RECORDS[syntax](source.path, source.limits, encoding=source.encoding)
    return _read(source, records, has_lists=syntax == "jsonl", style=style)


def table_style(source: Source, syntax: str) -> TableStyle:
    """How the cells of a table are separated, and whether Excel needs a byte order mark to read it as UTF-8."""
    if syntax not in ("csv", "tsv") or source.path == STDIN:
        return TableStyle(has_mark=syntax == "xlsx")
    with unpacked(source.path) as file:
        has_mark = marked_encoding(file) is not None or source.encoding != UTF8
    lines = (line.decode(errors="replace") for line in first_lines(source.path, source.encoding))
    return TableStyle("\t" if syntax == "tsv" else _opening(lines)[1], has_mark)


def read_frame(frame: Any, source: Source) -> Dataset:
    """Read the rows of a DataFrame."""
    named = {*source.text, *source.labels, *source.default_text}
    defaults = {*(() if source.text else TEXT_FIELDS), *(() if source.labels else LABEL_FIELDS)}
    wanted = {name for name in column_names(frame) if name in named or name.casefold() in defaults}
    return _read(source, frame_records(frame, None if source.keep else wanted))


def texts_in(samples: Any) -> Any:
    """The texts of a DataFrame or of its column as a list; samples of any other kind are returned unchanged."""
    if is_column(samples):
        return column_values(samples)
    if not is_frame(samples):
        return samples
    known = tuple(name for name in column_names(samples) if name.casefold() in TEXT_FIELDS)
    rows = list(frame_records(samples, known or None))
    if not rows or not any(isinstance(value, str) for value in rows[0][1].values()):  # features
        return samples
    fields = default_text_fields(FRAME, 1, rows[0][1]) if known else tuple(rows[0][1])
    return [joined_text(FRAME, row, record, fields) for row, record in rows]


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
    columns = [[row[place] if row else None for row in cells] for place in range(len(label_fields))]
    separators = [
        _separator(source, name, column, has_lists) for name, column in zip(label_fields, columns, strict=True)
    ]
    parsed = [labels_of_column(path, lines, *both) for both in zip(columns, separators, strict=True)]
    rows = [list(itertools.chain(*row)) for row in zip(*parsed, strict=True)] if parsed else [[] for _ in texts]
    dataset = text_dataset(source, lines, texts, rows)
    separator = separators[0] if separators else None
    notes = notes_on(list(map(_with_metadata, kept[:_N_COMPARED])), text_fields, label_fields, rows)
    dataset.columns = ReadColumns(text_fields, label_fields, separator, notes)
    if source.keep:
        dataset.table = Table(kept, label_fields, rows, dataset.Y, separator, style or TableStyle())
    return dataset


def _check_label_fields(source: Source, records: Sequence[Mapping[str, Any]], cells: Sequence[Sequence[Any]]) -> None:
    """Raise if no record has labels, or none has one of the fields that are named."""
    if not cells or (source.labels_path is not None and not source.labels):
        return
    absent = [name for place, name in enumerate(source.labels) if all(row[place] is None for row in cells)]
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


def write(dataset: Dataset, target: Target, staging: Staging, *, syntax: str) -> None:
    """Write records with the columns that the data set was read with, or else with the fields text and labels."""
    with_cells = syntax in ("csv", "tsv", "xlsx") or (dataset.table is not None and dataset.table.separator is not None)
    records = _with_cells(target.path, dataset) if with_cells and syntax != "jsonl" else _with_lists(dataset)
    with staging.open(target.path) as file:
        if syntax == "parquet":
            write_parquet(file, records)
        elif syntax == "xlsx":
            write_sheet(target.path, file, _rows(records))
        else:
            with io.TextIOWrapper(file, encoding="utf-8", newline="") as lines:
                if syntax == "jsonl":
                    lines.writelines(json.dumps(record, ensure_ascii=False, default=str) + "\n" for record in records)
                else:
                    style = (dataset.table and dataset.table.style) or TableStyle()
                    try:
                        _write_table(lines, records, style if syntax == "csv" else style._replace(delimiter="\t"))
                    except csv.Error as error:  # Python 3.10 has no way to write NUL
                        raise FileError(target.path, f"a table cannot hold this ({error}); write .jsonl") from error
    write_label_names(staging, target, dataset)


def _write_table(file: io.TextIOBase, records: Sequence[Mapping[str, Any]], style: TableStyle) -> None:
    file.write(UTF8_MARK.decode() if style.has_mark else "")
    table = csv.writer(file, delimiter=style.delimiter, lineterminator="\n", quoting=csv.QUOTE_ALL)
    table.writerows(_rows(records))


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
            record |= {name: cell_of(labels[place : place + 1]) for place, name in enumerate(fields)}
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


def samples_of_records(source: Source, syntax: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the text of each record, and the record; labels are ignored."""
    fields, records = source.text, RECORDS[syntax](source.path, source.limits, encoding=source.encoding)
    if syntax != "jsonl":  # where no record need have all fields
        records = _with_named_fields(source, records, is_table=True)
    for line, record in records:
        fields = fields or default_text_fields(source.path, line, record, source.default_text)
        yield joined_text(source.path, line, record, fields), record


def _with_named_fields(source: Source, records: Iterator[Record], *, is_table: bool) -> Iterator[Record]:
    """The records, of which each must have the text fields that were named if `is_table`, or else one of them."""
    absent = dict.fromkeys(source.text)
    for line, record in records:
        fields = _with_metadata(record) if absent else {}
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


def _json_records(path: Path, limits: FileLimits = LIMITS, *, encoding: str | None = None) -> Iterator[Record]:
    for number, line in text_lines(path, limits, encoding=encoding):
        if not line.strip():
            continue
        yield number, json_record(path, line, number)


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


def _table_records(
    path: Path, limits: FileLimits = LIMITS, *, delimiter: str | None = None, encoding: str | None = None
) -> Iterator[Record]:
    with _large_cells(limits):
        lines = (line for _, line in text_lines(path, limits, keep_ends=True, encoding=encoding))
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
            too_long = "field limit" in str(error)
            message = f"a cell must have at most {limits.max_line} characters; close its quotes, or raise max_line"
            raise FileError(
                path, message if too_long else f"{error}; quote cells as CSV demands", line=start
            ) from error


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
RECORDS: Mapping[str, Callable[..., Iterator[Record]]] = {
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


def default_label_fields(record: Mapping[str, Any]) -> tuple[str, ...]:
    """The field with the labels if nobody names it; none if the record has none."""
    return _present(LABEL_FIELDS, record)[:1]


def default_text_fields(
    path: Path, line: int | None, record: Mapping[str, Any], preferred: Sequence[str] = ()
) -> tuple[str, ...]:
    """The fields with the text if nobody names them: those preferred, if there are any, or else the usual ones."""
    record = _with_metadata(record)
    if found := tuple(name for name in preferred if name in record):
        return found
    found = _present((TEXT_FIELD,), record) or _present(TEXT_PARTS, record)
    if not found:
        known = ", ".join(TEXT_FIELDS)
        fields = ", ".join(list(record)[:10])
        raise FileError(path, f"no field for text ({known}) among {fields}; name it with text=", line=line)
    return found


def _present(names: Sequence[str], record: Mapping[str, Any]) -> tuple[str, ...]:
    """The fields of these names, whatever their case."""
    by_case = {name.casefold(): name for name in reversed(list(record))}
    spelled = (name if name in record else by_case.get(name) for name in names)
    return tuple(name for name in spelled if name is not None)


def _with_metadata(record: Mapping[str, Any]) -> Mapping[str, Any]:
    """The fields of a record and those of its metadata, which do not hide any."""
    metadata = record.get("metadata")
    return {**metadata, **record} if isinstance(metadata, dict) else record


def joined_text(path: Path, line: int | None, record: Mapping[str, Any], fields: tuple[str, ...]) -> str:
    """The text of a record: its text fields, joined by line feeds; blank if they have no values."""
    record = _with_metadata(record)
    present = [record[name] for name in fields if record.get(name) is not None]
    if not any(name in record for name in fields):
        hint = did_you_mean(fields[0], record)
        raise FileError(path, f"has no field '{fields[0]}' with text{hint}; name the field with text=", line=line)
    text = "\n".join(_as_text(path, line, item) for value in present for item in _flattened(value))
    if has_half_character(text):
        raise FileError(path, "the text has half a character (a lone surrogate); mend its encoding", line=line)
    return text


def _flattened(value: Any) -> Iterator[Any]:
    """Yield the items of nested lists, without recursion: a file may nest deeper than Python's stack."""
    stack = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, list):
            stack.extend(reversed(item))
        else:
            yield item


def _as_text(path: Path, line: int | None, item: Any) -> str:
    if isinstance(item, str):
        return item
    if isinstance(item, int | float) and not isinstance(item, bool):
        return str(item)
    got = type(item).__name__
    raise FileError(path, f"a text must be a string or a list of strings; got {got}; name another field", line=line)
