"""Mulan ARFF: attributes with types, rows dense (``1,0,2.5``) or sparse (``{0 1,2 2.5}``), labels named in an XML file.

The XML file has the name of the ARFF file, without ``-train``, ``-test`` or ``-dev``, or is given as `labels_path`;
a plain list of label names is accepted too. Labels may be anywhere among the attributes; the other attributes are
the features. Values that are names are encoded by their position in the attribute's list, from 0.
"""

from __future__ import annotations

import re
from array import array
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from xml.etree import ElementTree as ET
from xml.sax.saxutils import quoteattr

import numpy as np
from scipy import sparse

from tacit.data.dataset import Dataset, features_of
from tacit.data.files import UTF8_MARK, Staging, decode, plain_name, read_bytes, sibling, text_lines
from tacit.data.formats import Source, Target
from tacit.data.label_names import read_names
from tacit.data.limits import FileLimits
from tacit.data.numeric import rows_of_text, shown, value_texts
from tacit.errors import DataError, FileError, did_you_mean

_QUOTED = r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\""
_ATTRIBUTE = re.compile(rf"\s*@attribute\s+({_QUOTED}|[^\s'\"]\S*)\s+(\S.*)", re.IGNORECASE)
_TOKEN = re.compile(rf"[^,'\"]*(?:(?:{_QUOTED})[^,'\"]*)?")
_NUMBER_TYPES = frozenset({"numeric", "real", "integer"})
_SPLIT_NAMES = re.compile(r"-(train|test|dev)$", re.IGNORECASE)
_DECLARATIONS = "@relation, @attribute or @data"
_MISSING = "?"
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_LONGEST_NUMBER = 1000
_LARGEST = float(np.finfo(np.float32).max)
_BINARY = {"0": 0.0, "1": 1.0, "0.0": 0.0, "1.0": 1.0}


@dataclass(frozen=True)
class Attribute:
    """A column: its name, and what its values stand for unless they are numbers."""

    name: str
    values: dict[str, float]

    @property
    def implied(self) -> float:
        """The value of the attribute in sparse rows that leave it out: the first value declared."""
        return next(iter(self.values.values()), 0.0)


def read(source: Source) -> Dataset:
    """Read an ARFF file and the names of its labels."""
    path, limits = source.path, source.limits
    lines = text_lines(path, limits)
    attributes = _read_header(path, lines)
    names_path = source.labels_path or _find_xml(path)
    is_xml = plain_name(names_path).lower().endswith(".xml")
    names = _read_xml(names_path, limits) if is_xml else read_names(names_path, limits).names
    labels = _label_columns(path, attributes, names_path, names)
    features = np.setdiff1d(np.arange(len(attributes)), labels)
    if not len(features):
        raise FileError(path, "all attributes are labels; at least one must be a feature")
    for column in labels:  # labels are 0 or 1 even where they are declared as numbers
        if not attributes[column].values:
            attributes[column] = replace(attributes[column], values=_BINARY)
    table = _read_rows(path, lines, attributes)
    X, Y = (sparse.csr_matrix(table[:, columns]) for columns in (features, labels))
    for matrix in (X, Y):
        matrix.sort_indices()
    return Dataset(X, Y, names, feature_names=[attributes[column].name for column in features])


def write(dataset: Dataset, target: Target, staging: Staging) -> None:
    """Write sparse rows, features first, and the XML file beside them. Known negatives are left out."""
    X, Y = features_of(dataset), dataset.Y
    names = [*_feature_names(dataset), *dataset.label_names]
    for name in names:
        if not name or not name.isprintable():
            raise DataError(f"an ARFF file cannot hold the name {name!r}: it is empty or has control characters")
    Y = Y.copy()
    Y.eliminate_zeros()
    table = sparse.hstack([X, Y], format="csr")
    with staging.open(target.path) as file:
        file.write(b"@relation tacit\n\n")
        for column, name in enumerate(names):
            kind = "numeric" if column < X.shape[1] else "{0,1}"
            file.write(f"@attribute {_quoted(name)} {kind}\n".encode())
        file.write(b"\n@data\n")
        entries = [f"{column} {value}" for column, value in zip(table.indices, value_texts(table.data), strict=True)]
        file.writelines(f"{{{row}}}\n".encode() for row in rows_of_text(entries, table.indptr, ","))
    path = target.labels_path or target.path.with_name(Path(plain_name(target.path)).stem + ".xml")
    with staging.open(path) as file:
        file.write(b'<?xml version="1.0" encoding="utf-8"?>\n<labels xmlns="http://mulan.sourceforge.net/labels">\n')
        file.writelines(f"<label name={quoteattr(name)}></label>\n".encode() for name in dataset.label_names)
        file.write(b"</labels>\n")


