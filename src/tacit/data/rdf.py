"""Statements of RDF files, read through pyoxigraph (the extra ``skos``) within limits that hostile files meet.

pyoxigraph opens nothing but the file, and its time and memory grow with the file, but for what is refused here: it
recurses into nested values, and compares all names that are declared around an element of XML.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple
from xml.parsers import expat
from xml.sax.saxutils import escape, quoteattr

from tacit.data.files import UTF8_MARK, read_bytes, suffix
from tacit.data.limits import FileLimits
from tacit.errors import FileError, import_extra

#: pyoxigraph's name of the syntax of a file, by the end of its name.
SYNTAXES = {
    ".ttl": "TURTLE",
    ".rdf": "RDF_XML",
    ".xml": "RDF_XML",
    ".owl": "RDF_XML",
    ".nt": "N_TRIPLES",
    ".n3": "N3",
    ".jsonld": "JSON_LD",
    ".trig": "TRIG",
    ".nq": "N_QUADS",
}
_LONGEST_ENTITY = 256  # characters; namespaces, which entities abbreviate, are shorter
_DEEPEST_XML = 1000  # open elements and their attributes
_DEEPEST_JSON = 64
_MOST_TERMS = 1000  # of a JSON-LD context
_FREE_VALUES, _BYTES_PER_VALUE = 250_000, 8  # of JSON-LD
_MOST_TRIPLE_TERMS = 500
_STATEMENT_BYTES = 64  # that a statement costs beyond its terms


class Statement(NamedTuple):
    """A statement; `language` is None if the object is a resource, and empty if it is a text without language."""

    subject: str
    predicate: str
    object: str
    language: str | None


def statements(path: Path, limits: FileLimits) -> Iterator[Statement]:
    """Yield the statements of a file; named graphs are merged."""
    oxigraph = import_extra("pyoxigraph", "reading SKOS", "skos")
    syntax = getattr(oxigraph.RdfFormat, SYNTAXES[suffix(path)])
    content = read_bytes(path, limits)
    size, grown = len(content), 0
    if syntax == oxigraph.RdfFormat.RDF_XML:
        content = _plain_xml(path, content, limits)
    elif syntax == oxigraph.RdfFormat.JSON_LD:
        content = _plain_json(path, content)
    elif content.count(b"<<(") > _MOST_TRIPLE_TERMS:
        raise FileError(path, f"has more than {_MOST_TRIPLE_TERMS} triple terms, <<( … )>>; leave them out")
    try:
        for quad in oxigraph.parse(content, syntax, lenient=True):
            if isinstance(quad.object, oxigraph.Literal):
                text, language = quad.object.value, quad.object.language or ""
            else:
                text, language = _resource(quad.object), None
            statement = Statement(_resource(quad.subject), quad.predicate.value, text, language)
            grown += _STATEMENT_BYTES + len(statement.subject) + len(statement.predicate) + len(text)
            limits.check_growth(path, size, grown)
            yield statement
    except SyntaxError as error:
        reason = " ".join(str(error.msg).split())[:200]
        raise FileError(path, f"is not valid {syntax.name} ({reason}); correct it", line=error.lineno) from error


def _resource(term: Any) -> str:
    """The URI of a node; anything else as Turtle writes it."""
    return getattr(term, "value", "") if type(term).__name__ == "NamedNode" else str(term)


def _plain_xml(path: Path, content: bytes, limits: FileLimits) -> bytes:
    """XML as UTF-8 without document type; nested entities, which could grow without bound, are refused."""
    written: list[str] = []
    n_open: list[int] = []
    size = 0

    def write(text: str) -> None:
        nonlocal size
        size += len(text)
        limits.check_growth(path, len(content), size)
        written.append(text)

    def start(name: str, attributes: Mapping[str, str]) -> None:
        n_open.append((n_open[-1] if n_open else 0) + 1 + len(attributes))
        if n_open[-1] > _DEEPEST_XML:
            message = f"has more than {_DEEPEST_XML} elements and attributes inside each other"
            raise FileError(path, f"{message}; write them one after the other", line=parser.CurrentLineNumber)
        write(f"<{name}{''.join(f' {key}={quoteattr(value)}' for key, value in attributes.items())}>")

    def end(name: str) -> None:
        n_open.pop()
        write(f"</{name}>")

    parser = expat.ParserCreate()
    parser.buffer_text = True
    parser.StartElementHandler, parser.EndElementHandler = start, end
    parser.CharacterDataHandler = lambda text: write(escape(text, {"\r": "&#13;"}))
    parser.EntityDeclHandler, parser.AttlistDeclHandler = _declaration_handlers(path)
    try:
        parser.Parse(content, True)
    except expat.ExpatError as error:
        reason = expat.ErrorString(error.code)
        raise FileError(path, f"is not well-formed XML ({reason}); correct it", line=error.lineno) from error
    except FileError:
        raise
    except (ValueError, LookupError) as error:
        raise FileError(path, f"is in an encoding that XML parsers do not know ({error}); save it as UTF-8") from error
    return "".join(written).encode()


def _declaration_handlers(path: Path) -> tuple[Callable[..., None], Callable[..., None]]:
    """Refuse entities except short texts, such as abbreviated namespaces, and attributes by default."""
    harm = "which can make a small file huge or name other files; write out what it stands for, or save it as Turtle"

    def entity(name: str, is_parameter: bool, value: str | None, *_: Any) -> None:
        is_plain = value is not None and "&" not in value and len(value) <= _LONGEST_ENTITY
        if name not in ("lt", "gt", "amp", "apos", "quot") and (is_parameter or not is_plain):
            raise FileError(path, f"must not declare the entity '{name}' other than as a short text, {harm}")

    def attribute(_element: str, name: str, _kind: str, default: str | None, _required: bool) -> None:
        if default is not None:
            raise FileError(path, f"must not declare a default of the attribute '{name}', {harm}")

    return entity, attribute


def _plain_json(path: Path, content: bytes) -> bytes:
    """JSON-LD of bounded depth, with contexts of bounded size; what it refers to is never opened."""
    try:
        document = json.loads(content.removeprefix(UTF8_MARK))
    except (ValueError, RecursionError) as error:
        raise FileError(path, f"must be JSON ({error}); correct it") from error
    stack = [(document, 1)]
    n_values, most = 0, _FREE_VALUES + len(content) // _BYTES_PER_VALUE
    while stack:
        item, depth = stack.pop()
        inner = list(item.values()) if isinstance(item, dict) else item if isinstance(item, list) else ()
        n_values += len(inner)
        if depth > _DEEPEST_JSON or n_values > most:
            what = f"is nested more than {_DEEPEST_JSON} levels deep" if n_values <= most else f"has {n_values} values"
            raise FileError(path, f"{what}, more than JSON-LD of its size needs; save it as Turtle")
        if isinstance(item, dict):
            _check_context(path, item)
        stack.extend((value, depth + 1) for value in inner)
    return json.dumps(document).encode()


def _check_context(path: Path, item: Mapping[str, Any]) -> None:
    """Refuse contexts outside the file, and those in which terms could be defined through long chains of others."""
    for key in ("@context", "@import"):
        named = item.get(key)
        for context in named if isinstance(named, list) else [named]:
            if isinstance(context, str):
                message = f"refers to the context '{context}', but nothing beyond the file is read"
                raise FileError(path, f"{message}; write the context itself, or save the file as Turtle")
            if isinstance(context, dict) and len(context) > _MOST_TERMS:
                message = f"has a context of {len(context)} terms, but {_MOST_TERMS} are the most"
                raise FileError(path, f"{message}; leave out those without use, or save the file as Turtle")
