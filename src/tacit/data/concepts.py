"""Concepts of vocabularies as tables (TSV, CSV) and JSON files write them; for SKOS see `tacit.data.skos`.

Annif's vocabularies are among these tables: TSV with lines ``<uri><TAB>name<TAB>notation``, and CSV with the columns
``uri``, ``label_en``, ``label_fi``, … and ``notation``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tacit.data.files import read_bytes, text_lines
from tacit.data.label_names import bare_uri, is_uri
from tacit.data.limits import FileLimits
from tacit.data.records import RECORDS
from tacit.errors import FileError

_SEPARATOR = "|"  # between several names or parents in a cell of a table
_LANGUAGE_COLUMN = re.compile(r"label_([a-z]{2,3}(?:[-_][a-z0-9]+)*)", re.IGNORECASE)

#: What a column of a table or a member of a JSON object may be called, by what it holds.
_FIELDS: Mapping[str, tuple[str, ...]] = {
    "id": ("id", "concept_id", "uri", "notation"),
    "name": ("name", "label", "preflabel", "pref_label", "title"),
    "alternatives": ("alternatives", "alt_labels", "altlabels", "altlabel", "alt_label", "synonyms"),
    "parents": ("parents", "broader", "parent"),
    "description": ("description", "definition", "scope_note", "scopenote", "note"),
    "notation": ("notation",),
    "related": ("related",),
}


@dataclass(frozen=True)
class Concept:
    """One concept of a file; `translations` are preferred names by language, `line` is a line number for messages.

    A deprecated concept has a `successor`: the id of the one that replaced it, empty if there is none.
    """

    id: str
    name: str
    alternatives: Sequence[str] = ()
    parents: Sequence[str] = ()
    description: str = ""
    notation: str = ""
    related: Sequence[str] = ()
    translations: Mapping[str, str] = field(default_factory=dict)
    line: int | None = None
    successor: str | None = None


def languages_like(language: str, known: Iterable[str]) -> list[str]:
    """The language itself, if it is among the tags `known`, then its varieties: ``en``, ``en-gb``, ``en-us``."""
    wanted = language.lower()
    return sorted(tag for tag in known if tag == wanted or tag.startswith(f"{wanted}-"))


def _field(names: Iterable[str], what: str) -> str | None:
    """Find the name of the field that holds `what`."""
    spelled = {name.strip().lower(): name for name in names}
    return next((spelled[name] for name in _FIELDS[what] if name in spelled), None)


# -- tables -----------------------------------------------------------------------------------------------


def read_csv(path: Path, language: str, limits: FileLimits) -> Iterator[Concept]:
    """Yield the concepts of a CSV file, whose header names the columns."""
    to_concept: Callable[[int, Mapping[str, str]], Concept | None] | None = None
    for line, row in RECORDS["csv"](path, limits):
        if to_concept is None:
            if not is_header(list(row)):
                message = "the header must name columns such as uri and label_en, or id and name"
                raise FileError(path, f"{message}; got {', '.join(list(row)[:10])}", line=1)
            to_concept = _by_header(path, list(row), language)
        concept = to_concept(line, row)
        if concept is not None:
            yield concept


def read_tsv(path: Path, language: str, limits: FileLimits) -> Iterator[Concept]:
    """Yield the concepts of a table with tabs, with or without a header."""
    lines = [(number, line.split("\t")) for number, line in text_lines(path, limits) if line.strip()]
    first = lines[0][1] if lines else []
    if is_header(first):
        to_concept = _by_header(path, first, language)
        for number, cells in lines[1:]:
            if len(cells) > len(first):
                raise FileError(path, f"must have {len(first)} cells, as the header; got {len(cells)}", line=number)
            row = dict(zip(first, cells + [""] * (len(first) - len(cells)), strict=True))
            if (concept := to_concept(number, row)) is not None:
                yield concept
        return
    is_annif = any(is_uri(cells[0].strip()) for _, cells in lines[:1]) and any(len(cells) > 1 for _, cells in lines)
    by_place = _of_annif if is_annif else _by_place(path, len(first))
    for number, cells in lines:
        if (concept := by_place(number, cells)) is not None:
            yield concept


def is_header(cells: Sequence[str]) -> bool:
    """Whether cells name the columns of a table of concepts."""
    return _field(cells, "id") is not None and (_field(cells, "name") is not None or bool(_language_columns(cells)))


def _language_columns(header: Iterable[str]) -> dict[str, str]:
    """Columns of preferred names, by language."""
    found = ((_LANGUAGE_COLUMN.fullmatch(name.strip()), name) for name in header)
    return {match[1].lower().replace("_", "-"): name for match, name in found if match is not None}


def _of_annif(line: int, cells: list[str]) -> Concept:
    """Annif's columns: URI, name and, in some lines, notation; a URI without a name is a deprecated concept."""
    uri, name, *others = [cell.strip() for cell in (*cells, "")][: max(2, len(cells))]
    notation = " ".join(others).strip()
    return Concept(bare_uri(uri), name, notation=notation, line=line, successor=None if name else "")


