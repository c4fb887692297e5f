"""Rows of numbers from text files: the kernel's results as matrices, its error codes as messages."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
from scipy import sparse

from tacit.data.files import line_blocks
from tacit.data.limits import LARGEST_DIMENSION, LIMITS, Limits
from tacit.errors import FileError
from tacit.kernels import parse

_LONGEST_TOKEN = 40
_NOT_FINITE = re.compile(rb"[+-]?(nan|inf|infinity)", re.IGNORECASE)


@dataclass(frozen=True)
class RowLayout:
    """How the rows of a file are laid out.

    Attributes
    ----------
    n_features, n_labels : int
        Ids must be below these,
    first_feature, first_label : int
        and not below these.
    with_labels : bool
        Rows open with a list of labels.
    loose : bool
        Empty lines are skipped and rows may end in a comment; otherwise each line is a row.
    column : str
        What the number before the colon stands for, in messages.
    feature_remedy, label_remedy : str
        What to do about an id that is out of range, in messages.
    """

    n_features: int = LARGEST_DIMENSION
    n_labels: int = LARGEST_DIMENSION
    first_feature: int = 0
    first_label: int = 0
    with_labels: bool = True
    loose: bool = False
    column: str = "feature"
    feature_remedy: str = "correct the row"
    label_remedy: str = "correct the row"


class SparseRows:
    """The rows of a sparse matrix while they are read: arrays that are long enough, and how much is used."""

    def __init__(self, max_rows: int, max_entries: int, *, with_values: bool) -> None:
        self.ends = np.zeros(max_rows + 1, dtype=np.int64)
        self.ids = np.empty(max_entries, dtype=np.int32)
        self.values = np.empty(max_entries if with_values else 0, dtype=np.float32)
        self.with_values = with_values
        self.n_rows = 0
        self.n_entries = 0
        self.rising = True

    def advance(self, n_rows: int, n_entries: int, *, rising: bool) -> None:
        """Count in the rows of a block, whose ends were given from the block's start on."""
        self.ends[self.n_rows + 1 : self.n_rows + n_rows + 1] += self.n_entries
        self.n_rows += n_rows
        self.n_entries += n_entries
        self.rising &= rising

    @property
    def used_ids(self) -> npt.NDArray[np.int32]:
        """The column ids read so far."""
        return self.ids[: self.n_entries]

    @property
    def used_values(self) -> npt.NDArray[np.float32]:
        """The values read so far."""
        return self.values[: self.n_entries]

    def to_csr(self, n_columns: int, *, n_rows: int | None = None, first_id: int = 0) -> sparse.csr_matrix:
        """The first `n_rows` rows as a matrix, ids sorted and duplicates summed; without values all are 1."""
        n_rows = self.n_rows if n_rows is None else n_rows
        indptr = self.ends[: n_rows + 1]
        if self.n_entries <= LARGEST_DIMENSION:
            indptr = indptr.astype(np.int32)
        ids = self.used_ids
        if first_id:
            ids -= np.int32(first_id)
        values = self.used_values if self.with_values else np.ones(len(ids), dtype=np.float32)
        matrix = sparse.csr_matrix((values, ids, indptr), shape=(n_rows, n_columns))
        if self.rising:
            matrix.has_canonical_format = True
        else:
            matrix.sum_duplicates()
        return matrix


def read_rows(
    path: Path, layout: RowLayout, limits: Limits = LIMITS, *, skip_lines: int = 0, n_rows: int | None = None
) -> tuple[SparseRows, SparseRows]:
    """Features and labels of all rows of a file.

    The file is read twice, first to count, so that each array is made once and in its final size.

    Parameters
    ----------
    skip_lines : int
        Header lines to pass over.
    n_rows : int, optional
        How many rows the header announces; any other number is an error.
    """
    marks = [parse.count_marks(block) for block in line_blocks(path, limits, skip_lines=skip_lines)]
    n_lines, n_colons, n_commas = (sum(column) for column in zip((0, 0, 0), *marks, strict=True))
    features = SparseRows(n_lines, n_colons, with_values=True)
    labels = SparseRows(n_lines, n_commas + n_lines if layout.with_labels else 0, with_values=False)
    redo = np.empty((max((colons for _, colons, _ in marks), default=0), 3), dtype=np.int64)
    line = 1 + skip_lines
    for block, (lines_here, _, _) in zip(line_blocks(path, limits, skip_lines=skip_lines), marks, strict=False):
        _read_block(path, block, line, layout, features, labels, redo)
        if n_rows is not None and features.n_rows > n_rows:
            _check_surplus(path, features, labels, n_rows, skip_lines)
        line += lines_here
    if n_rows is not None and features.n_rows < n_rows:
        message = f"the header announces {n_rows} rows, but the file ends after {features.n_rows}"
        raise FileError(path, f"{message}; it may be cut off: copy or download it again", line=max(line - 1, 1))
    return features, labels


