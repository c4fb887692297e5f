"""Concepts of vocabularies as tables (TSV, CSV), JSON files and SKOS write them.

Annif's vocabularies are among these tables: TSV with lines ``<uri><TAB>name<TAB>notation``, and CSV with the columns
``uri``, ``label_en``, ``label_fi``, … and ``notation``. SKOS in any serialisation of RDF is read through rdflib (the
extra ``skos``).
"""

from __future__ import annotations

import contextlib
import importlib
import json
import logging
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from xml.parsers import expat

from tacit.data.files import read_bytes, suffix, text_lines
from tacit.data.limits import FileLimits
from tacit.data.names import bare_uri, is_uri
from tacit.data.records import RECORDS
from tacit.errors import FileError, MissingExtraError, ParameterError, did_you_mean

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

#: rdflib's name of the syntax of a file, by the end of its name.
SYNTAXES = {
    ".ttl": "turtle",
    ".rdf": "xml",
    ".xml": "xml",
    ".owl": "xml",
    ".nt": "nt",
    ".n3": "n3",
    ".jsonld": "json-ld",
    ".trig": "trig",
    ".nq": "nquads",
}
_LONGEST_ENTITY = 256  # characters; namespaces, which entities abbreviate, are shorter
_SKOS = "http://www.w3.org/2004/02/skos/core#"
_OTHER_NAMES = ("altLabel", "hiddenLabel")
_NOTES = ("definition", "scopeNote")  # the first that a concept has describes it


@dataclass(frozen=True)
class Concept:
    """One concept of a file; `translations` are preferred names by language, `line` is a line number for messages."""

    id: str
    name: str
    alternatives: Sequence[str] = ()
    parents: Sequence[str] = ()
    description: str = ""
    notation: str = ""
    related: Sequence[str] = ()
    translations: Mapping[str, str] = field(default_factory=dict)
    line: int | None = None


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


def _of_annif(line: int, cells: list[str]) -> Concept | None:
    """Annif's columns: URI, name and, in some lines, notation; a URI without a name is a deprecated concept."""
    uri, name, *others = [cell.strip() for cell in (*cells, "")][: max(2, len(cells))]
    return Concept(bare_uri(uri), name, notation=" ".join(others).strip(), line=line) if name else None


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


# -- SKOS -------------------------------------------------------------------------------------------------


def read_skos(
    path: Path, language: str, limits: FileLimits, include: Sequence[str] = (), exclude: Sequence[str] = ()
) -> Iterator[Concept]:
    """Yield the concepts of an RDF file that have a name in a language and are not deprecated.

    Ids are notations if every concept has a unique one, otherwise URIs. `include` and `exclude` are as for
    `load_vocabulary`.
    """
    graph = _Skos(_graph(path, SYNTAXES[suffix(path)], limits))
    subjects = _chosen(path, graph, include, exclude)
    notations = {subject: graph.texts(subject, "notation", language) for subject in subjects}
    ids = _ids(subjects, notations)
    n_named = 0
    languages: set[str] = set()
    for subject in subjects:
        names = graph.texts(subject, "prefLabel", language)
        translations = graph.translations(subject)
        languages |= translations.keys()
        if not names:
            continue
        n_named += 1
        others = [*names[1:], *(name for kind in _OTHER_NAMES for name in graph.texts(subject, kind, language))]
        notes = (graph.texts(subject, kind, language) for kind in _NOTES)
        yield Concept(
            ids[subject],
            names[0],
            others if ids[subject] == str(subject) else [*others, str(subject)],
            sorted(ids[parent] for parent in graph.linked(subject, "broader", "narrower") if parent in ids),
            " ".join(next(filter(None, notes), [])),
            next(iter(notations[subject]), ""),
            sorted(ids[other] for other in graph.linked(subject, "related", "related") if other in ids),
            translations,
        )
    if not n_named and languages:
        message = f"no concept has a name in '{language}', but there are names in {', '.join(sorted(languages))}"
        raise FileError(path, f"{message}; choose one of these languages")


class _Skos:
    """Questions to a graph."""

    def __init__(self, graph: Any) -> None:
        self.graph = graph
        self._uri = _rdflib().URIRef

    def term(self, name: str) -> Any:
        """The URI of a name of SKOS."""
        return self._uri(_SKOS + name)

    def concepts(self) -> set[Any]:
        """All concepts that are not deprecated."""
        rdf, owl = _rdflib().RDF, _rdflib().OWL
        deprecated = {s for s, o in self.graph.subject_objects(owl.deprecated) if str(o).lower() in ("true", "1")}
        return set(self.graph.subjects(rdf.type, self.term("Concept"))) - deprecated

    def texts(self, subject: Any, name: str, language: str) -> list[str]:
        """Values of a property in the language, or else those without a language."""
        by_tag = self._by_language(subject, name)
        tags = languages_like(language, by_tag) or [""]
        return list(dict.fromkeys(text for tag in tags for text in by_tag.get(tag, ())))

    def translations(self, subject: Any) -> dict[str, str]:
        """The preferred name in each language."""
        return {tag: texts[0] for tag, texts in self._by_language(subject, "prefLabel").items() if tag}

    def _by_language(self, subject: Any, name: str) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for value in sorted(self.graph.objects(subject, self.term(name)), key=str):
            found.setdefault((getattr(value, "language", None) or "").lower(), []).append(str(value))
        return found

    def linked(self, subject: Any, name: str, inverse: str) -> set[Any]:
        """What a property, or the inverse property the other way round, links with a subject."""
        there = set(self.graph.objects(subject, self.term(name)))
        return there | set(self.graph.subjects(self.term(inverse), subject))

    def members(self, group: Any) -> set[Any]:
        """All that is of a type, in a scheme or in a collection; and the group itself, which may be a concept."""
        found = {group, *self.graph.subjects(_rdflib().RDF.type, group)}
        for name in ("inScheme", "topConceptOf"):
            found.update(self.graph.subjects(self.term(name), group))
        found.update(self.graph.objects(group, self.term("hasTopConcept")))
        waiting = [group]
        while waiting:  # collections may hold collections
            inner = set(self.graph.objects(waiting.pop(), self.term("member"))) - found
            found |= inner
            waiting.extend(inner)
        return found

    def groups(self) -> set[str]:
        """The types, schemes and collections of the file."""
        found = {*self.graph.objects(None, _rdflib().RDF.type), *self.graph.objects(None, self.term("inScheme"))}
        return set(map(str, found | set(self.graph.subjects(self.term("member")))))


