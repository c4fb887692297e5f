"""The fields of a record that hold its text and its labels; labels in cells, read from lists or text and written."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tacit.core.checks import has_half_character
from tacit.data.label_names import bare_uri, is_uri
from tacit.errors import FileError, did_you_mean

TEXT_FIELD = "text"
TEXT_PARTS = ("title", "body", "content", "document")
TEXT_FIELDS = (TEXT_FIELD, *TEXT_PARTS)
URIS_FIELD = "subject_uris"
LABEL_FIELDS = ("labels", "tags", "label", "concepts", "subjects", URIS_FIELD, "subject_labels", "keywords")

BETWEEN_URIS = " "
_SEPARATORS = "\n|;,"
_LEAST_SHARE = 0.1  # of the cells with the commonest mark: a mark that is in fewer belongs to names
_AMBIGUOUS = re.compile(r"^\[|[|;,\r\n]|://.*\s|^<|^\s|\s$")
_BEFORE_URI = re.compile(r"[;,](?=<|[a-z][a-z0-9+.-]{0,30}://)", re.IGNORECASE)  # a URI may have such marks inside


def default_label_fields(record: Mapping[str, Any]) -> tuple[str, ...]:
    """The field with the labels if nobody names it; none if the record has none."""
    return _present(LABEL_FIELDS, record)[:1]


def default_text_fields(
    path: Path, line: int | None, record: Mapping[str, Any], preferred: Sequence[str] = ()
) -> tuple[str, ...]:
    """The fields with the text if nobody names them: those preferred, if there are any, or else the usual ones."""
    record = with_metadata(record)
    found = tuple(name for name in preferred if name in record)
    found = found or _present((TEXT_FIELD,), record) or _present(TEXT_PARTS, record)
    if not found:
        known, fields = ", ".join(TEXT_FIELDS), ", ".join(list(record)[:10])
        raise FileError(path, f"no field for text ({known}) among {fields}; name it with text=", line=line)
    return found


def _present(names: Sequence[str], record: Mapping[str, Any]) -> tuple[str, ...]:
    """The fields of these names, whatever their case."""
    by_case = {name.casefold(): name for name in reversed(list(record))}
    return tuple(name if name in record else by_case[name] for name in names if name in by_case)


def with_metadata(record: Mapping[str, Any]) -> Mapping[str, Any]:
    """The fields of a record and those of its metadata, which do not hide any."""
    metadata = record.get("metadata")
    return {**metadata, **record} if isinstance(metadata, dict) else record


def check_fields(path: Path, names: Iterable[str], record: Mapping[str, Any], line: int | None = None) -> None:
    """Raise if a record lacks one of the fields that are named."""
    for name in names:
        if name not in record:
            others = f"the fields are {', '.join(list(record)[:10])}"
            hint = f"has no field '{name}'{did_you_mean(name, record)}; {others}"
            raise FileError(path, f"{hint}: name those with text by text=, those with labels by labels=", line=line)


def joined_text(path: Path, line: int | None, record: Mapping[str, Any], fields: tuple[str, ...]) -> str:
    """The text of a record: its text fields, joined by line feeds; blank if they have no values."""
    record = with_metadata(record)
    if not any(name in record for name in fields):
        check_fields(path, fields, record, line)
    values = [record[name] for name in fields if record.get(name) is not None]
    text = "\n".join(_as_text(path, line, item) for item in _flattened(values))
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
    if isinstance(item, str | int | float) and not isinstance(item, bool):
        return str(item)
    got = type(item).__name__
    raise FileError(path, f"a text must be a string or a list of strings; got {got}; name another field", line=line)


def label_names(path: Path, line: int | None, value: Any) -> list[str]:
    """Parse labels given as a JSON value: a list, a single label, or null."""
    names = []
    for item in value if isinstance(value, list) else [] if value is None else [value]:
        uri = item.get("uri") if isinstance(item, dict) else None  # a subject like Annif's
        name = bare_uri(uri.strip()) if isinstance(uri, str) and uri.strip() else item
        name = name.get("label") if isinstance(name, dict) else name
        if not isinstance(name, str | int) or isinstance(name, bool):
            message = (
                f"a label must be a string or whole number, or an object with uri or label; got {type(item).__name__}"
            )
            raise FileError(path, message, line=line)
        if name == "" or has_half_character(str(name)):
            raise FileError(path, "a label must not be empty or have half a character; correct it", line=line)
        names.append(str(name))
    return names


def separator_of(cells: Sequence[Any], *, are_uris: bool = False) -> str:
    """What separates labels in a column, by all of its cells; a blank between URIs."""
    plain = [cell.strip() for cell in cells if isinstance(cell, str) and cell and not cell.startswith("[")]
    if are_uris or (plain and all(is_uri(part) for cell in plain for part in _parts_between_uris(cell))):
        return BETWEEN_URIS
    uses = {mark: sum(mark in cell for cell in plain) for mark in _SEPARATORS}
    most = max(uses.values())
    return next((mark for mark, n_cells in uses.items() if n_cells and n_cells >= _LEAST_SHARE * most), ",")


def labels_of_column(path: Path, lines: Sequence[int], cells: Sequence[Any], separator: str | None) -> list[list[str]]:
    """The labels of each cell, whose text is split by `separator` (an empty one splits nothing) or is a JSON list.

    Without a separator cells are values of JSON, as are those that are not text.
    """
    return [
        label_names(path, line, cell)
        if separator is None or not isinstance(cell, str)
        else _labels_of_list(path, line, cell)
        if cell.startswith("[")
        else [name for name in map(str.strip, _parts(cell, separator)) if name]
        for line, cell in zip(lines, cells, strict=True)
    ]


def _parts(cell: str, separator: str) -> list[str]:
    if separator == BETWEEN_URIS:
        return [bare_uri(part) for part in _parts_between_uris(cell)]
    return cell.split(separator) if separator else [cell]


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


def cell_of(labels: Sequence[str]) -> str:
    """Labels as a cell that is read as the same labels, whatever the other cells of its column are."""
    is_plain = not any(map(_AMBIGUOUS.search, labels))
    return "|".join(labels) if is_plain else json.dumps(labels, ensure_ascii=False)
