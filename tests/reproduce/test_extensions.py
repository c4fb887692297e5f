"""The extensions that the ML-LCS paper names: EM never falls, and without an extension they are `LFM`."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

import tacit
from reproduce.mllcs.extensions import Variant, exposure_weights, fit, label_log_likelihoods

BASE = Variant(n_factors=6, n_sweeps=25)
EXPOSURE = Variant(n_factors=6, n_sweeps=25, exposure=(2.0, 2.0))
MIXTURE = Variant(n_factors=6, n_sweeps=25, n_components=3)
BOTH = Variant(n_factors=6, n_sweeps=25, n_components=2, exposure=(2.0, 2.0))


@pytest.fixture(scope="module")
def planted():
    """Two groups of samples, told apart by their features, in which the same features mean different labels."""
    rng = np.random.default_rng(0)
    group = rng.integers(2, size=200)
    topic = rng.integers(5, size=200)
    X = np.zeros((200, 7), np.float32)
    X[np.arange(200), topic] = 1
    X[np.arange(200), 5 + group] = 1
    Y = np.zeros((200, 10), np.float32)
    Y[np.arange(200), np.where(group, topic, 4 - topic)] = 1
    Y[np.arange(200), 5 + (topic + group) % 5] = 1
    return sparse.csr_matrix(X), sparse.csr_matrix(Y), group


@pytest.mark.parametrize("variant", [BASE, EXPOSURE, MIXTURE, BOTH], ids=["base", "exposure", "mixture", "both"])
@pytest.mark.parametrize("seed", [0, 1])
def test_the_objective_never_falls(planted, variant, seed):
    X, Y, _ = planted
    trace = fit(X, Y, variant, seed).trace
    assert len(trace) == variant.n_sweeps
    assert np.diff(trace).min() >= -1e-5 * abs(trace[-1])  # rounding of float32
    assert trace[-1] > trace[0] + 100


def test_one_component_without_exposure_is_lfm(planted):
    X, Y, _ = planted
    model = tacit.LFM(n_factors=6, n_sweeps=25, random_state=0).fit(X, Y)
    fitted = fit(X, Y, BASE, seed=0)
    dense = fitted.probabilities(X)
    ranking = model.rank(X, k=10)
    log_odds = np.take_along_axis(np.log(dense / (1 - dense)), ranking.labels, axis=1)
    np.testing.assert_allclose(log_odds, ranking.scores, atol=2e-3)
    assert (fitted.exposure == 1).all()
    assert (fitted.shares == 1).all()


def test_weights_are_the_posterior_of_exposure():
    xi = np.array([[-3.0, 0.0, 3.0, 50.0]])
    Y = np.array([[0.0, 0.0, 0.0, 1.0]])
    mu = np.array([0.2, 0.5, 0.9, 0.4])
    p = 1 / (1 + np.exp(-xi))
    expected = mu * (1 - p) / (mu * (1 - p) + 1 - mu)
    weights = exposure_weights(xi, Y, mu)
    np.testing.assert_allclose(weights[:, :3], expected[:, :3], rtol=1e-6)
    assert weights[0, 3] == 1
    assert ((weights >= 0) & (weights <= 1)).all()
    likelihood = np.log(mu * (1 - p) + 1 - mu)[:, :3].sum() + np.log(0.4)
    assert label_log_likelihoods(xi, Y, mu)[0] == pytest.approx(likelihood)


def test_hidden_positives_lower_the_exposure_of_their_label(planted):
    X, Y, _ = planted
    dense = Y.toarray()
    rows = np.flatnonzero(dense[:, 0])
    dense[rows[::2], 0] = 0
    fitted = fit(X, sparse.csr_matrix(dense), EXPOSURE, seed=0)
    assert ((fitted.exposure > 0) & (fitted.exposure < 1)).all()
    assert fitted.exposure[0] < fitted.exposure[1:].min()


def test_components_find_the_groups(planted):
    X, Y, group = planted
    fitted = fit(X, Y, Variant(n_factors=6, n_components=2, n_sweeps=25), seed=0)
    np.testing.assert_allclose(fitted.shares.sum(axis=1), 1)
    best = fitted.shares.argmax(axis=1)
    assert max(np.mean(best == group), np.mean(best != group)) > 0.9
    probabilities = fitted.probabilities(X)
    assert ((probabilities >= 0) & (probabilities <= 1)).all()
