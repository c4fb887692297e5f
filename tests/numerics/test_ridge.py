from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from tacit.numerics import ridge
from tacit.numerics.ridge import conjugate_gradients, fit_regressor, ridge_solver

rng = np.random.default_rng(0)


def problem(n_samples, n_features):
    X = sparse.random(n_samples, n_features, 0.3, format="csr", random_state=1, dtype=np.float32)
    return X, rng.standard_normal((n_samples, 3)).astype(np.float32)


def closed_form(X, Z, ridge):
    X = X.toarray().astype(np.float64)
    return np.linalg.solve(X.T @ X + ridge * np.eye(X.shape[1]), X.T @ Z)


@pytest.mark.parametrize("shape", [(40, 9), (9, 40)])
def test_ridge_by_either_factorisation_is_the_closed_form(shape):
    X, Z = problem(*shape)
    assert ridge_solver(X, 0.5)(Z) == pytest.approx(closed_form(X, Z, 0.5), abs=1e-4)


@pytest.mark.parametrize("shape", [(40, 9), (9, 40)])
def test_conjugate_gradients_reach_the_closed_form(shape, monkeypatch):
    X, Z = problem(*shape)
    monkeypatch.setattr(ridge, "_CG_TOLERANCE", 1e-6)
    assert conjugate_gradients(X, Z, 0.5) == pytest.approx(closed_form(X, Z, 0.5), abs=1e-4)
    monkeypatch.setattr(ridge, "MAX_FACTOR", 3)
    assert fit_regressor(X, Z, 0.5) == pytest.approx(closed_form(X, Z, 0.5), abs=1e-4)
    empty = sparse.hstack([X, sparse.csr_matrix((shape[0], 1))], format="csr")
    assert not fit_regressor(empty, Z, 0.5)[-1].any()


def objective(X, Z, V, ridge, l1):
    predicted = X @ V
    return ((Z - predicted) ** 2).sum() + ridge * (V**2).sum() + l1 * np.abs(predicted).sum()


def test_admm_finds_a_minimum_of_the_penalised_objective(monkeypatch):
    X, Z = problem(30, 6)
    monkeypatch.setattr(ridge, "_ADMM_PASSES", 500)
    monkeypatch.setattr(ridge, "_ADMM_TOLERANCE", 1e-7)
    V = fit_regressor(X, Z, 0.5, l1=0.8).astype(np.float64)
    least = objective(X, Z, V, 0.5, 0.8)
    assert least < objective(X, Z, fit_regressor(X, Z, 0.5), 0.5, 0.8)
    for _ in range(50):
        assert objective(X, Z, V + 1e-2 * rng.standard_normal(V.shape), 0.5, 0.8) > least
