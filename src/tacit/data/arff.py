"""Mulan ARFF: attributes with types, rows dense (``1,0,2.5``) or sparse (``{0 1,2 2.5}``), labels named in an XML.

The XML has the name of the ARFF file, without ``-train``, ``-test`` or ``-dev``, or is given as `labels_path`; a
plain list of label names does as well. Labels may stand anywhere among the attributes; the other attributes are
the features. Values that are names count as their place in the attribute's list, from 0.
"""

from __future__ import annotations

import re
from pathlib import Path
from xml.sax.saxutils import quoteattr

import numpy as np
import numpy.typing as npt
from scipy import sparse

from tacit.data.arff_header import (
    Attribute,
    kinds_of,
    label_columns,
    quoted,
    read_header,
    read_label_names,
    unquoted,
)
from tacit.data.dataset import Dataset, features_of
from tacit.data.files import Staging, line_blocks, plain_name
from tacit.data.formats import Source, Target
from tacit.data.numeric import SparseRows, line_number, nearest_float32, shown, token_at
from tacit.data.rows import value_texts
from tacit.errors import DataError, FileError
from tacit.kernels import parse

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


def read(source: Source) -> Dataset:
    """Read an ARFF file and the names of its labels."""
    path = source.path
    attributes, header_lines = read_header(path, source.limits)
    names_path, names = read_label_names(path, source.labels_path, source.limits)
    labels = label_columns(path, attributes, names_path, names)
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


def _read_data(source: Source, attributes: list[Attribute], labels: list[int], header_lines: int) -> SparseRows:
    path, limits = source.path, source.limits
    kinds = kinds_of(attributes, labels)
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
    """Rows in braces leave out the first value of an attribute; only where it is 0 may it be left out of X too."""
    odd = next((attribute for attribute in attributes if attribute.implied != 0), None)
    if odd is None:
        return
    found = re.search(rb"^[ \t]*\{", block.tobytes(), re.MULTILINE)
    if found is not None:
        message = f"rows in braces need attributes whose first value is 0, but '{odd.name}' starts with {odd.implied:g}"
        raise FileError(path, f"{message}; write dense rows", line=line_number(block, line, found.start()))


def _value(attribute: Attribute, token: bytes) -> np.float32:
    """A value the kernel could not settle: a name, a number near the middle of two float32, or an error."""
    text = unquoted(token.decode("utf-8", errors="replace").strip())
    if text == _MISSING:
        raise DataError(f"attribute '{attribute.name}' is missing (?); fill in a value")
    if text in attribute.values:
        return np.float32(attribute.values[text])
    if attribute.values:
        known = ", ".join(list(attribute.values)[:10])
        raise DataError(f"'{attribute.name}' must be one of {known}; got '{shown(token)}'; correct the row")
    value = nearest_float32(text.encode()) if _NUMBER.fullmatch(text) else np.float32(np.nan)
    if not np.isfinite(value):
        message = f"'{attribute.name}' must be a number, finite in 32-bit floating point"
        raise DataError(f"{message}; got '{shown(token)}'; correct the row")
    return value


def write(dataset: Dataset, target: Target, staging: Staging) -> None:
    """Write sparse rows, features first, and the XML beside them. Known negatives are left out."""
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
            file.write(f"@attribute {quoted(name)} {kind}\n".encode())
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
    """Names of the features, made different from those of the labels where they clash."""
    names = dataset.feature_names or [f"f{column}" for column in range(features_of(dataset).shape[1])]
    taken, free = set(dataset.label_names), []
    for name in names:
        while name in taken:
            name += "_"
        taken.add(name)
        free.append(name)
    return free
