"""A model evaluated on labelled data: everything that the report is computed from."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse, stats

from tacit.arrays import Floats64, Ints64, Mask
from tacit.core.labels import positives
from tacit.core.ranking import NO_LABEL, Ranking
from tacit.data.dataset import Dataset, features_of, inputs_of
from tacit.errors import DataError
from tacit.evaluation import curves
from tacit.evaluation.bands import BandResult, evaluate_by_band
from tacit.evaluation.curves import Bin, ThresholdCurve
from tacit.evaluation.metrics import KS, Interval, bootstrap_intervals, evaluate, judge
from tacit.tagger.overlap import share_in_training
from tacit.tagger.tagger import Tagger

SHOWN = max(KS)  # suggestions per sample that users look at


class Pair(NamedTuple):
    """A metric of the model and of the baseline (the most frequent labels), with intervals where there are any."""

    name: str
    values: tuple[float, float]
    intervals: tuple[Interval | None, Interval | None]


@dataclass(frozen=True, eq=False)
class Evaluation:
    """Suggestions of a model and the true labels."""

    model: Tagger
    dataset: Dataset
    ranking: Ranking  # longer than the first `SHOWN` places
    truth: sparse.csr_matrix  # the columns of the model, then columns for labels that it does not know
    names: list[str]  # of the columns of `truth`
    counts: Ints64  # training samples of each label
    seed: int = 0

    def __len__(self) -> int:
        return len(self.dataset)

    @property
    def model_name(self) -> str:
        """The name of the model inside the tagger."""
        return self.model.model_name_

    @property
    def is_calibrated(self) -> bool:
        """Whether scores are probabilities."""
        return self.model.calibration_ is not None

    @cached_property
    def threshold(self) -> float:
        """The stored threshold: the score that a label must reach when the number of labels is left to the model."""
        return float(self.model.threshold_)

    @cached_property
    def share_in_training(self) -> float:
        """Share of the samples that the model was trained on; 0 if it is not known."""
        samples = self.dataset.texts if self.model.takes_texts else self.dataset.X
        return 0.0 if samples is None else share_in_training(self.model, samples)

    @cached_property
    def curve(self) -> ThresholdCurve:
        """Micro-averaged precision and recall over thresholds."""
        scores, hits = self.ranking.scores[self.is_label], self.hits[self.is_label]
        return curves.threshold_curve(scores, hits, len(self), self.truth.nnz)

    @cached_property
    def hits(self) -> Mask:
        """Whether the label at each place of the ranking is true."""
        return judge(self.ranking, self.truth, None, [self.ranking.k]).hits

    @cached_property
    def is_label(self) -> Mask:
        """Whether a place of the ranking holds a label."""
        return np.asarray(self.ranking.labels != NO_LABEL)

    @cached_property
    def is_tested(self) -> Mask:
        """For each label, whether any sample has it."""
        return np.asarray(np.bincount(self.truth.indices, minlength=self.truth.shape[1]) > 0)

    @cached_property
    def is_suggested(self) -> Mask:
        """Whether the label at each place reaches the threshold."""
        return self.is_label & (self.ranking.scores >= self.threshold)

    @cached_property
    def suggested(self) -> sparse.csr_matrix:
        """The labels of each sample that reach the threshold."""
        rows, places = np.nonzero(self.is_suggested)
        ones = np.ones(len(rows), np.float32)
        return sparse.csr_matrix((ones, (rows, self.ranking.labels[rows, places])), shape=self.truth.shape)

    @cached_property
    def feature_sums(self) -> Floats64:
        """The sum of the absolute values of each feature over the samples."""
        return np.asarray(abs(features_of(self.dataset)).sum(axis=0, dtype=np.float64)).ravel()

    @cached_property
    def baseline(self) -> Ranking:
        """The labels most frequent in training, the same for every sample."""
        best = np.argsort(-self.counts, kind="stable")[:SHOWN].astype(np.int32)
        shape = (len(self), len(best))
        return Ranking(np.broadcast_to(best, shape), np.broadcast_to(self.counts[best].astype(np.float32), shape))

    @cached_property
    def metrics(self) -> list[Pair]:
        """Metrics with 95 % intervals; nDCG@1 is P@1 and left out."""
        weights = self.model.propensities_for(self.truth.shape[1])
        rankings = (self.ranking, self.baseline)
        values, others = (evaluate(ranking, self.truth, weights) for ranking in rankings)
        ends, other_ends = (bootstrap_intervals(ranking, self.truth, weights, seed=self.seed) for ranking in rankings)
        return [
            Pair(name, (value, others[name]), (ends.get(name), other_ends.get(name)))
            for name, value in values.items()
            if name not in {"nDCG@1", "PSnDCG@1"}
        ]

    @cached_property
    def bands(self) -> list[tuple[BandResult, Pair | None]]:
        """The bands of label frequency that have a label, and their recall, if one of these is true somewhere."""
        metric = f"R@{SHOWN}"
        both = (self.ranking, self.baseline)
        found = (evaluate_by_band(ranking, self.truth, self.counts, seed=self.seed) for ranking in both)

        def recall(a: BandResult, b: BandResult) -> Pair:
            return Pair(a.name, (a.values[metric], b.values[metric]), (a.intervals[metric], b.intervals[metric]))

        return [(a, recall(a, b) if a.n_positives else None) for a, b in zip(*found, strict=True) if a.n_labels]


def evaluate_model(model: Any, dataset: Dataset, ranking: Ranking | None = None, seed: int = 0) -> Evaluation:
    """Evaluate a fitted tagger or model on a data set; parameters as for `tacit.report.write.write_report`."""
    model = Tagger.around(model)
    truth = positives(model.truth(dataset.Y, dataset.label_names))
    if not truth.nnz:
        raise DataError(
            "no sample of the data has a label, so there is nothing to report; name the field of the labels"
        )
    if ranking is None:
        ranking = model.rank(inputs_of(model, dataset), model.n_places_)
    columns = dict.fromkeys([*map(str, model.classes_), *map(model.current_name, dataset.label_names)])
    names = [model.readable(name) for name in columns]
    return Evaluation(model, dataset, ranking, truth, names, model.counts_for(truth.shape[1]), seed)


_ENOUGH = (10, 5, 2, 1)  # positives that a label needs for a meaningful score: the first that enough labels reach
_N_FEATURES = 8


class Operating(NamedTuple):
    """An operating point: a threshold, with the precision, recall and labels per sample that it gives."""

    threshold: float
    precision: float
    recall: float
    labels: float

    def __str__(self) -> str:
        return f"precision {self.precision:.0%}, recall {self.recall:.0%}, {self.labels:.1f} labels per sample"

    @property
    def f1(self) -> float:
        """Harmonic mean of precision and recall."""
        total = self.precision + self.recall
        return 2 * self.precision * self.recall / total if total else 0.0


def operating_points(curve: ThresholdCurve, thresholds: Iterable[float]) -> list[Operating]:
    """What each threshold gives."""
    return [Operating(threshold, *map(float, curve.at(threshold))) for threshold in thresholds]


class Reliability(NamedTuple):
    """Bins of similar probability, each with the 95 % interval of its rate, and the expected calibration error."""

    bins: list[tuple[Bin, Interval]]
    error: float


def reliability(evaluation: Evaluation) -> Reliability:
    """Compare probabilities with the fraction of right suggestions, in bins of equal size over those shown."""
    shown = evaluation.is_label[:, :SHOWN]
    probabilities = evaluation.ranking.scores[:, :SHOWN][shown].astype(np.float64)
    hits = evaluation.hits[:, :SHOWN][shown]
    bins = [(part, _wilson(part)) for part in curves.reliability(probabilities, hits)]
    return Reliability(bins, curves.calibration_error(probabilities, hits))


def _wilson(part: Bin) -> Interval:
    """An interval within 0 and 1 that is not a point where all or none are right."""
    interval = stats.binomtest(round(part.rate * part.size), part.size).proportion_ci(method="wilson")
    return float(interval.low), float(interval.high)


class LabelScore(NamedTuple):
    """Precision, recall and F1 of one label at the stored threshold; no precision if it was never suggested."""

    label: int
    n_positives: int
    precision: float | None
    recall: float
    f1: float


class Extremes(NamedTuple):
    """The labels with the highest and lowest F1 among the `n_labels` that have at least `n_positives` positives."""

    best: list[LabelScore]
    worst: list[LabelScore]
    n_positives: int
    n_labels: int


def extremes(evaluation: Evaluation, count: int = 10) -> Extremes:
    """Find the best and worst labels; no label is both, and among equals the more frequent comes first."""
    truth, suggested = evaluation.truth, evaluation.suggested
    n_true, n_suggested, n_right = (
        np.bincount(matrix.indices, minlength=truth.shape[1])
        for matrix in (truth, suggested, truth.multiply(suggested).tocsr())
    )
    enough = next((n for n in _ENOUGH if (n_true >= n).sum() >= 2 * count), 1)
    candidates = np.flatnonzero(n_true >= enough)
    f1 = 2 * n_right / np.maximum(n_true + n_suggested, 1)
    order = candidates[np.lexsort((-n_true[candidates], -f1[candidates]))]
    parts = (order, n_true[order], n_suggested[order], n_right[order], f1[order])
    scores = [
        LabelScore(label, true, right / suggestions if suggestions else None, right / true, value)
        for label, true, suggestions, right, value in zip(*(part.tolist() for part in parts), strict=True)
    ]
    n_best = min(count, -(-len(scores) // 2))
    n_worst = min(count, len(scores) - n_best)
    worst = sorted(scores[len(scores) - n_worst :], key=lambda score: (score.f1, -score.n_positives))
    return Extremes(scores[:n_best], worst, enough, len(candidates))


class Confusion(NamedTuple):
    """A label suggested wrongly where another was missed: in `n_samples` of the `n_missed` samples that missed it."""

    suggested: int
    missed: int
    n_samples: int
    n_missed: int


def confusions(evaluation: Evaluation, count: int = 12) -> list[Confusion]:
    """Find the most frequent pairs of a wrong suggestion among the shown ones and a true label not suggested at all."""
    truth = evaluation.truth
    missed = sparse.csr_matrix(truth - truth.multiply(evaluation.suggested))
    missed.eliminate_zeros()
    rows, places = np.nonzero((evaluation.is_suggested & ~evaluation.hits)[:, :SHOWN])
    labels = evaluation.ranking.labels[rows, places]
    wrong = sparse.csr_matrix((np.ones(len(rows), np.float32), (rows, labels)), shape=truth.shape)
    pairs = sparse.coo_matrix(wrong.T.tocsr() @ missed)
    order = np.lexsort((pairs.col, pairs.row, -pairs.data))[:count]
    n_missed = np.bincount(missed.indices, minlength=truth.shape[1])
    return [
        Confusion(int(pairs.row[i]), int(pairs.col[i]), round(float(pairs.data[i])), int(n_missed[pairs.col[i]]))
        for i in order
        if pairs.data[i] > 1 or len(order) < count  # a single case is shown only where there are few
    ]


class Suggested(NamedTuple):
    """A label suggested for a sample; `is_chosen` tells whether it reaches the stored threshold."""

    label: int
    score: float
    is_right: bool
    is_chosen: bool


class Example(NamedTuple):
    """A sample with its suggestions, and with its true labels that were not suggested."""

    row: int
    text: str
    suggested: list[Suggested]
    missed: list[int]


def examples(evaluation: Evaluation, n_random: int = 6, n_each: int = 4) -> dict[str, list[Example]]:
    """Choose samples that show what the model does well and badly, by what they show; none of them twice."""
    labels, scores, hits = evaluation.ranking.labels, evaluation.ranking.scores, evaluation.hits
    is_labelled = np.diff(evaluation.truth.indptr) > 0
    order = np.random.default_rng(evaluation.seed).permutation(np.flatnonzero(is_labelled))
    chosen = {"At random": order[:n_random].tolist()}
    right, places = np.nonzero(hits[:, :SHOWN])
    wrong = np.flatnonzero(evaluation.is_label[:, 0] & ~hits[:, 0])
    rare = right, labels[right, places], evaluation.counts[labels[right, places]]
    mistaken = wrong, labels[wrong, 0], -scores[wrong, 0]
    used = set(chosen["At random"])
    for title, (rows, what, keys) in (("Rare labels that were found", rare), ("Confident mistakes", mistaken)):
        by_label: dict[int, int] = {}
        ranked = np.argsort(keys, kind="stable")
        for row, label in zip(rows[ranked].tolist(), what[ranked].tolist(), strict=True):
            if len(by_label) < n_each and row not in used and label not in by_label:
                by_label[label] = row
                used.add(row)
        chosen[title] = list(by_label.values())
    return {title: [_example(evaluation, row) for row in rows] for title, rows in chosen.items()}


def _example(evaluation: Evaluation, row: int) -> Example:
    ranking, truth = evaluation.ranking, evaluation.truth
    shown = np.flatnonzero(evaluation.is_label[row, :SHOWN])
    parts = (ranking.labels, ranking.scores, evaluation.hits, evaluation.is_suggested)
    suggested = [Suggested(*values) for values in zip(*(part[row, shown].tolist() for part in parts), strict=True)]
    found = {suggestion.label for suggestion in suggested}
    true = truth.indices[truth.indptr[row] : truth.indptr[row + 1]].tolist()
    return Example(row, _text(evaluation, row), suggested, [label for label in true if label not in found])


def _text(evaluation: Evaluation, row: int) -> str:
    """The text of a sample, or the names of its most distinctive features; empty if it has neither."""
    dataset = evaluation.dataset
    if dataset.texts is not None:
        return dataset.texts[row]
    if dataset.X is None or dataset.feature_names is None:
        return ""
    features = dataset.X[row]
    weights = features.data / evaluation.feature_sums[features.indices]  # features of all samples are not distinctive
    largest = np.argsort(-weights, kind="stable")[:_N_FEATURES]
    return ", ".join(dataset.feature_names[column] for column in features.indices[largest])
