"""Mulan ARFF: attributes with types, rows dense (``1,0,2.5``) or sparse (``{0 1,2 2.5}``), labels named in an XML file.

The XML file has the name of the ARFF file, without ``-train``, ``-test`` or ``-dev``, or is given as `labels_path`;
a plain list of label names is accepted too. Labels may be anywhere among the attributes; the other attributes are
the features. Values that are names are encoded by their position in the attribute's list, from 0.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree as ET
from xml.sax.saxutils import quoteattr

import numpy as np
import numpy.typing as npt
from scipy import sparse

from tacit.data.dataset import Dataset, features_of
from tacit.data.files import Staging, decode, line_blocks, plain_name, read_bytes, sibling, text_lines
from tacit.data.formats import Source, Target
from tacit.data.label_names import read_names
from tacit.data.limits import FileLimits
from tacit.data.numeric import SparseRows, line_number, shown, token_at, value_texts
from tacit.errors import DataError, FileError, did_you_mean
from tacit.kernels import parse

_QUOTED = r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\""
_ATTRIBUTE = re.compile(rf"\s*@attribute\s+({_QUOTED}|[^\s'\"]\S*)\s+(\S.*)", re.IGNORECASE)
_CATEGORY = re.compile(rf"\s*({_QUOTED})\s*(?:,|$)|([^,'\"]*)(?:,|$)")
_NUMBER_TYPES = frozenset({"numeric", "real", "integer"})
_SPLIT_NAMES = re.compile(r"-(train|test|dev)$", re.IGNORECASE)
_MISSING = "?"
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_MESSAGES = {
    parse.BAD_FEATURE: "an entry in braces must be an attribute number, a blank and a value",
    parse.FEATURE_RANGE: "there is no attribute of this number; they count from 0",
    parse.BAD_ORDER: "the attribute numbers of a row must rise",
    parse.BAD_VALUE: "must be 0 or 1, as the attribute declares",
    parse.TOO_FEW_VALUES: "the row has fewer values than there are attributes",
    parse.TOO_MANY_VALUES: "the row has more values than there are attributes",
    parse.BAD_ROW: "values must be separated by commas and braces closed",
    parse.NO_ROOM: "the file changed while it was read",
}


@dataclass(frozen=True)
class Attribute:
    """A column: its name, the kind of its values (a constant of the kernel) and what named values stand for."""

    name: str
    kind: int
    values: dict[str, float]

    @property
    def implied(self) -> float:
        """The value of the attribute in sparse rows that leave it out: the first value declared."""
        return next(iter(self.values.values()), 0.0)


def read(source: Source) -> Dataset:
    """Read an ARFF file and the names of its labels."""
    path = source.path
    attributes, header_lines = _read_header(path, source.limits)
    names_path, names = _read_label_names(path, source.labels_path, source.limits)
    labels = _label_columns(path, attributes, names_path, names)
    is_label = set(labels)
    features = [place for place in range(len(attributes)) if place not in is_label]
    if not features:
        raise FileError(path, "all attributes are labels; at least one must be a feature")
    rows = _read_data(source, attributes, labels, header_lines)
    table = rows.to_csr(len(attributes))
    table.eliminate_zeros()
    X, Y = (sparse.csr_matrix(table[:, columns]) for columns in (features, labels))
    for matrix in (X, Y):
        matrix.sort_indices()
    return Dataset(X, Y, names, feature_names=[attributes[place].name for place in features])


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
        for place, name in enumerate(names):
            kind = "numeric" if place < X.shape[1] else "{0,1}"
            file.write(f"@attribute {_quoted(name)} {kind}\n".encode())
        file.write(b"\n@data\n")
        for row in range(table.shape[0]):
            part = slice(table.indptr[row], table.indptr[row + 1])
            pairs = zip(table.indices[part].tolist(), value_texts(table.data[part]), strict=True)
            file.write(("{" + ",".join(f"{place} {value}" for place, value in pairs) + "}\n").encode())
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


def _read_header(path: Path, limits: FileLimits) -> tuple[list[Attribute], int]:
    """Read the attributes, and count the lines up to and including ``@data``."""
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
    name, declared = _unquoted(found[1]), found[2]
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
    """Parse names in braces, separated by commas; the result is empty if the list is malformed."""
    inside, brace, behind = text[1:].rpartition("}")
    if not brace or not (not behind.strip() or behind.lstrip().startswith("%")):
        return []
    categories, at = [], 0
    while at < len(inside):
        found = _CATEGORY.match(inside, at)
        category = "" if found is None else _unquoted(found[1]) if found[1] else found[2].strip()
        if found is None or not category:
            return []
        categories.append(category)
        at = found.end()
    return categories


def _nominal(name: str, categories: list[str]) -> Attribute:
    """Build a nominal attribute. Values that are numbers stand for themselves, others for their position."""
    if all(re.fullmatch(r"-?\d{1,9}(\.\d{1,6})?", text) for text in categories):
        values = {text: float(text) for text in categories}
    else:
        values = {text: float(place) for place, text in enumerate(categories)}
    return Attribute(name, parse.BINARY if set(categories) == {"0", "1"} else parse.NAMED, values)


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


def _read_label_names(path: Path, labels_path: Path | None, limits: FileLimits) -> tuple[Path, list[str]]:
    """Find and read the label names of an ARFF file, from Mulan's XML or a list."""
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


