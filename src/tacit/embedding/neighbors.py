"""Nearest samples: by labels or features while training, by embedding when asked for labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np
import numpy.typing as npt
from scipy import sparse

from tacit.kernels.knn import nearest_points, nearest_rows
from tacit.numerics.rows import unit_rows
from tacit.parameters import OneOf

ContextSpace = Annotated[str, OneOf(("labels", "features")), "where the nearest label sets are sought"]

#: What a matrix product of unit vectors in float32 may be off by, with room to spare.
_ROUNDING = 1e-5


@dataclass(frozen=True, eq=False)
class Neighbors:
    """Training samples near each sample, nearest first.

    Attributes
    ----------
    samples : int32 array of shape (n_samples, k)
        Rows of the training data; -1 where there are fewer than k.
    similarities : float32 array of shape (n_samples, k)
        Cosines of their embeddings; -inf where there is no sample.
    """

    samples: npt.NDArray[np.int32]
    similarities: npt.NDArray[np.float32]

    def pairs(self) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32], npt.NDArray[np.float32]]:
        """All (row, neighbour, similarity)."""
        found = self.samples >= 0
        rows = np.repeat(np.arange(len(found), dtype=np.int32), found.sum(axis=1))
        return rows, self.samples[found], self.similarities[found]

    def draw(self, rows: npt.NDArray[np.int32], rng: np.random.Generator) -> npt.NDArray[np.int32]:
        """One neighbour of each of these rows at random, -1 where it has none."""
        n_found = (self.samples[rows] >= 0).sum(axis=1)
        drawn: npt.NDArray[np.int32] = self.samples[rows, (rng.random(len(rows)) * n_found).astype(np.intp)]
        return drawn


def cosine_neighbors(rows: sparse.csr_matrix, k: int) -> Neighbors:
    """The `k` other rows of the largest positive cosine with each row of a sparse matrix.

    One row at a time over the columns it shares with others: no (n, n) matrix, not even a block, is built.
    """
    unit = unit_rows(sparse.csr_matrix(rows, dtype=np.float32))
    by_column = unit.tocsc()
    parts = (unit.indptr, unit.indices, unit.data, by_column.indptr, by_column.indices, by_column.data)
    return Neighbors(*nearest_rows(*(_as_kernel_type(part) for part in parts), k))


def _as_kernel_type(part: npt.NDArray[np.generic]) -> npt.NDArray[np.generic]:
    return part if part.dtype == np.float32 else part.astype(np.int32, copy=False)


def embedded_neighbors(queries: npt.NDArray[np.float32], points: npt.NDArray[np.float32], k: int) -> Neighbors:
    """The `k` points of the largest inner product with each query; both are unit vectors."""
    k = min(k, len(points))
    return Neighbors(*nearest_points(queries @ points.T, queries, points, k, _ROUNDING))


def unit_vectors(rows: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """Rows divided by their length; zero rows stay zero."""
    lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows, dtype=np.float64))[:, None]
    unit = np.zeros(rows.shape, np.float32)
    np.divide(rows, lengths, out=unit, where=lengths > 0, casting="unsafe")
    return unit
