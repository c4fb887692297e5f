"""Boosted trees as plain arrays."""

from __future__ import annotations

import numpy as np
import pytest
import sklearn.ensemble

from tacit.names import boosting
from tacit.names.boosting import BoostedTrees

rng = np.random.default_rng(0)


def planted(n):
    X = rng.normal(size=(n, 4)).astype(np.float32)
    X[:, 3] = np.rint(2 * X[:, 3])  # values that repeat
    return X, rng.random(n) < 1 / (1 + np.exp(-3 * (X[:, 0] > 0.3) - X[:, 3] + 1))


def test_arrays_give_what_scikit_learn_gives(monkeypatch):
    made = []

    class Kept(sklearn.ensemble.HistGradientBoostingClassifier):
        def fit(self, X, y, weights):
            made.append(super().fit(X, y, weights))
            return made[0]

    monkeypatch.setattr(sklearn.ensemble, "HistGradientBoostingClassifier", Kept)
    X, y = planted(3000)
    trees = BoostedTrees.fit(X, y, None, seed=0)
    made[0].edges = [boosting._edges(column) for column in X.T]
    test = planted(2000)[0]
    pairs = zip(made[0].edges, test.T, strict=True)
    binned = np.stack([low[boosting._bins(low, np.maximum(column, low[0]))] for low, column in pairs], axis=1)
    assert trees.log_odds(test) == pytest.approx(made[0].decision_function(binned), abs=1e-4)
    assert len(trees.roots) == boosting._N_TREES


def test_the_planted_evidence_is_found():
    trees = BoostedTrees.fit(*planted(20_000), None, seed=0)
    X, y = planted(5000)
    right = 1 / (1 + np.exp(-trees.log_odds(X)))
    assert np.mean((right > 0.5) == y) > 0.75
    for low in (0.1, 0.4, 0.7):
        inside = (right >= low) & (right < low + 0.2)
        assert y[inside].mean() == pytest.approx(right[inside].mean(), abs=0.07)
