"""Texts with labels in named fields: JSONL, CSV, TSV, Parquet and DataFrames.

The caller names the fields that hold the text and the labels; otherwise they are found in the first record that has
them. A text field may hold a list, whose items are joined by line feeds. Labels are written

- in JSONL as a list of strings or whole numbers, or of objects like Annif's, ``{"uri": …, "label": …}``, whose URI
  counts if there is one; a single string or number is one label, ``null`` means no label;
- in CSV and TSV, and in Parquet and DataFrames unless they hold lists, as a JSON list, or as names separated by the
  first of ``|``, ``;`` and ``,`` that occurs in any label cell of the file. In a file that separates labels by bars,
  commas are therefore part of the names. Blanks around names are removed. URIs are separated by blanks, or by one of
  the marks before the next URI; this holds for the field ``subject_uris``, and for any field that has nothing but URIs.

Fields inside the object ``metadata`` of a JSON record can be named like other text fields. The cells of a CSV file are
separated by the first of ``,``, ``;``, tab and ``|`` that separates most cells of its header.
"""

from __future__ import annotations

import contextlib
import csv
import io
import itertools
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from tacit.core.checks import has_half_character
from tacit.data.dataset import Dataset, Table, label_lists, texts_of
from tacit.data.files import Staging, first_line, text_lines
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
from tacit.data.label_names import bare_uri, is_uri, text_dataset, write_label_names
from tacit.data.limits import LIMITS, FileLimits
from tacit.errors import FileError, did_you_mean

TEXT_FIELD = "text"
TEXT_PARTS = ("title", "body", "content", "document")
TEXT_FIELDS = (TEXT_FIELD, *TEXT_PARTS)
URIS_FIELD = "subject_uris"
LABEL_FIELDS = ("labels", "tags", "label", "concepts", "subjects", URIS_FIELD, "subject_labels", "keywords")
_SEPARATORS = "|;,"
_DELIMITERS = ",;\t|"
_BEFORE_URI = re.compile(r"[;,](?=<|[a-z][a-z0-9+.-]{0,30}://)", re.IGNORECASE)  # a URI may have such marks inside

Record = tuple[int, Mapping[str, Any]]


def read(source: Source, *, syntax: str) -> Dataset:
    """Read records in one of the syntaxes of `RECORDS`."""
    delimiter = ""
    if source.keep and syntax in ("csv", "tsv"):
        delimiter = "\t" if syntax == "tsv" else _delimiter(first_line(source.path).decode("utf-8", errors="replace"))
    return _read(source, RECORDS[syntax](source.path, source.limits), has_lists=syntax == "jsonl", delimiter=delimiter)


def read_frame(frame: Any, source: Source) -> Dataset:
    """Read the rows of a DataFrame."""
    wanted = {*(source.text or TEXT_FIELDS), *((source.labels,) if source.labels else LABEL_FIELDS)}
    return _read(source, frame_records(frame, None if source.keep else wanted))


def texts_in(samples: Any) -> Any:
    """The texts of a DataFrame or of its column as a list; samples of any other kind are returned unchanged."""
    if is_column(samples):
        return column_values(samples)
    if not is_frame(samples):
        return samples
    known = tuple(name for name in column_names(samples) if name in TEXT_FIELDS)
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
    return _labels_of_cells(FRAME, range(1, len(cells) + 1), cells, _separator(cells, are_uris=False))


def _read(source: Source, records: Iterator[Record], *, has_lists: bool = False, delimiter: str = "") -> Dataset:
    """Build a data set of records; label cells that are not all text are lists, or else they are if `has_lists`."""
    path, text_fields, label_field = source.path, source.text, source.labels
    texts: list[str] = []
    cells: list[Any] = []
    lines: list[int] = []
    kept: list[Mapping[str, Any]] = []
    first: Mapping[str, Any] = {}
    for line, record in _with_named_fields(source, records, is_table=not has_lists):
        if not texts:
            first = record
            text_fields = text_fields or default_text_fields(path, line, record)
        if label_field is None:  # the first records may have no labels
            label_field = default_label_field(record)
        texts.append(joined_text(path, line, record, text_fields))
        cells.append(None if label_field is None else record.get(label_field))
        lines.append(line)
        if source.keep:
            kept.append(record)
    if cells and all(cell is None for cell in cells) and (source.labels_path is None or source.labels):
        wanted = f"'{source.labels}'" if source.labels else f"for labels ({', '.join(LABEL_FIELDS)})"
        hint = did_you_mean(source.labels or "", first)
        others = f"the fields are {', '.join(list(first)[:10])}"
        raise FileError(path, f"no record has a field {wanted}{hint}; {others}: name that of the labels with labels=")
    has_lists = has_lists or any(cell is not None and not isinstance(cell, str) for cell in cells)
    separator = "" if has_lists else _separator(cells, are_uris=label_field == URIS_FIELD)
    if has_lists:
        rows = [label_names(path, line, cell) for line, cell in zip(lines, cells, strict=True)]
    else:
        rows = _labels_of_cells(path, lines, cells, separator)
    dataset = text_dataset(source, lines, texts, rows)
    if source.keep:
        dataset.table = Table(kept, label_field, rows, dataset.Y, separator, delimiter)
    return dataset


