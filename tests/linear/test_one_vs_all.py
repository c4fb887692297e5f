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
