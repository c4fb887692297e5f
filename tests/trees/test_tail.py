from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from scipy import sparse

from planted import planted
from tacit.numerics.rows import label_means, unit_rows
from tacit.trees import tail

BETA = 1.0


@pytest.fixture
def data():
    planted_data = planted(n_samples=80)
    return unit_rows(planted_data.X).astype(np.float64), planted_data.Y


def label(data, column):
    return data[1].toarray()[:, column] > 0


def test_the_mean_is_the_mean_of_the_positives(data):
    X, Y = data
    means = label_means(X, Y).toarray()
    for column in range(Y.shape[1]):
        assert means[column] == pytest.approx(X.toarray()[label(data, column)].mean(axis=0))


def test_a_label_without_positives_has_an_empty_centre(data):
    X, Y = data
    Y = Y.tolil()
    Y[:, 2] = 0
    Y = Y.tocsr()
    Y.eliminate_zeros()
    exact = tail.exact_centres(X, Y, np.full(Y.shape[1], 0.5), gamma=5, beta=BETA, n_largest=99, n_jobs=None)
    assert exact[2].nnz == label_means(X, Y)[2].nnz == 0


def test_the_likelihood_is_that_of_the_paper(data):
    X, _ = data
    is_positive, centre, p, gamma = label(data, 0), np.full(X.shape[1], 0.1), 0.6, 3.0
    v = 2.0 * np.exp(gamma / 2 * ((X.toarray() - centre) ** 2).sum(axis=1))
    y = is_positive.astype(float)
    expected = np.log((1 - y) + p * (2 * y - 1) / (1 + v)).sum()  # PfastreXML Eq. 43
    assert tail.likelihood(X, is_positive, centre, p, gamma, 2.0)[0] == pytest.approx(expected)


@pytest.mark.parametrize("propensity", [0.2, 0.9, 1.0])
def test_the_gradient_is_the_slope_of_the_likelihood(data, propensity):
    X, _ = data
    is_positive = label(data, 1)
    centre = np.random.default_rng(0).normal(scale=0.2, size=X.shape[1])
    _, gradient, _ = tail.likelihood(X, is_positive, centre, propensity, 4.0, BETA)
    for feature in range(X.shape[1]):
        step = np.zeros(X.shape[1])
        step[feature] = 1e-5
        up, down = (tail.likelihood(X, is_positive, centre + s * step, propensity, 4.0, BETA)[0] for s in (1, -1))
        assert gradient[feature] == pytest.approx((up - down) / 2e-5, rel=1e-4, abs=1e-5)


def test_the_ascent_never_falls_and_ends_where_the_gradient_vanishes(data, monkeypatch):
    X, _ = data
    is_positive, values = label(data, 0), []
    centre = X[is_positive].mean(axis=0)
    monkeypatch.setattr(tail, "_RELATIVE_GAIN", 0.0)
    for n_steps in (0, 1, 2, 5, 20, 200):
        monkeypatch.setattr(tail, "_ASCENTS", n_steps)
        likelihood_at = partial(tail.likelihood, X, is_positive, propensity=0.7, gamma=6.0, beta=BETA)
        found = tail.ascend(likelihood_at, np.asarray(centre).ravel())
        value, gradient, _ = likelihood_at(found)
        values.append(value)
    assert values == sorted(values)
    assert values[-1] > values[0]
    assert np.abs(gradient).max() < 1e-3


def test_the_mean_is_the_limit_of_the_exact_centre(data):
    X, Y = data
    propensities = np.full(Y.shape[1], 0.5)
    means = label_means(X, Y).toarray()
    distances = []
    for gamma in (5.0, 20.0, 80.0, 400.0):  # PfastreXML Eq. 48: γ grows
        exact = tail.exact_centres(X, Y, propensities, gamma=gamma, beta=BETA, n_largest=99, n_jobs=None)
        distances.append(np.abs(exact.toarray() - means).max())
    assert distances == sorted(distances, reverse=True)
    assert distances[-1] < 1e-3 < distances[0]


def test_the_length_of_a_mean_is_freed_of_what_few_samples_add_to_it():
    rng = np.random.default_rng(0)
    samples = rng.normal([2.0, 1.0, 0.0, 0.0], 1.0, size=(20_000, 4))
    samples /= np.linalg.norm(samples, axis=1, keepdims=True)
    true = float(np.square(samples.mean(axis=0)).sum())
    X, Y = sparse.csr_matrix(samples), sparse.csr_matrix(np.kron(np.eye(2_000), np.ones((10, 1))))
    means = label_means(X, Y)
    naive, freed = tail.squared_lengths(means).mean(), tail.unbiased_squares(means, X, Y).mean()
    assert abs(freed - true) < 0.2 * (naive - true)
    one = sparse.csr_matrix(np.eye(20_000, 1))
    assert tail.unbiased_squares(label_means(X, one), X, one) == pytest.approx([1.0])


def test_a_pruned_mean_is_freed_only_of_what_its_own_features_add():
    rng = np.random.default_rng(0)
    samples = rng.normal([2.0, 1.0, 0.0, 0.0], 1.0, size=(20_000, 4))
    samples /= np.linalg.norm(samples, axis=1, keepdims=True)
    X, Y = sparse.csr_matrix(samples), sparse.csr_matrix(np.kron(np.eye(2_000), np.ones((10, 1))))
    pruned = label_means(X, Y).multiply([1, 1, 0, 0]).tocsr()
    true, naive = float(np.square(samples.mean(axis=0)[:2]).sum()), tail.squared_lengths(pruned).mean()
    assert abs(tail.unbiased_squares(pruned, X, Y).mean() - true) < 0.2 * (naive - true)


def test_a_typical_sample_has_even_odds_by_default():
    squares, gamma = np.array([0.1, 0.5]), 7.0
    typical = 1 - squares  # mean of ‖x − μ‖² over samples with the mean μ
    for beta, expected in ((1.0, gamma / 2 * typical), (3.0, np.log(3) + gamma / 2 * typical), (None, np.zeros(2))):
        own = beta is None
        offsets = tail.offsets_with_own_odds(squares) if own else tail.offsets_with_odds(squares, beta, gamma)
        assert gamma / 2 * (offsets - 2 * squares) == pytest.approx(expected)  # where x·μ = ‖μ‖², as for a typical x


def test_compact_centres_are_by_feature():
    centres = sparse.csr_matrix(np.array([[0.5, 0.0, -0.3, 0.0], [0.0, 0.0, 0.0, 0.0], [0.0, 0.9, 0.4, 0.0]]))
    compact = tail.Centres.of(centres, tail.squared_lengths(centres))
    assert list(compact.starts) == [0, 1, 2, 4, 4]
    assert list(compact.labels) == [0, 2, 0, 2]
    values = compact.levels * compact.steps[compact.labels]
    assert values == pytest.approx([0.5, 0.9, -0.3, 0.4], abs=2e-3)
    assert compact.offsets == pytest.approx([0.34, 0, 0.97])