def _chosen(path: Path, graph: _Skos, include: Sequence[str], exclude: Sequence[str]) -> list[Any]:
    """The concepts that are to be read, sorted by their URIs."""
    known = graph.concepts()

    def members(uris: Sequence[str], what: str) -> set[Any]:
        found: set[Any] = set()
        for uri in map(bare_uri, uris):
            inside = graph.members(_rdflib().URIRef(uri)) & known
            if not inside:
                hint = did_you_mean(uri, graph.groups())
                message = f"{what} must name types, schemes, collections or concepts of {path.name}; got '{uri}'"
                raise ParameterError(f"{message}{hint}, which has no concept there")
            found |= inside
        return found

    wanted = members(include, "include") if include else known
    return sorted(wanted - members(exclude, "exclude"))


def _ids(subjects: list[Any], notations: dict[Any, list[str]]) -> dict[Any, str]:
    found = {subject: notations[subject][0] for subject in subjects if len(notations[subject]) == 1}
    if len(found) == len(subjects) == len(set(found.values())):
        return found
    return {subject: str(subject) for subject in subjects}


def _graph(path: Path, syntax: str, limits: FileLimits) -> Any:
    """Parse the statements of a file; named graphs are merged."""
    rdflib = _rdflib()
    content = read_bytes(path, limits)
    if syntax == "xml":
        _refuse_entities(path, content)
    elif syntax == "json-ld":
        _refuse_remote_contexts(path, content)
    graph = rdflib.Graph()
    try:
        with _as_written(rdflib):
            if syntax not in ("trig", "nquads"):
                return graph.parse(data=content, format=syntax)
            for *statement, _ in rdflib.Dataset().parse(data=content, format=syntax).quads():
                graph.add(statement)
    except Exception as error:  # each of rdflib's parsers raises errors of its own
        reason = " ".join(str(error).split())[:200]
        raise FileError(path, f"is not valid {syntax} ({type(error).__name__}: {reason}); correct it") from error
    return graph


@contextlib.contextmanager
def _as_written(rdflib: Any) -> Iterator[None]:
    """Keep literals as written: rdflib would expand a number such as 1E999999999."""
    log, before = logging.getLogger("rdflib.term"), rdflib.NORMALIZE_LITERALS
    silent, log.disabled, rdflib.NORMALIZE_LITERALS = log.disabled, True, False
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # of rdflib, about itself
            yield
    finally:
        log.disabled, rdflib.NORMALIZE_LITERALS = silent, before


class _PrologEndsError(Exception):
    """The root element starts, after which no declaration can follow."""


def _refuse_entities(path: Path, content: bytes) -> None:
    """Refuse entities except short texts, such as abbreviated namespaces; nested entities could grow without bound."""

    def refuse(what: str) -> None:
        message = f"must not declare {what}, which can make a small file huge or name other files"
        raise FileError(path, f"{message}; write out what it stands for, or save the file as Turtle")

    def entity(name: str, is_parameter: bool, value: str | None, *_: Any) -> None:
        plain = value is not None and "&" not in value and len(value) <= _LONGEST_ENTITY
        if name not in ("lt", "gt", "amp", "apos", "quot") and (is_parameter or not plain):
            refuse(f"the entity '{name}' other than as a short text")

    def attribute(element: str, name: str, kind: str, default: str | None, _required: bool) -> None:  # noqa: ARG001
        if default is not None:
            refuse(f"a default of the attribute '{name}'")

    def root(*_: Any) -> None:
        raise _PrologEndsError

    for encoding in (None, "utf-8"):  # as the file says, and as rdflib takes it
        parser = expat.ParserCreate(encoding)
        parser.EntityDeclHandler, parser.AttlistDeclHandler, parser.StartElementHandler = entity, attribute, root
        with contextlib.suppress(_PrologEndsError, expat.ExpatError, LookupError):  # rdflib tells what is not XML
            parser.Parse(content, True)


def _refuse_remote_contexts(path: Path, content: bytes) -> None:
    """Refuse contexts outside the file: rdflib would open any address or file that they name."""
    try:
        stack = [json.loads(content)]
    except (ValueError, RecursionError) as error:
        raise FileError(path, f"must be JSON ({error}); correct it") from error
    while stack:
        item = stack.pop()
        if isinstance(item, dict):
            for key in ("@context", "@import"):
                named = item.get(key)
                for context in named if isinstance(named, list) else [named]:
                    if isinstance(context, str):
                        message = f"refers to the context '{context}', but nothing beyond the file is read"
                        raise FileError(path, f"{message}; write the context itself, or save the file as Turtle")
            stack.extend(item.values())
        elif isinstance(item, list):
            stack.extend(item)


def _rdflib() -> Any:
    try:
        return importlib.import_module("rdflib")
    except ImportError:
        raise MissingExtraError("reading SKOS", "skos") from None
