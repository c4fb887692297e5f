"""Metrics of a ranking by label frequency in training, so that frequent labels do not hide rare ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from tacit.core.labels import Matrix
from tacit.core.ranking import Ranking
from tacit.errors import DataError
from tacit.evaluation.metrics import KS, METRICS, Interval, JudgedRanking, Ratio, contributions, judge, resample

#: Name and smallest number of training samples of each band.
BANDS = (("unseen", 0), ("1-5", 1), ("6-20", 6), ("21-100", 21), (">100", 101))


@dataclass(frozen=True)
class BandResult:
    """Metrics of the labels of one band.

    ``"P@k"`` and ``"PSP@k"`` are the band's share of the overall metric, so that bands add up to it. ``"R@k"`` is the
    share of the band's positives found in the top k; 0 for a band without positives.
    """

    name: str  # one of the names in `BANDS`
    n_labels: int
    n_positives: int  # how often they are relevant in the test labels
    values: dict[str, float]
    intervals: dict[str, Interval] = field(default_factory=dict)  # 95 % bootstrap interval (low, high) of each value


def evaluate_by_band(
    ranking: Ranking,
    Y_test: Matrix,
    train_counts: npt.ArrayLike,
    ks: Sequence[int] = KS,
    n_bootstrap: int = 200,
    seed: int = 0,
    propensities: Any = None,
) -> list[BandResult]:
    """Metrics of a ranking for each band of label frequency, rarest first.

    Parameters are as for `tacit.evaluate`; `train_counts` holds the training samples of each label. `n_bootstrap` and
    `seed` are those of the resampling of test samples for the intervals; 0 resamples for no intervals.
    """
    judged = judge(ranking, Y_test, propensities, ks)
    bands = band_of_labels(train_counts, judged.relevant.shape[1])
    n_labels, n_positives = (
        np.bincount(each, minlength=len(BANDS)).tolist() for each in (bands, bands[judged.relevant.indices])
    )
    ratios = {
        (band, metric): ratio
        for band in range(len(BANDS))
        for metric, ratio in _band_contributions(judged, bands == band, ks).items()
    }
    intervals = resample(ratios, n_bootstrap, seed) if n_bootstrap else {}
    results = [BandResult(name, n_labels[band], n_positives[band], {}) for band, (name, _) in enumerate(BANDS)]
    for (band, metric), ratio in ratios.items():
        results[band].values[metric] = ratio.value()
    for (band, metric), interval in intervals.items():
        results[band].intervals[metric] = interval
    return results


def _band_contributions(judged: JudgedRanking, in_band: npt.NDArray[np.bool_], ks: Sequence[int]) -> dict[str, Ratio]:
    shares = contributions(judged.only(in_band), ks)
    positives = np.asarray(judged.relevant @ in_band.astype(np.float64))
    ratios = {name: ratio for name, ratio in shares.items() if METRICS[name.partition("@")[0]].is_banded}
    return ratios | {f"R@{k}": Ratio(k * shares[f"P@{k}"].numerator, positives) for k in ks}


def band_of_labels(train_counts: npt.ArrayLike, n_labels: int) -> npt.NDArray[np.intp]:
    """Number of the band of each label."""
    counts = np.asarray(train_counts)
    if counts.shape != (n_labels,):
        raise DataError(f"train_counts must hold one number per label, shape ({n_labels},); got shape {counts.shape}")
    if not np.issubdtype(counts.dtype, np.number) or not (counts >= 0).all():
        raise DataError("train_counts must hold numbers of at least 0")
    return np.asarray(np.digitize(counts, [smallest for _, smallest in BANDS[1:]]))