def _feature_names(dataset: Dataset) -> list[str]:
    """Name the features; names that clash with a label get underscores."""
    names = dataset.feature_names or [f"f{column}" for column in range(features_of(dataset).shape[1])]
    taken, free = set(dataset.label_names), []
    for name in names:
        while name in taken:
            name += "_"
        taken.add(name)
        free.append(name)
    return free


# -- header and label names -----------------------------------------------------------------------------


def _read_header(path: Path, lines: Iterator[tuple[int, str]]) -> list[Attribute]:
    """Read the attributes, up to and including ``@data``."""
    attributes: dict[str, Attribute] = {}
    for number, line in lines:
        word = line.strip().lower()
        if not word or word.startswith(("%", "@relation")):
            continue
        if word == "@data" or word.startswith("@data "):
            return list(attributes.values())
        try:
            attribute = _read_attribute(line)
            if attribute.name in attributes:
                raise DataError(f"attribute '{attribute.name}' is declared twice; rename one")
        except DataError as error:
            raise FileError(path, str(error), line=number) from None
        attributes[attribute.name] = attribute
    raise FileError(path, "has no @data line; the file may be cut off")


def _read_attribute(line: str) -> Attribute:
    found = _ATTRIBUTE.fullmatch(line.rstrip())
    if found is None:
        expected = "@attribute name type" if line.lstrip()[:10].lower() == "@attribute" else _DECLARATIONS
        raise DataError(f"must be {expected}; got '{shown(line.encode())}'")
    name, declared = _unquoted(found[1]), found[2]
    if not declared.startswith("{"):
        if declared.partition("%")[0].strip().lower() not in _NUMBER_TYPES:
            message = f"attribute '{name}' must be numeric or list its values in braces"
            raise DataError(f"{message}; got '{shown(declared.encode())}'; remove or recode it")
        return Attribute(name, {})
    inside, brace, behind = declared[1:].rpartition("}")
    categories = [_unquoted(token.strip()) for token in _tokens(inside)]
    is_closed = brace and (not behind.strip() or behind.lstrip().startswith("%"))
    if not is_closed or not all(categories) or len(set(categories)) < len(categories):
        message = f"the values of attribute '{name}' must be named in braces, each once"
        raise DataError(f"{message}; got '{shown(declared.encode())}'")
    # Names that are numbers stand for themselves, others for their position.
    if all(re.fullmatch(r"-?\d{1,9}(\.\d{1,6})?", text) for text in categories):
        values = {text: float(text) for text in categories}
        return Attribute(name, values | _BINARY if set(categories) == {"0", "1"} else values)
    return Attribute(name, {text: float(position) for position, text in enumerate(categories)})


def _tokens(text: str) -> list[str]:
    """Split a text at the commas outside quotes."""
    if "'" not in text and '"' not in text:
        return text.split(",")
    tokens, start = [], 0
    while found := _TOKEN.match(text, start):
        tokens.append(found[0])
        if found.end() == len(text):
            break
        if text[found.end()] != ",":
            got = shown(text[start:].encode())
            raise DataError(f"values must be separated by commas and quotes closed; got '{got}'")
        start = found.end() + 1
    return tokens


def _unquoted(text: str) -> str:
    """Remove the quotes and escapes of a name or value."""
    if len(text) > 1 and text[0] in "'\"" and text[-1] == text[0]:
        return re.sub(r"\\(.)", r"\1", text[1:-1])
    return text


def _quoted(text: str) -> str:
    """Quote a name for the header, if it needs quotes."""
    if re.fullmatch(r"[\w.-]+", text):
        return text
    return "'" + re.sub(r"(['\\])", r"\\\1", text) + "'"


def _find_xml(path: Path) -> Path:
    stem = Path(plain_name(path)).stem
    names = [f"{stem}.xml", f"{_SPLIT_NAMES.sub('', stem)}.xml"]
    for name in names:
        found = sibling(path, name)
        if found is not None:
            return found
    message = f"the labels should be named in {' or '.join(dict.fromkeys(names))} beside it"
    raise FileError(path, f"{message}; give the XML, or a list of label names, as labels_path")


