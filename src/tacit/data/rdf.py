"""Statements of RDF files, read through pyoxigraph (the extra ``skos``).

pyoxigraph opens nothing but the file, and its time and memory grow with the file, but for what is refused here: it
expands entities, recurses into nested values, and compares all names that are declared around an element of XML.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from xml.parsers import expat
from xml.sax.saxutils import XMLGenerator

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
_MOST_TERMS = 1000  # of a JSON-LD context, each of which may be defined by the next
_MOST_TRIPLE_TERMS = 500
_STATEMENT_BYTES = 64  # that a statement costs beyond its terms

Statement = tuple[str, str, str, str | None]


def statements(path: Path, limits: FileLimits) -> Iterator[Statement]:
    """Subject, predicate, object and language of each statement; named graphs are merged.

    The language is None if the object is a resource, and empty if it is a text without language.
    """
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
            subject, predicate, text, language = _resource(quad.subject), quad.predicate.value, quad.object, None
            if isinstance(text, oxigraph.Literal):
                text, language = text.value, text.language or ""
            else:
                text = _resource(text)
            grown += _STATEMENT_BYTES + len(subject) + len(predicate) + len(text)
            limits.check_growth(path, size, grown)
            yield subject, predicate, text, language
    except SyntaxError as error:
        reason = " ".join(str(error.msg).split())[:200]
        raise FileError(path, f"is not valid {syntax.name} ({reason}); correct it", line=error.lineno) from error


def _resource(term: Any) -> str:
    """The URI of a node; anything else as Turtle writes it."""
    return getattr(term, "value", "") if type(term).__name__ == "NamedNode" else str(term)


def _plain_xml(path: Path, content: bytes, limits: FileLimits) -> bytes:
    """XML as UTF-8 without document type; of entities, short texts such as abbreviated namespaces are expanded."""
    out, n_open = io.StringIO(), [0]
    writer, parser = XMLGenerator(out), expat.ParserCreate()

    def refuse(what: str) -> None:
        harm = "which can make a small file huge or name other files"
        raise FileError(path, f"must not declare {what}, {harm}; write out what it stands for, or save it as Turtle")

    def entity(name: str, is_parameter: bool, value: str | None, *_: Any) -> None:
        is_plain = value is not None and "&" not in value and len(value) <= _LONGEST_ENTITY
        if name not in ("lt", "gt", "amp", "apos", "quot") and (is_parameter or not is_plain):
            refuse(f"the entity '{name}' other than as a short text")

    def attribute(_element: str, name: str, _kind: str, default: str | None, _required: bool) -> None:
        if default is not None:
            refuse(f"a default of the attribute '{name}'")

    def start(name: str, attributes: Mapping[str, str]) -> None:
        n_open.append(n_open[-1] + 1 + len(attributes))
        if n_open[-1] > _DEEPEST_XML:
            message = f"has more than {_DEEPEST_XML} elements and attributes inside each other"
            raise FileError(path, f"{message}; write them one after the other", line=parser.CurrentLineNumber)
        writer.startElement(name, attributes)  # type: ignore[arg-type]
        limits.check_growth(path, len(content), out.tell())

    def end(name: str) -> None:
        n_open.pop()
        writer.endElement(name)

    def characters(text: str) -> None:
        writer.characters(text)
        limits.check_growth(path, len(content), out.tell())

    parser.StartElementHandler, parser.EndElementHandler, parser.CharacterDataHandler = start, end, characters
    parser.EntityDeclHandler, parser.AttlistDeclHandler = entity, attribute
    try:
        parser.Parse(content, True)
    except expat.ExpatError as error:
        reason = expat.ErrorString(error.code)
        raise FileError(path, f"is not well-formed XML ({reason}); correct it", line=error.lineno) from error
    except FileError:
        raise
    except (ValueError, LookupError) as error:
        raise FileError(path, f"is in an encoding that XML parsers do not know ({error}); save it as UTF-8") from error
    return out.getvalue().encode()


def _plain_json(path: Path, content: bytes) -> bytes:
    """JSON-LD of bounded depth, with contexts of bounded size; what it refers to is never opened."""
    try:
        document = json.loads(content.removeprefix(UTF8_MARK))
    except (ValueError, RecursionError) as error:
        raise FileError(path, f"must be JSON ({error}); correct it") from error
    stack = [(document, 1)]
    while stack:
        item, depth = stack.pop()
        context = item.get("@context") if isinstance(item, dict) else None
        for each in context if isinstance(context, list) else [context]:
            if isinstance(each, str):
                message = f"refers to the context '{each}', but nothing beyond the file is read"
                raise FileError(path, f"{message}; write the context itself, or save the file as Turtle")
            if depth > _DEEPEST_JSON or (isinstance(each, dict) and len(each) > _MOST_TERMS):
                message = f"is more than {_DEEPEST_JSON} levels deep or has a context of more than {_MOST_TERMS} terms"
                raise FileError(path, f"{message}; save it as Turtle")
        inner = item.values() if isinstance(item, dict) else item if isinstance(item, list) else ()
        stack.extend((value, depth + 1) for value in inner)
    return json.dumps(document).encode()
