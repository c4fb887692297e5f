"""How many true labels are missing from a corpus, and which of the labels that are not recorded are true.

A true label is recorded with a probability that depends only on how frequent it is: the odds that it is missing are
``exp(a) (N_l + B)^-A``, the propensity model, in which A = 0 is missing at random. Then the labels that are missing at
some certainty follow from those that are recorded there: to each belong as many missing ones as its odds say.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.optimize import brentq, minimize
from scipy.stats import binom
from sklearn.isotonic import IsotonicRegression

from tacit.arrays import Floats64, Ids, Mask
from tacit.evaluation.propensity import PRESETS

_B = PRESETS["default"][1]
_MAX_POWER = 1.0
_MAX_BANDS, _RECORDED_PER_BAND = 5, 200
_QUANTILES = (0.0, 0.03, 0.06, 0.1, 0.15, 0.2, 0.3)  # of a band's most certain pairs, by its number of recorded labels
_DOUBT = 1.0  # rate of the exponential priors of the power and of the proportions: few samples leave them at 0
_LOG_ODDS_RANGE = (-8.0, 8.0)
_MOST_WRONG = 0.95  # share of a band's pairs at any place
_FREQUENT = 0.9  # quantile of recorded labels, by the frequency of the label, at which the odds are trusted most
MOST_CERTAIN = 0.97  # no pair is stated to be right with a higher probability
_PRIOR = 5.0  # pseudo-count of right pairs, for how much more or less often than others a label is right
_PRIOR_RECORDED = 20.0  # the same as a pseudo-count of recorded pairs, where pairs are counted again afterwards
_MIN_EMPTY = 0.01  # share of samples without labels from which on they bound what is missing
_MOST_LABELS = 30  # labels of a sample that are told apart in that bound
_RECORDED_PER_STEP = 30  # recorded pairs that a step of the falling curve rests on: fewer would be chance
_STEPS = 200  # of expectation maximisation
_LIKELY = 2.0  # log-likelihood below the best that a share may have, to be within a 95 % interval


@dataclass(frozen=True)
class Omission:
    """The odds that a true label is missing, as a function of its number of samples."""

    log_odds: float
    power: float

    def odds(self, counts: npt.NDArray[Any]) -> Floats64:
        """The odds for labels with these numbers of samples."""
        return np.asarray(np.exp(self.log_odds - self.power * np.log(counts + _B)))

    def share(self, counts: npt.NDArray[Any]) -> float:
        """The share of all true labels that is missing, for labels that are recorded so often."""
        n_missing = float(counts @ self.odds(counts))
        return n_missing / max(float(counts.sum()) + n_missing, 1e-9)

    def with_share(self, share: float, counts: npt.NDArray[Any]) -> Omission:
        """The same dependence on frequency, with another share of all labels missing."""
        factor = share / (1 - share) * float(counts.sum()) / float(counts @ self.odds(counts))
        return replace(self, log_odds=self.log_odds + float(np.log(factor)))

    def at_most(self, share: float, counts: npt.NDArray[Any]) -> Omission:
        """The same unless more than a share of all labels would be missing: then fewer of them are, rare ones first.

        Models know rare labels worst, so that it is these of which too many seem to be missing.
        """
        if self.share(counts) <= share:
            return self
        by_frequency = np.argsort(counts)
        part = np.cumsum(counts[by_frequency]) / counts.sum()
        frequent = float(np.log(counts[by_frequency][np.searchsorted(part, _FREQUENT)] + _B))

        def flatter(power: float) -> Omission:
            return Omission(self.log_odds - (self.power - power) * frequent, power)

        if flatter(0.0).share(counts) > share:
            return flatter(0.0).with_share(share, counts)
        return flatter(float(brentq(lambda power: flatter(power).share(counts) - share, 0.0, self.power)))


def estimate_omission(certainty: Floats64, is_recorded: Mask, labels: Ids, counts: npt.NDArray[Any]) -> Omission:
    """How labels are missing, from the most certain pairs of each band of label frequency.

    Of the most certain pairs all are true, so that those which are not recorded are missing. Down the list, pairs are
    wrong in proportion to their place. The proportion is fitted for each band, the odds for all of them.

    Parameters
    ----------
    certainty, is_recorded, labels
        Of each (sample, label) pair: any number that rises with its certainty and was learned from other samples,
        whether it is recorded, and its label.
    counts : array of shape (n_labels,)
        Number of samples of each label.
    """
    frequency = np.log(counts + _B)[labels]
    n_bands = int(np.clip(is_recorded.sum() // _RECORDED_PER_BAND, 1, _MAX_BANDS))
    edges = np.quantile(frequency[is_recorded], np.arange(1, n_bands) / n_bands)
    band_of = np.digitize(frequency, edges)
    cells = [
        (band, float(frequency[rows][is_recorded[rows]].mean()), *cell)
        for band in range(n_bands)
        for rows in [np.flatnonzero(band_of == band)]
        for cell in _cells(certainty[rows], is_recorded[rows])
    ]
    return _fitted(np.array(cells))


def _cells(certainty: Floats64, is_recorded: Mask) -> list[tuple[float, int, int]]:
    """Place, number of pairs, and how many of them are not recorded, for parts of a band's most certain pairs."""
    recorded = is_recorded[np.argsort(-certainty, kind="stable")]
    n_recorded = int(recorded.sum())
    ends = np.unique(np.ceil(np.array(_QUANTILES) * n_recorded).astype(int))
    return [
        ((first + last) / (2 * n_recorded), last - first, int((~recorded[first:last]).sum()))
        for first, last in itertools.pairwise(ends)
    ]


