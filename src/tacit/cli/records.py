"""Lists that users edit: JSON lines, CSV or TSV with named fields."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tacit.data.files import existing_file
from tacit.data.load import detect_format
from tacit.data.records import RECORDS
from tacit.errors import FileError

_VERDICTS = {"true": True, "yes": True, "y": True, "1": True, "false": False, "no": False, "n": False, "0": False}


def read_records(path: Path) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Line numbers and records of a file; the file name extension tells its format."""
    path = existing_file(path)
    name = detect_format(path).name
    if name not in RECORDS:
        raise FileError(path, f"must be .jsonl, .csv or .tsv with named fields; got {name}; convert it")
    return RECORDS[name](path)


def verdict(path: Path, line: int, record: Mapping[str, Any], *, default: bool | None = None) -> bool:
    """Whether the field ``accepted`` of a record says yes; `default` where there is no such field."""
    value = record.get("accepted")
    if value is None and default is not None:
        return default
    found = _VERDICTS.get(str(value).strip().lower())
    if found is None:
        raise FileError(path, f"the field 'accepted' must be true or false; got '{value}'", line=line)
    return found
