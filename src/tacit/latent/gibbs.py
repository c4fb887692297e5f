"""Gibbs sampling for ML-LCS: Pólya-Gamma variables and Gaussian factors drawn in turn, for small problems.

Needs the extra ``gibbs``. A rotation of all factors leaves the model unchanged, so scores are averaged over draws and
factors never are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from scipy import linalg

from tacit.arrays import Floats, Floats32, Mask
from tacit.core.features import FeatureMatrix, gram_matrix
from tacit.errors import MissingExtraError
from tacit.latent.em import EMProblem, ridge_map
from tacit.latent.label_vectors import LabelVectors
from tacit.latent.model import Counts, Factors, stored_places
from tacit.store.declared import Array

_SAMPLES_AT_A_TIME = 512


@dataclass(frozen=True, eq=False)
class Draws:
    """Draws from the posterior: the regression weights, and the vectors of all labels."""

    W: Annotated[Floats32, Array("float32", ("n_draws", "n_features+1", "n_factors"))]
    V: Annotated[Floats32, Array("float32", ("n_draws", "n_labels", "n_factors"))]

    def mean_scores(self) -> LabelVectors:
        """The mean over draws of the scores of labels, which are linear in x."""
        scores = np.stack([W @ V.T for W, V in zip(self.W, self.V, strict=True)])
        means = scores.mean(axis=0, dtype=np.float64).astype(np.float32)
        return LabelVectors(means[:-1].copy(), means[-1].copy())

    def log_odds(self, X: FeatureMatrix) -> Floats32:
        """Scores of all labels by each draw."""
        return np.stack([(X @ W) @ V.T for W, V in zip(self.W, self.V, strict=True)])


def sample_posterior(
    problem: EMProblem, counts: Counts, start: Factors, is_seen: Mask, lambda_psi: float, steps: range, seed: int | None
) -> Draws:
    """Draw from the posterior at some steps, starting at probable factors.

    A linear Ψ of each draw gives the vectors of unseen labels.
    """
    sampler, rng = _sampler(), np.random.default_rng(seed)
    X, priors = problem.X, problem.priors
    labels = problem.Y.toarray()
    known = np.ones_like(labels)
    if problem.absent == "missing":
        known[:] = 0
        known[stored_places(problem.Y)] = 1
    kappa_y = (labels - 0.5) * known
    kappa_m = counts.values - counts.totals / 2
    U, V, B, W = (values.astype(np.float64) for values in (start.U, start.V, start.B, start.W))
    unit = np.eye(V.shape[1])
    kept = []
    for step in range(steps.stop):
        omega = known * sampler(1.0, U @ V.T, random_state=rng)
        U = _draw_rows(V, omega, kappa_y @ V + priors.u * (X @ W), priors.u * unit, rng)
        W = _draw_regression(X, U, priors.u, priors.w, rng)
        tau = _draw_counts(sampler, counts, V @ B.T, rng)
        factors, weights = np.vstack([U, B]), np.hstack([omega.T, tau])
        V = _draw_rows(factors, weights, kappa_y.T @ U + kappa_m @ B, priors.v * unit, rng)
        tau = _draw_counts(sampler, counts, V @ B.T, rng)
        B = _draw_rows(V, tau.T, kappa_m.T @ V, priors.beta * unit, rng)
        if step in steps:
            mapped = B @ ridge_map(B[: len(V)], V, lambda_psi)
            mapped[: len(V)][is_seen] = V[is_seen]
            kept.append((W, mapped))
    return Draws(*(np.stack(values).astype(np.float32) for values in zip(*kept, strict=True)))


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
    precision = lambda_u * gram_matrix(X).astype(np.float64)
    precision.flat[:: len(precision) + 1] += lambda_w
    root = linalg.cholesky(precision, lower=True)
    mean = linalg.cho_solve((root, True), lambda_u * (X.T @ U))
    noise = rng.standard_normal(mean.shape)
    return np.asarray(mean + linalg.solve_triangular(root, noise, lower=True, trans="T"))
