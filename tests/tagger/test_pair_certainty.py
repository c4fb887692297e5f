"""How certain pairs are."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from tacit.errors import DataError
from tacit.tagger.pair_certainty import RankedPairs, certainty_of, omission_by_frequency


def planted(n_rows: int, seed: int = 0) -> RankedPairs:
    """Ten pairs per sample, the first two likely: of these, one of two kinds of labels goes with few other labels."""
    rng = np.random.default_rng(seed)
    rows, places = np.divmod(np.arange(10 * n_rows), 10)
    is_likely, is_frequent, has_many = places < 2, rng.random(len(rows)) < 0.5, rng.random(n_rows)[rows] < 0.5
    chance = np.where(is_likely, np.where(is_frequent != has_many, 0.9, 0.1), 0.01)
    scores = 1.0 * is_likely + rng.random(len(rows))
    unused = np.zeros(len(rows))
    columns = [scores, unused, unused, unused, unused, is_frequent, places, has_many]
    evidence = np.stack(columns, axis=1).astype(np.float32)
    return RankedPairs(rows, rows % 50, rows % 3, scores, evidence, rng.random(len(rows)) < chance)


def test_what_goes_together_is_learned_from_other_samples():
    pairs = planted(2000)
    certainty, is_likely = certainty_of(pairs, np.ones(20_000, bool), np.arange(2000), 0), pairs.evidence[:, 6] < 2
    assert roc_auc_score(pairs.is_recorded[is_likely], certainty[is_likely]) > 0.88
    assert certainty[is_likely].min() > np.quantile(certainty[~is_likely], 0.5)


def test_pairs_that_are_all_recorded_are_an_error():
    pairs = replace(planted(30), is_recorded=np.ones(300, bool))
    with pytest.raises(DataError, match="some of the highly ranked labels must be recorded and some not"):
        certainty_of(pairs, np.ones(300, bool), np.arange(30), 0)


@pytest.mark.parametrize(("recorded_of_rare", "least", "most"), [(0.9, -0.5, 0.5), (0.5, 1.0, 2.7)])
def test_how_much_more_often_rare_labels_are_omitted(recorded_of_rare, least, most):
    rng, pairs = np.random.default_rng(0), planted(2000)
    counts = np.where(np.arange(50) < 25, 1000, 10)
    is_recorded = (pairs.scores > 1) & (rng.random(20_000) < np.where(pairs.labels < 25, 0.9, recorded_of_rare))
    some = replace(pairs, is_recorded=is_recorded)
    omission = omission_by_frequency(pairs.scores, some, np.ones(20_000, bool), counts)
    assert counts @ np.exp(omission) == pytest.approx(counts.sum())
    assert least < omission[-1] - omission[0] < most  # of even odds and nine to one: 2.2
