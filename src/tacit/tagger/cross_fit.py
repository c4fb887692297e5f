"""Calibration of a model that has few samples: models trained without a part of them rank that part."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from tacit.arrays import Ids
from tacit.core.base import Estimator
from tacit.core.labels import label_counts, positives
from tacit.core.ranking import Ranking
from tacit.evaluation.metrics import evaluate
from tacit.tagger.calibration import Calibration, calibrate, places_for

_ENOUGH = 150  # samples to calibrate on
_PARTS = 5


def held_out_parts(n_samples: int, n_held_out: int) -> list[int]:
    """Sizes of the parts that are held out in turn: one of `n_held_out` if it is enough, or else as many as needed."""
    if n_held_out >= _ENOUGH or n_samples < 2:
        return [n_held_out]
    sizes = [len(part) for part in np.array_split(np.arange(n_samples), min(_PARTS, n_samples))]
    n_parts = int(np.searchsorted(np.cumsum(sizes), _ENOUGH)) + 1
    return sizes[:n_parts]


def calibrated_on(
    parts: list[tuple[Estimator, Any, Ids]],
    Y: sparse.csr_matrix,
    propensities: Callable[[int], Any],
    is_judged: npt.NDArray[np.bool_] | None,
) -> tuple[Calibration, dict[str, float]] | None:
    """Calibration and metrics on several parts of the samples: models that have not seen them, features and rows."""
    rows = np.concatenate([held_out for _, _, held_out in parts])
    truth = positives(Y[rows])
    if not truth.nnz:
        return None
    judged = None if is_judged is None else np.flatnonzero(is_judged | (label_counts(truth) > 0))
    n_places = min(places_for(truth), Y.shape[1])
    ranking = Ranking.concatenate([model.rank(features, n_places, judged) for model, features, _ in parts])
    calibration = calibrate(ranking, truth, label_counts(Y))
    return calibration, evaluate(calibration.apply(ranking), truth, propensities(Y.shape[1]))
