"""Labels in the cells of a column: read from lists or text, and written as text."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tacit.core.checks import has_half_character
from tacit.data.label_names import bare_uri, is_uri
from tacit.errors import FileError

BETWEEN_URIS = " "
_SEPARATORS = "\n|;,"
_LEAST_SHARE = 0.1  # of the cells with the commonest mark: a mark that is in fewer belongs to names
_AMBIGUOUS = re.compile(r"^\[|[|;,\r\n]|://.*\s|^<|^\s|\s$")
_BEFORE_URI = re.compile(r"[;,](?=<|[a-z][a-z0-9+.-]{0,30}://)", re.IGNORECASE)  # a URI may have such marks inside


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
