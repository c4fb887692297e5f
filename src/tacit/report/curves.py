"""What a threshold gives, and whether probabilities are true."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tacit.report.evaluation import SHOWN, Evaluation
from tacit.tagger.calibration import calibration_error

N_BINS = 15
_NORMAL = 1.959964  # 95 % of a normal distribution lie within so many standard deviations

Floats = npt.NDArray[np.float64]


class Operating(NamedTuple):
    """What one gets for a threshold."""

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
    """Precision, recall and labels per sample at every score that occurs, thresholds falling."""

    thresholds: npt.NDArray[np.float32]
    precision: Floats
    recall: Floats
    labels: Floats

    def at(self, threshold: float) -> Operating:
        """What one gets for a threshold; no suggestion at all counts as precision 0."""
        n_kept = int(np.searchsorted(-self.thresholds, -np.float32(threshold), side="right"))  # as scores are compared
        if not n_kept:
            return Operating(threshold, 0.0, 0.0, 0.0)
        arrays = (self.precision, self.recall, self.labels)
        return Operating(threshold, *(float(values[n_kept - 1]) for values in arrays))


def trade_off(evaluation: Evaluation) -> TradeOff:
    """Precision and recall of all suggestions together, as the threshold falls."""
    chosen = evaluation.is_label
    scores, hits = evaluation.ranking.scores[chosen], evaluation.hits[chosen]
    order = np.argsort(-scores, kind="stable")
    scores, right = scores[order], np.cumsum(hits[order])
    last = np.flatnonzero(np.append(scores[1:] != scores[:-1], True)[: len(scores)])  # of each score
    kept = last + 1
    return TradeOff(scores[last], right[last] / kept, right[last] / evaluation.truth.nnz, kept / len(evaluation))


class Bin(NamedTuple):
    """Suggestions of about the same probability: how many were right, and a 95 % interval of that share."""

    probability: float
    share: float
    interval: tuple[float, float]
    size: int


@dataclass(frozen=True)
class Reliability:
    """Probabilities beside how often the suggestions were right."""

    bins: list[Bin]
    error: float


def reliability(evaluation: Evaluation) -> Reliability:
    """Bins of equal mass over the suggestions that people see."""
    shown = evaluation.is_label[:, :SHOWN]
    probabilities = evaluation.ranking.scores[:, :SHOWN][shown].astype(np.float64)
    hits = evaluation.hits[:, :SHOWN][shown]
    parts = np.array_split(np.argsort(probabilities, kind="stable"), N_BINS)
    bins = [_bin(probabilities[part], hits[part]) for part in parts if len(part)]
    return Reliability(bins, calibration_error(probabilities, hits, N_BINS))


def _bin(probabilities: Floats, hits: npt.NDArray[Any]) -> Bin:
    size, share = len(hits), float(hits.mean())
    # Wilson's interval: it stays within 0 and 1, and is no point where all or none are right.
    spread = _NORMAL**2 / size
    middle = (share + spread / 2) / (1 + spread)
    half = _NORMAL / (1 + spread) * np.sqrt(share * (1 - share) / size + spread / (4 * size))
    return Bin(float(probabilities.mean()), share, (float(middle - half), float(middle + half)), size)