def write(dataset: Dataset, target: Target, staging: Staging, *, syntax: str) -> None:
    """Write records with the columns that the data set was read with, or else with the fields text and labels."""
    with_cells = syntax in ("csv", "tsv") or (dataset.table is not None and bool(dataset.table.separator))
    records = _with_cells(target.path, dataset) if with_cells and syntax != "jsonl" else _with_lists(dataset)
    with staging.open(target.path) as file:
        if syntax == "parquet":
            write_parquet(file, records)
        else:
            with io.TextIOWrapper(file, encoding="utf-8", newline="") as lines:
                if syntax == "jsonl":
                    lines.writelines(json.dumps(record, ensure_ascii=False, default=str) + "\n" for record in records)
                else:
                    delimiter = dataset.table.delimiter if dataset.table is not None and syntax == "csv" else ""
                    try:
                        _write_table(lines, records, delimiter or ("," if syntax == "csv" else "\t"))
                    except csv.Error as error:  # Python 3.10 has no way to write NUL
                        raise FileError(target.path, f"a table cannot hold this ({error}); write .jsonl") from error
    write_label_names(staging, target, dataset)


def _write_table(file: io.TextIOBase, records: Sequence[Mapping[str, Any]], delimiter: str) -> None:
    header = list(dict.fromkeys(name for record in records for name in record))
    table = csv.writer(file, delimiter=delimiter, lineterminator="\n", quoting=csv.QUOTE_ALL)
    table.writerow(header)
    table.writerows([as_cell(record.get(name)) for name in header] for record in records)


def as_cell(value: Any) -> str:
    """A value as a cell of a table: text as it is, anything else as JSON."""
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def _with_lists(dataset: Dataset) -> list[dict[str, Any]]:
    """Records whose labels are lists; those that have not changed stay as they were."""
    records, field, cells, labels = _to_write(dataset)
    is_list = dataset.table is not None and not dataset.table.separator
    for record, cell, names in zip(records, cells, labels, strict=True):
        if cell is None or not is_list:
            record[field] = names
    return records


def _with_cells(path: Path, dataset: Dataset) -> list[dict[str, Any]]:
    """Records whose labels are cells, which are read as the same labels; JSON lists if names cannot be separated."""
    records, field, cells, labels = _to_write(dataset)
    table, lines = dataset.table, range(1, len(records) + 1)
    mark = (table.separator if table is not None else "") or _SEPARATORS[0]
    written = [
        cell if isinstance(cell, str) and table is not None and table.separator else mark.join(names)
        for cell, names in zip(cells, labels, strict=True)
    ]
    try:
        separator = _separator(written, are_uris=field == URIS_FIELD)
        are_clear = _labels_of_cells(path, lines, written, separator) == labels
    except FileError:
        are_clear = False
    for record, cell, names in zip(records, written, labels, strict=True):
        record[field] = cell if are_clear else json.dumps(names, ensure_ascii=False)
    return records


def _to_write(dataset: Dataset) -> tuple[list[dict[str, Any]], str, list[Any], list[list[str]]]:
    """Records without new labels, the field of the labels, their cells (None for those to be written), and labels."""
    table, labels = dataset.table, label_lists(dataset)
    if table is None:
        return [{TEXT_FIELD: text} for text in texts_of(dataset)], LABEL_FIELDS[0], [None] * len(dataset), labels
    field = table.label_field or LABEL_FIELDS[0]
    records = [dict(record) for record in table.records]
    given: list[Any] = [None] * len(records)
    for row, is_same in enumerate(table.unchanged(dataset.Y)):
        if is_same:
            labels[row] = list(table.label_cells[row])
            given[row] = records[row].get(field, None if labels[row] else [])
    return records, field, given, labels