def _fitted(cells: Floats64) -> Omission:
    """The most likely odds, for cells (band, log frequency, place, number of pairs, number that is not recorded)."""
    bands, band_of = np.unique(cells[:, 0], return_inverse=True)
    middle = cells[:, 1].mean()
    frequency, place, n_pairs, n_absent = cells[:, 1] - middle, *cells[:, 2:].T

    def surprise(parameters: Floats64) -> tuple[float, Floats64]:
        """Minus the log-likelihood and the logarithm of the priors, and the gradient."""
        odds = np.exp(parameters[0] - parameters[1] * frequency)
        wrong = np.minimum(parameters[2:][band_of] * place, _MOST_WRONG)
        absent = np.clip(1 - (1 - wrong) / (1 + odds), 1e-9, 1 - 1e-9)
        log_likelihood = n_absent @ np.log(absent) + (n_pairs - n_absent) @ np.log1p(-absent)
        by_absent = (n_pairs - n_absent) / (1 - absent) - n_absent / absent
        by_log_odds = by_absent * (1 - wrong) * odds / (1 + odds) ** 2
        by_wrong = by_absent * np.where(wrong < _MOST_WRONG, place, 0.0) / (1 + odds)
        gradient = np.array([by_log_odds.sum(), -(by_log_odds @ frequency), *np.bincount(band_of, by_wrong)])
        gradient[1:] += _DOUBT
        return float(_DOUBT * parameters[1:].sum() - log_likelihood), gradient

    bounds = [_LOG_ODDS_RANGE, (0.0, _MAX_POWER)] + [(0.0, None)] * len(bands)
    starts = ([start, 0.2] + [1.0] * len(bands) for start in (-3.0, -1.0, 0.5))
    found = min(
        (minimize(surprise, start, jac=True, method="L-BFGS-B", bounds=bounds) for start in starts),
        key=lambda fit: fit.fun,
    )
    return Omission(float(found.x[0] + found.x[1] * middle), float(found.x[1]))


def are_dropped(sizes: npt.NDArray[np.integer[Any]]) -> bool:
    """Whether hardly any sample is without labels: perhaps such samples were left out of the corpus."""
    return bool((sizes == 0).mean() < _MIN_EMPTY)


def most_missing(sizes: npt.NDArray[np.integer[Any]]) -> float:
    """The largest likely share of missing labels, if every sample has a true label; 1 where this cannot be told.

    Samples without recorded labels are those that have lost all of theirs. How many they are depends on the share that
    is missing and on the true numbers of labels per sample, which are estimated together.

    Parameters
    ----------
    sizes : int array of shape (n_samples,)
        Number of recorded labels of each sample.
    """
    if are_dropped(sizes):
        return 1.0
    observed = np.bincount(np.minimum(sizes, _MOST_LABELS)).astype(np.float64)
    seen, true = np.arange(len(observed)), np.arange(1, 3 * len(observed) + 1)
    shares = np.arange(0.01, 0.96, 0.01)
    fits = _log_likelihoods(observed, seen, true, shares)
    return float(shares[fits >= fits.max() - _LIKELY].max())


