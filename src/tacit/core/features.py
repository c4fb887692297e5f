"""Samples with a sparse and a dense part: words beside vectors, or vectors alone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix, hstack, issparse, vstack

from tacit.arrays import Floats32
from tacit.core.checks import as_dense, as_features
from tacit.errors import DataError
from tacit.kernels.dense import DenseRows, add_products
from tacit.numerics.compact import all_halves
from tacit.numerics.rows import occurring, row_squares

_NO_SCALES: Any = None
_AT_A_TIME = 1 << 20  # dense values that are converted together


@dataclass(frozen=True, eq=False)
class Features:
    """A sparse and a dense matrix with the same rows: the columns are those of `sparse`, then those of `dense`.

    `sparse`, a CSR or CSC matrix, may be None. A `dense` array of float32 or float16 is used as it is, from a
    memory-mapped file as well; other types become float32. It must not change while the object is in use. `weight` is
    the length of the dense part of a row relative to its sparse part: models that normalise rows scale each part to
    unit length and multiply the dense one by it; others only multiply.
    """

    sparse: csr_matrix
    dense: npt.NDArray[np.floating[Any]]
    weight: float = 1.0
    scales: Floats32 = field(default=_NO_SCALES, repr=False)  # factors of the dense rows; made here

    __array_ufunc__ = None  # a product with a NumPy number on the left is ours

    def __post_init__(self) -> None:
        if self.scales is not _NO_SCALES:  # made from checked parts
            return
        if isinstance(self.weight, bool) or not isinstance(self.weight, int | float) or not 0 <= self.weight < np.inf:
            raise DataError(f"the weight of the dense part must be a finite number of at least 0; got {self.weight!r}")
        dense = as_dense(self.dense, "the dense part of X")
        words = csr_matrix((len(dense), 0), dtype=np.float32) if self.sparse is None else self._checked_sparse()
        if words.shape[0] != len(dense):
            raise DataError(
                "both parts must have one row per sample: inconsistent numbers of samples, "
                f"{words.shape[0]} in the sparse part and {len(dense)} in the dense one"
            )
        scales = np.full(len(dense), self.weight, np.float32)
        for name, value in {"sparse": words, "dense": dense, "weight": float(self.weight), "scales": scales}.items():
            object.__setattr__(self, name, value)

    def _checked_sparse(self) -> csr_matrix:
        if not issparse(self.sparse):
            raise DataError(f"the sparse part of X must be a sparse matrix; got {type(self.sparse).__name__}")
        return as_features(self.sparse, "the sparse part of X")

    @property
    def shape(self) -> tuple[int, int]:
        """Samples, and features of both parts."""
        return len(self), self.sparse.shape[1] + self.dense.shape[1]

    @property
    def nnz(self) -> int:
        """Stored values of both parts."""
        return int(self.sparse.nnz + self.dense.size)

    def __len__(self) -> int:
        return len(self.dense)

    def __getitem__(self, rows: Any) -> Features:
        """Some rows: a slice, which copies no dense values, numbers, or a mask."""
        if isinstance(rows, int | np.integer):
            rows = [int(rows)]
        return replace(self, sparse=self.sparse[rows], dense=self.dense[rows], scales=self.scales[rows])

    def rows32(self, rows: Any = slice(None)) -> Floats32:
        """Rows of the dense part, scaled, as a new array of float32."""
        scaled: Floats32 = self.dense[rows] * self.scales[rows, None]
        return scaled

    def blocks(self) -> Iterator[tuple[slice, Floats32]]:
        """The dense part in float32, some rows at a time, with their places."""
        step = max(1, _AT_A_TIME // max(1, self.dense.shape[1]))
        for first in range(0, len(self), step):
            rows = slice(first, min(first + step, len(self)))
            yield rows, self.rows32(rows)

    def balanced(self) -> Features:
        """Rows of unit length, in which the dense part is `weight` times as long as the sparse one."""
        words, dense = row_squares(self.sparse), self._dense_squares()
        whole = np.sqrt((words > 0) + np.where(dense > 0, self.weight**2, 0))
        by_words = np.divide(1, np.sqrt(words) * whole, out=np.zeros_like(whole), where=words > 0)
        by_dense = np.divide(self.weight, np.sqrt(dense) * whole, out=np.zeros_like(whole), where=dense * whole > 0)
        return self._scaled(by_words, by_dense * self.scales)

    def unit_rows(self) -> Features:
        """Rows of unit length, in which the parts keep their proportion; empty rows stay empty."""
        lengths = np.sqrt(row_squares(self.sparse) + self._dense_squares())
        scale = np.divide(1, lengths, out=np.zeros_like(lengths), where=lengths > 0)
        return self._scaled(scale, scale * self.scales)

    def _dense_squares(self) -> npt.NDArray[np.float64]:
        squares = np.empty(len(self))
        for rows, values in self.blocks():
            squares[rows] = np.einsum("ij,ij->i", values, values, dtype=np.float64)
        return squares

    def _scaled(self, by_words: npt.NDArray[np.float64], scales: npt.NDArray[np.float64]) -> Features:
        words = self.sparse
        data = (words.data * np.repeat(by_words, np.diff(words.indptr))).astype(np.float32)
        scaled = csr_matrix((data, words.indices, words.indptr), shape=words.shape, copy=False)
        return replace(self, sparse=scaled, scales=np.minimum(scales, np.finfo(np.float32).max).astype(np.float32))

    def __matmul__(self, right: npt.NDArray[Any]) -> Floats32:
        """The product with a dense matrix; a row has the same bits alone and among others."""
        n_words = self.sparse.shape[1]
        if len(right) != self.shape[1]:
            raise ValueError(f"a matrix with {self.shape[1]} rows is needed, one per feature; got {len(right)}")
        product: Floats32 = np.asarray(self.sparse @ right[:n_words], np.float32)
        below = np.ascontiguousarray(right[n_words:], np.float32)
        for rows, values in self.blocks():
            add_products(values, below, product[rows])
        return product

    def sums(self, left: csr_matrix) -> Features:
        """The product of a sparse matrix with this one: weighted sums of rows."""
        left = csr_matrix(left)
        used = np.unique(left.indices)
        compact = csr_matrix((left.data, np.searchsorted(used, left.indices), left.indptr), (left.shape[0], len(used)))
        by_row, sums = compact.tocsc(), np.zeros((left.shape[0], self.dense.shape[1]), np.float32)
        step = max(1, _AT_A_TIME // max(1, self.dense.shape[1]))
        for first in range(0, len(used), step):
            sums += by_row[:, first : first + step] @ self.rows32(used[first : first + step])
        words = csr_matrix(left @ self.sparse, dtype=np.float32)
        return replace(self, sparse=words, dense=sums, scales=np.ones(len(sums), np.float32))

    @property
    def T(self) -> _Transpose:  # noqa: N802 - as arrays have it
        """The transpose, for products with dense matrices."""
        return _Transpose(self)

    def __rmul__(self, factor: np.float32) -> Features:
        return replace(self, sparse=self.sparse * factor, scales=self.scales * factor)

    def with_constant(self) -> Features:
        """The features and one that is always 1, in a new dense part."""
        dense = np.hstack([self.rows32(), np.ones((len(self), 1), np.float32)])
        return replace(self, dense=dense, scales=np.ones(len(self), np.float32))

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise TypeError("Features are not one array; use toarray() or tocsr()")

    def toarray(self) -> Floats32:
        """Both parts in one dense array."""
        return np.hstack([self.sparse.toarray(), self.rows32()])

    def tocsr(self) -> csr_matrix:
        """Both parts in one CSR matrix: 8 bytes per dense value."""
        return csr_matrix(hstack([self.sparse, csr_matrix(self.rows32())], format="csr"), dtype=np.float32)


@dataclass(frozen=True, eq=False)
class _Transpose:
    """The transpose of features."""

    of: Features

    def __matmul__(self, right: npt.NDArray[Any]) -> npt.NDArray[Any]:
        below = np.zeros((self.of.dense.shape[1], right.shape[1]), np.result_type(right, np.float32))
        for rows, values in self.of.blocks():
            below += values.T @ right[rows]
        return np.vstack([self.of.sparse.T @ right, below])


FeatureMatrix: TypeAlias = Features | csr_matrix


def sparse_part(X: FeatureMatrix) -> csr_matrix:
    """What of X is sparse: X itself, or the sparse part of both."""
    return X.sparse if isinstance(X, Features) else X


def dense_part(X: FeatureMatrix) -> Floats32 | None:
    """What of X is dense, scaled; None where there is nothing."""
    return X.rows32() if isinstance(X, Features) else None


def dense_rows(X: FeatureMatrix) -> DenseRows | None:
    """What of X is dense, without a copy, as kernels of training take it."""
    if not isinstance(X, Features):
        return None
    dense, is_half = X.dense, X.dense.dtype == np.float16
    values = np.empty((0, dense.shape[1]), np.float32) if is_half else dense
    bits = dense.view(np.uint16) if is_half else np.empty((0, 0), np.uint16)
    table = all_halves() if is_half else np.empty(0, np.float32)
    return _read_only(values), _read_only(bits), _read_only(table), _read_only(X.scales)


def _read_only(array: npt.NDArray[Any]) -> Any:
    """The array as memory-mapped files often are, for which kernels would be compiled again."""
    view = array.view()
    view.flags.writeable = False
    return view


def compacted(X: FeatureMatrix) -> tuple[npt.NDArray[np.intp], FeatureMatrix]:
    """The columns that are used, all dense ones among them, and X in these columns."""
    words = sparse_part(X)
    used, n_words = np.flatnonzero(occurring(words)), words.shape[1]
    if len(used) < n_words:
        places = np.empty(n_words, words.indices.dtype)  # of the used columns: for a single sample, few are written
        places[used] = np.arange(len(used))
        words = csr_matrix((words.data, places[words.indices], words.indptr), shape=(words.shape[0], len(used)))
    columns = np.concatenate([used, np.arange(n_words, X.shape[1])])
    return columns, replace(X, sparse=words) if isinstance(X, Features) else words


def transposed(X: FeatureMatrix) -> Any:
    """The transpose of X, for products with dense matrices."""
    return X.T if isinstance(X, Features) else X.T.tocsr()


def gram_matrix(X: FeatureMatrix) -> npt.NDArray[Any]:
    """XᵀX as an array: inner products of columns."""
    if not isinstance(X, Features):
        return np.asarray((X.T @ X).toarray())
    n_words = X.sparse.shape[1]
    gram = np.zeros((X.shape[1], X.shape[1]), np.float32)
    gram[:n_words, :n_words] = (X.sparse.T @ X.sparse).toarray()
    for rows, values in X.blocks():
        gram[:n_words, n_words:] += X.sparse[rows].T @ values
        gram[n_words:, n_words:] += values.T @ values
    gram[n_words:, :n_words] = gram[:n_words, n_words:].T
    return gram


def row_gram(X: FeatureMatrix) -> npt.NDArray[Any]:
    """XXᵀ as an array: inner products of rows."""
    if not isinstance(X, Features):
        return np.asarray((X @ X.T).toarray())
    rows = X.rows32()
    return np.asarray((X.sparse @ X.sparse.T).toarray() + rows @ rows.T)


def stack_rows(parts: list[Any]) -> Any:
    """The rows of several matrices with the same columns, one below the other."""
    if not isinstance(parts[0], Features):
        return vstack(parts, format="csr")
    return replace(
        parts[0],
        sparse=vstack([part.sparse for part in parts], format="csr"),
        dense=np.concatenate([part.dense for part in parts]),
        scales=np.concatenate([part.scales for part in parts]),
    )


def read_features(X: Any, is_dense: bool | None = None) -> FeatureMatrix:
    """Checked features: a CSR matrix from a sparse one, `Features` as they are.

    A dense array is used as it is, as the dense part of `Features`, unless `is_dense` is False or, where that is not
    given, most of it is 0: then it becomes a CSR matrix. With `is_dense`, a sparse matrix becomes dense.
    """
    if isinstance(X, Features):
        return X if X.dense.shape[1] else X.sparse
    if issparse(X) and not is_dense:
        return as_features(X)
    dense = as_features(X).toarray() if issparse(X) else as_dense(X, "X")
    if is_dense or (is_dense is None and 2 * np.count_nonzero(dense) >= dense.size):
        return Features(csr_matrix((len(dense), 0), dtype=np.float32), dense, 1.0, np.ones(len(dense), np.float32))
    return csr_matrix(dense, dtype=np.float32)