def _by_place(path: Path, n_cells: int) -> Callable[[int, list[str]], Concept | None]:
    """Columns without header: id, alternative names (such as a URI), name; a single column is both id and name."""

    def concept(line: int, cells: list[str]) -> Concept:
        if len(cells) < n_cells:
            raise FileError(path, f"must have {n_cells} fields separated by tabs, as line 1; got {len(cells)}",
                            line=line)  # fmt: skip
        *others, name = [*cells[: n_cells - 1], " ".join(cells[n_cells - 1 :])]  # further tabs are blanks in the name
        plain = [bare_uri(cell.strip()) for cell in (*others, name)]
        return Concept(plain[0], plain[-1], plain[1:-1], line=line)

    return concept


def _by_header(path: Path, header: list[str], language: str) -> Callable[[int, Mapping[str, str]], Concept | None]:
    """Columns with a header; a concept without a name in the language is left out, as in SKOS."""
    columns = {what: _field(header, what) for what in _FIELDS}
    languages = _language_columns(header)
    spoken = next(iter(languages_like(language, languages)), "")
    if not spoken and columns["name"] is None:
        message = f"has no column for names in '{language}', but in {', '.join(languages)}"
        raise FileError(path, f"{message}; choose one of these languages", line=1)

    def concept(line: int, row: Mapping[str, str]) -> Concept | None:
        values = {what: row[name].strip() if name is not None else "" for what, name in columns.items()}
        translations = {tag: row[name].strip() for tag, name in languages.items() if row[name].strip()}
        name = translations.get(spoken, values["name"])
        if not name and languages:
            return None
        return Concept(
            bare_uri(values["id"]),
            name,
            [name.strip() for name in values["alternatives"].split(_SEPARATOR)],
            _uris_of_cell(values["parents"]),
            values["description"],
            values["notation"],
            _uris_of_cell(values["related"]),
            translations,
            line,
        )

    return concept


def _uris_of_cell(cell: str) -> list[str]:
    return [bare_uri(part.strip()) for part in cell.split(_SEPARATOR) if part.strip()]


# -- JSON -------------------------------------------------------------------------------------------------


def read_json(path: Path, limits: FileLimits) -> Iterable[Concept]:
    """The concepts of an object by id, or of a list."""
    try:
        content = json.loads(read_bytes(path, limits))
    except (ValueError, RecursionError) as error:
        raise FileError(path, f"must be JSON ({error}); correct it") from error
    if isinstance(content, dict):
        content = [{"id": key, **_member(path, key, value)} for key, value in content.items()]
    if not isinstance(content, list):
        raise FileError(path, f"must be an object of concepts by id, or a list of them; got {type(content).__name__}")
    return [_json_concept(path, place, entry) for place, entry in enumerate(content)]


def _member(path: Path, key: str, value: Any) -> dict[str, Any]:
    if isinstance(value, str):
        return {"name": value}
    if not isinstance(value, dict):
        raise FileError(path, f"concept '{key}' must be an object or a name; got {type(value).__name__}")
    return {name: item for name, item in value.items() if name != "id"}


def _json_concept(path: Path, place: int, entry: Any) -> Concept:
    if not isinstance(entry, dict):
        raise FileError(path, f"concept {place} must be an object with id and name; got {type(entry).__name__}")
    values = {what: entry.get(_field(entry, what)) for what in _FIELDS}
    if values["name"] is None:
        raise FileError(path, f"concept {place} ({values['id']}) has no name; its fields are {', '.join(entry)}")
    texts = {what: _texts(path, place, value) for what, value in values.items()}
    name = " ".join(texts["name"])
    return Concept(
        bare_uri(" ".join(texts["id"])) or name,
        name,
        texts["alternatives"],
        [bare_uri(parent) for parent in texts["parents"]],
        " ".join(texts["description"]),
        " ".join(texts["notation"][:1]),
        [bare_uri(other) for other in texts["related"]],
    )


def _texts(path: Path, place: int, value: Any) -> list[str]:
    items = [] if value is None else value if isinstance(value, list) else [value]
    for item in items:
        if not isinstance(item, str | int) or isinstance(item, bool):
            raise FileError(path, f"concept {place}: names, parents and descriptions are text; got {item!r}")
    return [str(item) for item in items]
