"""Rows of sparse matrices: normalisation, sorting, largest entries, means."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from tacit.arrays import Floats64, Ids, Integers, Ints64, Mask
from tacit.numerics.storage import entries_at_once, is_large_on_disk, new_array, to_disk

_UNIT_ERROR = 1e-6  # of the squared length of a row of float32


def row_squares(X: sparse.csr_matrix) -> Floats64:
    """The squared length of each row."""
    return np.concatenate([_row_squares(X, first, last) for first, last in entry_blocks(X)])


def _row_squares(X: sparse.csr_matrix, first: int, last: int) -> Floats64:
    starts = X.indptr[first : last + 1]
    entries = X.data[starts[0] : starts[-1]].astype(np.float64)
    squares, has_entries = np.zeros(last - first), np.diff(starts) > 0
    squares[has_entries] = np.add.reduceat(np.square(entries, out=entries), (starts[:-1] - starts[0])[has_entries])
    return squares


def unit_rows(X: Any) -> Any:
    """Scale the rows of X, a CSR matrix or `tacit.Features`, to unit length; empty rows stay empty.

    Rows that have unit length already keep their values; if all of them do, X itself is returned.
    """
    if not sparse.issparse(X):
        return X.unit_rows()
    squares = row_squares(X)
    is_scaled = (squares > 0) & (np.abs(squares - 1) >= _UNIT_ERROR)
    if X.dtype == np.float32 and not is_scaled.any():
        return X
    scale = np.divide(1.0, np.sqrt(squares), out=np.ones_like(squares), where=is_scaled)
    data = new_array(X.nnz, np.float32)
    for first, last in entry_blocks(X):
        starts = X.indptr[first : last + 1]
        inside = slice(starts[0], starts[-1])
        data[inside] = X.data[inside] * np.repeat(scale[first:last], np.diff(starts))
    return sparse.csr_matrix((data, X.indices, X.indptr), shape=X.shape, copy=False)


def entry_blocks(X: sparse.csr_matrix) -> list[tuple[int, int]]:
    """Consecutive (first, last) blocks of rows with about `entries_at_once` entries; at least one block."""
    stops = np.flatnonzero(np.diff(X.indptr[1:] // entries_at_once())) + 1
    return list(pairwise([0, *stops.tolist(), X.shape[0]]))


def stacked(blocks: Iterable[sparse.csr_matrix]) -> sparse.csr_matrix:
    """The rows of several matrices below one another, made by `new_array`."""
    if not is_large_on_disk():
        parts = list(blocks)
        return parts[0] if len(parts) == 1 else sparse.vstack(parts, format="csr")
    parts = [moved_to_disk(block) for block in blocks]
    sizes = [part.nnz for part in parts]
    kind = np.int32 if sum(sizes) < np.iinfo(np.int32).max else np.int64
    data, indices, at = new_array(sum(sizes), parts[0].dtype), new_array(sum(sizes), kind), 0
    starts = np.concatenate([[0], np.cumsum(np.concatenate([np.diff(part.indptr) for part in parts]))])
    shape = len(starts) - 1, parts[0].shape[1]
    for place, size in enumerate(sizes):
        data[at : at + size], indices[at : at + size] = parts[place].data, parts[place].indices
        parts[place] = None  # frees its part of the disk
        at += size
    return sparse.csr_matrix((data, indices, starts.astype(kind)), shape=shape, copy=False)


def moved_to_disk(matrix: sparse.csr_matrix) -> sparse.csr_matrix:
    """A matrix whose entries are on disk, if large arrays go there."""
    parts = to_disk(matrix.data), to_disk(matrix.indices), matrix.indptr
    return sparse.csr_matrix(parts, shape=matrix.shape, copy=False)


def selected(X: Any, rows: Integers) -> Any:
    """Some rows of X, a CSR matrix or `tacit.Features`; those of a matrix made by `new_array`."""
    if not is_large_on_disk() or not sparse.issparse(X):
        return X[rows]
    ends = np.cumsum(np.diff(X.indptr)[rows], dtype=np.int64)
    stops = np.flatnonzero(np.diff(ends // entries_at_once())) + 1
    return stacked(X[rows[first:last]] for first, last in pairwise([0, *stops.tolist(), len(rows)]))


def entry_chunks(X: sparse.csr_matrix) -> Iterator[slice]:
    """Consecutive parts of the entries of X; NumPy would convert the indices of all of them at once."""
    size = entries_at_once()
    return (slice(first, first + size) for first in range(0, X.nnz, size))


def sorted_set(numbers: npt.NDArray[Any]) -> Ints64:
    """The distinct numbers, none below 0, in ascending order; much faster than the hash tables of `np.unique`."""
    ascending = np.sort(numbers.astype(np.int64))
    return ascending[np.diff(ascending, prepend=-1) > 0]


def occurring(X: sparse.csr_matrix) -> Mask:
    """Whether each column has entries."""
    occurs = np.zeros(X.shape[1], dtype=np.bool_)
    for chunk in entry_chunks(X):
        occurs[X.indices[chunk]] = True
    return occurs


def row_of_entry(matrix: sparse.csr_matrix) -> Ids:
    """The row number of every stored entry."""
    return np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))


def row_bounds(X: sparse.csr_matrix, rows: Integers | None = None) -> Ids:
    """For some rows or all of them, the first of their entries and the one after the last."""
    starts, ends = X.indptr[:-1], X.indptr[1:]
    return np.stack([starts, ends] if rows is None else [starts[rows], ends[rows]], axis=1).astype(np.int64)


def widened(matrix: sparse.csr_matrix, n_columns: int, n_rows: int | None = None) -> sparse.csr_matrix:
    """The same entries in a matrix of more columns and, if `n_rows` is given, more rows."""
    n_rows = matrix.shape[0] if n_rows is None else n_rows
    indptr = np.pad(matrix.indptr, (0, n_rows - matrix.shape[0]), mode="edge")
    return sparse.csr_matrix((matrix.data, matrix.indices, indptr), shape=(n_rows, n_columns))


def first_entry(matrix: sparse.csr_matrix, where: Mask) -> tuple[int, int, Any]:
    """Row, column and value of the first stored entry for which `where` is true."""
    place = int(np.argmax(where))
    row = int(np.searchsorted(matrix.indptr, place, side="right")) - 1
    return row, int(matrix.indices[place]), matrix.data[place]


def falling_order(matrix: sparse.csr_matrix, values: npt.NDArray[Any]) -> tuple[Ids, Ids]:
    """The order that sorts each row by decreasing `values` (stable), and the rank of each entry in its row, from 0."""
    rows = row_of_entry(matrix)
    return np.lexsort((-values, rows)), np.arange(len(rows)) - matrix.indptr[rows]


def largest_entries(matrix: sparse.csr_matrix, n_largest: int) -> sparse.csr_matrix:
    """The `n_largest` entries of each row by absolute value; of equal ones the first."""
    is_kept = np.ones(matrix.nnz, dtype=np.bool_)
    for row in np.flatnonzero(np.diff(matrix.indptr) > n_largest):
        entries = slice(matrix.indptr[row], matrix.indptr[row + 1])
        sizes = np.abs(matrix.data[entries])
        smallest = np.partition(sizes, -n_largest)[-n_largest]
        is_kept[entries] = sizes > smallest
        equal = np.flatnonzero(sizes == smallest)[: n_largest - np.count_nonzero(is_kept[entries])]
        is_kept[entries.start + equal] = True
    starts = np.concatenate([[0], np.cumsum(is_kept)])[matrix.indptr]
    return sparse.csr_matrix((matrix.data[is_kept], matrix.indices[is_kept], starts), shape=matrix.shape)


def label_means(X: Any, Y: sparse.csr_matrix) -> Any:
    """The mean of each label's samples; all stored values of Y are 1."""
    averages = sparse.diags(1 / np.maximum(np.bincount(Y.indices, minlength=Y.shape[1]), 1))
    if not sparse.issparse(X):
        return X.sums(sparse.csr_matrix(averages @ Y.T.tocsr()))
    return sparse.csr_matrix(averages @ (Y.T.tocsr() @ X))
