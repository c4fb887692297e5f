"""Extrapolation of time, memory and model size from small parts of the data to all of them.

Time grows with the samples, and with the labels if each has a classifier. Memory grows with the samples, with the
labels, with the (feature, label) pairs, the weights of a dense linear model, or with the pairs that occur together. The
arrays of a model grow with samples, labels or pairs, or fill a matrix of features and labels. All of these are counted,
for the parts and for all data.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.optimize import nnls

from tacit.features import FeatureMatrix, sparse_part
from tacit.numerics.rows import occurring

Floats = npt.NDArray[np.float64]

_NOISE = 0.1  # relative error of a measured time, ...
_JITTER = 0.03  # ... and seconds beside it: what is done once, or only from some size on
_POWERS = np.arange(1.0, 2.01, 0.1)  # of the number of samples; if time grows more slowly, part of it is overhead
_POWER_SPREAD = 0.3  # standard deviation of the power around 1, a priori
_LABEL_POWERS = (0.0, 0.5, 1.0)
_LABEL_POWER_SPREAD = 1.0  # ... and of the power of labels around 0
_LEAST_SHARE = 0.5  # of the largest part's time that must grow with the samples, however flat the curve is
_LEAST_STEP = 0.05  # of the largest part's time in a step that has its own law; shorter ones are measured badly
_MISFIT = 0.05  # typical relative error of a law of memory or size at a part
_SIZE_POWERS = np.arange(0.0, 1.11, 0.1)  # of samples, labels or pairs in the size of an array
_SIZE_POWER_SPREAD = 0.2  # standard deviation of that power around 1, a priori
_BYTES_OF_WEIGHT = 4  # of one weight in a sparse matrix, and of its index
_BYTES_OF_DENSE = 2  # minimum per (feature, label) pair of a dense matrix
_MAX_PRODUCTS = 1e7  # pairs that are enumerated to count the distinct ones


class Extent(NamedTuple):
    """The size of a data set; labels, features and (feature, label) pairs are those that occur in a sample."""

    n_samples: int
    n_labels: int
    n_features: int
    n_pairs: int


def extent_of(X: FeatureMatrix, Y: sparse.csr_matrix) -> Extent:
    """The extent of a data set; Y has a 1 for each positive and no other entries. All dense features occur."""
    words = sparse_part(X)
    n_dense = X.shape[1] - words.shape[1]
    by_label = Y.T.tocsr()
    labels = np.flatnonzero(np.diff(by_label.indptr))
    per_sample = np.diff(words.indptr).astype(np.float64)
    products = float(per_sample @ np.diff(Y.indptr))
    chosen = labels
    if products > _MAX_PRODUCTS:  # pairs of different labels are distinct, so a sample of labels is enough
        n_chosen = max(int(len(labels) * _MAX_PRODUCTS / products), 1)
        chosen = np.random.default_rng(0).choice(labels, n_chosen, replace=False)
    n_pairs = (by_label[chosen] @ words).nnz * len(labels) / max(len(chosen), 1)
    n_features = int(np.count_nonzero(occurring(words))) + n_dense
    return Extent(X.shape[0], len(labels), n_features, round(n_pairs) + n_dense * len(labels))


def seconds_at(where: Extent, extents: Sequence[Extent], seconds: Sequence[float]) -> float:
    """The time for a larger extent, extrapolated from times for smaller ones.

    The law is overhead + b · samples^p · labels^q. Measured times do not determine the powers, on which extrapolation
    depends most. The most probable powers are used, with a prior of p near 1 and q near 0.
    """
    times = np.maximum(np.asarray(seconds, np.float64), 1e-6)
    samples, labels = (np.array([getattr(one, name) for one in extents], float) for name in ("n_samples", "n_labels"))
    far, more = where.n_samples / samples[-1], where.n_labels / max(labels[-1], 1.0)
    if len(times) == 1:
        return float(times[0] * far)
    errors = _NOISE * times + _JITTER
    found, least = 0.0, np.inf
    for power in _POWERS:
        for label_power in _LABEL_POWERS:
            growing = (samples / samples[-1]) ** power * (np.maximum(labels, 1) / max(labels[-1], 1)) ** label_power
            terms = np.stack([np.ones(len(times)), growing], axis=1)
            weights, misfit = nnls(terms / errors[:, None], times / errors)
            cost = misfit**2 + ((power - 1) / _POWER_SPREAD) ** 2 + (label_power / _LABEL_POWER_SPREAD) ** 2
            if cost < least - 1e-9:
                found, least = float(weights @ [1.0, far**power * more**label_power]), cost
    return max(found, float(_LEAST_SHARE * times[-1] * far))


def seconds_by_step(
    where: Extent, extents: Sequence[Extent], seconds: Sequence[float], steps: Sequence[Mapping[str, float]]
) -> float:
    """Like `seconds_at`, where the times of some steps are known: each grows by a law of its own, and so does the rest.

    A step that is short for small data can be most of the time for large ones, which the sum of all does not show.
    Small parts may lack a step.
    """
    names = [name for name, last in steps[-1].items() if last > _LEAST_STEP * seconds[-1]]
    names = [name for name in names if all(name in one for one in steps[-2:])]
    rest = [whole - sum(one.get(name, 0.0) for name in names) for whole, one in zip(seconds, steps, strict=True)]
    total = seconds_at(where, extents, rest)
    for name in names:
        there = [(extent, one[name]) for extent, one in zip(extents, steps, strict=True) if name in one]
        total += seconds_at(where, *zip(*there, strict=True))
    return total


def amount_at(where: Extent, extents: Sequence[Extent], amounts: Sequence[float]) -> float:
    """Memory, disk space or a short time for a larger extent, extrapolated from smaller ones.

    The law is a + b · driver, where the driver is the number of samples, labels or pairs. Predictions of the laws are
    averaged, weighted by how well each fits the parts; larger parts count more.
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


