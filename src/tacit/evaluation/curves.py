"""What a threshold gives, and how often suggestions of a probability are right."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tacit.arrays import Floats64

N_BINS = 15  # of the calibration error


@dataclass(frozen=True, eq=False)
class ThresholdCurve:
    """Micro-averaged precision and recall, and labels per sample, at infinity and at every score, falling."""

    thresholds: npt.NDArray[np.floating[Any]]
    precision: Floats64
    recall: Floats64
    labels: Floats64

    def at(self, thresholds: Any) -> tuple[Any, Any, Any]:
        """Precision, recall and labels per sample at some thresholds; without any suggestion the precision is 0."""
        wanted = np.asarray(thresholds, self.thresholds.dtype)
        place = np.searchsorted(-self.thresholds, -wanted, side="right") - 1
        return self.precision[place], self.recall[place], self.labels[place]


def threshold_curve(
    scores: npt.NDArray[np.floating[Any]], hits: npt.NDArray[np.bool_], n_samples: int, n_positives: int
) -> ThresholdCurve:
    """The curve of some suggestions, of which `hits` are right."""
    order = np.argsort(-scores, kind="stable")
    scores = scores[order]
    n_kept = np.append(0, np.flatnonzero(np.append(scores[1:] != scores[:-1], True)[: len(scores)]) + 1)
    n_right = np.append(0, np.cumsum(hits[order]))[n_kept]
    thresholds = np.append(np.asarray(np.inf, scores.dtype), scores[n_kept[1:] - 1])
    precision = n_right / np.maximum(n_kept, 1)
    return ThresholdCurve(thresholds, precision, n_right / max(n_positives, 1), n_kept / n_samples)


class Bin(NamedTuple):
    """Suggestions of similar probability: their mean probability, the fraction that is right, and their number."""

    probability: float
    rate: float
    size: int


def reliability(probabilities: npt.NDArray[Any], hits: npt.NDArray[np.bool_], n_bins: int = N_BINS) -> list[Bin]:
    """Bins of equal size, by rising probability; those without a suggestion are left out."""
    parts = np.array_split(np.argsort(probabilities, kind="stable"), n_bins)
    return [Bin(float(probabilities[part].mean()), float(hits[part].mean()), len(part)) for part in parts if len(part)]


def calibration_error(probabilities: npt.NDArray[Any], hits: npt.NDArray[np.bool_], n_bins: int = N_BINS) -> float:
    """Expected calibration error: the mean distance between probability and rate over bins of equal size."""
    bins = reliability(probabilities, hits, n_bins)
    gaps = [part.size * abs(part.probability - part.rate) for part in bins]
    return float(sum(gaps) / max(len(probabilities), 1))
