from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from planted import N_LABELS, planted
from reference.tree import forest_scores, rescored
from tacit.checks import unit_rows
from tacit.kernels.forest import insert_label
from tacit.trees.fastxml import FastXML, PfastreXML


@given(st.lists(st.integers(0, 9), max_size=30), st.integers(1, 12))
def test_inserted_labels_are_the_best_in_order(values, k):
    labels, scores = np.full(k, -1, np.int32), np.full(k, -np.inf, np.float32)
    for label, value in enumerate(values):
        insert_label(labels, scores, label, value)
    expected = np.argsort(-np.array(values, dtype=int), kind="stable")[:k]
    assert list(labels[labels >= 0]) == list(expected)
    assert list(scores[: len(expected)]) == [values[label] for label in expected]


def as_dense(ranking, n_labels, absent):
    dense = np.full((len(ranking), n_labels), absent, dtype=float)
    np.put_along_axis(dense, ranking.labels.astype(int), ranking.scores.astype(float), axis=1)
    return dense


def test_scores_are_the_means_of_the_leaves():
    data = planted()
    model = FastXML(n_trees=3, max_leaf=5).fit(data.X, data.Y)
    ranking = model.rank(data.X, k=N_LABELS)
    expected = forest_scores(model.forest_, unit_rows(data.X).toarray(), N_LABELS)
    assert as_dense(ranking, N_LABELS, 0.0) == pytest.approx(expected, abs=1e-5)


def test_scores_are_re_ranked_by_the_centres():
    data = planted()
    model = PfastreXML(n_trees=3, max_leaf=5, alpha=0.6, gamma=8.0).fit(data.X, data.Y)
    ranking = model.rank(data.X, k=N_LABELS)
    X, centres = unit_rows(data.X).toarray(), model.centres_
    values = np.repeat(centres.steps, np.diff(centres.starts)) * centres.levels
    matrix = sparse.csr_matrix(
        (values, centres.features.astype(np.int32), centres.starts), shape=(N_LABELS, X.shape[1])
    )
    votes = forest_scores(model.forest_, X, N_LABELS)
    expected = rescored(votes, X, matrix, centres.squares, 0.6, 8.0)
    voted = votes > 0
    assert as_dense(ranking, N_LABELS, -np.inf)[voted] == pytest.approx(expected[voted], abs=1e-3)
