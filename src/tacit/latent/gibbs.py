"""Gibbs sampling for ML-LCS: Pólya-Gamma variables and Gaussian factors drawn in turn, for small problems.

Needs the extra ``gibbs``. A rotation of all factors leaves the model unchanged, so scores are averaged over draws and
factors never are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from scipy import linalg

from tacit.arrays import Floats, Floats32
from tacit.core.features import gram_matrix
from tacit.errors import MissingExtraError, ParameterError
from tacit.latent.em import EMProblem, types_of
from tacit.latent.model import Counts, Factors
from tacit.numerics.rows import row_of_entry
from tacit.store.declared import Array

_SAMPLES_AT_A_TIME = 512
_TYPE_SWEEPS = 10  # from the most probable type-2 factors to draws


@dataclass(frozen=True, eq=False)
class Draws:
    """Draws from the posterior: the regression weights and the label factors of both types."""

    W: Annotated[Floats32, Array("float32", ("n_draws", "n_features+1", "n_factors"))]
    V: Annotated[Floats32, Array("float32", ("n_draws", "n_seen", "n_factors"))]
    B: Annotated[Floats32, Array("float32", ("n_draws", "n_counted", "n_factors"))]


def sample_posterior(
    problem: EMProblem, start: Factors, n_draws: int, n_burn_in: int, thin: int, seed: int | None
) -> Draws:
    """Draw from the posterior, starting at probable factors."""
    random_polyagamma = _sampler()
    if problem.counts is None:
        raise ParameterError("Gibbs sampling needs co-occurrence counts")
    rng = np.random.default_rng(seed)
    X, priors, counts = problem.X, problem.priors, problem.counts
    labels = problem.Y.toarray()
    known = np.ones_like(labels)
    if problem.absent == "missing":
        known[:] = 0
        known[row_of_entry(problem.Y), problem.Y.indices] = 1
    kappa_y = (labels - 0.5) * known
    kappa_m = counts.values - counts.totals / 2
    U, V, B, W = (values.astype(np.float64) for values in (start.U, start.V, start.B, start.W))
    unit = np.eye(V.shape[1])
    kept = []
    for step in range(n_burn_in + n_draws * thin):
        omega = known * random_polyagamma(1.0, U @ V.T, random_state=rng)
        U = _draw_rows(V, omega, kappa_y @ V + priors.u * (X @ W), priors.u * unit, rng)
        W = _draw_regression(X, U, priors.u, priors.w, rng)
        tau = _draw_counts(random_polyagamma, counts, V @ B.T, rng)
        factors, weights = np.vstack([U, B]), np.hstack([omega.T, tau])
        V = _draw_rows(factors, weights, kappa_y.T @ U + kappa_m @ B, priors.v * unit, rng)
        tau = _draw_counts(random_polyagamma, counts, V @ B.T, rng)
        B = _draw_rows(V, tau.T, kappa_m.T @ V, priors.beta * unit, rng)
        if step >= n_burn_in and (step - n_burn_in) % thin == 0:
            kept.append((W, V, B))
    return Draws(*(np.stack(values).astype(np.float32) for values in zip(*kept, strict=True)))


def draw_types(V: Floats32, counts: Counts, ridge: float, seed: int | None) -> Floats32:
    """For each draw of V, type-2 factors of labels that were not part of the model, given their counts."""
    sampler, rng = _sampler(), np.random.default_rng(seed)
    kappa, prior = counts.values - counts.totals / 2, ridge * np.eye(V.shape[2])
    drawn = []
    for factors in V:
        B = types_of(factors, counts, ridge).astype(np.float64)
        for _ in range(_TYPE_SWEEPS):
            tau = _draw_counts(sampler, counts, factors @ B.T, rng)
            B = _draw_rows(factors, tau.T, kappa.T @ factors, prior, rng)
        drawn.append(B)
    return np.stack(drawn).astype(np.float32)


def _sampler() -> Any:
    try:
        from polyagamma import random_polyagamma  # type: ignore[import-untyped]
    except ImportError as error:
        raise MissingExtraError("inference='gibbs'", "gibbs") from error
    return random_polyagamma


def _draw_counts(sampler: Any, counts: Counts, gamma: Floats, rng: np.random.Generator) -> Floats:
    """τ | γ ~ PG(m + r, γ); 0 for unobserved counts."""
    observed = counts.totals > 0
    tau = np.zeros(gamma.shape)
    tau[observed] = sampler(counts.totals[observed].astype(np.float64), gamma[observed], random_state=rng)
    return tau


def _draw_rows(factors: Floats, weights: Floats, right: Floats, prior: Floats, rng: np.random.Generator) -> Floats:
    """Rows from N(Σr, Σ), Σ⁻¹ = Σ_j w_ij f_j f_jᵀ + prior (ML-LCS Eq. 16 to 18 with draws in place of means)."""
    K = factors.shape[1]
    outer = np.einsum("ni,nj->nij", factors, factors).reshape(len(factors), K * K)
    result = np.empty(right.shape)
    for start in range(0, len(right), _SAMPLES_AT_A_TIME):
        rows = slice(start, start + _SAMPLES_AT_A_TIME)
        precision = (weights[rows] @ outer).reshape(-1, K, K) + prior
        root = np.linalg.cholesky(precision)
        mean = np.linalg.solve(precision, right[rows, :, None])
        noise = rng.standard_normal((len(mean), K, 1))
        result[rows] = (mean + np.linalg.solve(np.swapaxes(root, 1, 2), noise))[:, :, 0]
    return result


def _draw_regression(X: Any, U: Floats, lambda_u: float, lambda_w: float, rng: np.random.Generator) -> Floats:
    gram = X.T @ X if isinstance(X, np.ndarray) else gram_matrix(X)
    precision = lambda_u * gram.astype(np.float64)
    precision.flat[:: len(precision) + 1] += lambda_w
    root = linalg.cholesky(precision, lower=True)
    mean = linalg.cho_solve((root, True), lambda_u * (X.T @ U))
    noise = rng.standard_normal(mean.shape)
    return np.asarray(mean + linalg.solve_triangular(root, noise, lower=True, trans="T"))
