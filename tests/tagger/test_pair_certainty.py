"""How certain pairs are: what the linear model cannot express is learned by trees, where pairs are likely."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from tacit.errors import DataError
from tacit.tagger import pair_certainty
from tacit.tagger.pair_certainty import RankedPairs, certainty_of


def planted(n_rows: int, seed: int = 0) -> RankedPairs:
    """Ten pairs per sample, the first two likely: of these, one of two kinds of labels goes with few other labels."""
    rng = np.random.default_rng(seed)
    rows, places = np.divmod(np.arange(10 * n_rows), 10)
    is_likely, is_frequent, has_many = places < 2, rng.random(len(rows)) < 0.5, rng.random(n_rows)[rows] < 0.5
    chance = np.where(is_likely, np.where(is_frequent != has_many, 0.9, 0.1), 0.01)
    zeros = np.zeros(len(rows))
    return RankedPairs(
        rows, rng.integers(0, 50, len(rows)), rows % 3, 1.0 * is_likely + rng.random(len(rows)), places, zeros,
        np.where(is_frequent, 200.0, 10.0), np.where(has_many, 5.0, 1.0), zeros, zeros, zeros,
        rng.random(len(rows)) < chance,
    )  # fmt: skip


def test_trees_learn_what_the_linear_model_cannot(monkeypatch):
    pairs = planted(2000)
    certainty, is_likely = certainty_of(pairs, 0), pairs.places < 2
    assert roc_auc_score(pairs.is_recorded[is_likely], certainty[is_likely]) > 0.88
    assert certainty[is_likely].min() > np.quantile(certainty[~is_likely], 0.5)
    monkeypatch.setattr(pair_certainty, "_MIN_PAIRS", 10**9)
    linear = certainty_of(pairs, 0)
    assert roc_auc_score(pairs.is_recorded[is_likely], linear[is_likely]) < 0.6
    is_same = certainty == linear
    assert is_same.mean() > 0.5  # trees judge the likely pairs alone, three times as many as are recorded
    assert linear[is_same].max() <= np.quantile(linear, 0.75)


def test_pairs_that_are_all_recorded_are_an_error():
    pairs = planted(30)
    with pytest.raises(DataError, match="some of the highly ranked labels must be recorded and some not"):
        certainty_of(RankedPairs(**{**vars(pairs), "is_recorded": np.ones(300, bool)}), 0)
