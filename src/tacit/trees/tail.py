"""Tail classifiers: a label is likely near the centre of its samples.

``P(y_l = 1 | x) = 1/(1 + v)`` with ``v = β exp(γ/2 ‖x − μ_l‖²)`` (PfastreXML Eq. 41), x of unit length. The centre
μ_l is the mean of the label's samples, or its maximum-likelihood estimate. The odds β are the same for all labels, or
set per label so that a sample at the mean distance of the label's samples from the centre has even odds. With the same
β for all, P favours labels with short centres, which are the frequent ones.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse

from tacit.arrays import Floats32, Floats64, Integers, Mask, UInts64
from tacit.kernels.forest_ranking import CentreLevels, quantised
from tacit.numerics.compact import smallest_ids
from tacit.numerics.rows import label_means, largest_entries
from tacit.runtime.tasks import row_blocks, run_tasks
from tacit.store.declared import IDS, Array

_LABELS_PER_TASK = 64
_ASCENTS = 50
_HALVINGS = 20
_RELATIVE_GAIN = 1e-7  # of the likelihood; the ascent stops below it


@dataclass(frozen=True, eq=False)
class Centres:
    """Quantised centres by feature; an entry is a level times its label's step. ``v = exp(γ/2 (offset − 2 x·μ_l))``."""

    starts: Annotated[UInts64, Array("uint64", ("n_features+1",), starts="n_entries")]
    labels: Annotated[npt.NDArray[Any], Array(IDS, ("n_entries",), below="n_labels")]
    levels: Annotated[  # 8 bits, or 16 where exact centres have negative entries
        Integers, Array("uint8 int16", ("n_entries",))
    ]
    steps: Annotated[Floats32, Array("float32", ("n_labels",))]
    offsets: Annotated[Floats32, Array("float32", ("n_labels",))]

    @staticmethod
    def of(centres: sparse.csr_matrix, offsets: Floats64) -> Centres:
        """Quantise centres; `offsets` are computed from the entries that are kept."""
        dtype = np.int16 if (centres.data < 0).any() else np.uint8
        levels, steps = quantised(centres.data, centres.indptr, dtype)
        by_feature = sparse.csr_matrix((levels, centres.indices, centres.indptr), shape=centres.shape).tocsc()
        return Centres(
            starts=by_feature.indptr.astype(np.uint64),
            labels=smallest_ids(by_feature.indices, centres.shape[0]),
            levels=by_feature.data,
            steps=steps.astype(np.float32),
            offsets=offsets.astype(np.float32),
        )


class Nearness(NamedTuple):
    """Tail classifiers and their weight in the score of a label."""

    centres: Centres
    alpha: float
    gamma: float

    def as_levels(self) -> CentreLevels:
        """As kernels take them."""
        found = self.centres
        weights = float(self.alpha), float(self.gamma)
        return CentreLevels(found.starts, found.labels, found.levels, found.steps, found.offsets, *weights)


def offsets_with_odds(squares: Floats64, beta: float, gamma: float) -> Floats64:
    """Offsets for the same odds against every label at its centre."""
    return squares + float(1 + 2 * np.log(beta) / gamma)  # ‖x − μ‖² = 1 + ‖μ‖² − 2 x·μ


def offsets_with_own_odds(squares: Floats64) -> Floats64:
    """Offsets for even odds at the mean distance of a label's samples from its centre, 1 − ‖μ‖²."""
    return 2 * squares


def squared_lengths(centres: sparse.csr_matrix) -> Floats64:
    """‖μ‖² of each centre."""
    return np.asarray(centres.multiply(centres).sum(axis=1), dtype=np.float64).ravel()


def unbiased_squares(centres: sparse.csr_matrix, X: sparse.csr_matrix, Y: sparse.csr_matrix) -> Floats64:
    """Estimates of ‖μ‖², over the features that each centre keeps, from means of the samples of labels.

    Differs from the paper: the squared length of a mean of few samples is biased upwards, by the variance of the
    samples divided by their number. Uncorrected, such a centre would seem far from every sample.
    """
    squares, counts = squared_lengths(centres), np.bincount(Y.indices, minlength=Y.shape[1])
    mean_squares = label_means(X.power(2), Y).multiply(centres != 0).sum(axis=1)
    variances = np.asarray(mean_squares, dtype=np.float64).ravel() - squares
    return np.maximum(squares - variances / np.maximum(counts, 1), 0)


