"""Concepts of vocabularies as tables (TSV, CSV), JSON files and SKOS write them."""

from __future__ import annotations

import itertools
import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tacit.data.files import read_bytes, text_lines
from tacit.data.formats import Source
from tacit.data.label_names import bare_uri, is_uri
from tacit.data.limits import FileLimits
from tacit.data.rdf import statements
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
}

_SKOS = "http://www.w3.org/2004/02/skos/core#"
_TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
_DEPRECATED = "http://www.w3.org/2002/07/owl#deprecated"
_REPLACED = "http://purl.org/dc/terms/isReplacedBy"
_OTHER_NAMES = ("altLabel", "hiddenLabel")
_NOTES = ("definition", "scopeNote")  # the first that a concept has describes it

_USED = {_TYPE, _DEPRECATED, _REPLACED, "prefLabel", "notation", "broader", "narrower", *_OTHER_NAMES, *_NOTES}

_Texts = Mapping[tuple[str, str], dict[str, list[str]]]  # by property and subject: texts by language
_Links = Mapping[tuple[str, str], set[str]]  # by property and subject: resources


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


def read_csv(path: Path, language: str, limits: FileLimits) -> Iterator[Concept]:
    """The concepts of a CSV file, whose header names the columns."""
    rows = RECORDS["csv"](Source(path, limits=limits))
    first = next(rows, None)
    if first is None:
        return iter(())
    header = list(first[1])
    if not _is_header(header):
        message = "the header must name columns such as uri and label_en, or id and name"
        raise FileError(path, f"{message}; got {', '.join(header[:10])}", line=1)
    return _of_table(path, header, itertools.chain([first], rows), language)


def read_tsv(path: Path, language: str, limits: FileLimits) -> Iterator[Concept]:
    """The concepts of a table with tabs, with or without a header."""
    lines = [(number, line.split("\t")) for number, line in text_lines(path, limits) if line.strip()]
    header = lines[0][1] if lines else []
    if not _is_header(header):
        is_annif = bool(header) and is_uri(header[0].strip()) and any(len(cells) > 1 for _, cells in lines)
        return (_of_annif(*line) if is_annif else _of_cells(path, len(header), *line) for line in lines)
    for number, cells in lines:
        if len(cells) > len(header):
            raise FileError(path, f"must have {len(header)} cells, as the header; got {len(cells)}", line=number)
    rows = ((number, dict(itertools.zip_longest(header, cells, fillvalue=""))) for number, cells in lines[1:])
    return _of_table(path, header, rows, language)


def _is_header(cells: Sequence[str]) -> bool:
    """Whether cells name the columns of a table of concepts."""
    return _field(cells, "id") is not None and (_field(cells, "name") is not None or bool(_language_columns(cells)))


def _language_columns(header: Iterable[str]) -> dict[str, str]:
    """Columns of preferred names, by language."""
    found = ((_LANGUAGE_COLUMN.fullmatch(name.strip()), name) for name in header)
    return {match[1].lower().replace("_", "-"): name for match, name in found if match is not None}


def _of_annif(line: int, cells: list[str]) -> Concept:
    """Annif's columns: URI, name and, in some lines, notation; a URI without a name is a deprecated concept."""
    uri, name, *others = map(str.strip, (*cells, ""))
    return Concept(bare_uri(uri), name, notation=" ".join(others).strip(), line=line, successor=None if name else "")


def _of_cells(path: Path, n_cells: int, line: int, cells: list[str]) -> Concept:
    """Columns without header: id, alternative names (such as a URI), name; a single column is both id and name."""
    if len(cells) < n_cells:
        message = f"must have {n_cells} fields separated by tabs, as line 1; got {len(cells)}"
        raise FileError(path, f"{message}; correct the line", line=line)
    parts = *cells[: n_cells - 1], " ".join(cells[n_cells - 1 :])  # further tabs are blanks in the name
    plain = [bare_uri(part.strip()) for part in parts]
    return Concept(plain[0], plain[-1], plain[1:-1], line=line)


def _of_table(
    path: Path, header: Sequence[str], rows: Iterable[tuple[int, Mapping[str, str]]], language: str
) -> Iterator[Concept]:
    """Columns with a header; a concept without a name in the language is left out, as in SKOS."""
    columns = {what: _field(header, what) for what in _FIELDS}
    languages = _language_columns(header)
    chosen = next(iter(languages_like(language, languages)), "")
    if not chosen and columns["name"] is None:
        message = f"has no column for names in '{language}', but in {', '.join(languages)}"
        raise FileError(path, f"{message}; choose one of these languages", line=1)
    for line, row in rows:
        values = {what: row[name].strip() if name is not None else "" for what, name in columns.items()}
        translations = {tag: row[name].strip() for tag, name in languages.items() if row[name].strip()}
        name = translations.get(chosen, values["name"])
        if name or not languages:
            yield Concept(
                bare_uri(values["id"]),
                name,
                [name.strip() for name in values["alternatives"].split(_SEPARATOR)],
                [bare_uri(parent.strip()) for parent in values["parents"].split(_SEPARATOR)],
                values["description"],
                values["notation"],
                translations,
                line,
            )


