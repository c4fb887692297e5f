"""Kernels of PD-Sparse: block steps of Frank-Wolfe with active labels, and the projection that each ends with."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numba import njit

from tacit.arrays import Floats32, Floats64, Ints32

_HALVINGS = 50


@njit(nogil=True, cache=True)
def _positive_sum(values: Floats64, shift: float) -> float:
    total = 0.0
    for value in values:
        total += max(value - shift, 0.0)
    return total


@njit(nogil=True, cache=True)
def _shift_to_sum(values: Floats64, total: float) -> float:
    """The θ with Σ (values − θ)₊ = total, for a total above 0."""
    low, high = values.min() - total, values.max()
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if _positive_sum(values, middle) > total:
            low = middle
        else:
            high = middle
    return float((low + high) / 2)


@njit(nogil=True, cache=True)
def project_masses(relevant: Floats64, others: Floats64, C: float) -> None:
    """Project two vectors, in place, to the nearest ones of non-negative entries with equal sums of at most C."""
    low = min(relevant.min(), -others.max())
    high = max(relevant.max(), -others.min())
    for _ in range(_HALVINGS):  # Σ (relevant − θ)₊ falls and Σ (others + θ)₊ rises with θ: find where they meet
        middle = (low + high) / 2
        if _positive_sum(relevant, middle) > _positive_sum(others, -middle):
            low = middle
        else:
            high = middle
    first, second = (low + high) / 2, -(low + high) / 2
    if _positive_sum(relevant, first) > C:
        first, second = _shift_to_sum(relevant, C), _shift_to_sum(others, C)
    for place in range(len(relevant)):
        relevant[place] = max(relevant[place] - first, 0.0)
    for place in range(len(others)):
        others[place] = max(others[place] - second, 0.0)


@njit(nogil=True, cache=True)
def _activate(active: Ints32, alphas: Floats64, label: int) -> None:
    """Put a label into the active set of a sample, unless it is there."""
    free = -1
    for place in range(len(active)):
        if active[place] == label:
            return
        if free < 0 and active[place] < 0:
            free = place
    if free >= 0:
        active[free] = label
        alphas[free] = 0.0


@njit(nogil=True, cache=True)
def frank_wolfe_pass(
    x_indptr: Ints32,
    x_indices: Ints32,
    x_data: Floats32,
    y_indptr: Ints32,
    y_indices: Ints32,
    order: npt.NDArray[np.int64],
    l1: float,
    C: float,
    n_added: int,
    active: Ints32,
    alphas: Floats64,
    sums: Floats64,
    W: Floats32,
) -> None:
    """One block step for each sample, in place.

    `active` and `alphas` (n_samples, capacity) hold dual variables, -1 where there is none: of relevant labels they are
    at least 0, of others at most 0. `sums` (n_features, n_labels) is XᵀA, and W the weights: sums shrunk by l1.
    """
    n_labels = W.shape[1]
    scores = np.empty(n_labels)
    is_relevant = np.zeros(n_labels, np.bool_)
    for row in order:
        labels = y_indices[y_indptr[row] : y_indptr[row + 1]]
        features, values = x_indices[x_indptr[row] : x_indptr[row + 1]], x_data[x_indptr[row] : x_indptr[row + 1]]
        if len(labels) == 0 or len(labels) == n_labels:
            continue
        scores[:] = 0
        square = 0.0
        for feature, value in zip(features, values):
            square += value * value
            for label in range(n_labels):
                scores[label] += value * W[feature, label]
        is_relevant[labels] = True
        for label in labels:
            _activate(active[row], alphas[row], label)
        of_others = np.where(is_relevant, -np.inf, scores)
        n_violating = min(n_added, n_labels - len(labels))
        for label in np.argsort(-of_others, kind="mergesort")[:n_violating]:
            _activate(active[row], alphas[row], label)
        mine = np.flatnonzero(active[row] >= 0)
        in_relevant = np.array([is_relevant[active[row, place]] for place in mine])
        first, second = mine[in_relevant], mine[~in_relevant]
        if len(first) > 0 and len(second) > 0:
            # The quadratic bound of G with curvature ‖x‖² is least at α − gradient/‖x‖², projected (Eq. 18).
            a = alphas[row][first] - scores[active[row][first]] / square
            b = -alphas[row][second] + (scores[active[row][second]] + 1) / square
            project_masses(a, b, C)
            _move(features, values, active[row], alphas[row], first, a, l1, sums, W)
            _move(features, values, active[row], alphas[row], second, -b, l1, sums, W)
        is_relevant[labels] = False


@njit(nogil=True, cache=True)
def _move(
    features: Ints32,
    values: Floats32,
    active: Ints32,
    alphas: Floats64,
    places: npt.NDArray[np.int64],
    targets: Floats64,
    l1: float,
    sums: Floats64,
    W: Floats32,
) -> None:
    """Set dual variables of a sample and carry the change into the weights; a variable at 0 leaves the active set."""
    for place, target in zip(places, targets):
        label, change = active[place], target - alphas[place]
        alphas[place] = target
        if target == 0:
            active[place] = -1
        if change == 0:
            continue
        for feature, value in zip(features, values):
            total = sums[feature, label] + change * value
            sums[feature, label] = total
            W[feature, label] = np.sign(total) * max(abs(total) - l1, 0.0)
