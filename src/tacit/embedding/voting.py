"""Stage 5: the labels of near training samples, added up."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from scipy import sparse

from tacit.embedding.neighbors import Neighbors
from tacit.kernels.knn import rank_votes
from tacit.ranking import NO_SCORE, Ranking

Floats32 = npt.NDArray[np.float32]


def vote_weights(similarities: Floats32, power: float) -> Floats32:
    """Weights of the neighbours of each row that sum to 1; 0 for a neighbour that is not there or not similar.

    With `power` 0 all weigh alike: the mean label vector of ExMLDS Eq. 1.
    """
    weights = np.where(similarities > 0, similarities, 0).astype(np.float64) ** power * (similarities > 0)
    total = weights.sum(axis=1, keepdims=True)
    shares = np.zeros(weights.shape, np.float32)
    np.divide(weights, total, out=shares, where=total > 0, casting="unsafe")
    return shares


def vote(
    found: Sequence[Neighbors],
    weights: Sequence[Floats32],
    Y: sparse.csr_matrix,
    k: int,
    allowed: npt.NDArray[np.bool_] | None,
) -> Ranking:
    """Algorithm 1: the weighted mean label vector of the neighbours, averaged over learners."""
    voters = np.hstack([each.samples for each in found])
    shares = np.hstack(weights) / np.float32(len(found))
    mask = np.ones(Y.shape[1], np.bool_) if allowed is None else allowed
    return Ranking(*rank_votes(voters, shares, Y.indptr, Y.indices, mask, k))


def merged_neighbors(found: Sequence[Neighbors], n_training: int, k: int) -> Neighbors:
    """The neighbours that several learners found, by their mean similarity."""
    voters = np.hstack([each.samples for each in found])
    similarities = np.hstack([np.maximum(each.similarities, 0) for each in found]) / np.float32(len(found))
    each_alone = np.arange(n_training + 1, dtype=np.int32)
    everyone = np.ones(n_training, np.bool_)
    samples, scores = rank_votes(voters, similarities, each_alone, each_alone[:-1], everyone, k)
    return Neighbors(samples, np.where(samples < 0, np.float32(NO_SCORE), scores))
