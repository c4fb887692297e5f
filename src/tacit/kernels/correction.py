"""Logistic regressions with an offset, one for each of many groups of samples, by dual coordinate ascent."""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from tacit.arrays import Floats32, Floats64, Ints32, Ints64


@njit(nogil=True, cache=True)
def correction_duals(
    groups: Ints64,
    indptr: Ints64,
    indices: Ints32,
    data: Floats32,
    signs: Floats64,
    offsets: Floats64,
    n_features: int,
    variance: float,
    passes: int,
    tolerance: float,
) -> Floats64:
    """The dual variable of each sample, between 0 and 1: the residual of its corrected probability.

    The samples of group g are the rows ``groups[g]`` to ``groups[g + 1]``; its weights, with a Gaussian prior of this
    variance, are ``variance * sum(sign * dual * row)``.
    """
    duals = np.zeros(len(signs))
    weights = np.zeros(n_features)
    for group in range(len(groups) - 1):
        first, last = groups[group], groups[group + 1]
        for _ in range(passes):
            largest = 0.0
            for i in range(first, last):
                product, length = 0.0, 0.0
                for place in range(indptr[i], indptr[i + 1]):
                    value = np.float64(data[place])
                    product += weights[indices[place]] * value
                    length += value * value
                length *= variance
                margin = signs[i] * (offsets[i] + product) - length * duals[i]
                change = _new_dual(duals[i], margin, length) - duals[i]
                duals[i] += change
                for place in range(indptr[i], indptr[i + 1]):
                    weights[indices[place]] += variance * signs[i] * change * data[place]
                largest = max(largest, abs(change))
            if largest < tolerance:
                break
        for place in range(indptr[first], indptr[last]):
            weights[indices[place]] = 0.0
    return duals


@njit(nogil=True, cache=True)
def _new_dual(dual: float, margin: float, length: float) -> float:
    """The fixed point f = σ(−margin − length · f), by Newton's method from the previous value."""
    for _ in range(8):
        pull = 0.5 * (1 - math.tanh(0.5 * (margin + length * dual)))
        step = (dual - pull) / (1 + length * pull * (1 - pull))
        dual = min(max(dual - step, 0.0), 1.0)
        if abs(step) < 1e-4:
            break
    return dual
