"""How certain (sample, label) pairs are, by the model's score and by the other recorded labels of the sample."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.linear_model import LogisticRegression

from tacit.arrays import Floats64, Ids
from tacit.core.labels import label_counts
from tacit.core.ranking import NO_LABEL, Ranking
from tacit.errors import DataError
from tacit.names.boosting import BoostedTrees

_N_BINS = 40  # of scores, in which the share of recorded labels is measured
_SAMPLES_UNSEEN = 3.0  # pseudo-count added to a label's count: a single co-occurrence is weak evidence
_ROWS_PER_BLOCK = 2048
_MOST_PAIRS = 100_000  # to learn from
_MIN_PAIRS = 1000  # to learn trees from
_LIKELY = 3  # times the recorded pairs: as many by the linear model are judged by trees, too, ...
_SHARE_LIKELY = 10  # ... but at least one of so many, where few are recorded: trees need enough to learn from
_N_TREES, _N_LEAVES = 40, 8


@dataclass(frozen=True, eq=False)
class RankedPairs:
    """Highly ranked (sample, label) pairs by a model that has not seen the sample; an entry per pair in each array.

    The evidence of a pair is on the sample's other recorded labels, whether or not it is recorded itself.
    """

    rows: Ids
    labels: Ids
    folds: Ids
    scores: Floats64
    places: Ids  # in the ranking of the sample
    ranks: Floats64  # among the pairs of the label, as a share of its training samples
    counts: Floats64  # training samples of the label
    others: Floats64  # number of other labels of the sample
    together: Floats64  # evidence of these, by co-occurrence: a noisy-or
    observed: Floats64  # co-occurrences with these
    expected: Floats64  # co-occurrences with these if labels were independent; more than observed where they exclude it
    is_recorded: npt.NDArray[np.bool_]

    def where(self, is_kept: npt.NDArray[np.bool_]) -> RankedPairs:
        """Some of the pairs."""
        return RankedPairs(**{name: getattr(self, name)[is_kept] for name in RankedPairs.__dataclass_fields__})

    @staticmethod
    def concatenate(parts: list[RankedPairs]) -> RankedPairs:
        """The pairs of several folds."""
        names = RankedPairs.__dataclass_fields__
        return RankedPairs(**{name: np.concatenate([getattr(part, name) for part in parts]) for name in names})


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
    is_recorded = _at(own, local, labels) > 0
    samples_of_others = np.asarray(own @ counts)[local] - is_recorded * counts[labels]
    return RankedPairs(
        rows[local],
        labels,
        np.full(len(local), fold),
        scores,
        places,
        (_ranks(labels, scores) + 1) / (counts[labels] / 2 + 1),
        counts[labels],
        np.asarray(own.sum(axis=1)).ravel()[local] - is_recorded,
        _product_at(own, calls, local, labels),
        _product_at(own, both, local, labels),
        counts[labels] * samples_of_others / train.shape[0],
        is_recorded,
    )


def _at(matrix: sparse.csr_matrix, rows: Ids, columns: Ids) -> Floats64:
    return np.asarray(matrix[rows, columns], np.float64).ravel() if len(rows) else np.zeros(0)


def _product_at(left: sparse.csr_matrix, right: sparse.csr_matrix, rows: Ids, columns: Ids) -> Floats64:
    """Entries of a matrix product, in blocks of rows because it may have many entries; `rows` are sorted."""
    ends = np.searchsorted(rows, np.arange(0, left.shape[0] + _ROWS_PER_BLOCK, _ROWS_PER_BLOCK))
    blocks = [
        _at(left[first : first + _ROWS_PER_BLOCK] @ right, rows[low:high] - first, columns[low:high])
        for first, low, high in zip(range(0, left.shape[0], _ROWS_PER_BLOCK), ends, ends[1:], strict=False)
    ]
    return np.concatenate([np.zeros(0), *blocks])


def _ranks(labels: Ids, scores: Floats64) -> Ids:
    """Place of each pair among those of its label, best first."""
    order = np.lexsort((-scores, labels))
    starts = np.flatnonzero(np.diff(labels[order], prepend=-1))
    ranks = np.empty(len(labels), np.intp)
    ranks[order] = np.arange(len(labels)) - np.repeat(starts, np.diff(starts, append=len(labels)))
    return ranks


def certainty_of(pairs: RankedPairs, seed: int) -> Floats64:
    """Log-odds that a pair is recorded, learned from other samples: the mean of a linear model and of boosted trees.

    Trees learn from the pairs that are likely by the linear model, and judge these: the others are the end of any list.
    """
    recorded = pairs.is_recorded
    if not 0 < recorded.sum() < len(recorded):
        raise DataError(
            "some of the highly ranked labels must be recorded and some not, to estimate what is missing; give more "
            "samples, or another model"
        )
    rng = np.random.default_rng(seed)
    half = rng.random(int(pairs.rows.max()) + 1)[pairs.rows] < 0.5
    linear, plain = _linear_features(pairs), _features(pairs)
    log_odds = np.empty(len(recorded))
    for learned, judged in ((half, ~half), (~half, half)):
        chosen = np.flatnonzero(learned)
        if not 0 < recorded[chosen].sum() < len(chosen):
            chosen = np.arange(len(recorded))
        if len(chosen) > _MOST_PAIRS:
            chosen = rng.choice(chosen, _MOST_PAIRS, replace=False)
        regression = LogisticRegression(C=100.0, solver="newton-cholesky").fit(linear[chosen], recorded[chosen])
        found = regression.decision_function(linear)
        log_odds[judged] = found[judged]
        if len(chosen) >= _MIN_PAIRS:
            n_likely = min(max(_LIKELY * int(recorded[chosen].sum()), len(chosen) // _SHARE_LIKELY), len(chosen))
            is_likely = found >= np.partition(found[chosen], -n_likely)[-n_likely]
            taught, judged_again = chosen[is_likely[chosen]], judged & is_likely
            trees = BoostedTrees.fit(plain[taught], recorded[taught], None, seed, _N_TREES, _N_LEAVES)
            log_odds[judged_again] = (found[judged_again] + trees.log_odds(plain[judged_again])) / 2
    return log_odds


def _lift(pairs: RankedPairs) -> Floats64:
    return np.asarray(np.log((pairs.observed + 1) / (pairs.expected + 1)))


def _features(pairs: RankedPairs) -> npt.NDArray[np.float32]:
    columns = (
        pairs.scores, pairs.together, pairs.observed, pairs.expected, _lift(pairs), pairs.counts, pairs.places,
        pairs.ranks, pairs.others,
    )  # fmt: skip
    return np.stack(columns, axis=1).astype(np.float32)


def _linear_features(pairs: RankedPairs) -> Floats64:
    by_score = log_odds_by_score(pairs.scores, pairs.is_recorded)(pairs.scores)
    numbers = (10 * pairs.together, pairs.counts, pairs.places, pairs.others)
    features = np.stack([by_score, _lift(pairs), *map(np.log1p, numbers)], axis=1)
    spread = features.std(axis=0)
    return np.asarray((features - features.mean(axis=0)) / np.where(spread > 0, spread, 1.0))


def log_odds_by_score(scores: Floats64, recorded: npt.NDArray[np.bool_]) -> Callable[[Floats64], Floats64]:
    """Log-odds that a label with a given score is recorded, increasing in the score, as a function of it."""
    order = np.argsort(scores, kind="stable")
    starts = np.unique(np.arange(_N_BINS) * len(scores) // _N_BINS)
    sizes = np.diff(starts, append=len(scores))
    centers = np.add.reduceat(scores[order], starts) / sizes
    shares = (np.add.reduceat(recorded[order].astype(np.float64), starts) + 0.5) / (sizes + 1)
    log_odds = np.maximum.accumulate(np.log(shares / (1 - shares)))
    log_odds += 1e-3 * np.arange(len(starts))  # strictly increasing, to keep the order of scores
    span = max(float(scores.max() - centers[-1]), 1e-12)

    def of(given: Floats64) -> Floats64:
        return np.asarray(np.interp(given, centers, log_odds) + np.maximum(given - centers[-1], 0) / span)

    return of
