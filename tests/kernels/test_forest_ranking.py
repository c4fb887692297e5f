from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from planted import N_LABELS, planted
from reference.tree import forest_scores, rescored
from tacit.kernels.best import insert
from tacit.kernels.forest_ranking import quantised
from tacit.numerics.rows import unit_rows
from tacit.trees.fastxml import FastXML
from tacit.trees.pfastrexml import PfastreXML


@given(st.lists(st.integers(0, 9), max_size=30), st.integers(1, 12))
def test_inserted_labels_are_the_best_in_order(values, k):
    labels, scores = np.full(k, -1, np.int32), np.full(k, -np.inf, np.float32)
    for label, value in enumerate(values):
        insert(labels, scores, label, value, label + 1)
    expected = np.argsort(-np.array(values, dtype=int), kind="stable")[:k]
    assert list(labels[labels >= 0]) == list(expected)
    assert list(scores[: len(expected)]) == [values[label] for label in expected]


def as_dense(ranking, n_labels, absent):
    dense = np.full((len(ranking), n_labels), absent, dtype=float)
    np.put_along_axis(dense, ranking.labels.astype(int), ranking.scores.astype(float), axis=1)
    return dense


def with_labels(Y, n_labels):
    """The same labels among many that no sample has: these are ranked by a list of those voted for."""
    return sparse.csr_matrix((Y.data, Y.indices, Y.indptr), shape=(Y.shape[0], n_labels))


@pytest.mark.parametrize("n_labels", [N_LABELS, 600])
@pytest.mark.parametrize("min_share", [1.0, 0.3, 0.05])
def test_scores_are_the_means_of_the_leaves(min_share, n_labels):
    data = planted()
    model = FastXML(n_trees=3, max_leaf=5, min_share=min_share).fit(data.X, with_labels(data.Y, n_labels))
    ranking = model.rank(data.X, k=n_labels)
    expected = forest_scores(model.forest_, unit_rows(data.X).toarray(), n_labels, min_share)
    assert as_dense(ranking, n_labels, 0.0) == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize("n_labels", [N_LABELS, 600])
def test_scores_are_re_ranked_by_the_centres(n_labels):
    data = planted()
    Y = with_labels(data.Y, n_labels)
    model = PfastreXML(n_trees=3, max_leaf=5, alpha=0.6, gamma=8.0).fit(data.X, Y)
    ranking = model.rank(data.X, k=n_labels)
    X, centres = unit_rows(data.X).toarray(), model.centres_
    values = centres.steps[centres.labels] * centres.levels
    matrix = sparse.csc_matrix((values, centres.labels.astype(np.int32), centres.starts), shape=(n_labels, X.shape[1]))
    votes = forest_scores(model.forest_, X, n_labels, model.min_share)
    expected = rescored(votes, X, matrix, centres.offsets, 0.6, 8.0)
    voted = votes > 0
    assert as_dense(ranking, n_labels, -np.inf)[voted] == pytest.approx(expected[voted], abs=1e-3)


@pytest.mark.parametrize("n_labels", [N_LABELS, 600])
@pytest.mark.parametrize("alpha", [0.0, 0.3, 0.95, 1.0])
def test_the_first_places_are_those_of_the_whole_ranking(alpha, n_labels):
    """Labels with too few votes are skipped once the places are taken."""
    data = planted()
    model = PfastreXML(n_trees=10, max_leaf=2, alpha=alpha, gamma=8.0).fit(data.X, with_labels(data.Y, n_labels))
    whole = model.rank(data.X, k=n_labels)
    for k in (1, 3):
        first = model.rank(data.X, k=k)
        assert np.array_equal(first.scores, whole.scores[:, :k])
        assert np.array_equal(first.labels, whole.labels[:, :k])


def test_a_row_alone_is_ranked_as_among_others():
    data = planted()
    model = PfastreXML(n_trees=5, max_leaf=2).fit(data.X, data.Y)
    together = model.rank(data.X, k=N_LABELS)
    for row in range(0, len(data), 7):
        alone = model.rank(data.X[row], k=N_LABELS)
        assert np.array_equal(alone.labels[0], together.labels[row])
        assert np.array_equal(alone.scores[0], together.scores[row])


@given(st.lists(st.floats(-1024, 1024, width=32), min_size=1, max_size=20))
def test_rows_as_whole_numbers_are_near(values):
    x = np.array(values, np.float32)
    levels, steps = quantised(x, [0, len(x), len(x)], np.int16)
    assert np.abs(levels).max() <= 32767
    assert steps[1] == 0
    assert levels * np.float64(steps[0]) == pytest.approx(x.astype(float), abs=float(np.abs(x).max()) / 32_700)
