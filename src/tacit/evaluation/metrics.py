"""Metrics of rankings and of predicted label sets.

Every metric of a ranking is a ratio of two sums over samples: `contributions` gives the summands, and
`evaluate`, `bootstrap_intervals` and `tacit.evaluation.bands` only add them up. Definitions: docs/metrics.md.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeAlias, TypeVar

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

_COVERED = 0.95  # of the bootstrap distribution
_BLOCK_BYTES = 1 << 26  # of resampling weights held at once
_BLOCK_ROWS = 1 << 14  # of contributions held side by side


def evaluate(ranking: Ranking, Y_test: Matrix, propensities: Any = None, ks: Sequence[int] = KS) -> dict[str, float]:
    """Metrics of a ranking, each in [0, 1].

    Parameters
    ----------
    ranking : Ranking
        Labels of each test sample, best first.
    Y_test : sparse matrix or dense array of shape (n_samples, n_labels)
        Test labels; stored zeros and NaN are not relevant.
    propensities : array of shape (n_labels,), or sparse or dense matrix of shape (n_samples, n_labels), optional
        As from `tacit.propensities` of the *training* labels; a matrix must cover the positives of `Y_test`.
    ks : sequence of int
        Lengths of the part of the ranking that counts.

    Returns
    -------
    dict
        ``"P@k"``, ``"nDCG@k"``, ``"R@k"`` and ``"C@k"`` for every k; with propensities ``"PSP@k"`` and
        ``"PSnDCG@k"`` too. Samples without relevant labels count as 0.
    """
    judged = judge(ranking, Y_test, propensities, ks)
    values = {name: ratio.value() for name, ratio in contributions(judged, ks).items()}
    return values | {f"{COVERAGE}@{k}": judged.coverage(k) for k in ks}


def bootstrap_intervals(
    ranking: Ranking,
    Y_test: Matrix,
    propensities: Any = None,
    ks: Sequence[int] = KS,
    n_bootstrap: int = 200,
    seed: int = 0,
) -> dict[str, Interval]:
    """95 % percentile intervals of the metrics of `evaluate`, by resampling the test samples.

    Coverage has none: a resample repeats samples and so always finds fewer labels than the sample it is from.
    """
    return resample(contributions(judge(ranking, Y_test, propensities, ks), ks), n_bootstrap, seed)


class LabelSetScores(NamedTuple):
    """Agreement of two matrices of label sets."""

    precision: float
    recall: float
    f1: float


def label_set_scores(Y_true: Matrix, Y_pred: Matrix, average: str = "micro") -> LabelSetScores:
    """Precision, recall and F1 of predicted label sets.

    ``average="micro"`` pools all (sample, label) pairs, ``"macro"`` is the mean over labels. A label that is
    neither relevant nor predicted anywhere counts as 0, as in scikit-learn with ``zero_division=0``.
    """
    if average not in {"micro", "macro"}:
        hint = did_you_mean(str(average), ("micro", "macro"))
        raise ParameterError(f"average must be 'micro' or 'macro'; got {average!r}{hint}")
    relevant, predicted = relevant_labels(Y_true, "Y_true"), relevant_labels(Y_pred, "Y_pred")
    if relevant.shape != predicted.shape:
        raise DataError(f"Y_true has shape {relevant.shape} but Y_pred {predicted.shape}; they must agree")
    n_labels = relevant.shape[1]
    both, true, found = (
        np.bincount(matrix.indices, minlength=n_labels)
        for matrix in (relevant.multiply(predicted).tocsr(), relevant, predicted)
    )
    if average == "micro":
        both, true, found = both.sum(keepdims=True), true.sum(keepdims=True), found.sum(keepdims=True)
    scores = [_divide(both, found), _divide(both, true), _divide(2 * both, true + found)]
    return LabelSetScores(*(float(score.mean()) if score.size else 0.0 for score in scores))


def f1(Y_true: Matrix, Y_pred: Matrix, average: str = "micro") -> float:
    """F1 of predicted label sets; see `label_set_scores`."""
    return label_set_scores(Y_true, Y_pred, average).f1


@dataclass(frozen=True)
class Ratio:
    """A metric as a ratio of sums over samples; each array has one entry per sample."""

    numerator: Floats64
    denominator: Floats64

    def value(self) -> float:
        """The metric; 0 if the denominator is 0."""
        return float(_in_unit_interval(_divide(self.numerator.sum(), self.denominator.sum())))


@dataclass(frozen=True)
class JudgedRanking:
    """The first k places of a ranking, compared with the relevant labels; arrays have shape (n_samples, k)."""

    relevant: sparse.csr_matrix
    labels: npt.NDArray[np.int32]
    hits: npt.NDArray[np.bool_]  # whether the label at each place is relevant
    gains: Floats64 | None = None  # 1/p of each hit; None without propensities
    best_gains: Floats64 | None = None  # ... and of the places of the best possible ranking

    def only(self, wanted: npt.NDArray[np.bool_]) -> JudgedRanking:
        """The same with hits of `wanted` labels (a mask over labels) only, against an unchanged truth."""
        hits = self.hits & wanted[self.labels]  # pads pick the last label, but are no hits
        return replace(self, hits=hits, gains=None if self.gains is None else np.where(hits, self.gains, 0.0))

    def coverage(self, k: int) -> float:
        """Share of the labels relevant to some sample that are found for at least one."""
        found = np.unique(self.labels[:, :k][self.hits[:, :k]])
        return float(_divide(found.size, np.unique(self.relevant.indices).size))


def judge(ranking: Ranking, Y_test: Any, propensities: Any, ks: Sequence[int]) -> JudgedRanking:
    """Check the arguments of `evaluate` and compare the ranked labels with the true ones."""
    n_places = max(_check_ks(ks))
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
class FirstPlaces:
    """The first k places of a ranking, summed for each sample."""

    judged: JudgedRanking
    k: int
    each: Floats64  # 1 for every sample

    @property
    def hits(self) -> Floats64:
        """Number of relevant labels found."""
        return self._sum(self.judged.hits.astype(np.float64))

    @property
    def n_relevant(self) -> npt.NDArray[np.integer]:
        """Number of relevant labels."""
        return np.asarray(np.diff(self.judged.relevant.indptr))

    def discounted(self, gains: npt.NDArray[Any]) -> Floats64:
        """DCG of the gains, divided by the ideal DCG for the number of relevant labels."""
        discounts = 1 / np.log2(2 + np.arange(gains.shape[1]))
        best = np.concatenate([[0.0], np.cumsum(discounts)])
        return _divide(self._sum(gains * discounts), best[np.minimum(self.k, self.n_relevant)])

    def mean(self, gains: npt.NDArray[Any]) -> Floats64:
        """Mean gain of the first k places."""
        return self._sum(gains) / self.k

    def of_gains(self, measure: Callable[[Floats64], Floats64]) -> Ratio:
        """A measure of the propensity-scored gains, divided by that of the best possible ranking."""
        gains, best = self.judged.gains, self.judged.best_gains
        assert gains is not None and best is not None  # noqa: S101, PT018 - metrics that need propensities have them
        return Ratio(measure(gains), measure(best))

    def _sum(self, values: Floats64) -> Floats64:
        return np.asarray(values[:, : self.k].sum(axis=1))


@dataclass(frozen=True)
class RankingMetric:
    """A metric of the first k places; tables and reports show its name and meaning."""

    name: str
    meaning: str
    ratio: Callable[[FirstPlaces], Ratio]  # the contribution of each sample to numerator and denominator
    needs_propensities: bool = False
    is_compared: bool = False  # whether `tacit.compare` includes it
    is_banded: bool = False  # whether `tacit.evaluation.bands` splits it by band


#: All metrics that are sums over samples, by name; docs/metrics.md defines them.
METRICS = {
    metric.name: metric
    for metric in (
        RankingMetric("P", "of the first k suggestions, the share that is right",
                      lambda first: Ratio(first.hits / first.k, first.each), is_compared=True, is_banded=True),
        RankingMetric("nDCG", "the same, early places counting more; 100 if all true labels come first",
                      lambda first: Ratio(first.discounted(first.judged.hits), first.each), is_compared=True),
        RankingMetric("R", "of a sample's true labels, the share among the first k",
                      lambda first: Ratio(_divide(first.hits, first.n_relevant), first.each)),
        RankingMetric("PSP", "precision that credits rare labels more, by their propensity",
                      lambda first: first.of_gains(first.mean),
                      needs_propensities=True, is_compared=True, is_banded=True),
        RankingMetric("PSnDCG", "nDCG in the same way",
                      lambda first: first.of_gains(first.discounted), needs_propensities=True),
    )
}  # fmt: skip
#: Coverage is not a sum over samples; it has no interval and is not split by band.
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
    each = np.ones(len(judged.hits))
    return {
        f"{metric.name}@{k}": metric.ratio(FirstPlaces(judged, k, each))
        for metric in METRICS.values()
        if judged.gains is not None or not metric.needs_propensities
        for k in ks
    }


def resample(ratios: Mapping[Key, Ratio], n_bootstrap: int, seed: int) -> dict[Key, Interval]:
    """Percentile bootstrap interval of each ratio, all from the same resamples of the samples."""
    if n_bootstrap < 1:
        raise ParameterError(f"n_bootstrap must be at least 1; got {n_bootstrap}")
    columns = {id(array): array for ratio in ratios.values() for array in (ratio.numerator, ratio.denominator)}
    sums = _resampled_sums(list(columns.values()), n_bootstrap, np.random.default_rng(seed))
    sum_of = dict(zip(columns, sums.T, strict=True))
    tails = 100 * np.array([(1 - _COVERED) / 2, (1 + _COVERED) / 2])
    intervals = {}
    for key, ratio in ratios.items():
        top, bottom = sum_of[id(ratio.numerator)], sum_of[id(ratio.denominator)]
        defined = bottom > 0  # recall is undefined for a resample without positives
        values = _in_unit_interval(top[defined] / bottom[defined]) if defined.any() else np.zeros(1)
        low, high = np.percentile(values, tails)
        intervals[key] = (float(low), float(high))
    return intervals


def _resampled_sums(columns: list[Floats64], n_bootstrap: int, generator: np.random.Generator) -> Floats64:
    """Sum of each column over each resample, shape (n_bootstrap, n_columns), in bounded memory."""
    n_samples = len(columns[0])
    sums = np.zeros((n_bootstrap, len(columns)))
    block = max(1, _BLOCK_BYTES // (8 * n_samples))
    for first in range(0, n_bootstrap, block):
        weights = np.empty((min(block, n_bootstrap - first), n_samples))
        for weight in weights:  # counts of n draws with replacement: a multinomial sample
            weight[:] = np.bincount(generator.integers(n_samples, size=n_samples), minlength=n_samples)
        for start in range(0, n_samples, _BLOCK_ROWS):
            rows = slice(start, start + _BLOCK_ROWS)
            side_by_side = np.stack([column[rows] for column in columns], axis=1)
            sums[first : first + block] += weights[:, rows] @ side_by_side
    return sums


def _check_ks(ks: Sequence[int]) -> list[int]:
    try:
        checked = [operator.index(k) for k in ks if not isinstance(k, bool)]
    except TypeError:
        checked = []
    if not checked or len(checked) != len(ks) or min(checked) < 1:
        raise ParameterError(f"ks must be a sequence of whole numbers of at least 1, such as (1, 3, 5); got {ks!r}")
    return checked


def _first_places(ranking: Ranking, n_places: int, shape: tuple[int, int]) -> npt.NDArray[np.int32]:
    """The first places of a checked ranking, padded to `n_places`."""
    if not isinstance(ranking, Ranking):
        raise DataError(f"ranking must be a Ranking, as model.rank returns it; got {type(ranking).__name__}")
    if len(ranking) != shape[0] or len(ranking) == 0:
        raise DataError(
            f"the ranking has {len(ranking)} samples and Y_test {shape[0]}; they must agree and be at least 1"
        )
    out_of_range = (ranking.labels < NO_LABEL) | (ranking.labels >= shape[1])
    if out_of_range.any():
        row, place = np.argwhere(out_of_range)[0]
        raise DataError(
            f"the ranking must hold labels below {shape[1]}, the columns of Y_test (-1 for none); "
            f"row {row} holds {ranking.labels[row, place]}"
        )
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


def _in_unit_interval(values: Floats64) -> Floats64:
    """At most 1: by rounding errors, gains summed in another order may exceed the best ones."""
    return np.minimum(values, 1.0)


def _divide(numerator: Any, denominator: Any) -> Floats64:
    """Quotient, 0 where the denominator is 0."""
    numerator, denominator = np.asarray(numerator, np.float64), np.asarray(denominator, np.float64)
    quotient = np.zeros(numerator.shape)
    np.divide(numerator, denominator, out=quotient, where=denominator != 0)
    return quotient
