"""Nearest samples, and the votes of their labels.

While training, samples are compared by their labels; when ranking, by their embeddings.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse

from tacit.arrays import Floats, Floats32, Ids, Ints32, Mask
from tacit.core.parameters import OneOf
from tacit.core.ranking import Ranking
from tacit.kernels.dense import Rows
from tacit.kernels.knn import nearest_points, nearest_rows, rank_votes
from tacit.numerics.rows import unit_rows

Nodes = Annotated[str, OneOf(("sets", "samples")), "embed distinct label sets, or samples as in the paper"]

#: Bound on the rounding error of a float32 matrix product of unit vectors, with a margin.
_ROUNDING = 1e-5


# -- label sets -------------------------------------------------------------------------------------------


class LabelSets(NamedTuple):
    """The distinct label sets of some samples: one row of a co-occurrence matrix stands for all equal ones."""

    matrix: sparse.csr_matrix  # each set once, in order of first appearance
    of_sample: Ids  # the set of each sample
    counts: npt.NDArray[np.int64]  # how many samples have each set


def distinct_label_sets(Y: sparse.csr_matrix) -> LabelSets:
    """Group the equal rows of a 0/1 matrix with sorted indices."""
    ids: dict[bytes, int] = {}
    first: list[int] = []
    of_sample = np.empty(Y.shape[0], np.intp)
    for row in range(Y.shape[0]):
        content = Y.indices[Y.indptr[row] : Y.indptr[row + 1]].tobytes()
        of_sample[row] = ids.setdefault(content, len(first))
        if of_sample[row] == len(first):
            first.append(row)
    return LabelSets(Y[first], of_sample, np.bincount(of_sample, minlength=len(first)))


def label_nodes(Y: sparse.csr_matrix, nodes: str) -> LabelSets:
    """The distinct label sets, or with `nodes` "samples" the label set of every sample by itself."""
    if nodes == "sets":
        return distinct_label_sets(Y)
    return LabelSets(Y, np.arange(Y.shape[0]), np.ones(Y.shape[0], np.int64))


# -- neighbours -------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Neighbors:
    """Training samples near each sample, nearest first: two (n_samples, k) arrays, padded with -1 and -inf."""

    samples: Ints32
    similarities: Floats32

    def pairs(self) -> tuple[Ints32, Ints32, Floats32]:
        """All (row, neighbour, similarity)."""
        is_found = self.samples >= 0
        rows = np.repeat(np.arange(len(is_found), dtype=np.int32), is_found.sum(axis=1))
        return rows, self.samples[is_found], self.similarities[is_found]

    def draw(self, rows: Ints32, rng: np.random.Generator) -> Ints32:
        """One random neighbour of each of these rows; -1 for a row without neighbours."""
        n_found = (self.samples[rows] >= 0).sum(axis=1)
        drawn: Ints32 = self.samples[rows, (rng.random(len(rows)) * n_found).astype(np.intp)]
        return drawn


def cosine_neighbors(rows: sparse.csr_matrix, k: int) -> Neighbors:
    """The `k` other rows of the largest positive cosine with each row of a sparse matrix."""
    return product_neighbors(unit_rows(sparse.csr_matrix(rows, dtype=np.float32)), k)


def product_neighbors(rows: sparse.csr_matrix, k: int) -> Neighbors:
    """The `k` other rows of the largest positive inner product with each row; no (n, n) matrix is built."""
    both = (Rows(m.indptr.astype(np.int32), m.indices.astype(np.int32), m.data) for m in (rows, rows.tocsc()))
    return Neighbors(*nearest_rows(*both, k))


def embedded_neighbors(queries: Floats32, points: Floats32, k: int) -> Neighbors:
    """The `k` points of the largest inner product with each query; both are unit vectors."""
    k = min(k, len(points))
    return Neighbors(*nearest_points(queries @ points.T, queries, points, k, _ROUNDING))


def unit_vectors(rows: Floats32) -> Floats32:
    """Rows divided by their length; zero rows stay zero."""
    lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows, dtype=np.float64))[:, None]
    return _divided(rows, lengths)


def _divided(rows: Floats, by: Floats) -> Floats32:
    return np.divide(rows, by, out=np.zeros(rows.shape, np.float32), where=by > 0, casting="unsafe")


# -- votes ------------------------------------------------------------------------------------------------


class Panel(NamedTuple):
    """The neighbours found in one cell, and the weight of the cell for each row; weights sum to 1 over panels."""

    near: Neighbors
    weight: Floats32


def vote_weights(similarities: Floats32, power: float) -> Floats32:
    """Weights that sum to 1 in each row; 0 for a neighbour (or cluster) that is missing or not similar.

    With `power` 0 all weights are equal, which gives the mean label vector of ExMLDS Eq. 1.
    """
    weights = np.power(similarities, power, out=np.zeros(similarities.shape), where=similarities > 0)
    return _divided(weights, weights.sum(axis=1, keepdims=True))


def vote(
    panels: Sequence[Panel],
    power: float,
    Y: sparse.csr_matrix,
    k: int,
    allowed: Mask | None,
    label_weights: Floats32 | None = None,
) -> Ranking:
    """Rank labels by their weight times the mean label vector of the neighbours (ExMLDS Algorithm 1)."""
    weights = np.ones(Y.shape[1], np.float32) if label_weights is None else label_weights
    weights = weights if allowed is None else np.where(allowed, weights, np.float32(0))
    return Ranking(*rank_votes(*_voters(panels, power), Y.indptr, Y.indices, weights, k))


def vote_matrix(panels: Sequence[Panel], power: float, Y: sparse.csr_matrix) -> sparse.csr_matrix:
    """The same mean label vectors as a sparse (n_rows, n_labels) matrix."""
    voters, weights = _voters(panels, power)
    found = voters >= 0  # the number of -1 depends on the other rows, and with it the order of additions
    parts = (weights[found], voters[found], np.concatenate([[0], np.cumsum(found.sum(axis=1))]))
    return sparse.csr_matrix(sparse.csr_matrix(parts, shape=(len(voters), Y.shape[0])) @ Y)


def _voters(panels: Sequence[Panel], power: float) -> tuple[Ints32, Floats32]:
    weights = [vote_weights(near.similarities, power) * weight[:, None] for near, weight in panels]
    return np.hstack([near.samples for near, _ in panels]), np.hstack(weights)


def merged_neighbors(panels: Sequence[Panel], n_training: int, k: int) -> Neighbors:
    """The neighbours of all panels by their mean similarity."""
    similarities = np.hstack([np.maximum(near.similarities, 0) * weight[:, None] for near, weight in panels])
    voters = np.hstack([near.samples for near, _ in panels])
    own = np.arange(n_training + 1, dtype=np.int32)  # each sample votes for itself
    return Neighbors(*rank_votes(voters, similarities, own, own[:-1], np.ones(n_training, np.float32), k))
