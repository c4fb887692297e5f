"""Linear cluster centres, trained to assign neighbours in a graph to the same cluster."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import njit

from tacit.arrays import Floats32, Ints32
from tacit.kernels.dense import Rows


class FtrlCentres(NamedTuple):
    """Centres, a row per feature and a column per centre, and the sums of FTRL-proximal."""

    centers: Floats32
    sums: Floats32
    squares: Floats32
    rate: float
    l1: float


@njit(nogil=True, cache=True)
def partition_pass(
    X: Rows, order: Ints32, chosen: Ints32, positives: Ints32, negatives: Ints32, state: FtrlCentres
) -> None:
    """One step per sample of `order`: move its best centre towards a positive and away from a negative sample.

    The best centre is `chosen`, or the one of the largest inner product where that is -1; a positive or negative
    of -1 is left out. `state` is changed in place.
    """
    centers = state.centers
    scores = np.empty(centers.shape[1], np.float32)
    for place in range(len(order)):
        best = chosen[place]
        if best < 0:
            scores[:] = 0
            for entry in range(X.starts[order[place]], X.starts[order[place] + 1]):
                for center in range(len(scores)):
                    scores[center] += X.values[entry] * centers[X.ids[entry], center]
            best = np.argmax(scores)
        if positives[place] >= 0:
            _step(X, positives[place], 1.0, best, state)
        if negatives[place] >= 0:
            _step(X, negatives[place], -1.0, best, state)


@njit(nogil=True, cache=True)
def _step(X: Rows, row: int, sign: float, center: int, state: FtrlCentres) -> None:
    """Raise log σ(sign · ⟨centre, x⟩) by FTRL-proximal with an ℓ1 penalty."""
    centers, sums, squares, rate, l1 = state
    logit = 0.0
    for entry in range(X.starts[row], X.starts[row + 1]):
        logit += X.values[entry] * centers[X.ids[entry], center]
    slope = sign / (1.0 + math.exp(min(max(sign * logit, -30.0), 30.0)))
    for entry in range(X.starts[row], X.starts[row + 1]):
        feature = X.ids[entry]
        gradient = -slope * X.values[entry]
        square = squares[feature, center] + gradient * gradient
        growth = (math.sqrt(square) - math.sqrt(squares[feature, center])) / rate
        total = sums[feature, center] + gradient - growth * centers[feature, center]
        squares[feature, center] = square
        sums[feature, center] = total
        excess = abs(total) - l1
        size = excess * rate / (1.0 + math.sqrt(square)) if excess > 0 else 0.0
        centers[feature, center] = -size if total > 0 else size
