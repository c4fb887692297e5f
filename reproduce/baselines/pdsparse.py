"""PD-Sparse: a max-margin ranking loss with an ℓ1 penalty, by active-set block Frank-Wolfe in the dual.

Yen, Huang, Ravikumar, Zhong and Dhillon, "PD-Sparse: a primal and dual sparse approach to extreme multiclass and
multilabel classification", ICML 2016. Differs: the most violating label is found by scoring all labels, where the
paper samples features to be sublinear in labels; a constant feature gives labels an intercept.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np
import numpy.typing as npt
from numba import njit
from scipy import sparse

from reproduce.baselines.sparse_linear import SparseLinear
from tacit.labels import positives
from tacit.latent.model import with_constant
from tacit.numerics.arrays import Floats32, Floats64, Ints32
from tacit.parameters import Range, document_parameters

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


@dataclass(frozen=True, eq=False)
class DualState:
    """Dual variables of the active labels of each sample, and the primal weights that they give."""

    active: Ints32
    alphas: Floats64
    sums: Floats64
    W: Floats32

    @classmethod
    def zero(cls, n_samples: int, n_features: int, n_labels: int, capacity: int) -> DualState:
        """No active label."""
        shape = (n_samples, capacity)
        sums = np.zeros((n_features, n_labels))
        return cls(np.full(shape, -1, np.int32), np.zeros(shape), sums, np.zeros_like(sums, np.float32))


@document_parameters
@dataclass(kw_only=True, eq=False, repr=False)
class PDSparse(SparseLinear):
    """Max-margin ranking with sparse weights and few active labels per sample (Yen et al., 2016)."""

    l1: Annotated[float, Range(low=0), "penalty on the absolute size of the weights"] = 0.1
    C: Annotated[float, Range(above=0), "cost of the loss of a sample"] = 1.0
    n_added: Annotated[int, Range(low=1), "most violating labels that a step adds to the active ones"] = 3
    n_passes: Annotated[int, Range(low=1), "passes over the samples"] = 30
    max_active: Annotated[int, Range(low=1), "largest number of active labels of a sample beside its own"] = 60

    def _fit(self, X: sparse.csr_matrix, Y: sparse.csr_matrix) -> None:
        W = self._descend(with_constant(X), positives(Y)).W
        self._keep(sparse.csr_matrix(W[:-1]), W[-1])

    def _descend(self, X: sparse.csr_matrix, Y: sparse.csr_matrix) -> DualState:
        rng = np.random.default_rng(self.random_state)
        capacity = min(int(np.diff(Y.indptr).max()) + self.max_active, Y.shape[1])
        state = DualState.zero(X.shape[0], X.shape[1], Y.shape[1], capacity)
        parts = (X.indptr, X.indices, X.data, Y.indptr, Y.indices)
        for _ in range(self.n_passes):
            order = rng.permutation(X.shape[0])
            frank_wolfe_pass(
                *parts, order, self.l1, self.C, self.n_added, state.active, state.alphas, state.sums, state.W
            )
        return state
