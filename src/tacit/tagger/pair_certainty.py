"""How certain (sample, label) pairs are, by the model's score and by the other recorded labels of the sample."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.special import expit

from tacit.arrays import Floats32, Floats64, Ids, Mask
from tacit.core.labels import label_counts
from tacit.core.ranking import NO_LABEL, Ranking
from tacit.errors import DataError
from tacit.evaluation.propensity import values_at
from tacit.names.boosting import BoostedTrees

_SAMPLES_UNSEEN = 3.0  # pseudo-count added to a label's count: a single co-occurrence is weak evidence
_ROWS_PER_BLOCK = 2048
_PARTS = 5  # of the samples, each judged by what was learned from the others
_MOST_PAIRS = 100_000  # to learn from
_N_TREES = 80
_PRIOR = 20.0  # pseudo-count of recorded pairs of a label


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
    evidence = (
        scores,
        _product_at(own, calls, local, labels),  # a noisy-or of the other labels
        _product_at(own, both, local, labels),
        counts[labels] * samples_of_others / train.shape[0],  # expected of independent labels
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
    """Log-odds that a pair is recorded, by boosted trees that learn from the `is_known` pairs of other samples.

    Samples of one of the `groups` are alike, and learned from or judged together.
    """
    recorded, rng = pairs.is_recorded, np.random.default_rng(seed)
    part_of = rng.integers(0, _PARTS, len(groups))[groups][pairs.rows]
    if not 0 < recorded[is_known].sum() < is_known.sum():
        raise DataError(
            "some of the highly ranked labels must be recorded and some not, to estimate what is missing; give more "
            "samples, or another model"
        )
    log_odds = np.empty(len(recorded))
    for part in range(_PARTS):
        chosen, judged = np.flatnonzero(is_known & (part_of != part)), part_of == part
        if not 0 < recorded[chosen].sum() < len(chosen):
            chosen = np.flatnonzero(is_known)
        if len(chosen) > _MOST_PAIRS:
            chosen = rng.choice(chosen, _MOST_PAIRS, replace=False)
        trees = BoostedTrees.fit(pairs.evidence[chosen], recorded[chosen], None, seed, _N_TREES)
        log_odds[judged] = trees.log_odds(pairs.evidence[judged])
    return log_odds + _record(pairs, log_odds)


def _record(pairs: RankedPairs, log_odds: Floats64) -> Floats64:
    """How much more often than stated the label of each pair is recorded, in its other pairs of the same fold."""
    group = pairs.labels * (int(pairs.folds.max()) + 1) + pairs.folds
    odds, recorded = np.exp(log_odds), pairs.is_recorded
    found, stated = expit(log_odds) * recorded, expit(log_odds) * odds * ~recorded  # equal sums if the odds are right
    sums = (np.bincount(group, values)[group] - values + _PRIOR for values in (found, stated))
    return np.asarray(np.subtract(*map(np.log, sums)))
