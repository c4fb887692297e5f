"""Scores of a trained model: calibrated probabilities, log-odds and thresholds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from tacit.arrays import Floats64
from tacit.core.base import Estimator
from tacit.core.ranking import NO_LABEL, Ranking
from tacit.errors import DataError, ParameterError
from tacit.names.evidence import NameEvidence, with_later_names
from tacit.names.index import Name
from tacit.numerics.logistic import sigmoid
from tacit.tagger.calibration import N_PLACES, Calibration, parse_target
from tacit.tagger.inputs import Inputs
from tacit.tagger.vectors import Encoding, mixed, names_by_label, split_texts
from tacit.text.encoders import TextEncoder

MAX_LOG_ODDS = 13.0  # a probability of about one in half a million, or one minus that
_TIE = 1e-5  # difference in log-odds between neighbours in the model's ranking, to keep the order of ties


def logit(p: Floats64) -> Floats64:
    """Log-odds of probabilities, bounded."""
    with np.errstate(divide="ignore"):
        return np.asarray(np.clip(np.log(p) - np.log1p(-p), -MAX_LOG_ODDS, MAX_LOG_ODDS))


@dataclass(frozen=True, eq=False)
class Scores:
    """A model, its calibration if there is one, the target of its stored threshold, and names that count beside it."""

    model: Estimator
    calibration: Calibration | None
    target: str
    names: NameEvidence | None = None
    encoding: Encoding | None = None  # of the encoder that the model was trained with ...
    encoder: Any = None  # ... and the one to use; by default that of its name
    later: NameEvidence | None = None  # of labels that were added to a model without names

    @property
    def n_labels(self) -> int:
        """Labels of the training, and those that are known by their names alone."""
        return len(self.model.classes_) if self.names is None else self.names.n_labels

    @property
    def n_places(self) -> int:
        """Length of the rankings that were used for calibration."""
        return N_PLACES if self.calibration is None else self.calibration.n_places

    def with_names(self, names: Sequence[Name], n_labels: int) -> Scores:
        """The same for `n_labels` labels, of which the last are new, and with further names of any of them."""
        if self.names is None:
            names = [name for name in names if name.label >= self.n_labels]
            return replace(self, later=self.later and with_later_names(self.later, names, n_labels))
        evidence, calibration = with_later_names(self.names, names, n_labels), self.calibration
        if evidence.meaning is not None:
            texts = names_by_label(names)
            vectors = self.vectors(list(texts.values()))
            if vectors is not None:
                evidence = replace(evidence, meaning=evidence.meaning.with_later([*texts], vectors, n_labels))
        if calibration is not None:  # the first curve is that of rare labels
            curves = np.pad(calibration.curve_of_label, (0, n_labels - self.n_labels))
            calibration = replace(calibration, curve_of_label=curves)
        return replace(self, calibration=calibration, names=evidence)

    def inputs(self, X: sparse.csr_matrix, texts: Any, *, stored: bool = False) -> Inputs:
        """Samples with the names of labels in their texts and with vectors, if these count.

        Texts that are `stored` in acts or with the model may have no vectors where these were made elsewhere.
        """
        texts, given = split_texts(texts)
        index = None if (evidence := self.names or self.later) is None else evidence.index
        matches = None if index is None or not len(index.labels) else index.matches(texts)
        return Inputs(X, matches, self.vectors(texts, given, stored=stored))

    def vectors(
        self, texts: Sequence[str], given: npt.NDArray[np.float32] | None = None, *, stored: bool = False
    ) -> npt.NDArray[np.float32] | None:
        """The vectors of texts as the model takes them; None if they do not count."""
        if self.encoding is None and given is not None:
            raise DataError("vectors were given, but this tagger was trained without; leave them out")
        if self.encoding is None or not (self.encoding.weight or (self.names and self.names.meaning)):
            return None
        if given is None and self.encoding.fingerprint is None:
            if not stored and len(texts):
                raise DataError(
                    "this tagger was trained with vectors made elsewhere; give those of these texts, too: "
                    "tacit.Encoded(texts, vectors), or --vectors FILE"
                )
            given = np.zeros((len(texts), len(self.encoding.center)), np.float32)
        return self.encoding.unit(self._encoder.encode(texts) if given is None else given)

    @cached_property
    def _encoder(self) -> TextEncoder:
        """The encoder of the training; another one is refused."""
        encoding = self.encoding
        if self.encoder is None and (encoding is None or encoding.name is None):
            raise ParameterError(
                "this tagger was trained with an encoder that has no name; set it again: tagger.set_params(encoder=…)"
            )
        found = TextEncoder.of(self.encoder if self.encoder is not None else encoding.name)  # type: ignore[union-attr]
        return encoding.check(found)  # type: ignore[union-attr]

    def features(self, samples: Inputs) -> Any:
        """What the model takes of samples."""
        return samples.X if self.encoding is None else mixed(samples.X, samples.vectors, self.encoding.weight)

    # -- ranking ------------------------------------------------------------------------------------------

    def uncalibrated(self, samples: Inputs, k: int, include: Any = None) -> Ranking:
        """The `k` best labels of each sample, by the model and by names."""
        X = self.features(samples)
        if self.names is None:
            return self.model.rank(X, k, include)
        matches = samples.matches if samples.matches is not None else self.names.index.matches([""] * samples.shape[0])
        also = {"words": samples.X, "vectors": samples.vectors}
        return self.names.rank(self.model, X, matches, k, include, **also)

    def rank(self, samples: Inputs, k: int, include: Any = None) -> Ranking:
        """The `k` best labels of each sample; with probabilities for scores, most probable first, if calibrated."""
        ranking = self.uncalibrated(samples, k, include)
        return ranking if self.calibration is None else self.calibration.apply(ranking)

    def rank_above(self, samples: Inputs, least: float, include: Any = None) -> Ranking:
        """All labels of each sample whose score is at least `least`, and perhaps some below it."""
        n_labels = self.n_labels if include is None else len(include)
        depth = max(min(self.n_places, n_labels), 1)
        rankings = [self.uncalibrated(samples, depth, include)]
        rows = [np.arange(samples.shape[0])]
        while depth < n_labels and len(rows[-1]):
            last = rankings[-1].scores[:, -1]  # labels that are not ranked yet do not score higher
            bound = last if self.calibration is None else self.calibration.most(last)
            rows.append(rows[-1][bound >= least])
            depth = min(4 * depth, n_labels)
            rankings.append(self.uncalibrated(samples[rows[-1]], depth, include))
        labels = np.full((samples.shape[0], rankings[-1].k), NO_LABEL, np.int32)
        scores = np.full(labels.shape, -np.inf, np.float32)
        for where, ranking in zip(rows, rankings, strict=True):
            labels[where, : ranking.k], scores[where, : ranking.k] = ranking.labels, ranking.scores
        found = Ranking(labels, scores)
        return found if self.calibration is None else self.calibration.apply(found)

    # -- log-odds -----------------------------------------------------------------------------------------

    def log_odds(self, samples: Inputs, columns: npt.NDArray[np.intp]) -> Floats64:
        """Log-odds of some labels (sorted columns) for all samples; without calibration, distances to the threshold."""
        dense = np.full((samples.shape[0], len(columns)), -MAX_LOG_ODDS)
        n_ranked = int(np.searchsorted(columns, self.n_labels))
        if self.later is not None and samples.matches is not None:
            by_name = self.later.log_odds_by_name(columns[n_ranked:], samples.matches)
            if self.calibration is None:  # odds are no distances: a name in the text reaches the threshold
                by_name = np.where(np.isfinite(by_name), np.maximum(by_name, 0), by_name)
            dense[:, n_ranked:] = np.maximum(by_name, -MAX_LOG_ODDS)
        columns = columns[:n_ranked]
        if not len(columns):
            return dense
        ranking = self.rank(samples, len(columns), columns)
        place = np.searchsorted(columns, ranking.labels)
        rows = np.broadcast_to(np.arange(samples.shape[0])[:, None], place.shape)
        scores = ranking.scores.astype(np.float64)
        if self.calibration is None:
            values = np.clip(scores - self.threshold, -MAX_LOG_ODDS, MAX_LOG_ODDS)
        else:
            values = logit(scores)
        values = values - _TIE * np.arange(ranking.k)
        known = ranking.labels != NO_LABEL
        dense[rows[known], place[known]] = values[known]
        return dense

    def of_log_odds(self, log_odds: Floats64) -> npt.NDArray[np.float32]:
        """Scores from log-odds."""
        scores = log_odds + self.threshold if self.calibration is None else sigmoid(log_odds)
        return np.asarray(scores, dtype=np.float32)

    # -- thresholds ---------------------------------------------------------------------------------------

    @property
    def threshold(self) -> float:
        """The stored threshold: that for the target or, if the target is out of reach, the nearest one."""
        if self.calibration is None:
            return self.model.threshold_
        return self.calibration.trade.nearest(self.target)[0]

    def threshold_for(self, threshold: float | str | None) -> float:
        """The lowest score to suggest, for a threshold as `Tagger.suggest` takes it."""
        if threshold is None:
            return -np.inf
        if threshold == "auto":
            return self.threshold
        try:
            return float(threshold)
        except ValueError:
            parse_target(str(threshold))
        if self.calibration is None:
            raise ParameterError(
                f"threshold '{threshold}' needs a calibrated tagger; train it with calibrate=True, the default, on at "
                "least two samples with labels"
            )
        if not self.calibration.is_measured:
            raise ParameterError(
                f"threshold '{threshold}' needs scores that were measured on samples; this tagger knows a vocabulary "
                "alone: give a number, or train on tagged texts"
            )
        return self.calibration.trade.threshold(str(threshold))
