"""A model evaluated on labelled data: everything that the report is computed from."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse, stats

from tacit.arrays import Floats64, Ids
from tacit.core.labels import positives
from tacit.core.ranking import NO_LABEL, Ranking
from tacit.data.dataset import Dataset, features_of, inputs_of
from tacit.errors import DataError
from tacit.evaluation.bands import BandResult, evaluate_by_band
from tacit.evaluation.metrics import KS, Interval, bootstrap_intervals, evaluate, judge
from tacit.tagger.calibration import calibration_error
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
    counts: npt.NDArray[np.int64]  # training samples of each label
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
    def hits(self) -> npt.NDArray[np.bool_]:
        """Whether the label at each place of the ranking is true."""
        return judge(self.ranking, self.truth, None, [self.ranking.k]).hits

    @cached_property
    def is_label(self) -> npt.NDArray[np.bool_]:
        """Whether a place of the ranking holds a label."""
        return np.asarray(self.ranking.labels != NO_LABEL)

    @cached_property
    def is_tested(self) -> npt.NDArray[np.bool_]:
        """For each label, whether any sample has it."""
        return np.asarray(np.bincount(self.truth.indices, minlength=self.truth.shape[1]) > 0)

    @cached_property
    def is_suggested(self) -> npt.NDArray[np.bool_]:
        """Whether the label at each place reaches the threshold."""
        return self.is_label & (self.ranking.scores >= self.threshold)

    @cached_property
    def suggested(self) -> sparse.csr_matrix:
        """The labels of each sample that reach the threshold."""
        rows, places = np.nonzero(self.is_suggested)
        ones = np.ones(len(rows), np.float32)
        return sparse.csr_matrix((ones, (rows, self.ranking.labels[rows, places])), shape=self.truth.shape)

    @cached_property
    def feature_sums(self) -> npt.NDArray[np.float64]:
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
        values, baselines = (evaluate(ranking, self.truth, weights) for ranking in (self.ranking, self.baseline))
        intervals, baseline_intervals = (
            bootstrap_intervals(ranking, self.truth, weights, seed=self.seed)
            for ranking in (self.ranking, self.baseline)
        )
        return [
            Pair(name, (value, baselines[name]), (intervals.get(name), baseline_intervals.get(name)))
            for name, value in values.items()
            if name not in {"nDCG@1", "PSnDCG@1"}
        ]

    @cached_property
    def bands(self) -> list[tuple[BandResult, BandResult]]:
        """Metrics by label frequency, of the model and of the baseline."""
        model, baseline = (
            evaluate_by_band(ranking, self.truth, self.counts, seed=self.seed)
            for ranking in (self.ranking, self.baseline)
        )
        return list(zip(model, baseline, strict=True))


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


N_BINS = 15
_ENOUGH = (10, 5, 2, 1)  # positives that a label needs for a meaningful score: the first that enough labels reach
_N_FEATURES = 8


# -- thresholds and calibration -------------------------------------------------------------------------


class Operating(NamedTuple):
    """An operating point: a threshold, with the precision, recall and labels per sample that it gives."""

    threshold: float
    precision: float
    recall: float
    labels: float

    @property
    def f1(self) -> float:
        """Harmonic mean of precision and recall."""
        total = self.precision + self.recall
        return 2 * self.precision * self.recall / total if total else 0.0


@dataclass(frozen=True, eq=False)
class TradeOff:
    """Precision, recall and labels per sample at every score that occurs, from the highest threshold down."""

    thresholds: npt.NDArray[np.float32]
    precision: Floats64
    recall: Floats64
    labels: Floats64

    def at(self, threshold: float) -> Operating:
        """The operating point of a threshold; without any suggestion the precision is 0."""
        n_kept = int(np.searchsorted(-self.thresholds, -np.float32(threshold), side="right"))  # scores are float32
        if not n_kept:
            return Operating(threshold, 0.0, 0.0, 0.0)
        return Operating(threshold, *(float(part[n_kept - 1]) for part in (self.precision, self.recall, self.labels)))


def trade_off(evaluation: Evaluation) -> TradeOff:
    """Micro-averaged precision and recall for every threshold."""
    chosen = evaluation.is_label
    scores, hits = evaluation.ranking.scores[chosen], evaluation.hits[chosen]
    order = np.argsort(-scores, kind="stable")
    scores, right = scores[order], np.cumsum(hits[order])
    last = np.flatnonzero(np.append(scores[1:] != scores[:-1], True)[: len(scores)])  # of equal scores
    kept = last + 1
    return TradeOff(scores[last], right[last] / kept, right[last] / evaluation.truth.nnz, kept / len(evaluation))


class Bin(NamedTuple):
    """Suggestions of similar probability: the share that was right, with its 95 % interval."""

    probability: float
    share: float
    interval: tuple[float, float]
    size: int


class Reliability(NamedTuple):
    """A reliability diagram and its expected calibration error."""

    bins: list[Bin]
    error: float


def reliability(evaluation: Evaluation) -> Reliability:
    """Compare probabilities with the share of right suggestions, in bins of equal size over the shown suggestions."""
    shown = evaluation.is_label[:, :SHOWN]
    probabilities = evaluation.ranking.scores[:, :SHOWN][shown].astype(np.float64)
    hits = evaluation.hits[:, :SHOWN][shown]
    parts = np.array_split(np.argsort(probabilities, kind="stable"), N_BINS)
    bins = [_bin(probabilities[part], hits[part]) for part in parts if len(part)]
    return Reliability(bins, calibration_error(probabilities, hits, N_BINS))


def _bin(probabilities: Floats64, hits: npt.NDArray[Any]) -> Bin:
    # Wilson's interval stays within 0 and 1, and does not collapse to a point where all or none are right.
    interval = stats.binomtest(int(hits.sum()), len(hits)).proportion_ci(method="wilson")
    return Bin(float(probabilities.mean()), float(hits.mean()), (interval.low, interval.high), len(hits))


# -- single labels --------------------------------------------------------------------------------------


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
    scores = [
        LabelScore(
            label,
            int(n_true[label]),
            float(n_right[label] / n_suggested[label]) if n_suggested[label] else None,
            float(n_right[label] / n_true[label]),
            float(f1[label]),
        )
        for label in order.tolist()
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


class Frequencies(NamedTuple):
    """Labels from the most to the least frequent in training.

    `counts` holds training samples. `is_tested` tells whether a sample of the data has the label, and `is_found`
    whether the label is among the shown suggestions of such a sample.
    """

    counts: npt.NDArray[np.int64]
    is_tested: npt.NDArray[np.bool_]
    is_found: npt.NDArray[np.bool_]


def frequencies(evaluation: Evaluation) -> Frequencies:
    """The training frequency of every label, and whether the label was found."""
    order = np.argsort(-evaluation.counts, kind="stable")
    is_found = np.zeros(len(order), np.bool_)
    is_found[evaluation.ranking.labels[:, :SHOWN][evaluation.hits[:, :SHOWN]]] = True
    return Frequencies(evaluation.counts[order], evaluation.is_tested[order], is_found[order])


# -- examples -------------------------------------------------------------------------------------------


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
    ranking, hits = evaluation.ranking, evaluation.hits
    is_labelled = np.diff(evaluation.truth.indptr) > 0
    order = np.random.default_rng(evaluation.seed).permutation(np.flatnonzero(is_labelled))
    chosen = {"At random": order[:n_random].tolist()}
    rows, places = np.nonzero(hits[:, :SHOWN])
    rare = _ranked(evaluation, rows, places, evaluation.counts[ranking.labels[rows, places]])
    rows = np.flatnonzero(evaluation.is_label[:, 0] & ~hits[:, 0])
    mistaken = _ranked(evaluation, rows, np.zeros_like(rows), -ranking.scores[rows, 0])
    used = set(chosen["At random"])
    for title, ranked in (("Rare labels that were found", rare), ("Confident mistakes", mistaken)):
        by_label: dict[int, int] = {}
        for row, label in ranked:
            if len(by_label) < n_each and row not in used and label not in by_label:
                by_label[label] = row
                used.add(row)
        chosen[title] = list(by_label.values())
    return {title: [_example(evaluation, row) for row in rows] for title, rows in chosen.items()}


def _ranked(evaluation: Evaluation, rows: Ids, places: Ids, keys: npt.NDArray[np.generic]) -> list[tuple[int, int]]:
    """Samples and the labels at places of their rankings, in the order of `keys`."""
    order = np.argsort(keys, kind="stable")
    rows, places = rows[order], places[order]
    return list(zip(rows.tolist(), evaluation.ranking.labels[rows, places].tolist(), strict=True))


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
