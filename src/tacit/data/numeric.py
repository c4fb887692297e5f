"""Rows of numbers in text files, ``l,l f:v f:v``: parsed by the kernel into sparse matrices, and written."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import numpy as np
from scipy import sparse

from tacit.arrays import Bytes, Floats32, Integers
from tacit.data.files import line_blocks
from tacit.data.limits import LARGEST_DIMENSION, LIMITS, FileLimits
from tacit.errors import FileError
from tacit.kernels import parse
from tacit.numerics.rows import first_entry

_LONGEST_TOKEN = 40
_ROWS_AT_ONCE = 4096
_NOT_FINITE = re.compile(rb"[+-]?(nan|inf|infinity|\d+\.?\d*(e[+-]?\d+)?)", re.IGNORECASE)  # digits: too large


@dataclass(frozen=True)
class RowLayout:
    """How the rows of a file are laid out: ids from `first_…` up to, but not including, `n_…`."""

    n_features: int = LARGEST_DIMENSION
    n_labels: int = LARGEST_DIMENSION
    first_feature: int = 0
    first_label: int = 0
    with_labels: bool = True  # whether rows start with a list of labels
    loose: bool = False  # whether empty lines are skipped and rows may end in a comment; otherwise each line is a row
    column: str = "feature"  # in messages, the noun for the number before the colon


class SparseRows:
    """Rows of a sparse matrix under construction: preallocated arrays, and how much of them is used."""

    def __init__(self, max_rows: int, max_entries: int, *, with_values: bool) -> None:
        self.ends = np.zeros(max_rows + 1, dtype=np.int64)
        self.ids = np.empty(max_entries, dtype=np.int32)
        self.values = np.empty(max_entries if with_values else 0, dtype=np.float32)
        self.n_rows = 0
        self.n_entries = 0

    def advance(self, n_rows: int, n_entries: int) -> None:
        """Account for the rows of a block; the kernel counted their ends from the start of the block."""
        self.ends[self.n_rows + 1 : self.n_rows + n_rows + 1] += self.n_entries
        self.n_rows += n_rows
        self.n_entries += n_entries

    def cut_to(self, path: Path, n_rows: int, line: int) -> None:
        """Leave out blank rows after the last that the header announces, which is in the line before `line`."""
        filled = np.flatnonzero(np.diff(self.ends[n_rows : self.n_rows + 1]))
        if len(filled):
            message = f"the header announces {n_rows} rows, but here is another one; correct the header or the rows"
            raise FileError(path, message, line=line + int(filled[0]))
        self.n_rows = min(n_rows, self.n_rows)

    def to_csr(self, n_columns: int, first_id: int = 0) -> sparse.csr_matrix:
        """Build the matrix: ids sorted, duplicates summed, all 1 if rows have no values."""
        ids, indptr = self.ids[: self.n_entries], self.ends[: self.n_rows + 1]
        if self.n_entries <= LARGEST_DIMENSION:
            indptr = indptr.astype(np.int32)
        ids -= np.int32(first_id)
        values = self.values[: self.n_entries] if len(self.values) else np.ones(len(ids), dtype=np.float32)
        matrix = sparse.csr_matrix((values, ids, indptr), shape=(self.n_rows, n_columns))
        matrix.sum_duplicates()
        return matrix


def read_rows(
    path: Path, layout: RowLayout, limits: FileLimits = LIMITS, *, skip_lines: int = 0, n_rows: int | None = None
) -> tuple[SparseRows, SparseRows]:
    """Read the features and labels of all rows of a file; `n_rows` is what its header announces.

    The file is read twice. The first pass counts, so that each array is allocated once in its final size.
    """
    marks = [parse.count_marks(block) for block in line_blocks(path, limits, skip_lines=skip_lines)]
    n_lines, n_colons, n_commas = (sum(column) for column in zip((0, 0, 0), *marks, strict=True))
    features = SparseRows(n_lines, n_colons, with_values=True)
    labels = SparseRows(n_lines, n_commas + n_lines if layout.with_labels else 0, with_values=False)
    line = 1 + skip_lines
    for block, (lines_here, _, _) in zip(line_blocks(path, limits, skip_lines=skip_lines), marks, strict=False):
        _read_block(path, block, line, layout, features, labels)
        line += lines_here
    if n_rows is None:
        return features, labels
    if features.n_rows < n_rows:
        message = f"the header announces {n_rows} rows, but the file ends after {features.n_rows}"
        raise FileError(path, f"{message}; it may be cut off: copy or download it again", line=max(line - 1, 1))
    for part in (features, labels):
        part.cut_to(path, n_rows, skip_lines + n_rows + 1)
    return features, labels


def feature_matrix(path: Path, rows: SparseRows, n_columns: int, first_id: int = 0) -> sparse.csr_matrix:
    """Build X; sums of duplicate features may overflow although each value is finite, which is an error."""
    X = rows.to_csr(n_columns, first_id)
    if X.nnz < rows.n_entries and not np.isfinite(X.data).all():
        row, _, _ = first_entry(X, ~np.isfinite(X.data))
        raise FileError(path, f"the values of one feature sum to infinity in sample {row}; correct the row")
    return X


def label_matrix(rows: SparseRows, n_columns: int, first_id: int = 0) -> sparse.csr_matrix:
    """Build Y; labels that a row repeats count once."""
    Y = rows.to_csr(n_columns, first_id)
    np.minimum(Y.data, 1, out=Y.data)
    return Y


def _read_block(
    path: Path, block: Bytes, line: int, layout: RowLayout, features: SparseRows, labels: SparseRows
) -> None:
    """Parse one block and append its rows."""
    ids = layout.first_feature, layout.n_features, layout.first_label, layout.n_labels
    form = parse.RowFormat(*ids, layout.with_labels, layout.loose)
    found = parse.RowArrays(
        features.ids[features.n_entries :],
        features.values[features.n_entries :],
        features.ends[features.n_rows + 1 :],
        labels.ids[labels.n_entries :],
        labels.ends[labels.n_rows + 1 :],
    )
    outcome, offset, rows, n_features, n_labels = parse.parse_rows(block, form, found)
    if outcome != parse.OK:
        raise _row_error(path, block, line, outcome, offset, layout)
    features.advance(rows, n_features)
    labels.advance(rows, n_labels)


def _row_error(path: Path, block: Bytes, line: int, outcome: int, offset: int, layout: RowLayout) -> FileError:
    """Turn the kernel's outcome and offset into an error; `line` is the number of the block's first line."""
    line += int(np.count_nonzero(block[:offset] == ord("\n")))
    if outcome == parse.NO_ROOM:
        return FileError(path, "the file changed while it was read; read it again", line=line)
    raw = re.split(rb"\r?\n|[ \t]", block[offset:].tobytes(), maxsplit=1)[0]
    number, separator, value = raw.partition(b"," if outcome == parse.BAD_LABEL else b":")
    what, is_negative, remedy = layout.column, raw.startswith(b"-"), "correct the row"
    first, last = layout.first_feature, layout.n_features - 1
    if outcome == parse.BAD_LABEL:
        what, first, last = "label", layout.first_label, layout.n_labels - 1
        message = "labels must be whole numbers separated by commas"
    elif outcome == parse.BAD_FEATURE:
        message = f"must be {what}:value, as in 3:0.5"
    elif _NOT_FINITE.fullmatch(value):
        message = "values must be finite in 32-bit floating point"
    else:
        message = "values must be numbers" if value else "a value must follow the colon (is the file cut off?)"
    if outcome != parse.BAD_VALUE and is_negative:
        message = f"{what} ids must not be negative"
    elif outcome != parse.BAD_VALUE and number.isdigit() and (separator or what == "label"):
        message = f"{what} ids must be in {first} … {last}"
        if layout.loose:
            remedy = f"correct the row, or raise max_{'labels' if what == 'label' else 'features'}"
    return FileError(path, f"{message}; got '{shown(raw)}'; {remedy}", line=line)


def shown(raw: bytes) -> str:
    """Shorten a token and escape its control characters, so that it prints in one line."""
    text = raw[:_LONGEST_TOKEN].decode("utf-8", errors="backslashreplace")
    text = "".join(char if char.isprintable() else repr(char)[1:-1] for char in text)
    return text + ("…" if len(raw) > _LONGEST_TOKEN else "")


def write_rows(
    file: IO[bytes], X: sparse.csr_matrix, Y: sparse.csr_matrix | None, *, first_feature: int = 0, first_label: int = 0
) -> None:
    """Write one line per sample: its labels (unless `Y` is None), its features, a line feed."""
    for start in range(0, X.shape[0], _ROWS_AT_ONCE):
        part = X[start : start + _ROWS_AT_ONCE]
        ids = (part.indices + first_feature).tolist()
        pairs = [f"{feature}:{value}" for feature, value in zip(ids, _value_texts(part.data), strict=True)]
        rows = _rows_of_text(pairs, part.indptr, " ")
        if Y is not None:
            tags = Y[start : start + _ROWS_AT_ONCE].copy()
            tags.eliminate_zeros()
            labels = _rows_of_text(list(map(str, (tags.indices + first_label).tolist())), tags.indptr, ",")
            rows = (f"{names} {row}" for names, row in zip(labels, rows, strict=True))
        file.writelines(f"{row}\n".encode() for row in rows)


def _value_texts(values: Floats32) -> list[str]:
    """Format numbers with the fewest digits that read back as the same float32; whole numbers have no point."""
    return [text.removesuffix(".0") for text in values.astype(np.str_).tolist()]


def _rows_of_text(texts: list[str], indptr: Integers, separator: str) -> Iterator[str]:
    """Texts of entries joined row by row."""
    return (separator.join(texts[start:end]) for start, end in itertools.pairwise(indptr.tolist()))
