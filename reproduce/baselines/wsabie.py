"""WSABIE: features and labels embedded in one space by gradient steps on the WARP loss.

Weston, Bengio and Usunier, "WSABIE: scaling up to large vocabulary image annotation", IJCAI 2011. Differs: a constant
feature gives labels an intercept, and the learning rate falls to 0 linearly.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
from numba import njit
from scipy import sparse

from reproduce.baselines.low_rank import LowRankMap, LowRankModel
from tacit.arrays import Floats32, Floats64, Ints32
from tacit.core.parameters import Range, document_parameters
from tacit.kernels.skip_gram import next_random
from tacit.latent.model import with_constant


@njit(nogil=True, cache=True)
def _shorten(vector: Floats32, max_length: float) -> None:
    """Scale a vector down to the largest length allowed."""
    length = np.sqrt(np.dot(vector, vector))
    if length > max_length:
        vector *= np.float32(max_length / length)


@njit(nogil=True, cache=True)
def violating_label(
    z: Floats32, V: Floats32, is_relevant: npt.NDArray[np.bool_], threshold: float, state: npt.NDArray[np.uint64]
) -> tuple[int, int]:
    """Draw other labels until one scores above the threshold: that label, or -1, and how many were drawn."""
    n_others = len(V) - is_relevant.sum()
    for n_drawn in range(1, n_others + 1):
        label = int(next_random(state) * len(V))
        while is_relevant[label]:
            label = int(next_random(state) * len(V))
        if np.dot(z, V[label]) > threshold:
            return label, n_drawn
    return -1, n_others


@njit(nogil=True, cache=True)
def warp_pass(
    x_indptr: Ints32,
    x_indices: Ints32,
    x_data: Floats32,
    y_indptr: Ints32,
    y_indices: Ints32,
    rows: npt.NDArray[np.int64],
    rates: Floats64,
    rank_losses: Floats64,
    max_length: float,
    U: Floats32,
    V: Floats32,
    state: npt.NDArray[np.uint64],
) -> None:
    """One step for each of some rows (Algorithm 1); U (n_features, d) and V (n_labels, d) are changed in place."""
    is_relevant = np.zeros(len(V), np.bool_)
    z = np.empty(U.shape[1], np.float32)
    for row, rate in zip(rows, rates):
        features, values = x_indices[x_indptr[row] : x_indptr[row + 1]], x_data[x_indptr[row] : x_indptr[row + 1]]
        labels = y_indices[y_indptr[row] : y_indptr[row + 1]]
        if len(labels) == 0 or len(labels) == len(V):
            continue
        z[:] = 0
        for feature, value in zip(features, values):
            z += value * U[feature]
        is_relevant[labels] = True
        label = labels[int(next_random(state) * len(labels))]
        other, n_drawn = violating_label(z, V, is_relevant, np.dot(z, V[label]) - 1, state)
        is_relevant[labels] = False
        if other < 0:
            continue
        step = np.float32(rate * rank_losses[(len(V) - len(labels)) // n_drawn])  # L(rank) of Eq. 3, rank estimated
        direction = step * (V[label] - V[other])
        V[label] += step * z
        V[other] -= step * z
        _shorten(V[label], max_length)
        _shorten(V[other], max_length)
        for feature, value in zip(features, values):
            U[feature] += value * direction
            _shorten(U[feature], max_length)


@document_parameters
@dataclass(kw_only=True, eq=False, repr=False)
class WSABIE(LowRankModel):
    """Features and labels in one space, by the WARP ranking loss (Weston et al., 2011)."""

    dimension: Annotated[int, Range(low=1), "length of the embedded vectors"] = 100
    max_length: Annotated[float, Range(above=0), "largest length of the vector of a feature or label"] = 3.0
    rate: Annotated[float, Range(above=0), "initial learning rate"] = 0.05
    n_passes: Annotated[int, Range(low=1), "passes, each with as many steps as there are positives"] = 20

    def _learn(self, X: sparse.csr_matrix, Y: sparse.csr_matrix, **data: Any) -> LowRankMap:  # noqa: ARG002
        rng = np.random.default_rng(self.random_state)
        X, n_labels = with_constant(X), Y.shape[1]
        scale = np.float32(1 / np.sqrt(self.dimension))
        U, V = (scale * rng.standard_normal((n, self.dimension), np.float32) for n in (X.shape[1], n_labels))
        rank_losses = np.concatenate([[0], np.cumsum(1 / np.arange(1, n_labels + 1))])
        state = np.array([rng.integers(2**63)], np.uint64)
        rates = self.rate * np.linspace(1, 0, self.n_passes * Y.nnz, endpoint=False).reshape(self.n_passes, -1)
        parts = (X.indptr, X.indices, X.data, Y.indptr, Y.indices)
        for of_pass in rates:
            rows = rng.integers(X.shape[0], size=Y.nnz)
            warp_pass(*parts, rows, of_pass, rank_losses, self.max_length, U, V, state)
        return LowRankMap.of(U[:-1], V.T, V @ U[-1])
