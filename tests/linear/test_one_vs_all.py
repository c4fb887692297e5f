from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.preprocessing import normalize
from sklearn.svm import LinearSVC

import tacit
from planted import planted
from tacit.data.synthetic import make_dataset


@pytest.fixture(scope="module")
def made():
    return make_dataset(n_samples=1_500, n_features=800, n_labels=80)


def dense_weights(model: tacit.OneVsAll) -> np.ndarray:
    return np.vstack([model.weights_.toarray(), model.intercepts_])


def test_weights_are_those_of_liblinear(made):
    train = made.dataset(made.train)
    frequent = np.argsort(-np.asarray(train.Y.sum(axis=0)).ravel())[:5]
    options = {"positives": "equal", "C": 1.0, "prune": 0.0, "tolerance": 1e-4, "max_passes": 1000}
    model = tacit.OneVsAll(**options).fit(train.X, train.Y)
    for label in frequent:
        theirs = LinearSVC(C=1.0, tol=1e-8, max_iter=100_000).fit(
            normalize(train.X), train.Y[:, [label]].toarray().ravel()
        )
        ours = model.weights_[:, [label]].toarray().ravel()
        np.testing.assert_allclose(ours, theirs.coef_.ravel(), atol=2e-3)
        assert model.intercepts_[label] == pytest.approx(theirs.intercept_[0], abs=2e-3)


def test_propensity_weights_help_the_tail(made):
    train, test = made.dataset(made.train), made.dataset(made.test, complete=True)
    weights = tacit.propensities(train.Y)
    psp = {
        positives: tacit.evaluate(
            tacit.OneVsAll(positives=positives).fit(train.X, train.Y).rank(test.X), test.Y, weights
        )["PSP@5"]
        for positives in ("equal", "propensity")
    }
    assert psp["propensity"] > psp["equal"]


def test_logistic_loss_learns_as_well(made):
    train, test = made.dataset(made.train), made.dataset(made.test, complete=True)
    p1 = {
        loss: tacit.evaluate(tacit.OneVsAll(loss=loss, C=c).fit(train.X, train.Y).rank(test.X), test.Y)["P@1"]
        for loss, c in (("squared_hinge", 0.25), ("logistic", 3.0))
    }
    assert p1["logistic"] == pytest.approx(p1["squared_hinge"], abs=0.03)


def test_pruning_drops_small_weights_only(made):
    train = made.dataset(made.train)
    whole = tacit.OneVsAll(prune=0.0).fit(train.X, train.Y).weights_
    pruned = tacit.OneVsAll(prune=0.05).fit(train.X, train.Y).weights_
    assert np.abs(pruned.data).min() >= 0.05
    assert pruned.nnz == (np.abs(whole.data) >= 0.05).sum()


def test_unknown_labels_can_be_left_out():
    """Half of the positives are hidden; those entries are known to be neither, and are left out."""
    X, Y = planted(n_samples=400)
    rng = np.random.default_rng(0)
    known = rng.random(Y.shape) < 0.5
    stored = sparse.coo_matrix(known)
    observed = sparse.csr_matrix((Y.toarray()[known], (stored.row, stored.col)), shape=Y.shape)
    scores = {}
    for absent in ("negative", "missing"):
        model = tacit.OneVsAll(absent=absent, C=10.0).fit(X, observed)
        predicted = model.rank(X, k=Y.shape[1]).to_csr(Y.shape[1]).toarray()
        scores[absent] = np.mean((predicted > 0) == (Y.toarray() > 0))
    assert scores["missing"] > 0.99
    assert scores["missing"] > scores["negative"]


def test_dense_nan_is_the_same_as_absent():
    X, Y = planted()
    dense = Y.toarray()
    dense[::3, 0] = np.nan
    rows, columns = np.nonzero(~np.isnan(dense))
    stored = sparse.csr_matrix((dense[rows, columns], (rows, columns)), shape=dense.shape)
    a, b = (tacit.OneVsAll(absent="missing").fit(X, labels) for labels in (dense, stored))
    np.testing.assert_array_equal(dense_weights(a), dense_weights(b))


def test_a_label_that_every_sample_has():
    X, Y = planted()
    Y = sparse.hstack([Y, np.ones((Y.shape[0], 1))], format="csr")
    ranking = tacit.OneVsAll().fit(X, Y).rank(X, k=4)  # a sample has at most three others
    assert (ranking.labels == Y.shape[1] - 1).any(axis=1).all()


@pytest.mark.real_data
@pytest.mark.parametrize(
    ("name", "floors"),
    [
        ("bibtex", {"P@1": 63.5, "P@3": 38.8, "P@5": 28.3, "PSP@1": 49.5, "PSP@3": 52.7, "PSP@5": 57.5}),
        ("delicious", {"P@1": 67.0, "P@3": 60.5, "P@5": 55.8}),
    ],
)
def test_accuracy_on_public_data(real_data, name, floors):
    train, test = (tacit.load_data(real_data / name / f"{part}.txt") for part in ("train", "test"))
    ranking = tacit.OneVsAll(n_jobs=2).fit(train.X, train.Y).rank(test.X)
    metrics = tacit.evaluate(ranking, test.Y, tacit.propensities(train.Y))
    assert {key: 100 * metrics[key] for key in floors if 100 * metrics[key] < floors[key]} == {}


def test_columns_of_64_bits_are_those_of_32():
    """Matrices with more than 2³¹ entries have them."""
    X, Y = planted(60)
    X = sparse.csr_matrix(X)
    large = X.copy()
    large.indices, large.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    found, expected = (tacit.OneVsAll(normalize=False).fit(each, Y).rank(X, k=3) for each in (large, X))
    np.testing.assert_array_equal(found.scores, expected.scores)