def samples_of_records(source: Source, syntax: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the text of each record, and the record; labels are ignored."""
    fields, records = source.text, RECORDS[syntax](source.path, source.limits)
    if syntax != "jsonl":  # where no record need have all fields
        records = _with_named_fields(source, records, is_table=True)
    for line, record in records:
        fields = fields or default_text_fields(source.path, line, record)
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


def _json_records(path: Path, limits: FileLimits = LIMITS) -> Iterator[Record]:
    for number, line in text_lines(path, limits):
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


def _table_records(path: Path, limits: FileLimits = LIMITS, *, delimiter: str | None = None) -> Iterator[Record]:
    with _large_cells(limits):
        lines = (line for _, line in text_lines(path, limits, keep_ends=True))
        opening = next(lines, "")
        header: list[str] = []
        start = 1
        try:
            mark = _delimiter(opening) if delimiter is None else delimiter
            rows = csv.reader(itertools.chain([opening], lines), delimiter=mark, strict=True)
            for row in rows:
                if not header:
                    header = _checked_header(path, row)
                elif row:
                    if len(row) != len(header):
                        expected = f"must have {len(header)} cells, as the header"
                        raise FileError(path, f"{expected}; got {len(row)}; quote cells with separators", line=start)
                    yield start, dict(zip(header, row, strict=True))
                start = rows.line_num + 1
        except csv.Error as error:
            too_long = "field limit" in str(error)
            message = f"a cell must have at most {limits.max_line} characters; close its quotes, or raise max_line"
            raise FileError(
                path, message if too_long else f"{error}; quote cells as CSV demands", line=start
            ) from error


def _delimiter(header: str) -> str:
    """The mark that separates most cells of a header line: Excel writes semicolons where commas are in numbers."""
    return max(_DELIMITERS, key=lambda mark: len(next(csv.reader([header], delimiter=mark), ())))


#: For each syntax, a function that yields the line numbers and records of a file.
RECORDS: Mapping[str, Callable[..., Iterator[Record]]] = {
    "jsonl": _json_records,
    "csv": _table_records,
    "tsv": partial(_table_records, delimiter="\t"),
    "parquet": parquet_records,
}


def _checked_header(path: Path, row: list[str]) -> list[str]:
    header = [name.strip() for name in row]
    name, uses = Counter(header).most_common(1)[0] if header else ("", 1)
    if uses > 1 or not any(header):
        what = f"has the column {name!r} twice" if uses > 1 else "must name the columns"
        raise FileError(path, f"the first line {what}; name each column once", line=1)
    return header


@contextlib.contextmanager
def _large_cells(limits: FileLimits) -> Iterator[None]:
    """Lift the csv module's limit of 128 KiB per cell, which long documents exceed."""
    limit = csv.field_size_limit(min(limits.max_line, 2**31 - 1))
    try:
        yield
    finally:
        csv.field_size_limit(limit)


def default_label_field(record: Mapping[str, Any]) -> str | None:
    """The field with the labels if nobody names it; None if the record has none."""
    return next((name for name in LABEL_FIELDS if name in record), None)


def default_text_fields(path: Path, line: int | None, record: Mapping[str, Any]) -> tuple[str, ...]:
    """The fields with the text if nobody names them."""
    record = _with_metadata(record)
    if TEXT_FIELD in record:
        return (TEXT_FIELD,)
    found = tuple(name for name in TEXT_PARTS if name in record)
    if not found:
        known = ", ".join(TEXT_FIELDS)
        fields = ", ".join(list(record)[:10])
        raise FileError(path, f"no field for text ({known}) among {fields}; name it with text=", line=line)
    return found


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


def label_names(path: Path, line: int | None, value: Any) -> list[str]:
    """Parse labels given as a JSON value: a list, a single label, or null."""
    listed = value if isinstance(value, list) else [] if value is None else [value]
    items = [_uri_or_name(item) for item in listed]
    for item in items:
        if not isinstance(item, str | int) or isinstance(item, bool):
            got = type(item).__name__
            message = f"a label must be a string or whole number, or an object with uri or label; got {got}"
            raise FileError(path, message, line=line)
        if item == "" or has_half_character(str(item)):
            raise FileError(path, "a label must not be empty or have half a character; correct it", line=line)
    return [str(item) for item in items]


def _uri_or_name(item: Any) -> Any:
    """The URI of a subject like Annif's, or else its name; anything else is returned unchanged."""
    if not isinstance(item, dict):
        return item
    uri, name = item.get("uri"), item.get("label")
    return bare_uri(uri.strip()) if isinstance(uri, str) and uri.strip() else name if name is not None else item


def _separator(cells: Sequence[str | None], *, are_uris: bool) -> str:
    """What separates labels in the cells of a table; a blank between URIs."""
    plain = [cell for cell in cells if cell and not cell.startswith("[")]
    if are_uris or (plain and all(is_uri(part) for cell in plain for part in _parts_between_uris(cell))):
        return " "
    return next((mark for mark in _SEPARATORS if any(mark in cell for cell in plain)), ",")


def _labels_of_cells(path: Path, lines: Sequence[int], cells: Sequence[str | None], separator: str) -> list[list[str]]:
    """Parse labels given as cells of a table."""
    rows = []
    for line, cell in zip(lines, cells, strict=True):
        if cell and cell.startswith("["):
            rows.append(_labels_of_list(path, line, cell))
        elif separator == " ":
            rows.append([uri for uri in map(bare_uri, _parts_between_uris(cell or "")) if uri])
        else:
            rows.append([name.strip() for name in (cell or "").split(separator) if name.strip()])
    return rows


def _parts_between_uris(cell: str) -> list[str]:
    """The parts of a cell that are URIs if the cell has nothing else."""
    tokens = cell.replace("|", " ").split()
    parts = (part.strip(";,") for token in tokens for part in _BEFORE_URI.split(token))
    return [part for part in parts if part]


def _labels_of_list(path: Path, line: int, cell: str) -> list[str]:
    try:
        labels = json.loads(cell)
    except (ValueError, RecursionError) as error:  # a number may have more digits than Python reads
        raise FileError(path, f"labels that open with [ must be a JSON list ({error})", line=line) from error
    return label_names(path, line, labels)
