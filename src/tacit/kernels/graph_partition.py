"""Linear cluster centres, trained to assign neighbours in a graph to the same cluster."""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from tacit.arrays import Floats32, Ints32


@njit(nogil=True, cache=True)
def partition_pass(
    indptr: Ints32,
    indices: Ints32,
    data: Floats32,
    order: Ints32,
    chosen: Ints32,
    positives: Ints32,
    negatives: Ints32,
    centers: Floats32,
    sums: Floats32,
    squares: Floats32,
    rate: float,
    l1: float,
) -> None:
    """One step per sample of `order`: move its best centre towards a positive and away from a negative sample.

    The best centre is `chosen`, or the one of the largest inner product where that is -1; a positive or negative
    of -1 is left out. `centers` (a row per feature, a column per centre) and the two sums of FTRL-proximal are
    changed in place. Samples are in CSR.
    """
    scores = np.empty(centers.shape[1], np.float32)
    for place in range(len(order)):
        best = chosen[place]
        if best < 0:
            scores[:] = 0
            for entry in range(indptr[order[place]], indptr[order[place] + 1]):
                for center in range(len(scores)):
                    scores[center] += data[entry] * centers[indices[entry], center]
            best = np.argmax(scores)
        if positives[place] >= 0:
            row = slice(indptr[positives[place]], indptr[positives[place] + 1])
            _step(indices[row], data[row], 1.0, centers, best, sums, squares, rate, l1)
        if negatives[place] >= 0:
            row = slice(indptr[negatives[place]], indptr[negatives[place] + 1])
            _step(indices[row], data[row], -1.0, centers, best, sums, squares, rate, l1)


@njit(nogil=True, cache=True)
def _step(
    features: Ints32,
    values: Floats32,
    sign: float,
    centers: Floats32,
    center: int,
    sums: Floats32,
    squares: Floats32,
    rate: float,
    l1: float,
) -> None:
    """Raise log σ(sign · ⟨centre, x⟩) by FTRL-proximal with an ℓ1 penalty."""
    logit = 0.0
    for entry in range(len(features)):
        logit += values[entry] * centers[features[entry], center]
    slope = sign / (1.0 + math.exp(min(max(sign * logit, -30.0), 30.0)))
    for entry in range(len(features)):
        feature = features[entry]
        gradient = -slope * values[entry]
        square = squares[feature, center] + gradient * gradient
        growth = (math.sqrt(square) - math.sqrt(squares[feature, center])) / rate
        total = sums[feature, center] + gradient - growth * centers[feature, center]
        squares[feature, center] = square
        sums[feature, center] = total
        excess = abs(total) - l1
        size = excess * rate / (1.0 + math.sqrt(square)) if excess > 0 else 0.0
        centers[feature, center] = -size if total > 0 else size
