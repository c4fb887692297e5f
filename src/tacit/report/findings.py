"""A model evaluated on labelled data: everything that the report is computed from."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse, stats

from tacit.arrays import Ints64, Mask
from tacit.core.labels import positives
from tacit.core.ranking import NO_LABEL, Ranking
from tacit.data.dataset import Dataset, inputs_of
from tacit.errors import DataError
from tacit.evaluation import curves
from tacit.evaluation.bands import BandResult, evaluate_by_band
from tacit.evaluation.curves import Bin, ThresholdCurve
from tacit.evaluation.metrics import KS, Interval, bootstrap_intervals, evaluate, judge
from tacit.tagger.tagger import Tagger

SHOWN = max(KS)  # suggestions per sample that users look at
_ENOUGH = (10, 5, 2, 1)  # positives that a label needs for a meaningful score: the first that enough labels reach


class Pair(NamedTuple):
    """A metric of the model and of the baseline (the most frequent labels), with their intervals if it has any."""

    name: str
    values: tuple[float, float]
    intervals: tuple[Interval, ...]


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

    @property
    def threshold(self) -> float:
        """The stored threshold: the score that a label must reach when the number of labels is left to the model."""
        return float(self.model.threshold_)

    @cached_property
    def curve(self) -> ThresholdCurve:
        """Micro-averaged precision and recall over thresholds."""
        scores, hits = self.ranking.scores[self.is_label], self.hits[self.is_label]
        return curves.threshold_curve(scores, hits, len(self.dataset), self.truth.nnz)

    @cached_property
    def hits(self) -> Mask:
        """Whether the label at each place of the ranking is true."""
        return judge(self.ranking, self.truth, None, [self.ranking.k]).hits

    @cached_property
    def is_label(self) -> Mask:
        """Whether a place of the ranking holds a label."""
        return np.asarray(self.ranking.labels != NO_LABEL)

    @cached_property
    def baseline(self) -> Ranking:
        """The labels most frequent in training, the same for every sample."""
        best = np.argsort(-self.counts, kind="stable")[:SHOWN].astype(np.int32)
        shape = (len(self.dataset), len(best))
        return Ranking(np.broadcast_to(best, shape), np.broadcast_to(self.counts[best].astype(np.float32), shape))

    @cached_property
    def metrics(self) -> list[Pair]:
        """Metrics with 95 % intervals; nDCG@1 is P@1 and left out."""
        weights, rankings = self.model.propensities_for(self.truth.shape[1]), (self.ranking, self.baseline)
        values, others = (evaluate(ranking, self.truth, weights) for ranking in rankings)
        intervals = [bootstrap_intervals(ranking, self.truth, weights, seed=self.seed) for ranking in rankings]
        return [
            Pair(name, (value, others[name]), tuple(ends[name] for ends in intervals if name in ends))
            for name, value in values.items()
            if name not in {"nDCG@1", "PSnDCG@1"}
        ]

    @cached_property
    def bands(self) -> list[tuple[BandResult, BandResult]]:
        """The bands of label frequency that have a label: recall of the model, and of the baseline."""
        rankings = (self.ranking, self.baseline)
        found = (evaluate_by_band(ranking, self.truth, self.counts, seed=self.seed) for ranking in rankings)
        return [both for both in zip(*found, strict=True) if both[0].n_labels]


def evaluate_model(model: Any, dataset: Dataset, ranking: Ranking | None = None, seed: int = 0) -> Evaluation:
    """Evaluate a fitted tagger or model on a data set; parameters as for `tacit.report.write.write_report`."""
    model = Tagger.around(model)
    truth = positives(model.truth(dataset.Y, dataset.label_names))
    if not truth.nnz:
        raise DataError("no sample of the data has a label: there is nothing to report; name the field of the labels")
    if ranking is None:
        ranking = model.rank(inputs_of(model, dataset), model.n_places_)
    columns = dict.fromkeys([*map(str, model.classes_), *map(model.current_name, dataset.label_names)])
    names = [model.readable(name) for name in columns]
    return Evaluation(model, dataset, ranking, truth, names, model.counts_for(truth.shape[1]), seed)


def reliability(evaluation: Evaluation) -> tuple[list[tuple[Bin, Interval]], float]:
    """Bins of equal size, by probability, with Wilson's 95 % interval of their rate; and the calibration error."""
    shown = evaluation.is_label[:, :SHOWN]
    probabilities = evaluation.ranking.scores[:, :SHOWN][shown].astype(np.float64)
    hits = evaluation.hits[:, :SHOWN][shown]
    bins = []
    for part in curves.reliability(probabilities, hits):
        low, high = stats.binomtest(round(part.rate * part.size), part.size).proportion_ci(method="wilson")
        bins.append((part, (float(low), float(high))))
    return bins, curves.calibration_error(probabilities, hits)


class LabelScore(NamedTuple):
    """Precision, recall and F1 of one label at the stored threshold; no precision if it was never suggested."""

    label: int
    n_positives: int
    precision: float | None
    recall: float
    f1: float


def extremes(evaluation: Evaluation, count: int = 10) -> tuple[list[LabelScore], list[LabelScore], int]:
    """The best and the worst labels by F1, no label both, and the positives that each of them has at least."""
    is_suggested = evaluation.is_label & (evaluation.ranking.scores >= evaluation.threshold)
    labels, n_labels = evaluation.ranking.labels, evaluation.truth.shape[1]
    n_true, n_suggested, n_right = (
        np.bincount(each, minlength=n_labels)
        for each in (evaluation.truth.indices, labels[is_suggested], labels[is_suggested & evaluation.hits])
    )
    enough = next((n for n in _ENOUGH if (n_true >= n).sum() >= 2 * count), 1)
    scores = []
    for label in np.flatnonzero(n_true >= enough).tolist():
        true, suggested, right = (int(each[label]) for each in (n_true, n_suggested, n_right))
        precision = right / suggested if suggested else None
        scores.append(LabelScore(label, true, precision, right / true, 2 * right / (true + suggested)))
    scores.sort(key=lambda score: (-score.f1, -score.n_positives))
    n_best = min(count, -(-len(scores) // 2))
    worst = sorted(scores[n_best:], key=lambda score: (score.f1, -score.n_positives))
    return scores[:n_best], worst[:count], enough


def examples(evaluation: Evaluation) -> dict[str, list[int]]:
    """Rows of samples that show what the model does well and badly, none of them twice."""
    labels, hits = evaluation.ranking.labels[:, :SHOWN], evaluation.hits[:, :SHOWN]
    labelled = np.flatnonzero(np.diff(evaluation.truth.indptr))
    right, places = np.nonzero(hits)
    wrong = np.flatnonzero(evaluation.is_label[:, 0] & ~hits[:, 0])
    rarest = np.argsort(evaluation.counts[labels[right, places]], kind="stable")
    surest = np.argsort(-evaluation.ranking.scores[wrong, 0], kind="stable")
    orders = {
        "At random": (np.random.default_rng(evaluation.seed).permutation(labelled), 6),
        "Rare labels that were found": (right[rarest], 4),
        "Confident mistakes": (wrong[surest], 4),
    }
    used: set[int] = set()
    chosen = {}
    for title, (rows, count) in orders.items():
        chosen[title] = [row for row in dict.fromkeys(rows.tolist()) if row not in used][:count]
        used.update(chosen[title])
    return chosen
