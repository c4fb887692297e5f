"""Recall by label frequency in training, so that frequent labels do not hide rare ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tacit.core.labels import Matrix
from tacit.core.ranking import Ranking
from tacit.errors import DataError
from tacit.evaluation.metrics import KS, Interval, Ratio, judge, resample

#: Name and smallest number of training samples of each band.
BANDS = (("unseen", 0), ("1-5", 1), ("6-20", 6), ("21-100", 21), (">100", 101))


@dataclass(frozen=True)
class BandResult:
    """Recall of the labels of one band: ``"R@k"`` is the fraction of the band's positives found in the top k."""

    name: str  # one of the names in `BANDS`
    n_labels: int
    n_positives: int  # how often they are relevant in the test labels
    values: dict[str, float]  # 0 for a band without positives
    intervals: dict[str, Interval]  # 95 % bootstrap interval (low, high) of each value


def evaluate_by_band(
    ranking: Ranking,
    Y_test: Matrix,
    train_counts: npt.ArrayLike,
    ks: Sequence[int] = KS,
    n_bootstrap: int = 200,
    seed: int = 0,
) -> list[BandResult]:
    """Recall of a ranking for each band of label frequency, rarest first.

    Parameters are as for `tacit.evaluate`; `train_counts` holds the training samples of each label. `n_bootstrap` and
    `seed` are those of the resampling of test samples for the intervals.
    """
    judged = judge(ranking, Y_test, None, ks)
    bands = band_of_labels(train_counts, judged.relevant.shape[1])
    n_labels, n_positives = (
        np.bincount(each, minlength=len(BANDS)).tolist() for each in (bands, bands[judged.relevant.indices])
    )
    ratios: dict[tuple[int, str], Ratio] = {}
    for band in range(len(BANDS)):
        in_band = bands == band
        positives = np.asarray(judged.relevant @ in_band.astype(np.float64))
        hits = judged.hits & in_band[judged.labels]  # padding picks the last label, but is no hit
        ratios |= {(band, f"R@{k}"): Ratio(hits[:, :k].sum(axis=1, dtype=np.float64), positives) for k in ks}
    intervals = resample(ratios, n_bootstrap, seed)
    results = [BandResult(name, n_labels[band], n_positives[band], {}, {}) for band, (name, _) in enumerate(BANDS)]
    for (band, metric), ratio in ratios.items():
        results[band].values[metric] = ratio.value()
        results[band].intervals[metric] = intervals[band, metric]
    return results


def band_of_labels(train_counts: npt.ArrayLike, n_labels: int) -> npt.NDArray[np.intp]:
    """Number of the band of each label."""
    counts = np.asarray(train_counts)
    if counts.shape != (n_labels,):
        raise DataError(f"train_counts must hold one number per label, shape ({n_labels},); got shape {counts.shape}")
    if not np.issubdtype(counts.dtype, np.number) or not (counts >= 0).all():
        raise DataError("train_counts must hold numbers of at least 0")
    return np.asarray(np.digitize(counts, [smallest for _, smallest in BANDS[1:]]))
