"""What ExMLDS3 promises beyond the contract of all models, and ExMLDS3 as printed."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

import tacit
from planted import N_LABELS, planted
from reference import exmlds as reference
from reference.sppmi import sppmi
from tacit.data.split import hide_positives
from tacit.embedding.exmlds3 import conditional_shares, joint_counts
from tacit.embedding.neighbors import distinct_label_sets
from tacit.errors import DataError

X, Y = planted()


@pytest.fixture(scope="module")
def with_own_counts():
    return tacit.ExMLDS3().fit(X, Y).rank(X)


@pytest.mark.parametrize("form", [np.asarray, sparse.coo_array, sparse.csc_matrix, lambda C: C.astype(np.int16)])
def test_any_form_of_cooccurrence_gives_the_same_model(with_own_counts, form):
    C = (Y.T @ Y).toarray()
    found = tacit.ExMLDS3().fit(X, Y, cooccurrence=form(C)).rank(X)
    assert np.array_equal(found.labels, with_own_counts.labels)
    assert np.array_equal(found.scores, with_own_counts.scores)


@pytest.mark.parametrize(
    "matrix",
    [
        np.ones((3, 3)),
        -np.eye(N_LABELS),
        np.full((N_LABELS, N_LABELS), np.nan),
        [["many"] * N_LABELS] * N_LABELS,
        sparse.csr_matrix(np.eye(N_LABELS) * 1j),
    ],
)
def test_wrong_cooccurrence_is_refused(matrix):
    with pytest.raises(DataError, match="cooccurrence must"):
        tacit.ExMLDS3().fit(X, Y, cooccurrence=matrix)


def test_a_label_that_was_never_seen_is_found_by_its_cooccurrence():
    twins = sparse.hstack([Y, Y[:, :1]], format="csr")  # the last label always comes with the first
    seen = twins.tolil()
    seen[:, N_LABELS] = 0
    model = tacit.ExMLDS3().fit(X, seen.tocsr(), cooccurrence=twins.T @ twins)
    with_first = np.flatnonzero(Y[:, 0].toarray().ravel())
    others = np.setdiff1d(np.arange(X.shape[0]), with_first)
    places = (model.rank(X, k=N_LABELS + 1).labels == N_LABELS).argmax(axis=1)
    assert places[with_first].mean() + 3 < places[others].mean()


def test_joint_counts_are_the_blocks_of_algorithm_3():
    C = (Y.T @ Y).tocsr()
    sets = distinct_label_sets(Y).matrix
    dense = sets.toarray()
    A = joint_counts(sets, C, (2.0, 3.0, 5.0))
    A = A.toarray() if sparse.issparse(A) else A
    expected = np.block([[3 * dense @ dense.T, 5 * dense], [5 * dense.T, 2 * C.toarray()]])
    assert expected == pytest.approx(A)


# -- the printed equations --------------------------------------------------------------------------------

SOME = planted(10)


def test_the_printed_embedding_is_the_svd_of_the_sppmi_of_algorithm_3():
    Y_some = SOME.Y.toarray()
    C = SOME.Y.T @ SOME.Y
    A = np.block([[Y_some @ Y_some.T, Y_some], [Y_some.T, 5 * C.toarray()]])
    expected = reference.factors(sppmi(A, 1), len(A))
    model = tacit.ExMLDS3.paper(label_weight=5.0, dimension=40)
    Z = np.vstack(model._embed(SOME.X, SOME.Y, 0, cooccurrence=C.tocsr()))
    assert pytest.approx(expected @ expected.T, abs=1e-4) == Z @ Z.T


def test_the_printed_ranking_is_algorithm_4():
    queries = planted(20, seed=1).X
    model = tacit.ExMLDS3.paper(n_neighbors=7).fit(X, Y)
    (cell,) = model.learners_[0].cells
    maps = cell.weights.astype(float)
    points, labels = X.toarray() @ maps, cell.label_points.T.astype(float)
    expected = [
        reference.label_correlation_scores(query @ maps, points, Y.toarray(), labels, 7) for query in queries.toarray()
    ]
    assert model.decision_function(queries) == pytest.approx(np.array(expected), abs=1e-4)
    assert np.min(expected) < 0  # negative scores of labels count


def test_conditional_shares_without_a_diagonal():
    C = sparse.csr_matrix(np.array([[0, 2, 4], [2, 8, 0], [0, 0, 0]], float))
    assert conditional_shares(C).toarray() == pytest.approx(np.array([[0, 0.5, 1], [0.25, 1, 0], [0, 0, 0]]))


def test_a_checkpoint_tells_cooccurrences_apart(tmp_path):
    C = (Y.T @ Y).toarray()
    with tacit.checkpoint(tmp_path):
        first = tacit.ExMLDS3().fit(X, Y, cooccurrence=C)
        second = tacit.ExMLDS3().fit(X, Y, cooccurrence=np.eye(N_LABELS))
    assert not np.array_equal(first.learners_[0].cells[0].label_points, second.learners_[0].cells[0].label_points)


@pytest.mark.real_data
@pytest.mark.parametrize(("name", "least"), [("bibtex", 0.57), ("rcv1sub1", 0.86)])
def test_hidden_labels_are_made_up_for_by_cooccurrence(real_data, name, least):
    train, test = (tacit.load_data(real_data / name / f"{part}.txt") for part in ("train", "test"))
    hidden = hide_positives(train.Y, 0.8)
    joint = tacit.ExMLDS3().fit(train.X, hidden, cooccurrence=train.Y.T @ train.Y)
    alone = tacit.ExMLDS1().fit(train.X, hidden)
    with_it, without = (tacit.evaluate(model.rank(test.X), test.Y)["P@1"] for model in (joint, alone))
    assert with_it > max(least, without)


def test_a_row_scores_the_same_alone_where_clusters_differ_in_size():
    rng = np.random.default_rng(0)
    features = rng.random((41, 8)).astype(np.float32)
    model = tacit.ExMLDS3(n_learners=2, max_cluster=3, vote_power=1.0).fit(features, rng.random((41, 23)) < 0.5)
    alone = [model.rank(features[row : row + 1], k=23).scores[0] for row in range(41)]
    assert np.array_equal(model.rank(features, k=23).scores, alone)
