"""How certain (sample, label) pairs are, by the model's score and by the other recorded labels of the sample."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.special import expit, logit
from sklearn.linear_model import LogisticRegression

from tacit.arrays import Floats32, Floats64, Ids, Mask
from tacit.core.labels import label_counts
from tacit.core.ranking import NO_LABEL, Ranking
from tacit.errors import DataError
from tacit.evaluation.propensity import PRESETS, values_at
from tacit.names.boosting import BoostedTrees

_SAMPLES_UNSEEN = 3.0  # pseudo-count added to a label's count: a single co-occurrence is weak evidence
_ROWS_PER_BLOCK = 2048
_PARTS = 2  # of the samples, each judged by what was learned from the others
_MOST_PAIRS = 100_000  # to learn from
_LEAST_PAIRS = 1000  # to learn trees from
_LIKELY, _LIKELY_AT_LEAST = 3, 10  # likely are three times the recorded pairs, or one in ten if that is more
_N_TREES, _BY_TREES = 40, 0.7  # and their weight in the mean
_N_BINS = 40  # of scores, in which the fraction of recorded pairs is measured
_PRIOR = 20.0  # pseudo-count of recorded pairs of a label
_N_BANDS = 5  # of label frequency, with as many recorded pairs each
_CERTAIN, _LEAST_CERTAIN = 0.03, 20  # of these the most certain, as a fraction, and how many at least
_CAUTION = 0.05  # inverse strength of the penalty that keeps omission independent of frequency if pairs are few


@dataclass(frozen=True, eq=False)
class RankedPairs:
    """Highly ranked (sample, label) pairs by models that have not seen the sample; an entry per pair in each array.

    The evidence is the model's score, the place in the ranking of the sample, the label's training samples, and from
    the sample's other recorded labels: their number, and how often the label co-occurs with them. It is the same
    whether or not the pair is recorded itself.
    """

    rows: Ids
    labels: Ids
    folds: Ids
    scores: Floats64
    evidence: Floats32
    is_recorded: npt.NDArray[np.bool_]

    @staticmethod
    def concatenate(parts: list[RankedPairs]) -> RankedPairs:
        """The pairs of several folds."""
        names = [field.name for field in fields(RankedPairs)]
        return RankedPairs(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))


def pairs_of(
    ranking: Ranking, lowest: float, rows: Ids, fold: int, own: sparse.csr_matrix, train: sparse.csr_matrix
) -> RankedPairs:
    """The pairs of a ranking of `rows`, whose recorded labels are `own`, by a model trained on the labels `train`."""
    is_label = (ranking.labels != NO_LABEL) & (ranking.scores > lowest)
    local, places = np.nonzero(is_label)
    labels, scores = ranking.labels[is_label].astype(np.intp), ranking.scores[is_label].astype(np.float64)
    counts = label_counts(train).astype(np.float64)
    both = (train.T @ train).astype(np.float64).tocsr()
    both.setdiag(0)
    calls = sparse.csr_matrix(both)
    calls.data = -np.log1p(-both.data / (np.repeat(counts, np.diff(both.indptr)) + _SAMPLES_UNSEEN))
    is_recorded = values_at(own, local, labels) > 0
    samples_of_others = np.asarray(own @ counts)[local] - is_recorded * counts[labels]
    observed = _product_at(own, both, local, labels)
    expected = counts[labels] * samples_of_others / train.shape[0]  # of independent labels
    evidence = (
        scores,
        _product_at(own, calls, local, labels),  # a noisy-or of the other labels
        observed,
        expected,
        np.log((observed + 1) / (expected + 1)),
        counts[labels],
        places,
        np.asarray(own.sum(axis=1)).ravel()[local] - is_recorded,
    )
    columns = np.stack(evidence, axis=1).astype(np.float32)
    return RankedPairs(rows[local], labels, np.full(len(local), fold), scores, columns, is_recorded)


def _product_at(left: sparse.csr_matrix, right: sparse.csr_matrix, rows: Ids, columns: Ids) -> Floats64:
    """Entries of a matrix product, in blocks of rows because it may have many entries; `rows` are sorted."""
    ends = np.searchsorted(rows, np.arange(0, left.shape[0] + _ROWS_PER_BLOCK, _ROWS_PER_BLOCK))
    blocks = [
        values_at(left[first : first + _ROWS_PER_BLOCK] @ right, rows[low:high] - first, columns[low:high])
        for first, low, high in zip(range(0, left.shape[0], _ROWS_PER_BLOCK), ends, ends[1:], strict=False)
    ]
    return np.concatenate([np.zeros(0), *blocks])


def certainty_of(pairs: RankedPairs, is_known: Mask, groups: Ids, seed: int) -> Floats64:
    """Log-odds that a pair is recorded: a mean of a linear model and boosted trees, moved by the record of the label.

    Both learn from the `is_known` pairs of other samples, trees only from likely ones, and judge these: the others are
    the end of any list. Samples of one of the `groups` are alike, and learned from or judged together.
    """
    recorded, rng = pairs.is_recorded, np.random.default_rng(seed)
    part_of = rng.integers(0, _PARTS, len(groups))[groups][pairs.rows]
    if not 0 < recorded[is_known].sum() < is_known.sum():
        raise DataError(
            "some of the highly ranked labels must be recorded and some not, to estimate what is missing; give more "
            "samples, or another model"
        )
    linear, log_odds = _linear_evidence(pairs, is_known), np.empty(len(recorded))
    for part in range(_PARTS):
        chosen, judged = np.flatnonzero(is_known & (part_of != part)), part_of == part
        if not 0 < recorded[chosen].sum() < len(chosen):
            chosen = np.flatnonzero(is_known)
        if len(chosen) > _MOST_PAIRS:
            chosen = rng.choice(chosen, _MOST_PAIRS, replace=False)
        regression = LogisticRegression(C=100.0, solver="newton-cholesky").fit(linear[chosen], recorded[chosen])
        found = regression.decision_function(linear)
        log_odds[judged] = found[judged]
        if len(chosen) >= _LEAST_PAIRS:
            n_likely = min(max(_LIKELY * int(recorded[chosen].sum()), len(chosen) // _LIKELY_AT_LEAST), len(chosen))
            is_likely = found >= np.partition(found[chosen], -n_likely)[-n_likely]
            taught, again = chosen[is_likely[chosen]], judged & is_likely
            trees = BoostedTrees.fit(pairs.evidence[taught], recorded[taught], None, seed, _N_TREES)
            log_odds[again] += _BY_TREES * (trees.log_odds(pairs.evidence[again]) - found[again])
    return log_odds + _record(pairs, log_odds)


def _linear_evidence(pairs: RankedPairs, is_known: Mask) -> Floats64:
    """The evidence in numbers that add up; the score as the log-odds of being recorded with about as high a score."""
    _, together, _, _, lift, *numbers = pairs.evidence.T.astype(np.float64)
    known, recorded = pairs.scores[is_known], pairs.is_recorded[is_known]
    bins = np.array_split(np.argsort(known, kind="stable"), min(_N_BINS, len(known)))
    centers = [known[each].mean() for each in bins]
    log_odds = np.maximum.accumulate([logit((recorded[each].sum() + 0.5) / (len(each) + 1)) for each in bins])
    beyond = np.maximum(pairs.scores - centers[-1], 0) / max(float(known.max() - centers[-1]), 1e-12)
    by_score = np.interp(pairs.scores, centers, log_odds) + beyond
    return np.stack([by_score, lift, *map(np.log1p, (10 * together, *numbers))], axis=1)


def _record(pairs: RankedPairs, log_odds: Floats64) -> Floats64:
    """How much more often than stated the label of each pair is recorded, in its other pairs of the same fold."""
    group = pairs.labels * (int(pairs.folds.max()) + 1) + pairs.folds
    odds, recorded = np.exp(log_odds), pairs.is_recorded
    found, stated = expit(log_odds) * recorded, expit(log_odds) * odds * ~recorded  # equal sums if the odds are right
    sums = (np.bincount(group, values)[group] - values + _PRIOR for values in (found, stated))
    return np.asarray(np.subtract(*map(np.log, sums)))


def omission_by_frequency(
    certainty: Floats64, pairs: RankedPairs, is_known: Mask, counts: npt.NDArray[np.integer[Any]]
) -> Floats64:
    """Log-odds that a true pair of each label is not recorded, relative to the mean over the recorded ones.

    By the propensity model the odds fall with a power of the label's frequency: among the most certain pairs, which are
    nearly all true, as many more are not recorded for rare labels as for frequent ones.
    """
    frequency = np.log(counts + PRESETS["default"][1])
    of_pairs = frequency[pairs.labels]
    known, recorded = np.flatnonzero(is_known), pairs.is_recorded
    edges = np.quantile(of_pairs[known][recorded[known]], np.arange(1, _N_BANDS) / _N_BANDS)
    order = known[np.argsort(-certainty[known], kind="stable")]
    n_certain = max(_LEAST_CERTAIN, int(_CERTAIN * recorded[known].sum() / _N_BANDS))
    band_of = np.digitize(of_pairs[order], edges)
    certain = np.concatenate([order[band_of == band][:n_certain] for band in range(_N_BANDS)])
    if not 0 < recorded[certain].sum() < len(certain):
        return np.zeros(len(counts))
    regression = LogisticRegression(C=_CAUTION).fit(of_pairs[certain, None], recorded[certain])
    omission = -np.clip(regression.coef_[0, 0], 0, 1) * frequency
    return np.asarray(omission - np.log(counts @ np.exp(omission) / counts.sum()))
