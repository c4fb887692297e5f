"""Skip-gram with negative sampling by stochastic gradient steps, in one thread with a generator of its own."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import njit

from tacit.arrays import Floats32, Floats64, Ints32, UInts64
from tacit.kernels.dense import dot
from tacit.kernels.splitmix import STEP, mixed

LARGEST_LOGIT = 30.0  # 1 − σ is smaller than the precision of float32


@njit(nogil=True, cache=True)
def next_random(state: UInts64) -> float:
    """A uniform number in [0, 1) from a generator whose state is advanced in place."""
    state[0] += STEP
    return float(mixed(state[0]) >> np.uint64(11)) / 9007199254740992.0  # 2⁵³


@njit(nogil=True, cache=True)
def draw(cumulative: Floats64, state: UInts64) -> int:
    """A place drawn in proportion to the steps of a rising array of sums."""
    place = np.searchsorted(cumulative, next_random(state) * cumulative[-1], side="right")
    return min(int(place), len(cumulative) - 1)


@njit(nogil=True, cache=True)
def ascend(vector: Floats32, context: Floats32, is_pair: bool, rate: float, gradient: Floats32) -> None:
    """One step up log σ(±⟨vector, context⟩), plus for a pair, minus for a negative sample.

    The context is moved at once; the gradient of the vector is added to `gradient`, to be applied after the
    negative samples of its pair.
    """
    logit = float(dot(vector, context))
    # d/dx log σ(x) = σ(−x), d/dx log σ(−x) = −σ(x)
    slope = (1.0 if is_pair else 0.0) - 1.0 / (1.0 + math.exp(-min(max(logit, -LARGEST_LOGIT), LARGEST_LOGIT)))
    size = np.float32(rate * slope)
    for axis in range(len(vector)):
        gradient[axis] += size * context[axis]
        context[axis] += size * vector[axis]


@njit(nogil=True, cache=True)
def shorten(vector: Floats32) -> None:
    """Cut a vector down to the length at which σ of its square is 1, so that steps cannot grow without bound."""
    square = float(dot(vector, vector))
    if square > LARGEST_LOGIT:
        vector *= np.float32(math.sqrt(LARGEST_LOGIT / square))


class Pairs(NamedTuple):
    """Pairs of nodes that should be near, each with the expected number of its negative samples."""

    first: Ints32
    second: Ints32
    sums: Floats64  # its steps are the weights of the pairs
    negatives: Floats64


@njit(nogil=True, cache=True)
def sgns_pass(
    vectors: Floats32, contexts: Floats32, pairs: Pairs, noise: Floats64, rates: Floats64, state: UInts64
) -> None:
    """One step for each of `rates`: a pair, and its negative samples, drawn at random (ExMLDS Eq. 3).

    `vectors` and `contexts` may be the same array, and are changed in place. Negative samples are drawn by the steps
    of `noise`. The expected step is the gradient of Σ w (log σ(x) + m E log σ(−x′)) over the total weight, with w and m
    the weight and expected number of negative samples of a pair.
    """
    gradient = np.zeros(vectors.shape[1], np.float32)
    for rate in rates:
        pair = draw(pairs.sums, state)
        node, expected = pairs.first[pair], pairs.negatives[pair]
        gradient[:] = 0
        shorten(vectors[node])  # it may have moved as a context
        ascend(vectors[node], contexts[pairs.second[pair]], True, rate, gradient)
        n_drawn = math.ceil(expected)
        for _ in range(n_drawn):
            ascend(vectors[node], contexts[draw(noise, state)], False, rate * (expected / n_drawn), gradient)
        for axis in range(vectors.shape[1]):
            vectors[node, axis] += gradient[axis]
        shorten(vectors[node])
