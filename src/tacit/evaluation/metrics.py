"""Metrics of rankings and of predicted label sets; docs/metrics.md defines them.

A metric of a ranking is a ratio of two sums over samples: `contributions` gives the summands of all.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt
from scipy import sparse

from tacit.arrays import Floats64
from tacit.core.labels import Matrix, relevant_labels
from tacit.core.ranking import NO_LABEL, Ranking
from tacit.errors import DataError, ParameterError, did_you_mean
from tacit.evaluation.propensity import inverse_propensities, values_at
from tacit.numerics.rows import falling_order, row_of_entry

KS = (1, 3, 5)
SCORE_METRIC = "nDCG@5"  # the metric of `score`; with five labels in all, P@5 would be the same for every model
Interval: TypeAlias = tuple[float, float]
Key = TypeVar("Key")

_MOST = 1.0  # by rounding errors, gains summed in another order may exceed the best ones
_TAILS = (2.5, 97.5)  # percentiles of the bootstrap distribution, which an interval lies between


def evaluate(ranking: Ranking, Y_test: Matrix, propensities: Any = None, ks: Sequence[int] = KS) -> dict[str, float]:
    """Metrics of a ranking, each in [0, 1].

    Parameters
    ----------
    ranking : Ranking
        Labels of each test sample, best first.
    Y_test : sparse matrix or dense array of shape (n_samples, n_labels)
        Test labels; stored zeros and NaN are not relevant. Samples without relevant labels count as 0.
    propensities : array of shape (n_labels,), or sparse or dense matrix of shape (n_samples, n_labels), optional
        As from `tacit.propensities` of the *training* labels; a matrix must cover the positives of `Y_test`. With them
        there are ``"PSP@k"`` and ``"PSnDCG@k"`` beside ``"P@k"``, ``"nDCG@k"``, ``"R@k"`` and ``"C@k"``.
    ks : sequence of int
        Lengths of the part of the ranking that counts.
    """
    judged = judge(ranking, Y_test, propensities, ks)
    values = {name: ratio.value() for name, ratio in contributions(judged, ks).items()}
    return values | {f"{COVERAGE}@{k}": judged.coverage(k) for k in ks}


def bootstrap_intervals(
    ranking: Ranking, Y_test: Matrix, propensities: Any = None, ks: Sequence[int] = KS, n_bootstrap: int = 200,
    seed: int = 0,
) -> dict[str, Interval]:  # fmt: skip
    """95 % percentile intervals of the metrics of `evaluate`, by resampling the test samples.

    Coverage has none: a resample repeats samples and so always finds fewer labels than the sample it is from.
    """
    return resample(contributions(judge(ranking, Y_test, propensities, ks), ks), n_bootstrap, seed)


def evaluate_sets(Y_true: Matrix, Y_pred: Matrix) -> dict[str, float]:
    """``"microF1"`` and ``"macroF1"`` of predicted label sets: F1 of all pairs, and its mean over labels.

    A label that is neither relevant nor predicted anywhere counts as 0, as in scikit-learn with ``zero_division=0``.
    """
    relevant, predicted = relevant_labels(Y_true, "Y_true"), relevant_labels(Y_pred, "Y_pred")
    if relevant.shape != predicted.shape:
        raise DataError(f"Y_true has shape {relevant.shape} but Y_pred {predicted.shape}; they must agree")
    matrices = relevant.multiply(predicted).tocsr(), relevant, predicted
    right, true, found = (np.bincount(matrix.indices, minlength=relevant.shape[1]) for matrix in matrices)
    micro, macro = _divide(2 * right.sum(), true.sum() + found.sum()), _divide(2 * right, true + found)
    return {"microF1": float(micro), "macroF1": float(macro.mean())}


@dataclass(frozen=True)
class Ratio:
    """A metric as a ratio of sums over samples; without a denominator it is a mean."""

    numerator: Floats64
    denominator: Floats64 | None = None

    def value(self) -> float:
        """The metric; 0 if the denominator is 0."""
        total = len(self.numerator) if self.denominator is None else self.denominator.sum()
        return min(float(_divide(self.numerator.sum(), total)), _MOST)


@dataclass(frozen=True)
class JudgedRanking:
    """The first places of a ranking, compared with the relevant labels; arrays have a row per sample."""

    relevant: sparse.csr_matrix
    labels: npt.NDArray[np.int32]
    hits: npt.NDArray[np.bool_]  # whether the label at each place is relevant
    gains: Floats64 | None = None  # 1/p of each hit; None without propensities
    best_gains: Floats64 | None = None  # ... and of the places of the best possible ranking

    def recall(self, k: int) -> Floats64:
        """The fraction of the relevant labels of each sample that is in the first k places."""
        return _divide(self.hits[:, :k].sum(axis=1), np.diff(self.relevant.indptr))

    def coverage(self, k: int) -> float:
        """The fraction of the labels relevant to some sample that are found for at least one."""
        found = np.unique(self.labels[:, :k][self.hits[:, :k]])
        return float(_divide(found.size, np.unique(self.relevant.indices).size))

    def mean(self, gains: npt.NDArray[Any] | None, k: int) -> Floats64:
        """Mean gain of the first k places."""
        return _divide(np.asarray(gains, np.float64)[:, :k].sum(axis=1), k)

    def discounted(self, gains: npt.NDArray[Any] | None, k: int) -> Floats64:
        """DCG of the gains, divided by the ideal DCG for the number of relevant labels."""
        discounts = 1 / np.log2(2 + np.arange(k))
        ideal = np.concatenate([[0.0], np.cumsum(discounts)])
        n_counted = np.minimum(k, np.diff(self.relevant.indptr))
        return _divide((np.asarray(gains, np.float64)[:, :k] * discounts).sum(axis=1), ideal[n_counted])


def judge(ranking: Ranking, Y_test: Any, propensities: Any, ks: Sequence[int]) -> JudgedRanking:
    """Check the arguments of `evaluate` and compare the ranked labels with the true ones."""
    are_whole = isinstance(ks, Sequence) and all(isinstance(k, int | np.integer) and k is not True for k in ks)
    if not are_whole or not ks or min(ks) < 1:
        raise ParameterError(f"ks must be a sequence of whole numbers of at least 1, such as (1, 3, 5); got {ks!r}")
    n_places = max(ks)
    relevant = relevant_labels(Y_test, "Y_test")
    labels = _first_places(ranking, n_places, relevant.shape)
    rows = np.repeat(np.arange(len(labels)), n_places)
    weights = relevant if propensities is None else inverse_propensities(relevant, propensities)
    found = values_at(weights, rows, np.maximum(labels, 0).ravel()).reshape(labels.shape)
    found[labels == NO_LABEL] = 0.0
    if propensities is None:
        return JudgedRanking(relevant, labels, found > 0)
    return JudgedRanking(relevant, labels, found > 0, found, _largest_of_rows(weights, n_places))


@dataclass(frozen=True)
class RankingMetric:
    """A metric of the first k places: what tables call it, and what each sample adds to both sums."""

    name: str
    meaning: str
    ratio: Callable[[JudgedRanking, int], Ratio]
    needs_propensities: bool = False
    is_compared: bool = False  # whether `tacit.compare` includes it


#: All metrics that are sums over samples, by name.
METRICS = {
    metric.name: metric
    for metric in (
        RankingMetric("P", "of the first k suggestions, the share that is right",
                      lambda first, k: Ratio(first.mean(first.hits, k)), is_compared=True),
        RankingMetric("nDCG", "the same, early places counting more; 100 if all true labels come first",
                      lambda first, k: Ratio(first.discounted(first.hits, k)), is_compared=True),
        RankingMetric("R", "of a sample's true labels, the share among the first k",
                      lambda first, k: Ratio(first.recall(k))),
        RankingMetric("PSP", "precision that credits rare labels more, by their propensity",
                      lambda first, k: Ratio(first.mean(first.gains, k), first.mean(first.best_gains, k)),
                      needs_propensities=True, is_compared=True),
        RankingMetric("PSnDCG", "nDCG in the same way",
                      lambda first, k: Ratio(first.discounted(first.gains, k), first.discounted(first.best_gains, k)),
                      needs_propensities=True),
    )
}  # fmt: skip
#: Coverage is not a sum over samples; it has no interval.
COVERAGE, COVERAGE_MEANING = "C", "of all labels in these data, the share found for at least one sample"


def read_metric(text: str) -> tuple[RankingMetric, int]:
    """The metric and k of a name such as "PSP@5"."""
    name, _, k = str(text).partition("@")
    if name not in METRICS or not re.fullmatch(r"[1-9]\d*", k):
        raise ParameterError(
            f"target must be one of {', '.join(METRICS)} with a number of places, such as P@5; got '{text}'"
            f"{did_you_mean(name, METRICS) if name not in METRICS else ''}"
        )
    return METRICS[name], int(k)


def contributions(judged: JudgedRanking, ks: Sequence[int]) -> dict[str, Ratio]:
    """The contribution of each sample to each metric that is a sum over samples."""
    return {
        f"{metric.name}@{k}": metric.ratio(judged, k)
        for metric in METRICS.values()
        if judged.gains is not None or not metric.needs_propensities
        for k in ks
    }


def resample(ratios: Mapping[Key, Ratio], n_bootstrap: int, seed: int) -> dict[Key, Interval]:
    """Percentile bootstrap interval of each ratio, all from the same resamples of the samples."""
    if n_bootstrap < 1:
        raise ParameterError(f"n_bootstrap must be at least 1; got {n_bootstrap}")
    generator = np.random.default_rng(seed)
    sums = {key: np.empty((n_bootstrap, 2)) for key in ratios}
    n_samples = len(next(iter(ratios.values())).numerator)
    for draw in range(n_bootstrap):
        drawn = generator.integers(n_samples, size=n_samples)
        weights = np.bincount(drawn, minlength=n_samples).astype(np.float64)
        for key, ratio in ratios.items():
            total = n_samples if ratio.denominator is None else weights @ ratio.denominator
            sums[key][draw] = weights @ ratio.numerator, total
    return {key: _interval(*pairs[pairs[:, 1] > 0].T) for key, pairs in sums.items()}


def _interval(numerators: Floats64, denominators: Floats64) -> Interval:
    """The interval of resampled ratios; recall is undefined for a resample without positives, which is left out."""
    values = np.minimum(numerators / denominators, _MOST) if len(numerators) else np.zeros(1)
    low, high = np.percentile(values, _TAILS)
    return float(low), float(high)


def _first_places(ranking: Ranking, n_places: int, shape: tuple[int, int]) -> npt.NDArray[np.int32]:
    """The first places of a checked ranking, padded to `n_places`."""
    if not isinstance(ranking, Ranking):
        raise DataError(f"ranking must be a Ranking, as model.rank returns it; got {type(ranking).__name__}")
    if len(ranking) != shape[0] or len(ranking) == 0:
        message = f"the ranking has {len(ranking)} samples and Y_test {shape[0]}"
        raise DataError(f"{message}; they must agree and be at least 1")
    out_of_range = (ranking.labels < NO_LABEL) | (ranking.labels >= shape[1])
    if out_of_range.any():
        row, place = np.argwhere(out_of_range)[0]
        expected = f"the ranking must hold labels below {shape[1]}, the columns of Y_test (-1 for none)"
        raise DataError(f"{expected}; row {row} holds {ranking.labels[row, place]}")
    labels = ranking.labels[:, :n_places]
    ordered = np.sort(labels, axis=1)
    twice = (ordered[:, 1:] == ordered[:, :-1]) & (ordered[:, 1:] != NO_LABEL)
    if twice.any():
        row, place = np.argwhere(twice)[0]
        raise DataError(f"the ranking must hold a label once per sample; row {row} repeats {ordered[row, place]}")
    return np.pad(labels, ((0, 0), (0, n_places - labels.shape[1])), constant_values=NO_LABEL)


def _largest_of_rows(matrix: sparse.csr_matrix, count: int) -> Floats64:
    """The `count` largest entries of each row, falling, padded with 0."""
    order, places = falling_order(matrix, matrix.data)
    kept = places < count
    largest = np.zeros((matrix.shape[0], count))
    largest[row_of_entry(matrix)[kept], places[kept]] = matrix.data[order][kept]
    return largest


def _divide(numerator: Any, denominator: Any) -> Floats64:
    """Quotient, 0 where the denominator is 0."""
    numerator, denominator = np.asarray(numerator, np.float64), np.asarray(denominator, np.float64)
    quotient = np.zeros(numerator.shape)
    np.divide(numerator, denominator, out=quotient, where=denominator != 0)
    return quotient
