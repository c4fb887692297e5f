"""Variants of the papers that tacit does not have: exact centres, noise-contrastive estimation, and gradient steps."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from scipy import sparse

import tacit
from planted import N_LABELS, planted
from reference import exmlds as reference
from reproduce.exmlds import variants
from reproduce.pfastrexml import exact_centres as exact
from tacit.numerics.rows import label_means, unit_rows


@pytest.mark.parametrize("name", ["ContrastiveExMLDS1", "SteppedExMLDS3"])
def test_embeddings_find_the_planted_labels(name):
    model, test = getattr(variants, name)(dimension=20), planted(seed=1)
    ranking = model.fit(*planted()[:2]).rank(test.X, k=1)
    assert tacit.evaluate(ranking, test.Y, ks=(1,))["P@1"] > 0.9


# -- noise-contrastive estimation -------------------------------------------------------------------------


def test_log_conditionals_and_their_factor():
    rng = np.random.default_rng(0)
    counts = rng.poisson(3.0, (8, 8))
    counts, weights = (counts + counts.T).astype(np.float32), rng.integers(1, 4, 8).astype(np.float64)
    with np.errstate(divide="ignore"):
        expected = np.maximum(np.log(counts / (0.02 * (counts @ weights))), 0)
    found = variants.log_conditionals(sparse.csr_matrix(counts), weights, 0.02)
    assert found.toarray() == pytest.approx(expected, rel=1e-5)
    roots = np.sqrt(weights)[:, None]
    U, values, _ = np.linalg.svd(roots * expected * roots.T)
    Z = roots * variants.left_factor(found, weights, 8, 0)
    assert pytest.approx(U * values @ U.T, abs=0.02 * values[0]) == Z @ Z.T


# -- Eq. 5 to 8 -------------------------------------------------------------------------------------------

SOME = planted(10)
COUNTS = (SOME.Y.T @ SOME.Y).tocsr()


def equation_5(vectors, weights):
    Z, labels, C, Y = vectors[:10], vectors[10:], COUNTS.toarray(), SOME.Y.toarray()
    members = [list(np.flatnonzero(row)) for row in Y]
    return (
        weights[0] * reference.even_sum(labels, labels, reference.nearest(C, 3), 3)
        + weights[1] * reference.even_sum(Z, Z, reference.nearest(Y, 3), 3)
        + weights[2] * reference.even_sum(Z, labels, members, 3)
    )


def test_pairs_are_those_of_equations_6_to_8():
    n_pairs = [sum(map(len, reference.nearest(rows, 3))) for rows in (COUNTS.toarray(), SOME.Y.toarray())]
    terms = variants.joint_terms(SOME.Y, COUNTS, (1.0, 1.0, 1.0), 3)
    assert [len(term.first) for term in terms] == [*n_pairs, SOME.Y.nnz]
    assert [int(term.noise.sum()) for term in terms] == [N_LABELS, 10, N_LABELS]


@pytest.mark.parametrize("weights", [(1.0, 1.0, 1.0), (1.0, 5.0, 1.0), (20.0, 0.0, 1e-3)])
def test_steps_raise_equation_5_whatever_its_weights(weights):
    terms = variants.joint_terms(SOME.Y, COUNTS, weights, 3)
    values = []
    for n_passes in (0, 5, 50):
        vectors = variants.climb(terms, 8, 3, n_passes, 0.1, 0)
        values.append(equation_5(vectors.astype(float), weights))
    assert values[0] < values[1] < values[2]


# -- exact centres ----------------------------------------------------------------------------------------


@pytest.fixture
def data():
    made = planted(n_samples=80)
    return unit_rows(made.X).astype(np.float64), made.Y


def label(data, column):
    return data[1].toarray()[:, column] > 0


def test_the_likelihood_is_that_of_the_paper(data):
    X, _ = data
    is_positive, centre, p, gamma = label(data, 0), np.full(X.shape[1], 0.1), 0.6, 3.0
    v = 2.0 * np.exp(gamma / 2 * ((X.toarray() - centre) ** 2).sum(axis=1))
    y = is_positive.astype(float)
    expected = np.log((1 - y) + p * (2 * y - 1) / (1 + v)).sum()  # PfastreXML Eq. 43
    assert exact.likelihood(X, is_positive, centre, p, gamma, 2.0)[0] == pytest.approx(expected)


@pytest.mark.parametrize("propensity", [0.2, 1.0])
def test_the_gradient_is_the_slope_of_the_likelihood(data, propensity):
    X, _ = data
    at = partial(exact.likelihood, X, label(data, 1), propensity=propensity, gamma=4.0, beta=1.0)
    centre = np.random.default_rng(0).normal(scale=0.2, size=X.shape[1])
    for feature, step in enumerate(1e-5 * np.eye(X.shape[1])):
        slope = (at(centre + step)[0] - at(centre - step)[0]) / 2e-5
        assert at(centre)[1][feature] == pytest.approx(slope, rel=1e-4, abs=1e-5)


def test_the_ascent_never_falls_and_ends_where_the_gradient_vanishes(data, monkeypatch):
    X, _ = data
    at = partial(exact.likelihood, X, label(data, 0), propensity=0.7, gamma=6.0, beta=1.0)
    monkeypatch.setattr(exact, "_RELATIVE_GAIN", 0.0)
    values = []
    for n_steps in (0, 1, 5, 200):
        monkeypatch.setattr(exact, "_ASCENTS", n_steps)
        found = exact.ascend(at, np.asarray(X[label(data, 0)].mean(axis=0)).ravel())
        values.append(at(found)[0])
    assert values == sorted(values)
    assert values[-1] > values[0]
    assert np.abs(at(found)[1]).max() < 1e-3


def test_the_mean_is_the_limit_of_the_exact_centre(data):
    X, Y = data
    Y = Y.tolil()
    Y[:, 2] = 0
    Y = sparse.csr_matrix(Y)
    means, distances = label_means(X, Y).toarray(), []
    for gamma in (5.0, 20.0, 80.0, 400.0):  # PfastreXML Eq. 48: γ grows
        found = exact.exact_centres(X, Y, np.full(N_LABELS, 0.5), gamma, 1.0)
        distances.append(np.abs(found.toarray() - means).max())
        assert found[[2]].nnz == 0  # a label without positives
    assert distances == sorted(distances, reverse=True)
    assert distances[-1] < 1e-3 < distances[0]


def test_a_model_with_exact_centres_ranks_by_them():
    made, test = planted(), planted(seed=1)
    model = exact.ExactPfastreXML(alpha=0.0, n_trees=3, centre_features=999).fit(made.X, made.Y)
    assert tacit.evaluate(model.rank(test.X, k=1), test.Y, ks=(1,))["P@1"] > 0.8
