"""Mulan ARFF: attributes with types, rows dense (``1,0,2.5``) or sparse (``{0 1,2 2.5}``), labels named in an XML file.

The XML file has the name of the ARFF file, without ``-train``, ``-test`` or ``-dev``, or is given as `labels_path`, as
is a plain list of label names. All other attributes are features. Values that are names count by their position. The
format is read, but not written.
"""

from __future__ import annotations

import csv
import re
from array import array
from collections.abc import Iterator
from html import unescape
from pathlib import Path

import numpy as np
from scipy import sparse

from tacit.data.dataset import Dataset
from tacit.data.files import plain_name, sibling, text_lines
from tacit.data.formats import Source
from tacit.data.label_names import read_names
from tacit.data.limits import FileLimits
from tacit.data.numeric import shown
from tacit.errors import FileError, did_you_mean

_NAME = r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|[^\s'\"]\S*"
_ATTRIBUTE = re.compile(rf"\s*@attribute\s+({_NAME})\s+(?:{{(.*)}}|numeric|real|integer)\s*(?:%.*)?", re.IGNORECASE)
_LABEL = re.compile(r"""<label\s+name\s*=\s*(?:"([^"<]*)"|'([^'<]*)')""")
_NUMBER = re.compile(r"-?\d{1,9}(\.\d{1,6})?", re.ASCII)


def read(source: Source) -> Dataset:
    """Read an ARFF file and the names of its labels."""
    path, limits = source.path, source.limits
    lines = text_lines(path, limits)
    attributes = _read_header(path, lines)
    names_path = source.labels_path or _find_xml(path)
    is_xml = plain_name(names_path).lower().endswith(".xml")
    names = _read_xml(names_path, limits) if is_xml else read_names(names_path, limits).names
    column_of = {name: column for column, name in enumerate(attributes)}
    if unknown := next((name for name in names if name not in column_of), None):
        message = f"label '{unknown}' is not an attribute of {path.name}{did_you_mean(unknown, column_of)}"
        raise FileError(names_path, f"{message}; name labels as the attributes")
    labels = [column_of[name] for name in names]
    features = np.setdiff1d(np.arange(len(attributes)), labels)
    if not len(features):
        raise FileError(path, "all attributes are labels; at least one must be a feature")
    table = _read_rows(path, lines, list(attributes.values()))
    X, Y = (sparse.csr_matrix(table[:, columns]) for columns in (features, labels))
    are_named = [name for name in names if attributes[name]] + [names[label] for label in Y.indices[Y.data != 1][:1]]
    if are_named:
        raise FileError(path, f"label '{are_named[0]}' must have the values 0 and 1; declare it as {{0,1}}")
    for matrix in (X, Y):
        matrix.sort_indices()
    feature_names = np.array(list(attributes), dtype=object)[features].tolist()
    return Dataset(X, Y, names, feature_names=feature_names)


def _read_header(path: Path, lines: Iterator[tuple[int, str]]) -> dict[str, dict[str, float]]:
    """What the values of each attribute stand for unless they are numbers; the first, which rows may omit, is 0."""
    attributes: dict[str, dict[str, float]] = {}
    for number, line in lines:
        word = line.strip().lower()
        if word.startswith("@data"):
            return attributes
        if not word or word.startswith(("%", "@relation")):
            continue
        found = _ATTRIBUTE.fullmatch(line)
        try:
            if found is None:
                raise ValueError("must be @relation, @attribute name numeric, @attribute name {values} or @data")
            name, values = ",".join(_items(found[1])), _items(found[2] or "")
            if name in attributes or len(set(values)) < len(values):
                raise ValueError(f"attribute '{name}', or a value of it, is declared twice")
        except (ValueError, csv.Error) as error:
            raise FileError(path, f"{error}; got '{shown(line.encode())}'", line=number) from None
        are_numbers = all(map(_NUMBER.fullmatch, values)) and not (values and float(values[0]))
        attributes[name] = {} if are_numbers else {value: float(code) for code, value in enumerate(values)}
    raise FileError(path, "has no @data line; the file may be cut off")


def _items(text: str) -> list[str]:
    """Values between commas, without their quotes and escapes."""
    quote = '"' if '"' in text else "'"
    rows = csv.reader([text], quotechar=quote, escapechar="\\", skipinitialspace=True, strict=True)
    return [item.strip() for row in rows for item in row]


def _find_xml(path: Path) -> Path:
    stem = Path(plain_name(path)).stem
    names = dict.fromkeys([f"{stem}.xml", re.sub(r"-(train|test|dev)$", "", stem, flags=re.IGNORECASE) + ".xml"])
    found = next(filter(None, (sibling(path, name) for name in names)), None)
    if found is None:
        message = f"the labels should be named in {' or '.join(names)} beside it"
        raise FileError(path, f"{message}; give the XML, or a list of label names, as labels_path")
    return found


def _read_xml(path: Path, limits: FileLimits) -> list[str]:
    """The names in ``<label name="…">``; not by a parser of XML, whose entities are a danger."""
    text = "".join(line for _, line in text_lines(path, limits, keep_ends=True))
    names = [unescape(found[1] or found[2]) for found in _LABEL.finditer(text)]
    if not names or not all(names) or len(set(names)) < len(names):
        raise FileError(path, 'must hold elements <label name="…">, each with another name')
    return names


def _read_rows(path: Path, lines: Iterator[tuple[int, str]], values: list[dict[str, float]]) -> sparse.csr_matrix:
    """Read the rows behind ``@data`` as a matrix with a column for each attribute; zeros are left out."""
    ids, data, ends = array("i"), array("f"), array("q", [0])
    for number, line in lines:
        row = line.strip()
        if not row or row.startswith("%"):
            continue
        try:
            for column, text in _entries(row, len(values)):
                known = values[column]
                value = known[text] if known else float(text)
                if value:
                    ids.append(column)
                    data.append(value)
            if not np.isfinite(data[ends[-1] :]).all():
                raise ValueError("values must be finite in 32-bit floating point")
        except (ValueError, KeyError, csv.Error) as error:
            message = f"{error.args[0]!r} is no value of its attribute" if isinstance(error, KeyError) else error
            raise FileError(path, f"{message}; got '{shown(row.encode())}'; correct the row", line=number) from None
        ends.append(len(ids))
    if len(ends) == 1:
        raise FileError(path, "has no rows behind @data; it must hold at least one sample")
    arrays = np.array(data, np.float32), np.array(ids, np.int32), np.array(ends, np.int64)
    return sparse.csr_matrix(arrays, shape=(len(ends) - 1, len(values)))


def _entries(row: str, n_attributes: int) -> Iterator[tuple[int, str]]:
    """The attribute numbers and values of a row, dense or in braces."""
    items = _items(row.removeprefix("{").removesuffix("}"))
    if not row.startswith("{"):
        if len(items) != n_attributes:
            raise ValueError(f"a row must have {n_attributes} values, as there are attributes; it has {len(items)}")
        yield from enumerate(items)
        return
    if not row.endswith("}"):
        raise ValueError("braces must be closed")
    previous = -1
    for item in items if items != [""] else ():
        number, *values = item.split(None, 1)
        if not values or not previous < (column := int(number)) < n_attributes:
            raise ValueError(
                f"entries in braces must be rising numbers below {n_attributes} with values; '{item}' is not"
            )
        yield column, values[0].strip("'\"")
        previous = column
