"""SKOS: concepts in any serialisation of RDF, read through rdflib (the extra ``skos``)."""

from __future__ import annotations

import contextlib
import importlib
import json
import logging
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.parsers import expat

from tacit.data.files import read_bytes
from tacit.data.limits import FileLimits
from tacit.errors import FileError, MissingExtraError

if TYPE_CHECKING:
    from tacit.data.vocabulary import Concept

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


def read_skos(path: Path, syntax: str, language: str, limits: FileLimits) -> Iterator[Concept]:
    """Yield the concepts of an RDF file that have a name and are not deprecated.

    Ids are notations if every concept has a unique one, otherwise URIs.
    """
    from tacit.data.vocabulary import Concept

    graph = _graph(path, syntax, limits)
    rdf, uri = _rdflib().RDF, _rdflib().URIRef
    deprecated = {s for s, o in graph.subject_objects(_rdflib().OWL.deprecated) if str(o).lower() in ("true", "1")}
    subjects = sorted(set(graph.subjects(rdf.type, uri(_SKOS + "Concept"))) - deprecated)

    def texts(subject: Any, *properties: str) -> list[str]:
        """Values of the first of `properties` that has any, in the language or without a language."""
        for name in properties:
            values = list(graph.objects(subject, uri(_SKOS + name)))
            spoken = [v for v in values if (getattr(v, "language", None) or "").lower().startswith(language.lower())]
            unmarked = [v for v in values if not getattr(v, "language", None)]
            if found := spoken or unmarked:
                return sorted(str(value) for value in found)
        return []

    ids = _ids(subjects, {subject: texts(subject, "notation") for subject in subjects})
    for subject in subjects:
        names = texts(subject, "prefLabel")
        if not names:
            continue
        others = names[1:] + texts(subject, "altLabel") + texts(subject, "hiddenLabel")
        known_as = others if ids[subject] == str(subject) else [*others, str(subject)]
        above = set(graph.objects(subject, uri(_SKOS + "broader")))
        above |= set(graph.subjects(uri(_SKOS + "narrower"), subject))
        description = " ".join(texts(subject, "definition", "scopeNote"))
        parents = sorted(ids[parent] for parent in above if parent in ids)
        yield Concept(ids[subject], names[0], known_as, parents, description)


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
