"""Training of a sparse linear map that embeds neighbouring samples near each other, in one thread.

All inner loops run over whole vectors or rows of a small matrix, without sums that a compiler may
reorder: they are fast and bit-identical on every machine.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import njit

from tacit.arrays import Floats32, Ints32
from tacit.kernels.dense import Rows, dot


class BlockLoss(NamedTuple):
    """The objective of a block of pairs."""

    is_cosine: bool
    is_softmax: bool
    gamma: float
    offset: float
    n_negatives: float


class _Grouped(NamedTuple):
    """Entries of some rows by feature: those of `features[t]` end at `ends[t]`; owners are places among the rows.

    `slots`, by feature, are -1 between blocks.
    """

    slots: Ints32
    features: Ints32
    ends: Ints32
    owners: Ints32
    values: Floats32


@njit(nogil=True, cache=True, inline="always")
def project_rows(X: Rows, rows: Ints32, V: Floats32, images: Floats32) -> None:
    """``images[i] = V.T @ X[rows[i]]`` for a CSR matrix X; four features at a time are added to an image."""
    dimension = V.shape[1]
    for place in range(len(rows)):
        for axis in range(dimension):
            images[place, axis] = 0
        entry, stop = X.starts[rows[place]], X.starts[rows[place] + 1]
        while entry + 4 <= stop:
            f0, f1, f2, f3 = X.ids[entry], X.ids[entry + 1], X.ids[entry + 2], X.ids[entry + 3]
            x0, x1, x2, x3 = X.values[entry], X.values[entry + 1], X.values[entry + 2], X.values[entry + 3]
            for axis in range(dimension):
                images[place, axis] += (x0 * V[f0, axis] + x1 * V[f1, axis]) + (x2 * V[f2, axis] + x3 * V[f3, axis])
            entry += 4
        while entry < stop:
            for axis in range(dimension):
                images[place, axis] += X.values[entry] * V[X.ids[entry], axis]
            entry += 1


@njit(nogil=True, cache=True, inline="always")
def _to_unit_length(images: Floats32, n: int, inverse_lengths: Floats32) -> None:
    """Divide the first `n` rows by their lengths; keep the inverses (0 for a row of zeros)."""
    for place in range(n):
        length = np.float32(math.sqrt(dot(images[place], images[place])))
        inverse = np.float32(1) / length if length > 0 else np.float32(0)
        inverse_lengths[place] = inverse
        for axis in range(images.shape[1]):
            images[place, axis] *= inverse


@njit(nogil=True, cache=True, inline="always")
def _products(images: Floats32, n: int, turned: Floats32, products: Floats32) -> None:
    """Inner products of the first `n` rows with each other, along rows of their transpose."""
    dimension = images.shape[1]
    for place in range(n):
        for axis in range(dimension):
            turned[axis, place] = images[place, axis]
    for row in range(n):
        for column in range(n):
            products[row, column] = 0
        for axis in range(dimension):
            factor = images[row, axis]
            for column in range(n):
                products[row, column] += factor * turned[axis, column]


@njit(nogil=True, cache=True, inline="always")
def _sgns_slopes(
    similarity: float, noise: Floats32, n: int, own: int, loss: BlockLoss, weight: float
) -> tuple[float, float]:
    """Objective and slope of a pair; `noise` holds similarities, then slopes, of its negative samples.

    log σ(γK + o) + weight Σ log σ(−γK′ − o), with d/dK log σ(γK + o) = γ σ(−γK − o) and
    d/dK′ log σ(−γK′ − o) = −γ σ(γK′ + o); σ and log σ are written with exponentials that cannot overflow.
    """
    gamma, offset = loss.gamma, loss.offset
    logit = gamma * similarity + offset
    decay = math.exp(-abs(logit))
    objective = min(logit, 0.0) - math.log1p(decay)
    slope = gamma * (decay if logit > 0 else 1.0) / (1.0 + decay)
    product = 1.0  # of up to 1000 factors between 1 and 2: one logarithm for all
    for place in range(n):
        if place == own:
            noise[place] = 0
            continue
        logit = gamma * noise[place] + offset
        decay = math.exp(-abs(logit))
        objective += weight * min(-logit, 0.0)
        product *= 1.0 + decay
        noise[place] = -weight * gamma * (1.0 if logit > 0 else decay) / (1.0 + decay)
    return objective - weight * math.log(product), slope


@njit(nogil=True, cache=True, inline="always")
def _softmax_slopes(similarity: float, noise: Floats32, n: int, own: int, gamma: float) -> tuple[float, float]:
    """The same for the softmax loss log p = γK − log(exp γK + Σ exp γK′), whose slopes are γ(1 − p) and −γp′."""
    largest = gamma * similarity
    for place in range(n):
        if place != own:
            largest = max(largest, gamma * noise[place])
    pair = math.exp(gamma * similarity - largest)
    others = 0.0
    for place in range(n):
        noise[place] = 0.0 if place == own else math.exp(gamma * noise[place] - largest)
        others += noise[place]
    for place in range(n):
        noise[place] *= -gamma / (pair + others)
    return gamma * similarity - largest - math.log(pair + others), gamma * others / (pair + others)


@njit(nogil=True, cache=True, inline="always")
def _block_gradients(
    images: Floats32, n: int, loss: BlockLoss, turned: Floats32, noise: Floats32, gradients: Floats32
) -> float:
    """Objective of the `n` pairs of rows (a, n + a), and its gradient by all 2n rows.

    The negative samples of row a are the other first rows of the block, each weighted so that together they
    count as `n_negatives`: they are already projected, and as first rows come in random order they are uniform.
    """
    dimension = images.shape[1]
    weight = loss.n_negatives / max(n - 1, 1)
    objective = 0.0
    _products(images, n, turned, noise)
    gradients[: 2 * n] = 0
    for a in range(n):
        similarity = np.float32(0)
        for axis in range(dimension):
            similarity += images[a, axis] * images[n + a, axis]
        if loss.is_softmax:
            gain, slope = _softmax_slopes(similarity, noise[a], n, a, loss.gamma)
        else:
            gain, slope = _sgns_slopes(similarity, noise[a], n, a, loss, weight)
        objective += gain
        pull = np.float32(slope)
        for axis in range(dimension):
            gradients[a, axis] += pull * images[n + a, axis]
            gradients[n + a, axis] += pull * images[a, axis]
    # K_ab is a similarity of the unordered pair: row a is moved as an anchor and as a negative sample of row b.
    for a in range(n):
        for b in range(n):
            push = noise[a, b] + noise[b, a]
            for axis in range(dimension):
                gradients[a, axis] += push * images[b, axis]
    return objective


@njit(nogil=True, cache=True, inline="always")
def _through_length(images: Floats32, inverse_lengths: Floats32, n: int, gradients: Floats32) -> None:
    """From the gradient by a unit vector u = z/‖z‖ to that by z: (g − ⟨g, u⟩u)/‖z‖.

    With it the gradient of a cosine is the last one printed in the paper: −ab³c z_i − …; Eq. 13 and 14 lack
    the factor 2 of ∇⟨z, z⟩.
    """
    for place in range(n):
        along = np.float32(0)
        for axis in range(images.shape[1]):
            along += images[place, axis] * gradients[place, axis]
        for axis in range(images.shape[1]):
            gradients[place, axis] = (gradients[place, axis] - along * images[place, axis]) * inverse_lengths[place]


@njit(nogil=True, cache=True, inline="always")
def _by_feature(X: Rows, rows: Ints32, grouped: _Grouped) -> int:
    """Group the entries of some rows by feature, in the order of `rows`, and count the features."""
    slots, ends, n_features = grouped.slots, grouped.ends, 0
    for row in rows:
        for entry in range(X.starts[row], X.starts[row + 1]):
            feature = X.ids[entry]
            if slots[feature] < 0:
                slots[feature] = n_features
                grouped.features[n_features] = feature
                ends[n_features] = 0
                n_features += 1
            ends[slots[feature]] += 1
    total = 0
    for slot in range(n_features):
        count = ends[slot]
        ends[slot] = total
        total += count
    for place in range(len(rows)):
        for entry in range(X.starts[rows[place]], X.starts[rows[place] + 1]):
            slot = slots[X.ids[entry]]
            grouped.owners[ends[slot]] = place
            grouped.values[ends[slot]] = X.values[entry]
            ends[slot] += 1
    for slot in range(n_features):
        slots[grouped.features[slot]] = -1
    return n_features


@njit(nogil=True, cache=True, inline="always")
def _ascend(
    grouped: _Grouped, n_features: int, gradients: Floats32, V: Floats32, squares: Floats32, rate: float
) -> None:
    """AdaGrad with one step size per feature: V[f] += rate · g / √(Σ mean g²), g = Σ x_if · gradients[i]."""
    owners, values, dimension = grouped.owners, grouped.values, V.shape[1]
    gradient = np.empty(dimension, np.float32)
    entry = 0
    for slot in range(n_features):
        feature, stop = grouped.features[slot], grouped.ends[slot]
        for axis in range(dimension):
            gradient[axis] = 0
        while entry + 2 <= stop:
            i0, i1, x0, x1 = owners[entry], owners[entry + 1], values[entry], values[entry + 1]
            for axis in range(dimension):
                gradient[axis] += x0 * gradients[i0, axis] + x1 * gradients[i1, axis]
            entry += 2
        if entry < stop:
            for axis in range(dimension):
                gradient[axis] += values[entry] * gradients[owners[entry], axis]
            entry += 1
        squares[feature] += dot(gradient, gradient) / np.float32(dimension)
        if squares[feature] > 0:
            step = np.float32(rate / math.sqrt(squares[feature]))
            for axis in range(dimension):
                V[feature, axis] += step * gradient[axis]


@njit(nogil=True, cache=True)
def joint_pass(
    X: Rows, first: Ints32, second: Ints32, V: Floats32, squares: Floats32, block: int, loss: BlockLoss, rate: float
) -> float:
    """One step up the objective for each `block` of pairs; gives the mean objective of a pair before its step.

    ExMLDS Eq. 10 with z = Vᵀx, K_ij a cosine (Eq. 11) or an inner product. V, of a row per feature, and the
    `squares` of AdaGrad are changed in place; with a `rate` of 0 they are left alone and nothing is
    differentiated.
    """
    dimension, most = V.shape[1], 0
    for start in range(0, len(first), block):
        size = 0
        for pair in range(start, min(start + block, len(first))):
            for row in (first[pair], second[pair]):
                size += X.starts[row + 1] - X.starts[row]
        most = max(most, size)
    slots = np.full(len(V), -1, np.int32)
    features, ends = np.empty(len(V), np.int32), np.empty(len(V), np.int32)
    grouped = _Grouped(slots, features, ends, np.empty(most, np.int32), np.empty(most, np.float32))
    images, gradients = np.empty((2 * block, dimension), np.float32), np.empty((2 * block, dimension), np.float32)
    inverse_lengths = np.ones(2 * block, np.float32)
    turned, noise = np.empty((dimension, block), np.float32), np.empty((block, block), np.float32)
    objective = 0.0
    for start in range(0, len(first), block):
        n = min(block, len(first) - start)
        rows = np.empty(2 * n, first.dtype)
        for pair in range(n):
            rows[pair], rows[n + pair] = first[start + pair], second[start + pair]
        project_rows(X, rows, V, images)
        if loss.is_cosine:
            _to_unit_length(images, 2 * n, inverse_lengths)
        objective += _block_gradients(images, n, loss, turned, noise, gradients)
        if rate == 0:
            continue
        if loss.is_cosine:
            _through_length(images, inverse_lengths, 2 * n, gradients)
        _ascend(grouped, _by_feature(X, rows, grouped), gradients, V, squares, rate)
    return objective / max(len(first), 1)