def _read_block(
    path: Path,
    block: npt.NDArray[np.uint8],
    line: int,
    layout: RowLayout,
    features: SparseRows,
    labels: SparseRows,
    redo: npt.NDArray[np.int64],
) -> None:
    """Parse one block behind what is read already."""
    values = features.values[features.n_entries :]
    status, offset, rows, n_features, n_labels, n_redo, features_rise, labels_rise = parse.parse_rows(
        block,
        layout.with_labels,
        layout.loose,
        layout.first_feature,
        layout.n_features,
        layout.first_label,
        layout.n_labels,
        features.ids[features.n_entries :],
        values,
        features.ends[features.n_rows + 1 :],
        labels.ids[labels.n_entries :],
        labels.ends[labels.n_rows + 1 :],
        redo,
    )
    if status != parse.OK:
        raise row_error(path, block, line, status, offset, layout)
    redo_values(path, block, line, values, redo[:n_redo])
    features.advance(rows, n_features, rising=features_rise)
    labels.advance(rows, n_labels, rising=labels_rise)


def _check_surplus(path: Path, features: SparseRows, labels: SparseRows, n_rows: int, skip_lines: int) -> None:
    """Blank lines may follow the last row, nothing else."""
    for part in (features, labels):
        filled = np.flatnonzero(np.diff(part.ends[n_rows : part.n_rows + 1]))
        if len(filled):
            message = f"the header announces {n_rows} rows, but here is another one"
            line = skip_lines + n_rows + int(filled[0]) + 1
            raise FileError(path, f"{message}; correct the header or the rows", line=line)


def redo_values(
    path: Path,
    block: npt.NDArray[np.uint8],
    line: int,
    values: npt.NDArray[np.float32],
    redo: npt.NDArray[np.int64],
) -> None:
    """Settle in Python the values that the kernel could not."""
    for slot, start, end in redo.tolist():
        values[slot] = nearest_float32(block[start:end].tobytes())
        if not np.isfinite(values[slot]):
            raise row_error(path, block, line, parse.INFINITE_VALUE, start, RowLayout())


def nearest_float32(text: bytes) -> np.float32:
    """What NumPy makes of Python's float; infinite where the number is too large."""
    with np.errstate(over="ignore", under="ignore"):
        return np.float32(float(text))


def token_at(block: npt.NDArray[np.uint8], offset: int, stops: bytes = b" \t\r\n#") -> bytes:
    """The bytes from `offset` up to the next of `stops`."""
    return re.split(rb"[" + re.escape(stops) + rb"]", block[offset:].tobytes(), maxsplit=1)[0]


def line_number(block: npt.NDArray[np.uint8], line: int, offset: int) -> int:
    """Number of the line at an offset; `line` is the number of the block's first line."""
    return line + int(np.count_nonzero(block[:offset] == ord("\n")))


def row_error(
    path: Path, block: npt.NDArray[np.uint8], line: int, status: int, offset: int, layout: RowLayout
) -> FileError:
    """What the kernel's status and offset mean, in words; `line` is the number of the block's first line."""
    line = line_number(block, line, offset)
    raw = token_at(block, offset)
    token = shown(raw)
    column, _, text = raw.partition(b":")
    what = layout.column
    if status == parse.NO_ROOM:
        return FileError(path, "the file changed while it was read; read it again", line=line)
    if status == parse.BAD_FEATURE and column.startswith(b"-"):
        message = f"{what} ids must not be negative; got '{token}'"
    elif status == parse.BAD_FEATURE:
        message = f"must be {what}:value, as in 3:0.5; got '{token}'"
    elif status == parse.FEATURE_RANGE:
        message = f"{what} ids must be in {layout.first_feature} … {layout.n_features - 1}; got '{token}'"
    elif status == parse.BAD_LABEL and raw.startswith(b"-"):
        message = f"label ids must not be negative; got '{token}'"
    elif status == parse.BAD_LABEL:
        message = f"labels must be whole numbers separated by commas; got '{token}'"
    elif status == parse.LABEL_RANGE:
        message = f"label ids must be in {layout.first_label} … {layout.n_labels - 1}; got '{token}'"
    elif status == parse.BAD_VALUE and not text:
        message = f"'{token}' has no value behind the colon; the file may be cut off"
    elif status == parse.INFINITE_VALUE or _NOT_FINITE.fullmatch(text):
        message = f"values must be finite in 32-bit floating point; got '{token}'"
    else:
        message = f"values must be numbers; got '{token}'"
    remedies = {parse.FEATURE_RANGE: layout.feature_remedy, parse.LABEL_RANGE: layout.label_remedy}
    return FileError(path, f"{message}; {remedies.get(status, 'correct the row')}", line=line)


def shown(raw: bytes) -> str:
    """A token as it can be printed in one line."""
    text = raw[:_LONGEST_TOKEN].decode("utf-8", errors="backslashreplace")
    text = "".join(char if char.isprintable() else repr(char)[1:-1] for char in text)
    return text + ("…" if len(raw) > _LONGEST_TOKEN else "")