def exact_centres(
    X: sparse.csr_matrix,
    Y: sparse.csr_matrix,
    propensities: Floats64,
    *,
    gamma: float,
    beta: float,
    n_largest: int,
    n_jobs: int | None,
) -> sparse.csr_matrix:
    """Centres of maximum likelihood (PfastreXML Eq. 43), by gradient ascent from the means; X has unit rows."""
    tasks = [{"first": first, "last": last} for first, last in row_blocks(Y.shape[1], _LABELS_PER_TASK)]
    means, by_label = label_means(X, Y), Y.T.tocsr()
    shared = {"X": X.astype(np.float64), "by_label": by_label, "means": means, "propensities": propensities}
    blocks = run_tasks(
        ascend_block, tasks, n_jobs=n_jobs, what="centres", **shared, gamma=gamma, beta=beta, n_largest=n_largest
    )
    return sparse.vstack(blocks, format="csr")


def ascend_block(
    first: int,
    last: int,
    X: sparse.csr_matrix,
    by_label: sparse.csr_matrix,
    means: sparse.csr_matrix,
    propensities: Floats64,
    gamma: float,
    beta: float,
    n_largest: int,
) -> sparse.csr_matrix:
    """Centres of the labels from `first` to `last`, each pruned to its `n_largest` entries."""
    rows = []
    for label in range(first, last):
        centre = means[label].toarray().ravel().astype(np.float64)
        positives = by_label.indices[by_label.indptr[label] : by_label.indptr[label + 1]]
        if len(positives):
            is_positive = np.zeros(X.shape[0], dtype=bool)
            is_positive[positives] = True
            propensity = float(propensities[label])
            at = partial(likelihood, X, is_positive, propensity=propensity, gamma=gamma, beta=beta)
            centre = ascend(at, centre)
        rows.append(largest_entries(sparse.csr_matrix(centre), n_largest))
    return sparse.vstack(rows, format="csr")


def ascend(likelihood_at: Callable[[Floats64], tuple[float, Floats64, float]], centre: Floats64) -> Floats64:
    """Maximum-likelihood centre, by gradient ascent with line search."""
    value, gradient, curvature = likelihood_at(centre)
    step = 1 / curvature
    for _ in range(_ASCENTS):
        before = value
        for _ in range(_HALVINGS):
            candidate = centre + step * gradient
            value, new_gradient, curvature = likelihood_at(candidate)
            if value >= before:
                break
            step /= 2
        else:
            return centre
        centre, gradient = candidate, new_gradient
        step = min(2 * step, 1 / curvature)
        if value - before <= _RELATIVE_GAIN * abs(before):
            break
    return centre


def likelihood(
    X: sparse.csr_matrix, is_positive: Mask, centre: Floats64, propensity: float, gamma: float, beta: float
) -> tuple[float, Floats64, float]:
    """Log-likelihood of one label's observed values at a centre, its gradient, and the scale of its curvature."""
    squares = np.asarray(X.multiply(X).sum(axis=1)).ravel()
    distances = np.maximum(squares - 2 * (X @ centre) + centre @ centre, 0)
    log_v = np.log(beta) + gamma / 2 * distances
    log_one_plus_v = np.logaddexp(0, log_v)
    relevant = np.exp(-log_one_plus_v)  # 1/(1 + v)
    observed = np.where(is_positive, np.log(propensity) - log_one_plus_v, np.log1p(-propensity * relevant))
    irrelevant = np.exp(log_v - log_one_plus_v)  # v/(1 + v)
    # PfastreXML Eq. 45 with the sign of section 2.3: positives attract, negatives repel.
    u = irrelevant * np.where(is_positive, 1.0, -propensity * relevant / (1 - propensity * relevant))
    gradient = gamma * (X.T @ u - u.sum() * centre)  # Eq. 44
    return float(observed.sum()), np.asarray(gradient), float(gamma * np.abs(u).sum() + 1e-12)