def _read_xml(path: Path, limits: FileLimits) -> list[str]:
    text = decode(path, read_bytes(path, limits).removeprefix(UTF8_MARK), 1)
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


def _label_columns(path: Path, attributes: list[Attribute], names_path: Path, names: list[str]) -> list[int]:
    """Find the attributes that are labels, in the order of the names."""
    columns = {attribute.name: column for column, attribute in enumerate(attributes)}
    for name in names:
        if name not in columns:
            message = f"label '{name}' is not an attribute of {path.name}{did_you_mean(name, columns)}"
            raise FileError(names_path, f"{message}; name labels as the attributes")
        values = attributes[columns[name]].values
        if values and values.keys() != _BINARY.keys():
            raise FileError(path, f"label '{name}' must have the values 0 and 1; declare it as {{0,1}}")
    return [columns[name] for name in names]


# -- rows ------------------------------------------------------------------------------------------------


def _read_rows(path: Path, lines: Iterator[tuple[int, str]], attributes: list[Attribute]) -> sparse.csr_matrix:
    """Read the rows behind ``@data`` as a matrix with a column for each attribute; zeros are left out."""
    ids, values, ends = array("i"), array("f"), array("q", [0])
    meanings = [attribute.values for attribute in attributes]
    named = next((attribute for attribute in attributes if attribute.implied != 0), None)
    for number, line in lines:
        row = line.strip()
        if not row or row.startswith("%"):
            continue
        try:
            if named is not None and row.startswith("{"):
                message = f"rows in braces need attributes whose first value is 0, but '{named.name}' starts with"
                raise DataError(f"{message} {named.implied:g}; write dense rows")
            for column, text in _entries(row, len(attributes)):
                value = meanings[column].get(text)
                if value is None:
                    value = _value(attributes[column], text)
                if value:
                    ids.append(column)
                    values.append(value)
        except DataError as error:
            raise FileError(path, str(error), line=number) from None
        ends.append(len(ids))
    if len(ends) == 1:
        raise FileError(path, "has no rows behind @data; it must hold at least one sample")
    arrays = np.array(values, np.float32), np.array(ids, np.int32), np.array(ends, np.int64)
    return sparse.csr_matrix(arrays, shape=(len(ends) - 1, len(attributes)))


def _entries(row: str, n_attributes: int) -> Iterator[tuple[int, str]]:
    """The attribute numbers and values of a row, dense or in braces."""
    if not row.startswith("{"):
        tokens = _tokens(row)
        if len(tokens) != n_attributes:
            compared = "fewer" if len(tokens) < n_attributes else "more"
            raise DataError(f"the row has {compared} values than there are attributes; correct the row")
        yield from enumerate(token.strip() for token in tokens)
        return
    if not row.endswith("}"):
        raise DataError(f"values must be separated by commas and braces closed; got '{shown(row[-40:].encode())}'")
    previous = -1
    for token in _tokens(row[1:-1]) if row[1:-1].strip() else ():
        number, _, value = token.strip().replace("\t", " ").partition(" ")
        column = int(number[:10]) if number.isdecimal() and value else -1
        if not previous < column < n_attributes:
            raise _entry_error(token, column, n_attributes)
        yield column, value.lstrip()
        previous = column


def _entry_error(token: str, column: int, n_attributes: int) -> DataError:
    message = "the attribute numbers of a row must rise"
    if column < 0:
        message = "an entry in braces must be an attribute number, a blank and a value"
    elif column >= n_attributes:
        message = "there is no attribute of this number; they count from 0"
    return DataError(f"{message}; got '{shown(token.strip().encode())}'; correct the row")


def _value(attribute: Attribute, text: str) -> float:
    """The number that a value stands for."""
    if not attribute.values and (number := _number(text)) is not None:
        return number
    text = _unquoted(text)
    if text == _MISSING:
        raise DataError(f"attribute '{attribute.name}' is missing (?); fill in a value")
    if text in attribute.values:
        return attribute.values[text]
    known = f"one of {', '.join(list(attribute.values)[:10])}"
    known = known if attribute.values else "a number, finite in 32-bit floating point"
    raise DataError(f"'{attribute.name}' must be {known}; got '{shown(text.encode())}'; correct the row")


@lru_cache(maxsize=1 << 14)
def _number(text: str) -> float | None:
    """A number that is finite as float32; None for any other text."""
    if len(text) > _LONGEST_NUMBER or not _NUMBER.fullmatch(text):
        return None
    number = float(text)
    return number if abs(number) <= _LARGEST else None