def size_at(where: Extent, extents: Sequence[Extent], sizes: Sequence[float]) -> float:
    """The size of one array of a model for a larger extent, extrapolated from smaller ones; larger parts count more.

    The law is c · driver^p, where the driver is the number of samples, labels or pairs. That is the size, or the number
    of weights that fall on cells of a matrix of features and labels: the fuller it is, the more of them fall on the
    same. Predictions are averaged, weighted by how well each law fits the parts, with a prior of p near 1.
    """
    there = [(extent, size) for extent, size in zip(extents, sizes, strict=True) if size > 0]  # small parts may lack it
    if len(there) != 1 and len({size for _, size in there}) < 2:
        return float(sizes[-1])
    values = np.array([size for _, size in there], np.float64)
    drivers = np.maximum(_drivers([*(extent for extent, _ in there), where]), 1.0)
    room = _BYTES_OF_WEIGHT * drivers[:, -1]
    trust = drivers[:-1, 0] / drivers[-2, 0]
    unlikely = np.square((1 - _SIZE_POWERS) / _SIZE_POWER_SPREAD)
    logs, costs = [], []
    for fills in (False, True) if (values < room[:-1]).all() else (False,):
        fallen = np.log(-np.log1p(-values / room[:-1]) * room[:-1] if fills else values)
        for driver in np.log(drivers[:, :-1] / drivers[-1, :-1]).T:
            left = fallen - _SIZE_POWERS[:, None] * driver[:-1]
            found = np.average(left, axis=1, weights=trust)
            logs.append(np.log(-np.expm1(-np.exp(found) / room[-1]) * room[-1]) if fills else found)
            costs.append(np.square(left - found[:, None]) @ trust / _MISFIT**2 + unlikely)
    likelihoods = np.exp(-0.5 * (np.array(costs) - np.min(costs)))
    return float(np.exp(np.average(logs, weights=likelihoods)))


def _drivers(extents: Sequence[Extent]) -> Floats:
    """Samples, labels, pairs that occur together, and all pairs of a feature and a label."""
    return np.array(
        [[one.n_samples, one.n_labels, one.n_pairs, one.n_features * one.n_labels] for one in extents], np.float64
    )