def read_json(path: Path, limits: FileLimits) -> Iterable[Concept]:
    """The concepts of an object by id, or of a list."""
    try:
        content = json.loads(read_bytes(path, limits))
    except (ValueError, RecursionError) as error:
        raise FileError(path, f"must be JSON ({error}); correct it") from error
    if isinstance(content, dict):
        members = [(key, {"name": value} if isinstance(value, str) else value) for key, value in content.items()]
        return [_json_concept(path, f"'{key}'", value, key) for key, value in members]
    if not isinstance(content, list):
        raise FileError(path, f"must be an object of concepts by id, or a list of them; got {type(content).__name__}")
    return [_json_concept(path, str(position), entry) for position, entry in enumerate(content)]


def _json_concept(path: Path, which: str, entry: Any, key: str = "") -> Concept:
    if not isinstance(entry, dict):
        raise FileError(path, f"concept {which} must be an object with id and name; got {type(entry).__name__}")
    values = {what: entry.get(_field(entry, what)) for what in _FIELDS}
    if values["name"] is None:
        raise FileError(path, f"concept {which} has no name; its fields are {', '.join(entry)}")
    texts = {what: value if isinstance(value, list) else [value] for what, value in values.items() if value is not None}
    for item in itertools.chain(*texts.values()):
        if not isinstance(item, str | int) or isinstance(item, bool):
            raise FileError(path, f"concept {which}: names, parents and descriptions are text; got {item!r}")
    joined = {what: " ".join(map(str, items)) for what, items in texts.items()}
    return Concept(
        bare_uri(key or joined.get("id", "")) or joined["name"],
        joined["name"],
        list(map(str, texts.get("alternatives", ()))),
        [bare_uri(str(parent)) for parent in texts.get("parents", ())],
        joined.get("description", ""),
        str(next(iter(texts.get("notation", ())), "")),
    )


def read_skos(path: Path, language: str, limits: FileLimits) -> Iterator[Concept]:
    """Yield the concepts of an RDF file that have a name in a language, and those that are deprecated."""
    texts, links = _read(path, limits)
    replaced = {subject: others for (name, subject), others in links.items() if name == _REPLACED}
    flags = {subject: found.get("", ()) for (name, subject), found in texts.items() if name == _DEPRECATED}
    marked = {subject for subject, found in flags.items() if {"true", "1"} & set(map(str.lower, found))}
    successors = {subject: replaced.get(subject, set()) for subject in sorted(marked | replaced.keys())}
    concepts = {subject for (name, subject), types in links.items() if name == _TYPE and f"{_SKOS}Concept" in types}
    current = sorted(concepts - successors.keys())
    notations = {subject: _in_language(texts, "notation", subject, language) for subject in current}
    # Ids are notations if every concept has a unique one, otherwise URIs.
    ids = {subject: found[0] for subject, found in notations.items() if len(found) == 1}
    if len(set(ids.values())) < len(notations):
        ids = {subject: subject for subject in notations}
    languages: set[str] = set()
    is_named = False
    for subject, own_notations in notations.items():
        names = _in_language(texts, "prefLabel", subject, language)
        translations = {tag: min(found) for tag, found in texts.get(("prefLabel", subject), {}).items() if tag}
        languages |= translations.keys()
        if not names:
            continue
        is_named = True
        others = [*names[1:], *(name for kind in _OTHER_NAMES for name in _in_language(texts, kind, subject, language))]
        notes = (_in_language(texts, kind, subject, language) for kind in _NOTES)
        yield Concept(
            ids[subject],
            names[0],
            others if ids[subject] == subject else [*others, subject],
            sorted(ids[parent] for parent in links.get(("broader", subject), ()) if parent in ids),
            " ".join(next(filter(None, notes), [])),
            next(iter(own_notations), ""),
            translations,
        )
    yield from _deprecated(texts, successors, ids, language)
    if languages and not is_named:
        message = f"no concept has a name in '{language}', but there are names in {', '.join(sorted(languages))}"
        raise FileError(path, f"{message}; choose one of these languages")


def _read(path: Path, limits: FileLimits) -> tuple[_Texts, _Links]:
    """The properties of the file that are used; names are those of SKOS, or URIs."""
    texts: dict[tuple[str, str], dict[str, list[str]]] = {}
    links: dict[tuple[str, str], set[str]] = defaultdict(set)
    for subject, predicate, value, language in statements(path, limits):
        name = predicate.removeprefix(_SKOS)
        if name not in _USED:
            continue
        if language is not None:
            texts.setdefault((name, subject), {}).setdefault(language.lower(), []).append(value)
        elif name == "narrower":
            links["broader", value].add(subject)
        else:
            links[name, subject].add(value)
    return texts, links


def _in_language(texts: _Texts, name: str, subject: str, language: str) -> list[str]:
    """Values of a property in the language, or else those without a language."""
    by_tag = texts.get((name, subject), {})
    tags = languages_like(language, by_tag) or [""]
    return list(dict.fromkeys(text for tag in tags for text in sorted(by_tag.get(tag, ()))))


def _deprecated(
    texts: _Texts, successors: Mapping[str, set[str]], ids: Mapping[str, str], language: str
) -> Iterator[Concept]:
    """The deprecated concepts, each with the one current concept that it leads to, if there is one."""
    for subject in successors:
        last, seen = subject, {subject}
        while len(following := successors.get(last, set()) - seen) == 1:
            last = next(iter(following))
            seen.add(last)
        names = _in_language(texts, "prefLabel", subject, language)
        others = [*names[1:], *_in_language(texts, "notation", subject, language)]
        yield Concept(subject, next(iter(names), ""), others, successor=ids.get(last, ""))
