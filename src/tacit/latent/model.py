"""The ML-LCS model: its observed data, its latent factors, and their joint likelihood.

A label of a sample is Bernoulli with log-odds ξ = uᵀv. A co-occurrence count is negative binomial with log-odds
γ = vᵀβ. The vectors v of the seen labels (type 1) are shared by both; vectors of type 2, β, exist for all labels. The
mean of u is Wᵀx.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from scipy import sparse

from tacit.arrays import Floats, Floats32, Ids, Ints32
from tacit.core.features import FeatureMatrix, Features
from tacit.latent.counts import Cooccurrence
from tacit.numerics.rows import row_of_entry
from tacit.store.declared import Array

_SMALL = np.float32(2e-3)  # below it, ω equals its limit in float32


@dataclass(frozen=True, eq=False)
class Counts:
    """Co-occurrence counts of seen labels (rows) with labels (columns), times their weight; 0 where unobserved."""

    values: Annotated[Floats32, Array("float32", ("n_seen", "n_counted"))]
    totals: Annotated[Floats32, Array("float32", ("n_seen", "n_counted"))]  # counts plus dispersion, m + r


def weighted_counts(cooccurrence: Cooccurrence, dispersion: float, weight: float, own: bool = False) -> Counts:
    """The counts as the model takes them.

    Differs from the paper: the count of a label with itself is left out unless `own`, so that seen labels are learned
    from the kind of counts that unseen labels have. All counts get a weight below 1, because they would otherwise
    outweigh the labels of samples. Log-likelihoods are homogeneous in (m, r), so a weight multiplies both.
    """
    values, observed = cooccurrence.dense()
    if not own:
        np.fill_diagonal(observed, 0)
    values *= observed
    return Counts(np.float32(weight) * values, np.float32(weight) * (values + np.float32(dispersion) * observed))


@dataclass(frozen=True, eq=False)
class Factors:
    """The latent vectors as rows of U (samples), V (seen labels) and B (all labels), and the map W."""

    U: Annotated[Floats32, Array("float32", ("", "n_factors"))]
    V: Annotated[Floats32, Array("float32", ("n_seen", "n_factors"))]
    B: Annotated[Floats32, Array("float32", ("n_counted", "n_factors"))]
    W: Annotated[Floats32, Array("float32", ("n_features+1", "n_factors"))]


@dataclass(frozen=True)
class Priors:
    """Precisions of the Gaussian priors."""

    u: float
    v: float
    beta: float
    w: float


@dataclass(frozen=True, eq=False)
class Spread:
    """Posterior variances of the coordinates of U, V and B (variational Bayes)."""

    U: Floats32
    V: Floats32
    B: Floats32


def polya_gamma_mean(psi: Floats) -> Floats:
    """E[ω] = tanh(ψ/2)/(2ψ) of PG(1, ψ), whose limit at 0 is 1/4 (ML-LCS Eq. 13)."""
    size = np.maximum(np.abs(psi), _SMALL)  # changes the mean by no more than rounding
    mean = np.negative(size)
    np.exp(mean, out=mean)  # tanh(ψ/2) = (1 − exp(−ψ)) / (1 + exp(−ψ)): NumPy's exp is vectorised
    below = mean + np.float32(1)
    below *= size
    np.subtract(np.float32(0.5), np.float32(0.5) * mean, out=mean)
    mean /= below
    return mean


def label_weights(xi: Floats, Y: sparse.csr_matrix, absent: str, variance: Floats | None = None) -> Floats:
    """Weights ω of a block of labels (ML-LCS Eq. 13), 0 for unknown ones.

    With a variance of ξ they are evaluated at √E[ξ²] (variational Bayes).
    """
    omega = polya_gamma_mean(xi if variance is None else np.sqrt(xi * xi + variance))
    if absent == "negative":
        return omega
    weights = np.zeros_like(omega)
    stored = stored_places(Y)
    weights[stored] = omega[stored]
    return weights


def label_slopes(xi: Floats, Y: sparse.csr_matrix, absent: str, omega: Floats) -> Floats:
    """Slopes κ − ωξ with κ = y − ½ of a block of labels; equal to y − σ(ξ) where ω is evaluated at ξ itself."""
    slope = omega * xi
    np.negative(slope, out=slope)
    stored = stored_places(Y)
    if absent == "negative":
        slope -= np.float32(0.5)
        slope[stored] += Y.data
    else:
        slope[stored] += Y.data - np.float32(0.5)
    return slope


def stored_places(Y: sparse.csr_matrix) -> tuple[Ids, Ints32]:
    """Rows and columns of the stored entries."""
    return row_of_entry(Y), Y.indices


def count_terms(V: Floats, B: Floats, counts: Counts, spread: Spread | None = None) -> tuple[Floats, Floats]:
    """Slope κ − τγ and weight τ (ML-LCS Eq. 14) of the counts, given variances of V and B or none."""
    variance = None if spread is None else product_variance(V, spread.V, B, spread.B)
    gamma = V @ B.T
    root = gamma if variance is None else np.sqrt(gamma * gamma + variance)
    # Differs from the paper: κ = m − b/2 = (m − r)/2 for b = m + r.
    kappa = counts.values - counts.totals / 2
    tau = counts.totals * polya_gamma_mean(root)
    return kappa - tau * gamma, tau


def product_variance(a: Floats, a_variance: Floats, b: Floats, b_variance: Floats) -> Floats:
    """Variances of all inner products of rows of two matrices with independent coordinates."""
    return np.asarray((a * a) @ b_variance.T + a_variance @ (b * b + b_variance).T)


def score_variance(factors: Factors, spread: Spread | None) -> Floats | None:
    """Variances of ξ, the scores of labels; None without variances of the factors."""
    return None if spread is None else product_variance(factors.U, spread.U, factors.V, spread.V)


def initial_factors(n_samples: int, n_features: int, n_seen: int, n_labels: int, K: int, seed: int | None) -> Factors:
    """Small random label factors; all other factors start at 0."""
    rng = np.random.default_rng(seed)
    scale = np.float32(1 / np.sqrt(K))
    V, B = (scale * rng.standard_normal((n, K), dtype=np.float32) for n in (n_seen, n_labels))
    U, W = (np.zeros((n, K), np.float32) for n in (n_samples, n_features))
    return Factors(U, V, B, W)


def with_constant(X: FeatureMatrix) -> FeatureMatrix:
    """X with a feature that is always 1, which gives sample factors a mean. Differs from the paper, which has none."""
    if isinstance(X, Features):
        return X.with_constant()
    return sparse.csr_matrix(sparse.hstack([X, np.ones((X.shape[0], 1), np.float32)], format="csr"), dtype=np.float32)
