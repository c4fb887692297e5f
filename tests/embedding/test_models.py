"""What the models of this family promise beyond the contract of all models."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

import tacit
from planted import N_LABELS, planted
from tacit.data.split import hide_positives
from tacit.embedding.label_correlations import JointEmbedder, conditional_shares
from tacit.embedding.label_sets import distinct_label_sets
from tacit.errors import DataError, ParameterError

FAMILY = [tacit.ExMLDS1, tacit.ExMLDS2, tacit.ExMLDS3, tacit.SLEEC]
X, Y = planted()


@pytest.mark.parametrize("cls", FAMILY)
def test_a_training_sample_is_its_own_nearest_neighbour_or_has_its_labels(cls):
    near = cls().fit(X, Y).neighbors(X, k=3)
    assert near.samples.shape == near.similarities.shape == (X.shape[0], 3)
    same = [(Y[row] != Y[found]).nnz == 0 for row, found in enumerate(near.samples[:, 0])]
    assert np.mean(same) > 0.95
    assert (np.diff(near.similarities, axis=1) <= 0).all()
    assert near.similarities.max() <= 1.0001


def test_neighbors_beyond_the_voters_are_left_open():
    near = tacit.ExMLDS1(n_neighbors=2).fit(X, Y).neighbors(X[:4], k=5)
    assert (near.samples[:, 2:] == -1).all()
    assert np.isneginf(near.similarities[:, 2:]).all()
    with pytest.raises(ParameterError, match="k must be a whole number of at least 1; got 0"):
        tacit.ExMLDS1().fit(X, Y).neighbors(X, k=0)


@pytest.mark.parametrize("cls", FAMILY)
@pytest.mark.parametrize("parameters", [{"max_cluster": 70, "n_learners": 3}, {"l1": 0.01}, {"vote_power": 0.0}])
def test_choices_of_stages_find_the_planted_labels(cls, parameters):
    test = planted(seed=1)
    ranking = cls(dimension=20, **parameters).fit(X, Y).rank(test.X, k=1)
    assert tacit.evaluate(ranking, test.Y, ks=(1,))["P@1"] > 0.9


@pytest.mark.parametrize(
    ("cls", "parameters"),
    [
        (tacit.ExMLDS1, {"eigenvalues": "all"}),
        (tacit.ExMLDS2, {"objective": "nce", "n_passes": 60}),
        (tacit.ExMLDS2, {"noise_power": 0.0}),
        (tacit.ExMLDS2, {"context_space": "features", "n_context": 20}),
        (tacit.ExMLDS3, {"solver": "sgns"}),
        (tacit.ExMLDS3, {"completion": 0.0, "label_share": 1.0}),
        (tacit.SLEEC, {"context_space": "features"}),
    ],
)
def test_variants_find_the_planted_labels(cls, parameters):
    test = planted(seed=1)
    ranking = cls(dimension=20, **parameters).fit(X, Y).rank(test.X, k=1)
    assert tacit.evaluate(ranking, test.Y, ks=(1,))["P@1"] > 0.9


def test_several_clusters_are_trained_and_asked():
    model = tacit.ExMLDS1(max_cluster=70, n_learners=2).fit(X, Y)
    assert len(model.learners_) == 2
    for learner in model.learners_:
        assert sorted(np.concatenate([cell.samples for cell in learner.cells])) == list(range(X.shape[0]))


# -- co-occurrence ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", [np.asarray, sparse.coo_array, sparse.csc_matrix, lambda C: C.astype(np.int16)])
def test_any_form_of_cooccurrence_gives_the_same_model(form):
    C = (Y.T @ Y).toarray()
    expected = tacit.ExMLDS3().fit(X, Y).rank(X)
    found = tacit.ExMLDS3().fit(X, Y, cooccurrence=form(C)).rank(X)
    assert np.array_equal(found.labels, expected.labels)
    assert np.array_equal(found.scores, expected.scores)


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        (np.ones((3, 3)), r"cooccurrence must have shape \(12, 12\), labels by labels; got \(3, 3\)"),
        (-np.eye(N_LABELS), "finite counts of at least 0; row 0, column 0 holds -1"),
        (np.full((N_LABELS, N_LABELS), np.nan), "finite counts of at least 0; row 0, column 0 holds nan"),
        ([["many"] * N_LABELS] * N_LABELS, "cooccurrence must be a matrix of counts"),
        (sparse.csr_matrix(np.eye(N_LABELS) * 1j), "cooccurrence must hold real numbers"),
    ],
)
def test_wrong_cooccurrence_is_refused(matrix, message):
    with pytest.raises(DataError, match=message):
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
    A = JointEmbedder(5, C, (2.0, 3.0, 5.0), 1.0, "positive").joint_counts(sets)
    A = A.toarray() if sparse.issparse(A) else A
    expected = np.block([[3 * dense @ dense.T, 5 * dense], [5 * dense.T, 2 * C.toarray()]])
    assert expected == pytest.approx(A)


def test_conditional_shares_without_a_diagonal():
    C = sparse.csr_matrix(np.array([[0, 2, 4], [2, 8, 0], [0, 0, 0]], float))
    assert conditional_shares(C).toarray() == pytest.approx(np.array([[0, 0.5, 1], [0.25, 1, 0], [0, 0, 0]]))


def test_a_checkpoint_tells_cooccurrences_apart(tmp_path):
    C = (Y.T @ Y).toarray()
    with tacit.checkpoint(tmp_path):
        first = tacit.ExMLDS3().fit(X, Y, cooccurrence=C)
        second = tacit.ExMLDS3().fit(X, Y, cooccurrence=np.eye(N_LABELS))
    assert not np.array_equal(first.learners_[0].cells[0].label_points, second.learners_[0].cells[0].label_points)


# -- public data ------------------------------------------------------------------------------------------


@pytest.mark.real_data
@pytest.mark.slow
@pytest.mark.parametrize(
    ("cls", "least"),
    [(tacit.ExMLDS1, (65.4, 38.8, 28.4)), (tacit.ExMLDS2, (64.9, 38.5, 28.0)), (tacit.SLEEC, (64.5, 39.4, 28.5))],
)
def test_accuracy_on_bibtex(real_data, cls, least):
    train, test = (tacit.load_data(real_data / "bibtex" / f"{part}.txt") for part in ("train", "test"))
    metrics = tacit.evaluate(cls().fit(train.X, train.Y).rank(test.X), test.Y)
    assert all(100 * metrics[f"P@{k}"] >= floor for k, floor in zip((1, 3, 5), least, strict=True))


@pytest.mark.real_data
@pytest.mark.parametrize(("name", "least"), [("bibtex", 0.57), ("rcv1sub1", 0.86)])
def test_hidden_labels_are_made_up_for_by_cooccurrence(real_data, name, least):
    train, test = (tacit.load_data(real_data / name / f"{part}.txt") for part in ("train", "test"))
    hidden = hide_positives(train.Y, 0.8)
    joint = tacit.ExMLDS3().fit(train.X, hidden, cooccurrence=train.Y.T @ train.Y)
    alone = tacit.ExMLDS1().fit(train.X, hidden)
    with_it, without = (tacit.evaluate(model.rank(test.X), test.Y)["P@1"] for model in (joint, alone))
    assert with_it > max(least, without)
