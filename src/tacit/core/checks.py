"""Checks of user input, before anything is computed."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from tacit.errors import DataError, ParameterError
from tacit.numerics.rows import entry_chunks, first_entry

_AT_A_TIME = 1 << 20  # dense values that are checked together


def as_csr(matrix: Any, what: str, dtype: npt.DTypeLike) -> sparse.csr_matrix:
    """A sparse matrix in CSR form with sorted, unique, checked indices; the caller's matrix is not changed.

    Indices out of range are an error here, because most sparse routines would read out of bounds.
    """
    check_indices(matrix, what)
    csr = sparse.csr_matrix(matrix, dtype=dtype)
    if not csr.has_canonical_format:
        if any(np.shares_memory(getattr(csr, part), getattr(matrix, part, ())) for part in ("data", "indices")):
            csr = csr.copy()
        csr.sum_duplicates()
    return csr


def check_indices(matrix: Any, what: str) -> None:
    """Raise unless a sparse matrix has two dimensions and all its indices lie inside its shape."""
    if len(matrix.shape) != 2:
        raise DataError(f"{what} must have two dimensions; got shape {matrix.shape}")
    if matrix.format in ("csr", "csc"):
        major, minor = matrix.shape if matrix.format == "csr" else matrix.shape[::-1]
        indptr, indices = matrix.indptr, matrix.indices
        _check_range(indices, minor, what, "column" if matrix.format == "csr" else "row")
        if (
            len(indptr) != major + 1
            or indptr[0] != 0
            or indptr[-1] > min(len(indices), len(matrix.data))
            or np.any(indptr[1:] < indptr[:-1])
        ):
            raise DataError(f"{what} has a broken row pointer (indptr); build the matrix again from its parts")
    elif matrix.format == "coo":
        _check_range(matrix.row, matrix.shape[0], what, "row")
        _check_range(matrix.col, matrix.shape[1], what, "column")


def _check_range(indices: npt.NDArray[Any], size: int, what: str, axis: str) -> None:
    if len(indices) and (indices.min() < 0 or indices.max() >= size):
        place = int(np.flatnonzero((indices < 0) | (indices >= size))[0])
        raise DataError(
            f"{what} has the {axis} index {int(indices[place])} (entry {place}), but only {size} {axis}s; "
            "build the matrix with the right shape"
        )


def as_features(X: Any, what: str = "X") -> sparse.csr_matrix:
    """X as CSR of float32 with finite values, from a sparse matrix, a dense array or `tacit.Features`."""
    if hasattr(X, "balanced"):
        return X.balanced().tocsr()
    with np.errstate(over="ignore"):  # an overflow becomes infinity, which is reported with its place
        if sparse.issparse(X):
            check_real(X.dtype, what)
            csr = as_csr(X, what, np.float32)
        else:
            csr = sparse.csr_matrix(as_dense(X, what), dtype=np.float32)
    check_finite(csr, what)
    return csr


def check_finite(matrix: Any, what: str, first_row: int = 0) -> None:
    """Raise if a CSR matrix or a dense one has NaN or infinity, with the place of the first; rows begin at a number."""
    values = matrix.data if sparse.issparse(matrix) else matrix
    chunks = entry_chunks(matrix) if sparse.issparse(matrix) else [slice(None)]
    if all(np.isfinite(values[chunk]).all() for chunk in chunks):
        return
    if sparse.issparse(matrix):
        row, column, value = first_entry(matrix, ~np.isfinite(values))
    else:
        row, column = np.argwhere(~np.isfinite(values))[0]
        value = values[row, column]
    raise DataError(
        f"{what} must be finite; Input X contains {'NaN' if np.isnan(value) else 'infinity'} at row "
        f"{first_row + row}, column {column} (or a value too large for float32); replace or drop such samples"
    )


def as_dense(X: Any, what: str) -> npt.NDArray[np.floating[Any]]:
    """A finite matrix of float16 or float32 whose rows are contiguous; the caller's array itself if it is one."""
    try:
        dense = np.asarray(X)
        check_real(dense.dtype, what)
        dtype = dense.dtype if dense.dtype in (np.float16, np.float32) else np.dtype(np.float32)
        with np.errstate(over="ignore"):  # an overflow becomes infinity, which is reported with its place
            dense = np.require(dense, dtype, ["C", "A"])
    except (TypeError, ValueError) as error:
        if isinstance(error, DataError):
            raise
        raise DataError(f"{what} must be a matrix of numbers ({error})") from error
    if dense.ndim != 2:
        raise DataError(
            f"Expected 2D array, got {dense.ndim}D array instead: {what} must be (n_samples, n_features). "
            "Reshape your data with X.reshape(1, -1) if it is a single sample"
        )
    step = max(1, _AT_A_TIME // max(1, dense.shape[1]))
    for first in range(0, len(dense), step):
        check_finite(dense[first : first + step], what, first)
    return dense


def as_counts(matrix: Any, what: str, shape: tuple[int, int]) -> sparse.csr_matrix:
    """A matrix of co-occurrence counts as CSR of float64: dense or sparse, of any type, not below 0, of this shape."""
    if sparse.issparse(matrix):
        check_real(matrix.dtype, what)
        csr = as_csr(matrix, what, np.float64)
    else:
        try:
            csr = sparse.csr_matrix(np.asarray(matrix, dtype=np.float64))
        except (TypeError, ValueError) as error:
            raise DataError(f"{what} must be a matrix of counts ({error})") from error
    if csr.shape != shape:
        raise DataError(f"{what} must have shape {shape}, labels by labels; got {csr.shape}")
    wrong = ~(np.isfinite(csr.data) & (csr.data >= 0))
    if wrong.any():
        row, column, value = first_entry(csr, wrong)
        raise DataError(f"{what} must hold finite counts of at least 0; row {row}, column {column} holds {value:g}")
    csr.eliminate_zeros()
    return csr


def check_real(dtype: np.dtype[Any], what: str) -> None:
    """Raise for complex numbers."""
    if dtype.kind == "c":
        raise DataError(f"Complex data not supported: {what} must hold real numbers")


def has_half_character(text: str) -> bool:
    """Whether a text has a lone surrogate (half a character), which UTF-8 cannot encode."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False


def check_unicode(text: str, place: int, what: str) -> None:
    """Raise unless a text can be encoded as UTF-8."""
    if has_half_character(text):
        message = f"{what} must be valid Unicode; entry {place} has half a character (a lone surrogate)"
        raise DataError(f"{message}: {text!a:.60}; fix its encoding")


def as_count(value: Any, name: str) -> int:
    """`value` as an int of at least 1."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < 1:
        raise ParameterError(f"{name} must be a whole number of at least 1; got {value!r}")
    return int(value)


def is_blank(text: str) -> bool:
    """Whether a text has no letters and digits: nothing that a suggestion could be based on."""
    return not any(map(str.isalnum, text))
