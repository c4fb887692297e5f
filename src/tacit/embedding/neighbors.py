"""Nearest samples, and the votes of their labels.

While training, samples are compared by their labels or features; when ranking, by their embeddings.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
import numpy.typing as npt
from scipy import sparse

from tacit.arrays import Floats32, Ids, Ints32, Mask
from tacit.core.features import FeatureMatrix, Features
from tacit.core.parameters import OneOf
from tacit.core.ranking import Ranking
from tacit.kernels.dense import Rows
from tacit.kernels.knn import nearest_points, nearest_rows, rank_votes
from tacit.numerics.rows import unit_rows, weighted_sums

ContextSpace = Annotated[str, OneOf(("labels", "features")), "where the nearest label sets are sought"]
Nodes = Annotated[
    str, OneOf(("sets", "samples")), "embed each distinct label set once, or each sample by itself as in the paper"
]

#: Bound on the rounding error of a float32 matrix product of unit vectors, with room to spare.
_ROUNDING = 1e-5


# -- label sets -------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class LabelSets:
    """The distinct label sets of some samples.

    Samples with the same label set have equal rows in any co-occurrence matrix, so one row stands for all of them.

    Attributes
    ----------
    matrix : csr_matrix, shape (n_sets, n_labels)
        Each set once, in order of first appearance.
    of_sample : array of shape (n_samples,)
        The set of each sample.
    counts : array of shape (n_sets,)
        How many samples have each set.
    """

    matrix: sparse.csr_matrix
    of_sample: Ids
    counts: npt.NDArray[np.int64]

    def means(self, X: FeatureMatrix) -> sparse.csr_matrix:
        """The mean feature vector of the samples of each set."""
        n_sets, n_samples = len(self.counts), len(self.of_sample)
        shares = 1 / self.counts[self.of_sample].astype(np.float32)
        average = sparse.csr_matrix((shares, (self.of_sample, np.arange(n_samples))), shape=(n_sets, n_samples))
        means = weighted_sums(average, X)
        return means.tocsr() if isinstance(means, Features) else means


def distinct_label_sets(Y: sparse.csr_matrix) -> LabelSets:
    """Group the equal rows of a 0/1 matrix with sorted indices."""
    ids: dict[bytes, int] = {}
    first: list[int] = []
    of_sample = np.empty(Y.shape[0], np.intp)
    for row in range(Y.shape[0]):
        content = Y.indices[Y.indptr[row] : Y.indptr[row + 1]].tobytes()
        known = ids.setdefault(content, len(first))
        if known == len(first):
            first.append(row)
        of_sample[row] = known
    return LabelSets(Y[first], of_sample, np.bincount(of_sample, minlength=len(first)))


def label_nodes(Y: sparse.csr_matrix, nodes: str) -> LabelSets:
    """The distinct label sets, or with `nodes` "samples" the label set of every sample by itself."""
    if nodes == "sets":
        return distinct_label_sets(Y)
    return LabelSets(Y, np.arange(Y.shape[0]), np.ones(Y.shape[0], np.int64))


# -- neighbours -------------------------------------------------------------------------------------------


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

    samples: Ints32
    similarities: Floats32

    def pairs(self) -> tuple[Ints32, Ints32, Floats32]:
        """All (row, neighbour, similarity)."""
        found = self.samples >= 0
        rows = np.repeat(np.arange(len(found), dtype=np.int32), found.sum(axis=1))
        return rows, self.samples[found], self.similarities[found]

    def draw(self, rows: Ints32, rng: np.random.Generator) -> Ints32:
        """One random neighbour of each of these rows; -1 for a row without neighbours."""
        n_found = (self.samples[rows] >= 0).sum(axis=1)
        drawn: Ints32 = self.samples[rows, (rng.random(len(rows)) * n_found).astype(np.intp)]
        return drawn


def cosine_neighbors(rows: sparse.csr_matrix, k: int) -> Neighbors:
    """The `k` other rows of the largest positive cosine with each row of a sparse matrix.

    Each row is compared only with the rows that share a column with it, so no (n, n) matrix is built.
    """
    return product_neighbors(unit_rows(sparse.csr_matrix(rows, dtype=np.float32)), k)


def product_neighbors(rows: sparse.csr_matrix, k: int) -> Neighbors:
    """The `k` other rows of the largest positive inner product with each row of a float32 matrix."""
    both = (Rows(m.indptr.astype(np.int32), m.indices.astype(np.int32), m.data) for m in (rows, rows.tocsc()))
    return Neighbors(*nearest_rows(*both, k))


def embedded_neighbors(queries: Floats32, points: Floats32, k: int) -> Neighbors:
    """The `k` points of the largest inner product with each query; both are unit vectors."""
    k = min(k, len(points))
    return Neighbors(*nearest_points(queries @ points.T, queries, points, k, _ROUNDING))


def unit_vectors(rows: Floats32) -> Floats32:
    """Rows divided by their length; zero rows stay zero."""
    lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows, dtype=np.float64))[:, None]
    unit = np.zeros(rows.shape, np.float32)
    np.divide(rows, lengths, out=unit, where=lengths > 0, casting="unsafe")
    return unit


# -- votes ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Panel:
    """The neighbours found in one cell, and the weight of the cell for each row; weights sum to 1 over panels."""

    near: Neighbors
    share: Floats32


def vote_weights(similarities: Floats32, power: float) -> Floats32:
    """Weights that sum to 1 in each row; 0 for a neighbour (or cluster) that is missing or not similar.

    With `power` 0 all weights are equal, which gives the mean label vector of ExMLDS Eq. 1.
    """
    is_similar = similarities > 0
    weights = np.power(similarities, power, out=np.zeros(similarities.shape), where=is_similar)
    total = weights.sum(axis=1, keepdims=True)
    shares = np.zeros(weights.shape, np.float32)
    np.divide(weights, total, out=shares, where=total > 0, casting="unsafe")
    return shares


def vote(
    panels: Sequence[Panel],
    power: float,
    Y: sparse.csr_matrix,
    k: int,
    allowed: Mask | None,
    label_weights: Floats32 | None = None,
) -> Ranking:
    """Rank labels by the weighted mean label vector of the neighbours (ExMLDS Algorithm 1).

    The mean is averaged over panels and multiplied by the label weights.
    """
    voters, weights = _voters(panels, power)
    each = np.ones(Y.shape[1], np.float32) if label_weights is None else label_weights
    each = each if allowed is None else np.where(allowed, each, np.float32(0))
    return Ranking(*rank_votes(voters, weights, Y.indptr, Y.indices, each, k))


def vote_matrix(panels: Sequence[Panel], power: float, Y: sparse.csr_matrix) -> sparse.csr_matrix:
    """The same mean label vectors as a sparse (n_rows, n_labels) matrix."""
    voters, weights = _voters(panels, power)
    found = voters >= 0  # how many places are padding depends on the other rows, and with them the order of additions
    parts = (weights[found], voters[found], np.concatenate([[0], np.cumsum(found.sum(axis=1))]))
    return sparse.csr_matrix(sparse.csr_matrix(parts, shape=(len(voters), Y.shape[0])) @ Y)


def _voters(panels: Sequence[Panel], power: float) -> tuple[Ints32, Floats32]:
    voters = np.hstack([panel.near.samples for panel in panels])
    weights = [vote_weights(panel.near.similarities, power) * panel.share[:, None] for panel in panels]
    return voters, np.hstack(weights)


def merged_neighbors(panels: Sequence[Panel], n_training: int, k: int) -> Neighbors:
    """The neighbours of all panels by their mean similarity."""
    voters = np.hstack([panel.near.samples for panel in panels])
    weights = np.hstack([np.maximum(panel.near.similarities, 0) * panel.share[:, None] for panel in panels])
    each_alone = np.arange(n_training + 1, dtype=np.int32)
    everyone = np.ones(n_training, np.float32)
    return Neighbors(*rank_votes(voters, weights, each_alone, each_alone[:-1], everyone, k))
