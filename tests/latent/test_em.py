"""EM climbs the penalised log-likelihood, whatever is observed, blocked or mapped."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from planted import planted
from reference import latent as reference
from tacit.latent import em
from tacit.latent.counts import read_cooccurrence
from tacit.latent.em import (
    EMProblem,
    initial_spread,
    label_precisions,
    sweep,
    train,
    types_of,
)
from tacit.latent.model import (
    Priors,
    count_terms,
    initial_factors,
    weighted_counts,
    with_constant,
)
from tacit.numerics.ridge import improving_solver

PRIORS = Priors(0.7, 1.3, 0.9, 0.6)
R = 5.0


def problem(n_samples=60, absent="negative", priors=PRIORS, unobserved=0.0, seed=0, n_seen=8, **options):
    X, Y = planted(n_samples, seed)
    X = with_constant(X)
    M = (Y.T @ Y).toarray()[:n_seen].astype(float)
    rng = np.random.default_rng(seed)
    M[rng.random(M.shape) < unobserved] = np.nan
    Y = Y[:, :n_seen].tocsr()
    if absent == "missing":
        known = sparse.csr_matrix(rng.random(Y.shape) < 0.5)
        Y = sparse.csr_matrix((np.asarray(Y[known.nonzero()]).ravel(), known.indices, known.indptr), shape=Y.shape)
    counts = weighted_counts(read_cooccurrence(M, n_seen), R, 0.5, own=True)
    return EMProblem(X, Y, counts, priors, improving_solver(X, priors.w / priors.u, 5), absent, **options), M


def start(of, K=5):
    n_seen, n_labels = of.counts.values.shape
    return initial_factors(*of.X.shape, n_seen, n_labels, K, 0)


def dense_labels(of):
    dense = of.Y.toarray()
    if of.absent == "missing":
        known = np.zeros(dense.shape, bool)
        known[np.repeat(np.arange(len(dense)), np.diff(of.Y.indptr)), of.Y.indices] = True
        dense[~known] = np.nan
    return dense


def objective(of, M, factors, spread=None):
    """The penalised log-likelihood, or with variances the bound on the evidence."""
    lambdas = (of.priors.u, of.priors.v, of.priors.beta, of.priors.w)
    data = (of.X.toarray(), dense_labels(of), M if of.counts is not None else np.full_like(M, np.nan), R)
    means = (factors.U, factors.V, factors.B)
    if spread is None:
        return reference.penalised_log_likelihood(*data, *means, factors.W, lambdas, weight=0.5)
    return reference.evidence_bound(*data, means, (spread.U, spread.V, spread.B), factors.W, lambdas, weight=0.5)


@pytest.mark.parametrize("absent", ["negative", "missing"])
@pytest.mark.parametrize(
    ("n_steps", "has_counts", "is_variational"),
    [(1, True, False), (3, True, False), (2, False, False), (2, True, True)],
)
def test_the_objective_never_falls(absent, n_steps, has_counts, is_variational):
    of, M = problem(absent=absent, unobserved=0.2, n_steps=n_steps)
    of = of if has_counts else replace(of, counts=None)
    factors = start(problem()[0], 6)
    spread, values = initial_spread(factors) if is_variational else None, []
    for _ in range(60):
        factors, spread = sweep(of, factors, spread)
        values.append(objective(of, M, factors, spread))
    assert (np.diff(values) >= -1e-6 * np.abs(values[1:])).all()
    assert values[-1] > values[0]
    if is_variational:
        assert spread.V.max() < 1 / PRIORS.v  # surer than the prior
        assert 0 < spread.B[8:].mean() <= 1 / PRIORS.beta


def test_precisions_are_those_of_the_data_and_the_prior():
    of, _ = problem()
    assert (1 / label_precisions(of, train(of, 6, 5, seed=1).factors) <= 1 / PRIORS.v).all()


def test_blocks_of_samples_give_the_same_factors(monkeypatch):
    of, _ = problem()
    whole, _ = sweep(of, start(of))
    monkeypatch.setattr(em, "_ENTRIES_PER_TASK", 100)
    for n_jobs in (1, 2):
        blocks, _ = sweep(replace(of, n_jobs=n_jobs), start(of))
        np.testing.assert_allclose(blocks.U, whole.U, atol=1e-5)
        np.testing.assert_allclose(blocks.V, whole.V, atol=1e-5)


def test_a_sweep_of_many_steps_solves_equation_16():
    of, _ = problem(n_steps=40)
    factors = start(of)
    factors = replace(factors, W=np.random.default_rng(3).normal(size=factors.W.shape).astype(np.float32))
    U = sweep(of, factors)[0].U
    omega = 0.25  # U starts at 0
    for n in (0, 7, 31):
        kappa = of.Y[n].toarray().ravel() - 0.5
        precision = omega * factors.V.T @ factors.V + PRIORS.u * np.eye(5)
        right = kappa @ factors.V + PRIORS.u * (of.X[n] @ factors.W).ravel()
        assert U[n] == pytest.approx(np.linalg.solve(precision, right), abs=1e-3)


def test_types_of_labels_solve_equation_18():
    of, _ = problem()
    V = start(of).V * 3
    B = types_of(V, of.counts, 0.9)
    slope, _ = count_terms(V, B, of.counts)
    np.testing.assert_allclose(slope.T @ V, 0.9 * B, atol=2e-2)
