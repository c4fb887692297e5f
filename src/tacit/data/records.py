"""Texts with labels in named fields: JSONL, CSV and TSV.

The caller names the fields that hold the text and the labels; otherwise they are found in the first record that has
them. A text field may hold a list, whose items are joined by line feeds. Labels are written

- in JSONL as a list of strings or whole numbers, or of objects like Annif's, ``{"uri": …, "label": …}``, whose URI
  counts if there is one; a single string or number is one label, ``null`` means no label;
- in CSV and TSV as a JSON list, or as names separated by the first of ``|``, ``;`` and ``,`` that occurs in any label
  cell of the file. In a file that separates labels by bars, commas are therefore part of the names. Blanks around
  names are removed. URIs are separated by blanks, or by one of the marks before the next URI; this holds for the
  field ``subject_uris``, and for any field that has nothing but URIs.

Fields inside the object ``metadata`` of a JSON record can be named like other text fields.
"""

from __future__ import annotations

import contextlib
import csv
import io
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from tacit.checks import has_half_character
from tacit.data.dataset import Dataset, label_lists, texts_of
from tacit.data.files import Staging, text_lines
from tacit.data.formats import Source, Target
from tacit.data.limits import LIMITS, FileLimits
from tacit.data.names import bare_uri, is_uri, text_dataset, write_label_names
from tacit.errors import FileError, did_you_mean

TEXT_FIELD = "text"
TEXT_PARTS = ("title", "body", "content", "document")
URIS_FIELD = "subject_uris"
LABEL_FIELDS = ("labels", "tags", "label", "concepts", "subjects", URIS_FIELD, "subject_labels", "keywords")
_SEPARATORS = "|;,"
_BEFORE_URI = re.compile(r"[;,](?=<|[a-z][a-z0-9+.-]{0,30}://)", re.IGNORECASE)  # a URI may have such marks inside
_AWKWARD = re.compile(rf"[{_SEPARATORS}]|^[\[<]|^\s|\s$")

Record = tuple[int, Mapping[str, Any]]


def read(source: Source, *, syntax: str) -> Dataset:
    """Read records in one of the syntaxes of `RECORDS`."""
    path, text_fields, label_field = source.path, source.text, source.labels
    texts: list[str] = []
    cells: list[Any] = []
    lines: list[int] = []
    first: Mapping[str, Any] = {}
    for line, record in RECORDS[syntax](path, source.limits):
        if not texts:
            first = record
            text_fields = text_fields or default_text_fields(path, line, record)
        if label_field is None:  # the first records may have no labels
            label_field = default_label_field(record)
        texts.append(joined_text(path, line, record, text_fields))
        cells.append(None if label_field is None else record.get(label_field))
        lines.append(line)
    if cells and all(cell is None for cell in cells) and (source.labels_path is None or source.labels):
        wanted = f"'{source.labels}'" if source.labels else f"for labels ({', '.join(LABEL_FIELDS)})"
        hint = did_you_mean(source.labels or "", first)
        raise FileError(path, f"no record has a field {wanted}{hint}; name the field of the labels")
    if syntax == "jsonl":
        rows = [label_names(path, line, cell) for line, cell in zip(lines, cells, strict=True)]
    else:
        rows = _labels_of_cells(path, lines, cells, are_uris=label_field == URIS_FIELD)
    return text_dataset(source, lines, texts, rows)


def write(dataset: Dataset, target: Target, staging: Staging, *, syntax: str) -> None:
    """Write records with the fields ``text`` and ``labels``."""
    samples = zip(texts_of(dataset), label_lists(dataset), strict=True)
    with staging.open(target.path) as file, io.TextIOWrapper(file, encoding="utf-8", newline="") as lines:
        if syntax == "jsonl":
            lines.writelines(
                json.dumps({"text": text, "labels": labels}, ensure_ascii=False) + "\n" for text, labels in samples
            )
        else:
            as_lists = any(map(_is_awkward, dataset.label_names))
            table = csv.writer(lines, _DIALECTS[syntax], lineterminator="\n", quoting=csv.QUOTE_ALL)
            table.writerow(["text", "labels"])
            for text, labels in samples:
                table.writerow([text, json.dumps(labels, ensure_ascii=False) if as_lists else "|".join(labels)])
    write_label_names(staging, target, dataset)


def _is_awkward(name: str) -> bool:
    """Whether a cell could not hold the name plainly: it would be split, or stripped of something."""
    return _AWKWARD.search(name) is not None or ("://" in name and len(name.split()) > 1)


def texts_of_records(source: Source, records: Iterator[Record]) -> Iterator[str]:
    """Yield the text of each record; labels are ignored."""
    fields = source.text
    for line, record in records:
        fields = fields or default_text_fields(source.path, line, record)
        yield joined_text(source.path, line, record, fields)


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


def _table_records(dialect: type[csv.Dialect], path: Path, limits: FileLimits = LIMITS) -> Iterator[Record]:
    with _large_cells(limits):
        rows = csv.reader((line for _, line in text_lines(path, limits, keep_ends=True)), dialect, strict=True)
        header: list[str] = []
        start = 1
        try:
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


_DIALECTS = {"csv": csv.excel, "tsv": csv.excel_tab}

#: For each syntax, a function that yields the line numbers and records of a file.
RECORDS: Mapping[str, Callable[..., Iterator[Record]]] = {
    "jsonl": _json_records,
    **{name: partial(_table_records, dialect) for name, dialect in _DIALECTS.items()},
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
        known = ", ".join((TEXT_FIELD, *TEXT_PARTS))
        fields = ", ".join(list(record)[:10])
        raise FileError(path, f"no field for text ({known}) among {fields}; name it with text=", line=line)
    return found


def _with_metadata(record: Mapping[str, Any]) -> Mapping[str, Any]:
    """The fields of a record and those of its metadata, which do not hide any."""
    metadata = record.get("metadata")
    return {**metadata, **record} if isinstance(metadata, dict) else record


def joined_text(path: Path, line: int | None, record: Mapping[str, Any], fields: tuple[str, ...]) -> str:
    """The text of a record: its text fields, joined by line feeds."""
    record = _with_metadata(record)
    present = [record[name] for name in fields if record.get(name) is not None]
    if not present:
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


def _labels_of_cells(
    path: Path, lines: Sequence[int], cells: Sequence[str | None], *, are_uris: bool
) -> list[list[str]]:
    """Parse labels given as cells of a table."""
    plain = [cell for cell in cells if cell and not cell.startswith("[")]
    are_uris = are_uris or (bool(plain) and all(is_uri(part) for cell in plain for part in _parts_between_uris(cell)))
    separator = next((mark for mark in _SEPARATORS if any(mark in cell for cell in plain)), ",")
    rows = []
    for line, cell in zip(lines, cells, strict=True):
        if cell and cell.startswith("["):
            rows.append(_labels_of_list(path, line, cell))
        elif are_uris:
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
