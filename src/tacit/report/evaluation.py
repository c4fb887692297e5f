"""A model evaluated on labelled data: everything that the report is computed from."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse

from tacit.bands import BandResult, evaluate_by_band
from tacit.data.dataset import Dataset, features_of, texts_of
from tacit.errors import DataError
from tacit.labels import aligned, positives
from tacit.metrics import KS, Interval, bootstrap_intervals, evaluate, judge
from tacit.ranking import NO_LABEL, Ranking
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
    truth = positives(aligned(dataset.Y, dataset.label_names, model.classes_))
    if not truth.nnz:
        raise DataError(
            "no sample of the data has a label, so there is nothing to report; name the field of the labels"
        )
    if ranking is None:
        samples = texts_of(dataset) if model.takes_texts else features_of(dataset)
        ranking = model.rank(samples, model.n_places_)
    own = [str(name) for name in model.classes_]
    known = set(own)
    names = [model.readable(name) for name in [*own, *(name for name in dataset.label_names if name not in known)]]
    return Evaluation(model, dataset, ranking, truth, names, model.counts_for(truth.shape[1]), seed)
