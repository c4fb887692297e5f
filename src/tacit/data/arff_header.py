"""What stands above the data of a Mulan ARFF file: its attributes, and the XML that says which are labels."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree as ET

import numpy as np

from tacit.data.files import decode, plain_name, read_bytes, sibling, text_lines
from tacit.data.limits import Limits
from tacit.data.names import read_names
from tacit.data.numeric import shown
from tacit.errors import FileError, did_you_mean
from tacit.kernels import parse

_QUOTED = r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\""
_ATTRIBUTE = re.compile(rf"\s*@attribute\s+({_QUOTED}|[^\s'\"]\S*)\s+(\S.*)", re.IGNORECASE)
_CATEGORY = re.compile(rf"\s*({_QUOTED})\s*(?:,|$)|([^,'\"]*)(?:,|$)")
_NUMBER_TYPES = frozenset({"numeric", "real", "integer"})
_SPLIT_NAMES = re.compile(r"-(train|test|dev)$", re.IGNORECASE)


@dataclass(frozen=True)
class Attribute:
    """A column: its name, how its values are written (see the kernel) and, if by name, what they stand for."""

    name: str
    kind: int
    values: dict[str, float]

    @property
    def implied(self) -> float:
        """What a row in braces means by leaving the attribute out: the first value declared."""
        return next(iter(self.values.values()), 0.0)


def read_header(path: Path, limits: Limits) -> tuple[list[Attribute], int]:
    """The attributes, and the number of lines up to and including ``@data``."""
    attributes: list[Attribute] = []
    seen: set[str] = set()
    for number, line in text_lines(path, limits):
        word = line.strip().lower()
        if not word or word.startswith(("%", "@relation")):
            continue
        if word == "@data" or word.startswith("@data "):
            return attributes, number
        if not word.startswith("@attribute"):
            got = shown(line.encode())
            raise FileError(path, f"must be @relation, @attribute or @data; got '{got}'", line=number)
        attribute = _read_attribute(path, line, number)
        if attribute.name in seen:
            raise FileError(path, f"attribute '{attribute.name}' is declared twice; rename one", line=number)
        seen.add(attribute.name)
        attributes.append(attribute)
    raise FileError(path, "has no @data line; the file may be cut off")


def _read_attribute(path: Path, line: str, number: int) -> Attribute:
    found = _ATTRIBUTE.fullmatch(line.rstrip())
    if found is None:
        raise FileError(path, f"must be @attribute name type; got '{shown(line.encode())}'", line=number)
    name, declared = unquoted(found[1]), found[2]
    if declared.startswith("{"):
        categories = _read_categories(declared)
        if not categories or len(set(categories)) < len(categories):
            message = f"the values of attribute '{name}' must be named in braces, each once"
            raise FileError(path, f"{message}; got '{shown(declared.encode())}'", line=number)
        return _nominal(name, categories)
    if declared.partition("%")[0].strip().lower() not in _NUMBER_TYPES:
        message = f"attribute '{name}' must be numeric or list its values in braces"
        raise FileError(path, f"{message}; got '{shown(declared.encode())}'; remove or recode it", line=number)
    return Attribute(name, parse.NUMERIC, {})


def _read_categories(text: str) -> list[str]:
    """Names in braces, separated by commas; none if the list is not well formed."""
    inside, brace, behind = text[1:].rpartition("}")
    if not brace or not (not behind.strip() or behind.lstrip().startswith("%")):
        return []
    categories, at = [], 0
    while at < len(inside):
        found = _CATEGORY.match(inside, at)
        category = "" if found is None else unquoted(found[1]) if found[1] else found[2].strip()
        if found is None or not category:
            return []
        categories.append(category)
        at = found.end()
    return categories


def _nominal(name: str, categories: list[str]) -> Attribute:
    """Values that are numbers stand for themselves, others for their place in the list."""
    if all(re.fullmatch(r"-?\d{1,9}(\.\d{1,6})?", text) for text in categories):
        values = {text: float(text) for text in categories}
    else:
        values = {text: float(place) for place, text in enumerate(categories)}
    return Attribute(name, parse.BINARY if set(categories) == {"0", "1"} else parse.NAMED, values)


def unquoted(text: str) -> str:
    """A name or value without its quotes and escapes."""
    if len(text) > 1 and text[0] in "'\"" and text[-1] == text[0]:
        return re.sub(r"\\(.)", r"\1", text[1:-1])
    return text


def quoted(text: str) -> str:
    """A name as it may stand in a header."""
    if re.fullmatch(r"[\w.-]+", text):
        return text
    return "'" + re.sub(r"(['\\])", r"\\\1", text) + "'"


def read_label_names(path: Path, labels_path: Path | None, limits: Limits) -> tuple[Path, list[str]]:
    """Where the labels of an ARFF file are named, and the names: Mulan's XML or a list."""
    if labels_path is None:
        labels_path = _find_xml(path)
    if plain_name(labels_path).lower().endswith(".xml"):
        return labels_path, _read_xml(labels_path, limits)
    return labels_path, read_names(labels_path, limits).names


def _find_xml(path: Path) -> Path:
    stem = Path(plain_name(path)).stem
    names = [f"{stem}.xml", f"{_SPLIT_NAMES.sub('', stem)}.xml"]
    for name in names:
        found = sibling(path, name)
        if found is not None:
            return found
    message = f"the labels should be named in {' or '.join(dict.fromkeys(names))} beside it"
    raise FileError(path, f"{message}; give the XML, or a list of label names, as labels_path")


def _read_xml(path: Path, limits: Limits) -> list[str]:
    text = decode(path, read_bytes(path, limits).removeprefix(b"\xef\xbb\xbf"), 1)
    if "<!DOCTYPE" in text or "<!ENTITY" in text:
        raise FileError(path, "must not declare a document type; remove the <! … > part")
    try:
        # Entities, the danger of foreign XML, need a document type, which is refused above.
        root = ET.fromstring(re.sub(r"^\s*<\?xml[^>]*\?>", "", text))  # noqa: S314
    except (ET.ParseError, ValueError) as error:
        raise FileError(path, f"is not well-formed XML ({error}); correct it") from error
    names = [node.get("name") or "" for node in root.iter() if node.tag.rpartition("}")[2] == "label"]
    if not names or not all(names):
        raise FileError(path, "must hold elements <label name=…>, each with a name")
    name, uses = Counter(names).most_common(1)[0]
    if uses > 1:
        raise FileError(path, f"names the label '{name}' twice; name each once")
    return names


def label_columns(path: Path, attributes: list[Attribute], names_path: Path, names: list[str]) -> list[int]:
    """Which attributes are the labels of these names, in their order."""
    places = {attribute.name: place for place, attribute in enumerate(attributes)}
    for name in names:
        if name not in places:
            message = f"label '{name}' is not an attribute of {path.name}{did_you_mean(name, places)}"
            raise FileError(names_path, f"{message}; name labels as the attributes")
        if attributes[places[name]].kind == parse.NAMED:
            raise FileError(path, f"label '{name}' must have the values 0 and 1; declare it as {{0,1}}")
    return [places[name] for name in names]


def kinds_of(attributes: list[Attribute], labels: list[int]) -> np.ndarray[tuple[int], np.dtype[np.uint8]]:
    """How the kernel must read each attribute; labels are 0 or 1 even where they are declared as numbers."""
    kinds = np.array([attribute.kind for attribute in attributes], dtype=np.uint8)
    kinds[labels] = parse.BINARY
    return kinds