def _log_likelihoods(observed: Floats64, seen: npt.NDArray[Any], true: npt.NDArray[Any], shares: Floats64) -> Floats64:
    """Log-likelihood of numbers of labels per sample, for the most likely true numbers, with each share missing."""
    kept = 1 - shares[:, None, None]
    chances = binom.pmf(seen[:, None], true, kept)  # shares × seen × true
    chances[:, -1] += binom.sf(seen[-1], true, kept[:, 0])
    parts = np.full((len(shares), len(true), 1), 1 / len(true))
    back, observed = np.ascontiguousarray(chances.transpose(0, 2, 1)), observed[:, None]
    for _ in range(_STEPS):
        parts *= back @ (observed / np.maximum(chances @ parts, 1e-300)) / observed.sum()
    return np.asarray((observed * np.log(np.maximum(chances @ parts, 1e-300))).sum(axis=(1, 2)))


def missing_probabilities(
    certainty: Floats64, is_recorded: Mask, labels: Ids, odds: Floats64, folds: Ids | None = None
) -> Floats64:
    """Probability that a pair which is not recorded is true, for each pair.

    Certainty is the log-odds that a pair is recorded, and odds those that its label is missing. By their product pairs
    are sorted, and the missing ones are counted. In the same way each label is measured by its own recorded pairs, so
    that it has a high place only where it earned it. How much this says of a label is uncertain, so the result is the
    mean of two estimates. The first multiplies both, cautiously. The second sorts by both, and counts again.

    For the second, a pair's place must not depend on whether it is recorded itself. So its label is measured by the
    other pairs of its fold, of which the model has not seen its sample either; without `folds` all pairs are of one.
    """
    order = np.argsort(-(certainty + np.log(odds)), kind="stable")
    found = _counted(order, is_recorded, odds)
    own = np.where(is_recorded, odds * found, found**2)  # expected of a label, and stated of it, if it is as others
    earned, stated = _sums(own, is_recorded, labels)
    cautious = np.minimum(found * (earned + _PRIOR) / (stated + _PRIOR), MOST_CERTAIN)
    fold_labels = labels if folds is None else labels + folds * (int(labels.max(initial=0)) + 1)
    earned, stated = _sums(own, is_recorded, fold_labels)
    prior = _PRIOR_RECORDED * odds
    others = (earned - is_recorded * own + prior) / (stated - ~is_recorded * own + prior)
    order = order[np.argsort(-(found * others)[order], kind="stable")]
    return np.asarray((cautious + _counted(order, is_recorded, odds)) / 2)


def _sums(values: Floats64, is_recorded: Mask, groups: Ids) -> tuple[Floats64, Floats64]:
    """For each pair, the sum over the recorded pairs of its group, and over the others."""
    recorded, absent = (np.bincount(groups, values * each) for each in (is_recorded, ~is_recorded))
    return np.asarray(recorded[groups], np.float64), np.asarray(absent[groups], np.float64)


def _counted(order: Ids, is_recorded: Mask, odds: Floats64) -> Floats64:
    """The share of missing pairs among those that are not recorded, which falls in steps down a list.

    The number of missing labels down to any place is the sum of the odds over the recorded pairs there.
    """
    is_absent = ~is_recorded[order]
    absent = np.flatnonzero(is_absent)
    found = np.zeros(len(order))
    if len(absent):
        missing = np.diff(np.cumsum(np.where(is_absent, 0.0, odds[order]))[absent], prepend=0.0)
        n_recorded = absent - np.arange(len(absent))  # above each
        full = n_recorded // _RECORDED_PER_STEP
        step = np.cumsum(np.diff(full, prepend=full[0]) > 0)
        sizes = np.bincount(step)
        means = np.bincount(step, missing) / sizes
        falling = IsotonicRegression(increasing=False).fit_transform(np.arange(len(means)), means, sample_weight=sizes)
        found[order] = np.interp(np.arange(len(order)), absent, np.minimum(falling, MOST_CERTAIN)[step])
    return found
