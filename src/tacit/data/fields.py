"""The fields of a record that hold its text and its labels."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tacit.core.checks import has_half_character
from tacit.errors import FileError, did_you_mean

TEXT_FIELD = "text"
TEXT_PARTS = ("title", "body", "content", "document")
TEXT_FIELDS = (TEXT_FIELD, *TEXT_PARTS)
URIS_FIELD = "subject_uris"
LABEL_FIELDS = ("labels", "tags", "label", "concepts", "subjects", URIS_FIELD, "subject_labels", "keywords")


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