def _read_xml(path: Path, limits: FileLimits) -> list[str]:
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


def _label_columns(path: Path, attributes: list[Attribute], names_path: Path, names: list[str]) -> list[int]:
    """Find the attributes that are labels, in the order of the names."""
    places = {attribute.name: place for place, attribute in enumerate(attributes)}
    for name in names:
        if name not in places:
            message = f"label '{name}' is not an attribute of {path.name}{did_you_mean(name, places)}"
            raise FileError(names_path, f"{message}; name labels as the attributes")
        if attributes[places[name]].kind == parse.NAMED:
            raise FileError(path, f"label '{name}' must have the values 0 and 1; declare it as {{0,1}}")
    return [places[name] for name in names]


# -- rows ------------------------------------------------------------------------------------------------


def _read_data(source: Source, attributes: list[Attribute], labels: list[int], header_lines: int) -> SparseRows:
    path, limits = source.path, source.limits
    kinds = np.array([attribute.kind for attribute in attributes], dtype=np.uint8)
    kinds[labels] = parse.BINARY  # labels are 0 or 1 even where they are declared as numbers
    marks = [parse.count_marks(block) for block in line_blocks(path, limits, skip_lines=header_lines)]
    sizes = [lines + commas for lines, _, commas in marks]
    rows = SparseRows(sum(lines for lines, _, _ in marks), sum(sizes), with_values=True)
    redo = np.empty((max(sizes, default=0), 3), dtype=np.int64)
    line = header_lines + 1
    for block, (lines_here, _, _) in zip(line_blocks(path, limits, skip_lines=header_lines), marks, strict=False):
        _refuse_implied(path, block, line, attributes)
        ids, values = rows.ids[rows.n_entries :], rows.values[rows.n_entries :]
        ends = rows.ends[rows.n_rows + 1 :]
        status, offset, n_rows, n_used, n_redo = parse.parse_arff_rows(block, kinds, ids, values, ends, redo)
        if status != parse.OK:
            got = shown(token_at(block, offset, b",}\r\n"))
            raise FileError(path, f"{_MESSAGES[status]}; got '{got}'", line=line_number(block, line, offset))
        start = 0
        try:
            for slot, start, end in redo[:n_redo].tolist():
                values[slot] = _value(attributes[ids[slot]], block[start:end].tobytes())
        except DataError as error:
            raise FileError(path, str(error), line=line_number(block, line, start)) from None
        rows.advance(n_rows, n_used, rising=True)
        line += lines_here
    if rows.n_rows == 0:
        raise FileError(path, "has no rows behind @data; it must hold at least one sample")
    return rows


def _refuse_implied(path: Path, block: npt.NDArray[np.uint8], line: int, attributes: list[Attribute]) -> None:
    """Refuse sparse rows where an attribute's first value, which such rows leave out, is not 0."""
    odd = next((attribute for attribute in attributes if attribute.implied != 0), None)
    if odd is None:
        return
    found = re.search(rb"^[ \t]*\{", block.tobytes(), re.MULTILINE)
    if found is not None:
        message = f"rows in braces need attributes whose first value is 0, but '{odd.name}' starts with {odd.implied:g}"
        raise FileError(path, f"{message}; write dense rows", line=line_number(block, line, found.start()))


def _value(attribute: Attribute, token: bytes) -> np.float32:
    """Parse a value that the kernel leaves to Python: a name, a number halfway between two float32, or an error."""
    text = _unquoted(token.decode("utf-8", errors="replace").strip())
    if text == _MISSING:
        raise DataError(f"attribute '{attribute.name}' is missing (?); fill in a value")
    if text in attribute.values:
        return np.float32(attribute.values[text])
    if attribute.values:
        known = ", ".join(list(attribute.values)[:10])
        raise DataError(f"'{attribute.name}' must be one of {known}; got '{shown(token)}'; correct the row")
    with np.errstate(over="ignore", under="ignore"):
        value = np.float32(text if _NUMBER.fullmatch(text) else np.nan)
    if not np.isfinite(value):
        message = f"'{attribute.name}' must be a number, finite in 32-bit floating point"
        raise DataError(f"{message}; got '{shown(token)}'; correct the row")
    return value
