"""Rows of sparse matrices: normalisation, sorting, largest entries, means."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

Ids = npt.NDArray[np.intp]


def row_squares(X: sparse.csr_matrix) -> npt.NDArray[np.float64]:
    """The squared length of each row."""
    squares = np.add.reduceat(np.append(X.data.astype(np.float64) ** 2, 0.0), X.indptr[:-1])
    return np.where(np.diff(X.indptr) > 0, squares, 0.0)


def unit_rows(X: Any) -> Any:
    """Scale the rows of X, a CSR matrix or `tacit.Features`, to unit length; empty rows stay empty."""
    if not sparse.issparse(X):
        return X.unit_rows()
    lengths = np.sqrt(row_squares(X))
    scale = np.divide(1.0, lengths, out=np.zeros_like(lengths), where=lengths > 0)
    data = (X.data * np.repeat(scale, np.diff(X.indptr))).astype(np.float32)
    return sparse.csr_matrix((data, X.indices, X.indptr), shape=X.shape, copy=False)


def row_of_entry(matrix: sparse.csr_matrix) -> Ids:
    """The row number of every stored entry."""
    return np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))


def widened(matrix: sparse.csr_matrix, n_columns: int, n_rows: int | None = None) -> sparse.csr_matrix:
    """The same entries in a matrix of more columns and, if `n_rows` is given, more rows."""
    n_rows = matrix.shape[0] if n_rows is None else n_rows
    indptr = np.pad(matrix.indptr, (0, n_rows - matrix.shape[0]), mode="edge")
    return sparse.csr_matrix((matrix.data, matrix.indices, indptr), shape=(n_rows, n_columns))


def first_entry(matrix: sparse.csr_matrix, where: npt.NDArray[np.bool_]) -> tuple[int, int, Any]:
    """Row, column and value of the first stored entry for which `where` is true."""
    place = int(np.argmax(where))
    row = int(np.searchsorted(matrix.indptr, place, side="right")) - 1
    return row, int(matrix.indices[place]), matrix.data[place]


def falling_order(matrix: sparse.csr_matrix, values: npt.NDArray[Any]) -> tuple[Ids, Ids]:
    """The order that sorts each row by decreasing `values` (stable), and the rank of each entry in its row, from 0."""
    rows = row_of_entry(matrix)
    return np.lexsort((-values, rows)), np.arange(len(rows)) - matrix.indptr[rows]


def largest_entries(matrix: sparse.csr_matrix, n_largest: int) -> sparse.csr_matrix:
    """The `n_largest` entries of each row by absolute value."""
    order, places = falling_order(matrix, np.abs(matrix.data))
    is_kept = np.zeros(matrix.nnz, dtype=bool)
    is_kept[order[places < n_largest]] = True
    starts = np.concatenate([[0], np.cumsum(is_kept)])[matrix.indptr]
    return sparse.csr_matrix((matrix.data[is_kept], matrix.indices[is_kept], starts), shape=matrix.shape)


def weighted_sums(weights: sparse.csr_matrix, X: Any) -> Any:
    """``weights @ X``: weighted sums of rows."""
    return sparse.csr_matrix(weights @ X) if sparse.issparse(X) else X.sums(weights)


def label_means(X: Any, Y: sparse.csr_matrix) -> Any:
    """The mean of each label's samples; all stored values of Y are 1."""
    counts = np.bincount(Y.indices, minlength=Y.shape[1])
    if not sparse.issparse(X):
        return X.sums(sparse.csr_matrix(sparse.diags(1 / np.maximum(counts, 1)) @ Y.T.tocsr()))
    return sparse.csr_matrix(sparse.diags(1 / np.maximum(counts, 1)) @ (Y.T.tocsr() @ X))
