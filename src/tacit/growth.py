"""How what small parts of the data take grows to what all of them will take.

Time grows with the samples, and where there is a classifier for every label with the labels too. What a model keeps
grows with the samples, the labels, the pairs of a feature and a label, which is what a dense linear model has weights
for, or those pairs that occur together. All of these are counted, for the parts and for all data.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.optimize import nnls

Floats = npt.NDArray[np.float64]

_NOISE = 0.1  # relative error of a measured time
_POWERS = np.arange(1.0, 2.01, 0.1)  # of the number of samples; below 1, part of the time is overhead
_POWER_SPREAD = 0.3  # how far the power is expected to lie from 1
_LABEL_POWERS = (0.0, 0.5, 1.0)
_LABEL_POWER_SPREAD = 1.0  # ... and that of labels from 0
_LEAST_SHARE = 0.5  # of the largest part's time that must grow with the samples, however flat the curve seems
_MISFIT = 0.05  # relative distance from a part that a law of memory or size may well have
_BYTES_OF_DENSE = 2  # per pair of a feature and a label, at least, in a dense matrix
_MAX_PRODUCTS = 3e7  # pairs that are looked at to count the distinct ones


class Extent(NamedTuple):
    """How large some data are.

    Attributes
    ----------
    n_samples, n_labels, n_features : int
        Samples, and labels and features that a sample has.
    n_pairs : int
        Pairs of a feature and a label that occur together in a sample.
    """

    n_samples: int
    n_labels: int
    n_features: int
    n_pairs: int


def extent_of(X: sparse.csr_matrix, Y: sparse.csr_matrix) -> Extent:
    """How large the data are; Y has a 1 for each positive and no other entries."""
    by_label = Y.T.tocsr()
    labels = np.flatnonzero(np.diff(by_label.indptr))
    per_sample = np.diff(X.indptr).astype(np.float64)
    products = float(per_sample @ np.diff(Y.indptr))
    chosen = labels
    if products > _MAX_PRODUCTS:  # pairs of different labels differ, so some labels tell how many there are in all
        n_chosen = max(int(len(labels) * _MAX_PRODUCTS / products), 1)
        chosen = np.random.default_rng(0).choice(labels, n_chosen, replace=False)
    n_pairs = (by_label[chosen] @ X).nnz if len(chosen) else 0
    n_features = len(np.unique(X.indices))
    return Extent(X.shape[0], len(labels), n_features, round(n_pairs * len(labels) / max(len(chosen), 1)))


def seconds_at(where: Extent, extents: Sequence[Extent], seconds: Sequence[float]) -> float:
    """The time for data of an extent, from the times for smaller ones.

    The law is overhead + b · samples^p · labels^q. Times are known to about a tenth, which leaves the powers open,
    but a power is carried far. So those are taken that are most probable, if p is likely to be near 1 and q near 0.
    """
    times = np.maximum(np.asarray(seconds, np.float64), 1e-6)
    samples, labels = (np.array([getattr(one, name) for one in extents], float) for name in ("n_samples", "n_labels"))
    far, more = where.n_samples / samples[-1], where.n_labels / max(labels[-1], 1.0)
    if len(times) == 1:
        return float(times[0] * far)
    found, least = 0.0, np.inf
    for power in _POWERS:
        for label_power in _LABEL_POWERS:
            growing = (samples / samples[-1]) ** power * (np.maximum(labels, 1) / max(labels[-1], 1)) ** label_power
            terms = np.stack([np.ones(len(times)), growing], axis=1)
            weights, misfit = nnls(terms / times[:, None], np.ones(len(times)))
            cost = (misfit / _NOISE) ** 2 + ((power - 1) / _POWER_SPREAD) ** 2
            cost += (label_power / _LABEL_POWER_SPREAD) ** 2
            if cost < least - 1e-9:
                found, least = float(weights @ [1.0, far**power * more**label_power]), cost
    return max(found, float(_LEAST_SHARE * times[-1] * far))


def amount_at(where: Extent, extents: Sequence[Extent], amounts: Sequence[float]) -> float:
    """An amount of memory or disk, or a short time, for data of an extent, from those for smaller ones.

    The law is a + b · driver, where the driver is the number of samples, labels or pairs. Several may fit the parts and
    differ for all data: what they say is averaged, each by how well it fits. The larger a part, the more it counts.
    """
    values = np.maximum(np.asarray(amounts, np.float64), 1e-6)
    drivers = _drivers([*extents, where])
    if values[-1] < _BYTES_OF_DENSE * drivers[-2, -1]:
        drivers = drivers[:, :-1]  # too little for a dense matrix
    trust = np.array([one.n_samples / extents[-1].n_samples for one in extents])
    logs, misfits = [], []
    for driver in (drivers / np.maximum(drivers[-1], 1)).T:
        terms = np.stack([np.ones(len(driver)), driver], axis=1)
        weights, misfit = nnls(terms[:-1] * (trust / values)[:, None], trust)
        logs.append(np.log(max(float(terms[-1] @ weights), 1e-6)))
        misfits.append(misfit)
    likelihoods = np.exp(-0.5 * (np.square(misfits) - np.square(min(misfits))) / _MISFIT**2)
    return float(np.exp(np.average(logs, weights=likelihoods)))


def _drivers(extents: Sequence[Extent]) -> Floats:
    """Samples, labels, pairs that occur together, and all pairs of a feature and a label."""
    return np.array(
        [[one.n_samples, one.n_labels, one.n_pairs, one.n_features * one.n_labels] for one in extents], np.float64
    )
