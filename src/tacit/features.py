"""Samples with a sparse and a dense part: words beside vectors, or vectors alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix, hstack, issparse, vstack

from tacit.checks import as_csr, check_finite, check_real
from tacit.errors import DataError

Dense = npt.NDArray[np.floating[Any]]

_AT_A_TIME = 1 << 20  # dense values that are checked or converted together


@dataclass(frozen=True, eq=False)
class Features:
    """A sparse and a dense matrix with the same rows: the columns are those of `sparse`, then those of `dense`.

    Parameters
    ----------
    sparse : CSR or CSC matrix of shape (n_samples, n_sparse), or None
        Words, for instance.
    dense : array of shape (n_samples, n_dense)
        Vectors. float32 and float16 are used as they are, from a memory-mapped file as well; other types become
        float32. The array must not change while the object is in use.
    weight : float
        Length of the dense part of a row relative to its sparse part. Models that normalise rows scale each part to
        unit length and multiply the dense one by `weight`; models that do not only multiply.
    """

    sparse: csr_matrix
    dense: Dense
    weight: float = 1.0
    scales: npt.NDArray[np.float32] = field(default=None, repr=False)  # type: ignore[assignment]  # of dense rows

    def __post_init__(self) -> None:
        if self.scales is not None:  # made from checked parts
            return
        if isinstance(self.weight, bool) or not isinstance(self.weight, int | float) or not 0 <= self.weight < np.inf:
            raise DataError(f"the weight of the dense part must be a finite number of at least 0; got {self.weight!r}")
        dense = as_dense(self.dense, "the dense part of X")
        n_rows = len(dense)
        words = csr_matrix((n_rows, 0), dtype=np.float32) if self.sparse is None else self._checked_sparse()
        if words.shape[0] != n_rows:
            raise DataError(
                "both parts must have one row per sample: inconsistent numbers of samples, "
                f"{words.shape[0]} in the sparse part and {n_rows} in the dense one"
            )
        self._set(sparse=words, dense=dense, weight=float(self.weight))
        self._set(scales=np.full(n_rows, self.weight, np.float32))

    def _checked_sparse(self) -> csr_matrix:
        if not issparse(self.sparse):
            raise DataError(f"the sparse part of X must be a sparse matrix; got {type(self.sparse).__name__}")
        check_real(self.sparse.dtype, "the sparse part of X")
        with np.errstate(over="ignore"):  # an overflow becomes infinity, which is reported with its place
            words = as_csr(self.sparse, "the sparse part of X", np.float32)
        check_finite(words, "the sparse part of X")
        return words

    def _set(self, **values: Any) -> None:
        for name, value in values.items():
            object.__setattr__(self, name, value)

    @property
    def shape(self) -> tuple[int, int]:
        """Samples, and features of both parts."""
        return len(self), self.sparse.shape[1] + self.dense.shape[1]

    @property
    def nbytes(self) -> int:
        """Bytes of both parts."""
        words = self.sparse
        return int(words.data.nbytes + words.indices.nbytes + words.indptr.nbytes + self.dense.nbytes)

    def __len__(self) -> int:
        return len(self.dense)

    def __getitem__(self, rows: Any) -> Features:
        """Some rows: a slice, which copies no dense values, numbers, or a mask."""
        if isinstance(rows, int | np.integer):
            rows = slice(int(rows), int(rows) + 1 or None)
        return replace(self, sparse=self.sparse[rows], dense=self.dense[rows], scales=self.scales[rows])

    def rows32(self, rows: Any = slice(None)) -> npt.NDArray[np.float32]:
        """Rows of the dense part, scaled, as a new array of float32."""
        return self.dense[rows] * self.scales[rows, None]

    def unit_rows(self) -> Features:
        """Rows of unit length: each part has unit length, the dense one times `weight`, then the row is scaled."""
        words, squares = self.sparse, row_squares(self.dense)
        lengths = np.sqrt(np.add.reduceat(np.append(words.data.astype(np.float64) ** 2, 0.0), words.indptr[:-1]))
        lengths[np.diff(words.indptr) == 0] = 0
        whole = np.sqrt((lengths > 0) + np.where(squares > 0, self.weight**2, 0))
        of_words = np.divide(1, lengths * whole, out=np.zeros_like(whole), where=lengths > 0)
        of_dense = np.divide(self.weight, np.sqrt(squares) * whole, out=np.zeros_like(whole), where=squares > 0)
        data = (words.data * np.repeat(of_words, np.diff(words.indptr))).astype(np.float32)
        scaled = csr_matrix((data, words.indices, words.indptr), shape=words.shape, copy=False)
        return replace(self, sparse=scaled, scales=of_dense.astype(np.float32))

    def tocsr(self) -> csr_matrix:
        """Both parts in one CSR matrix, the dense one scaled: 8 bytes per dense value."""
        return csr_matrix(hstack([self.sparse, csr_matrix(self.rows32())], format="csr"), dtype=np.float32)


def row_squares(dense: Dense) -> npt.NDArray[np.float64]:
    """The squared length of each row."""
    squares = np.empty(len(dense))
    step = max(1, _AT_A_TIME // max(1, dense.shape[1]))
    for first in range(0, len(dense), step):
        rows = dense[first : first + step].astype(np.float64)
        squares[first : first + step] = np.einsum("ij,ij->i", rows, rows)
    return squares


def as_dense(X: Any, what: str) -> Dense:
    """A finite matrix of float16 or float32 whose rows are contiguous; the caller's array itself if it is one."""
    try:
        dense = np.asarray(X)
        check_real(dense.dtype, what)
        is_ready = dense.dtype in (np.float16, np.float32)
        with np.errstate(over="ignore"):  # an overflow becomes infinity, which is reported with its place
            dense = np.require(dense, dtype=None if is_ready else np.float32, requirements="CA")
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


def stack_rows(parts: Sequence[Features]) -> Features:
    """The rows of several matrices with the same columns, one below the other."""
    join: Callable[..., Any] = np.concatenate
    return replace(
        parts[0],
        sparse=vstack([part.sparse for part in parts], format="csr"),
        dense=join([part.dense for part in parts]),
        scales=join([part.scales for part in parts]),
    )
