"""Stage 5: the labels of near training samples, added up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import sparse

from tacit.embedding.neighbors import Neighbors
from tacit.kernels.knn import rank_votes
from tacit.ranking import Ranking

Floats32 = npt.NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Panel:
    """Neighbours that one cell found, and how much the cell counts for each row; shares sum to 1 over panels."""

    near: Neighbors
    share: Floats32


def vote_weights(similarities: Floats32, power: float) -> Floats32:
    """Weights in each row that sum to 1; 0 for a neighbour (or cluster) that is not there or not similar.

    With `power` 0 all weigh alike: the mean label vector of ExMLDS Eq. 1.
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
    allowed: npt.NDArray[np.bool_] | None,
    label_weights: Floats32 | None = None,
) -> Ranking:
    """Algorithm 1: the weighted mean label vector of the neighbours, averaged over panels, times label weights."""
    voters, weights = _voters(panels, power)
    each = np.ones(Y.shape[1], np.float32) if label_weights is None else label_weights
    each = each if allowed is None else np.where(allowed, each, np.float32(0))
    return Ranking(*rank_votes(voters, weights, Y.indptr, Y.indices, each, k))


def vote_matrix(panels: Sequence[Panel], power: float, Y: sparse.csr_matrix) -> sparse.csr_matrix:
    """The same mean label vectors as a sparse (n_rows, n_labels) matrix."""
    voters, weights = _voters(panels, power)
    indptr = np.arange(0, voters.size + 1, voters.shape[1])
    parts = (weights.ravel(), np.maximum(voters, 0).ravel(), indptr)  # a voter that is not there weighs nothing
    return sparse.csr_matrix(sparse.csr_matrix(parts, shape=(len(voters), Y.shape[0])) @ Y)


def _voters(panels: Sequence[Panel], power: float) -> tuple[npt.NDArray[np.int32], Floats32]:
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
