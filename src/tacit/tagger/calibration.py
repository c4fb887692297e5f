"""Calibration: probabilities from scores, and thresholds for targets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from tacit.arrays import Floats32, Floats64
from tacit.core.base import Estimator
from tacit.core.parameters import Range
from tacit.core.ranking import NO_LABEL, NO_SCORE, Ranking
from tacit.errors import ParameterError, brief
from tacit.evaluation.bands import BANDS, band_of_labels
from tacit.evaluation.curves import N_BINS, calibration_error, threshold_curve
from tacit.evaluation.metrics import judge
from tacit.numerics.logistic import fit_logistic, sigmoid
from tacit.store.declared import Array, Items

N_PLACES = 20  # minimum length of the rankings used for calibration
_PLACES_PER_LABEL = 4  # times the mean number of labels per sample, if that is longer
_MAX_PLACES = 200
_SHOWN = 5  # places that people see; at the same score, labels there are right more often than further down
_WEIGHT_BEYOND = 0.1  # of a label further down
_MIN_HITS = 40  # a band with fewer right suggestions is merged with the next
_PRIOR = 2.0  # pseudo-count of suggestions at the mean rate in every step of a curve
_PRIOR_CURVE = 100.0  # suggestions that a logistic curve counts for, beside the steps
_FLAT = 5.0  # suggestions at the mean rate that the logistic curve is fitted to, beside those there are
_N_KNOTS = 21  # of the logistic curve
_MIN_BINS, _PER_BIN = 5, 50  # of the calibration error; with few suggestions there are fewer bins
_N_THRESHOLDS = 500  # evenly spaced, and as many by rank
_MAX_NEEDED = 0.5  # suggestions per sample that suffice to measure any precision
TARGETS = ("precision", "recall", "f1", "labels")


@dataclass(frozen=True, eq=False)
class Steps:
    """A rising curve from scores to probabilities, linear between its knots."""

    scores: Annotated[Floats32, Array("float32", ("n_knots",), is_filled=True)]
    probabilities: Annotated[Floats32, Array("float32", ("n_knots",))]

    def __call__(self, scores: npt.NDArray[Any]) -> Floats32:
        """The probability for each score."""
        return np.asarray(np.interp(scores, self.scores, self.probabilities), np.float32)


@dataclass(frozen=True, eq=False)
class Trade:
    """The trade-off between precision and recall by threshold, measured on held-out samples; thresholds rise.

    At each threshold, the lowest probability to suggest: the share of suggestions that are right, the share of true
    labels that are suggested, and suggestions per sample.
    """

    thresholds: Annotated[Floats32, Array("float32", ("n_thresholds",), is_filled=True)]
    precision: Annotated[Floats32, Array("float32", ("n_thresholds",))]
    recall: Annotated[Floats32, Array("float32", ("n_thresholds",))]
    labels: Annotated[Floats32, Array("float32", ("n_thresholds",))]
    n_samples: Annotated[int, Range(low=0)] = 0  # held out; 0 if unknown

    def threshold(self, target: str) -> float:
        """The threshold for a target: ``"f1"``, ``"precision=0.8"``, ``"recall=0.5"`` or ``"labels=3"``."""
        threshold, shortfall = self.nearest(target)
        if shortfall:
            raise ParameterError(f"{shortfall}; ask for less, or train on more samples")
        return threshold

    def nearest(self, target: str) -> tuple[float, str]:
        """The threshold that comes nearest to a target, and if the target is not reached, a message that says so."""
        name, wanted = parse_target(target)
        if name == "f1":
            f1 = 2 * self.precision * self.recall / np.maximum(self.precision + self.recall, 1e-9)
            return float(self.thresholds[np.argmax(f1)]), ""
        values = getattr(self, name)
        if name == "precision":  # a handful of suggestions may reach any precision by chance
            needed = 1 / max(1 - wanted, 1e-9)
            values = np.where(self.labels * self.n_samples >= min(needed, _MAX_NEEDED * self.n_samples), values, 0)
        best = int(np.argmax(values))
        reached = np.flatnonzero(values >= wanted)
        if not len(reached):
            what = f"{wanted:g} labels per sample are" if name == "labels" else f"{name} {wanted:g} is"
            found = (
                f"the most on {f'{self.n_samples:,} ' if self.n_samples else ''}held-out samples is {values[best]:.2f}"
            )
            return float(self.thresholds[best]), f"{what} out of reach: {found}"
        if name == "labels":
            return float(self.thresholds[np.argmin(np.abs(self.labels - wanted))]), ""
        # The lowest threshold with this precision has the best recall; the highest with this recall errs least.
        return float(self.thresholds[reached[0] if name == "precision" else reached[-1]]), ""


def parse_target(target: str) -> tuple[str, float]:
    """Name and value of a target; f1 has none."""
    name, equals, text = target.partition("=")
    try:
        wanted = float(text) if equals else float("nan")
    except ValueError:
        wanted = float("nan")
    most = np.inf if name == "labels" else 1
    if name not in TARGETS or (name != "f1" and not 0 < wanted <= most) or (name == "f1" and equals):
        raise ParameterError(
            "a threshold must be a number, 'auto', or a target: 'f1', 'precision=0.8', 'recall=0.5' or 'labels=3', "
            f"where precision and recall are at most 1; got '{brief(target)}'"
        )
    return name, wanted


@dataclass(frozen=True, eq=False)
class Calibration:
    """Probabilities for the scores of one model, by a curve for each group of label-frequency bands.

    `error` is the expected calibration error of the first places, on samples that were not used to fit the curves;
    `n_places` the length of the rankings on which `trade` was measured; `spread` the standard error of a probability in
    the first places, 0 if unknown.
    """

    curves: Annotated[list[Steps], Items("n_curves", is_filled=True)]
    curve_of_label: Annotated[npt.NDArray[np.int32], Array("int32", ("n_calibrated",), below="n_curves")]
    trade: Trade
    error: float
    n_places: Annotated[int, Range(low=1, high=_MAX_PLACES)] = N_PLACES
    spread: Annotated[float, Range(low=0)] = 0.0

    @property
    def is_measured(self) -> bool:
        """Whether there were samples to measure probabilities on: see `uncalibrated`."""
        return len(self.curves) > 1 or not np.array_equal(self.curves[0].scores, self.curves[0].probabilities)

    @property
    def summary(self) -> str:
        """How true the probabilities are, and how sure that is."""
        if not self.trade.n_samples or not self.spread:
            return f"calibration error {self.error:.3f}"
        sure = f"measured on {self.trade.n_samples:,} samples; a probability is uncertain by ±{100 * self.spread:.1f}"
        return f"calibration error {self.error:.3f}, {sure} points (standard error)"

    def most(self, scores: npt.NDArray[Any]) -> Floats32:
        """The largest probability that a score may have, over all labels."""
        return np.asarray(np.max([curve(scores) for curve in self.curves], axis=0))

    def apply(self, ranking: Ranking) -> Ranking:
        """The same labels with probabilities as scores, most probable first."""
        return Ranking(ranking.labels, _probabilities(self.curves, self.curve_of_label, ranking)).sorted()


def uncalibrated(n_labels: int) -> Calibration:
    """Scores taken for probabilities as they are, where there are no samples to measure them on."""
    ends = np.array([0.0, 1.0], np.float32)
    thresholds = np.linspace(0.0, 1.0, 21, dtype=np.float32)
    trade = Trade(thresholds, thresholds, 1 - thresholds, 1 - thresholds)
    return Calibration([Steps(ends, ends)], np.zeros(n_labels, np.int32), trade, 0.0)


def places_for(Y: sparse.csr_matrix) -> int:
    """Length of the rankings to calibrate on, for samples with these labels."""
    return int(np.clip(np.ceil(_PLACES_PER_LABEL * Y.nnz / max(Y.shape[0], 1)), N_PLACES, _MAX_PLACES))


def calibrate(ranking: Ranking, truth: sparse.csr_matrix, train_counts: npt.NDArray[np.int64]) -> Calibration:
    """Fit calibration curves to the raw scores of held-out samples; labels of a band of training counts share one."""
    hits = judge(ranking, truth, None, (ranking.k,)).hits
    bands = band_of_labels(train_counts, len(train_counts))
    curve_of_band = _groups(ranking, hits, bands)
    curve_of_label = curve_of_band[bands].astype(np.int32)
    half = np.arange(len(ranking)) % 2 == 0
    parts = [_curves(ranking.rows(part), hits[part], curve_of_label) for part in (half, ~half)]
    fair = np.empty(ranking.scores.shape, np.float32)  # cross-fitted: each half by the curves of the other
    for part, curves in ((half, parts[1]), (~half, parts[0])):
        fair[part] = _probabilities(curves, curve_of_label, ranking.rows(part))
    is_label = ranking.labels != NO_LABEL
    shown = np.flatnonzero(is_label[:, :_SHOWN])
    curves = _curves(ranking, hits, curve_of_label)
    # Thresholds apply to the probabilities of the final curves, whose steps differ from those of the halves.
    given = _probabilities(curves, curve_of_label, ranking)
    return Calibration(
        curves,
        curve_of_label,
        _trade(given[is_label], hits[is_label], len(ranking), truth.nnz),
        calibration_error(
            fair[:, :_SHOWN].ravel()[shown],
            hits[:, :_SHOWN].ravel()[shown],
            int(np.clip(len(shown) // _PER_BIN, _MIN_BINS, N_BINS)),
        ),
        ranking.k,
        _standard_error(given[:, :_SHOWN].ravel()[shown], len(ranking)),
    )


def _standard_error(probabilities: Floats32, n_samples: int) -> float:
    """Root mean square standard error of the shares of right suggestions that probabilities are.

    The suggestions of a sample are not independent, so each sample counts as one suggestion of every probability.
    """
    return float(np.sqrt(np.mean(probabilities * (1 - probabilities)) / max(n_samples, 1)))


def _groups(ranking: Ranking, hits: npt.NDArray[np.bool_], bands: npt.NDArray[np.intp]) -> npt.NDArray[np.intp]:
    """The curve number of each band, rarest first; a band with few hits is merged with the next."""
    n_hits = np.bincount(bands[ranking.labels[hits]], minlength=len(BANDS))
    groups, pending = np.zeros(len(BANDS), np.intp), 0
    for band in range(len(BANDS) - 1):
        pending += int(n_hits[band])
        enough = pending >= _MIN_HITS and n_hits[band + 1 :].sum() >= _MIN_HITS
        groups[band + 1] = groups[band] + enough
        pending = 0 if enough else pending
    return groups


def _curves(ranking: Ranking, hits: npt.NDArray[np.bool_], curve_of_label: npt.NDArray[np.int32]) -> list[Steps]:
    curve_of = np.where(ranking.labels == NO_LABEL, -1, curve_of_label[ranking.labels])
    weights = np.broadcast_to(np.where(np.arange(ranking.k) < _SHOWN, 1.0, _WEIGHT_BEYOND), hits.shape)
    in_curve = (curve_of == curve for curve in range(int(curve_of_label.max()) + 1))
    return [_rising(ranking.scores[part].astype(np.float64), hits[part], weights[part]) for part in in_curve]


def _rising(scores: Floats64, hits: npt.NDArray[np.bool_], weights: Floats64) -> Steps:
    """The share of hits as a non-decreasing function of the score.

    By isotonic regression, and where there are few suggestions also by a logistic curve, which needs less of them.
    """
    if not len(scores):
        return Steps(np.zeros(1, np.float32), np.zeros(1, np.float32))
    from sklearn.isotonic import IsotonicRegression

    ranked = scores[scores > Estimator.unranked_score]
    if len(ranked):  # labels that a model does not rank have a score so low that it would stretch the curve
        scores = np.maximum(scores, 2 * ranked.min() - ranked.max())
    order = np.argsort(scores, kind="stable")
    scores, right, weights = scores[order], weights[order] * hits[order], weights[order]
    rising = IsotonicRegression().fit_transform(scores, hits[order].astype(np.float64), sample_weight=weights)
    _, starts = np.unique(rising, return_index=True)
    sizes = np.add.reduceat(weights, starts)
    mean_scores = np.add.reduceat(weights * scores, starts) / sizes
    # A step with few suggestions may be right by chance, so it is shrunk towards the mean rate.
    shares = (np.add.reduceat(right, starts) + _PRIOR * right.sum() / sizes.sum()) / (sizes + _PRIOR)
    shares = IsotonicRegression().fit_transform(mean_scores, shares, sample_weight=sizes)
    slope, intercept = _logistic(scores, hits[order], weights)
    ends = np.quantile(scores, np.linspace(0, 1, _N_KNOTS))
    knots = np.unique(np.concatenate([mean_scores, ends]).astype(np.float32))
    smooth = sigmoid(slope * knots + intercept)
    weight = _PRIOR_CURVE / (_PRIOR_CURVE + sizes.sum())
    mixed = (1 - weight) * np.interp(knots, mean_scores, shares) + weight * smooth
    return Steps(knots, mixed.astype(np.float32))


def _logistic(scores: Floats64, hits: npt.NDArray[np.bool_], weights: Floats64) -> tuple[float, float]:
    """Slope and intercept of the log-odds of a hit; there is little slope where there are few suggestions."""
    rate = (weights @ hits + 0.5) / (weights.sum() + 1)
    flat = _FLAT / weights.sum()
    return fit_logistic(scores, (hits + flat * rate) / (1 + flat), weights)


def _probabilities(curves: list[Steps], curve_of_label: npt.NDArray[np.int32], ranking: Ranking) -> Floats32:
    curve_of = curve_of_label[np.maximum(ranking.labels, 0)]
    probabilities = np.empty(ranking.scores.shape, np.float32)
    for number, curve in enumerate(curves):
        chosen = curve_of == number
        probabilities[chosen] = curve(ranking.scores[chosen])
    probabilities[ranking.labels == NO_LABEL] = NO_SCORE
    return probabilities


def _trade(probabilities: Floats32, hits: npt.NDArray[np.bool_], n_samples: int, n_true: int) -> Trade:
    ordered = np.sort(probabilities)
    even = np.linspace(0, ordered[-1], _N_THRESHOLDS, dtype=np.float32)
    # Where a curve is flat, many suggestions have nearly the same probability: as many thresholds part them by rank.
    by_rank = ordered[np.linspace(0, len(ordered) - 1, _N_THRESHOLDS).astype(np.intp)]
    thresholds = np.unique(np.concatenate([even, by_rank]))
    found = threshold_curve(probabilities, hits, n_samples, n_true).at(thresholds)
    precision, recall, labels = (values.astype(np.float32) for values in found)
    return Trade(thresholds, precision, recall, labels, n_samples)
