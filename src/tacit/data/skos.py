"""SKOS: concepts in any serialisation of RDF, read through rdflib (the extra ``skos``)."""

from __future__ import annotations

import contextlib
import importlib
import json
import logging
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from xml.parsers import expat

from tacit.data.concepts import Concept, languages_like
from tacit.data.files import read_bytes, suffix
from tacit.data.limits import FileLimits
from tacit.data.names import bare_uri
from tacit.errors import FileError, MissingExtraError, ParameterError, did_you_mean

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
