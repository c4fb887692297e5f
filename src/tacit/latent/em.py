"""Pólya-Gamma EM for ML-LCS: every step is a weighted least-squares problem, climbed by conjugate gradients.

Exact solves (ML-LCS Eq. 16 to 18) need a K × K matrix per sample. A few preconditioned conjugate-gradient steps
need only matrix products, each raises the bound that EM climbs, and the next sweep takes over where they stop.
Samples come in blocks, so that N × L is never held whole.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from tacit.latent.climb import Eigen, Precondition, climb_rows, eigen, preconditioner, row_dots, step_sizes
from tacit.latent.model import (
    Counts,
    Factors,
    Floats,
    Floats32,
    Priors,
    Spread,
    count_terms,
    divergence,
    label_likelihood,
    label_slopes,
    label_weights,
    log_prior,
    product_variance,
)
from tacit.tasks import row_blocks, run_tasks

_ENTRIES_PER_TASK = 2**19  # of N × L, held at a time
_TYPE_SWEEPS = 30  # for type-2 factors on their own


@dataclass(frozen=True, eq=False)
class RowsResult:
    """What a block of samples gives: its new factors, and its share of the sums over samples."""

    U: Floats32
    spread: Floats32
    slope: Floats32
    gram: Floats32
    weights: npt.NDArray[np.float64]
    likelihood: float


@dataclass(frozen=True, eq=False)
class LabelSpread:
    """Weighted sums over samples for every label: of their variances, and of their expected squares."""

    own: Floats32
    precision: Floats32


@dataclass(frozen=True, eq=False)
class Problem:
    """The data of one training and how it is to be solved."""

    X: sparse.csr_matrix
    Y: sparse.csr_matrix
    counts: Counts | None
    priors: Priors
    regress: Callable[[Floats, Floats], Floats]
    absent: str = "negative"
    n_steps: int = 2
    n_jobs: int | None = None

    def over_rows(self, function: Any, **shared: Any) -> list[Any]:
        """Results of a function of blocks of samples."""
        size = max(1, _ENTRIES_PER_TASK // max(1, self.Y.shape[1]))
        blocks = [
            {"X": self.X[start:stop], "Y": self.Y[start:stop], "U": U}
            for (start, stop), U in _with_blocks(shared.pop("U"), row_blocks(self.X.shape[0], size))
        ]
        if len(blocks) == 1:  # a task has its price, and small data many sweeps
            return [function(**blocks[0], absent=self.absent, **shared)]
        shared["absent"] = self.absent
        return run_tasks(function, blocks, n_jobs=self.n_jobs, what="blocks of samples", keep=False, **shared)


def _with_blocks(U: Floats, blocks: list[tuple[int, int]]) -> list[tuple[tuple[int, int], Floats]]:
    return [(block, U[slice(*block)]) for block in blocks]


def sweep(problem: Problem, factors: Factors, spread: Spread | None = None) -> tuple[Factors, Spread | None, float]:
    """One sweep over all factors.

    Also the penalised log-likelihood on the way, before label factors move; with variances (variational Bayes) it is
    the lower bound on the evidence, up to a constant.
    """
    priors, n_seen = problem.priors, len(factors.V)
    shared = {"V": factors.V, "W": factors.W, "ridge": priors.u, "n_steps": problem.n_steps}
    shared["gram"] = eigen(factors.V.T @ factors.V)
    shared["spread"] = None if spread is None else spread.V
    stacked = factors.U if spread is None else np.hstack([factors.U, spread.U])
    parts = problem.over_rows(climb_samples, U=stacked, **shared)
    U = np.concatenate([part.U for part in parts])
    factors = replace(factors, U=U, W=problem.regress(U, factors.W))
    if spread is not None:
        spread = replace(spread, U=np.concatenate([part.spread for part in parts]))
    objective = sum(part.likelihood for part in parts) + log_prior(factors, problem.X, priors)
    if spread is not None:
        objective -= divergence(spread, factors, priors)
    slope = np.sum([part.slope for part in parts], axis=0)
    slope -= np.float32(priors.v) * (factors.V - factors.B[:n_seen] @ factors.Psi)
    gram = np.sum([part.gram for part in parts], axis=0)
    weights = np.sum([part.weights for part in parts], axis=0) / len(U)
    tau: Floats | None = None
    if problem.counts is not None:
        count_slope, tau, likelihood = count_terms(
            factors.V, factors.B, problem.counts, _count_variance(factors, spread)
        )
        objective += likelihood
        slope += count_slope @ factors.B
        gram, weights = _joined_grams(gram, weights, factors.B.T @ factors.B, tau.mean(axis=1, dtype=np.float64))
    factors, spread = _move_labels(problem, factors, spread, slope, preconditioner(eigen(gram), weights, priors.v), tau)
    return *climb_types(problem, factors, spread), objective


def _count_variance(factors: Factors, spread: Spread | None) -> Floats | None:
    return None if spread is None else product_variance(factors.V, spread.V, factors.B, spread.B)


def _move_labels(
    problem: Problem,
    factors: Factors,
    spread: Spread | None,
    slope: Floats,
    precondition: Precondition,
    tau: Floats | None,
) -> tuple[Factors, Spread | None]:
    """One step of the factors of seen labels, as long as is best (ML-LCS Eq. 17)."""
    V, priors = factors.V, problem.priors
    diagonal = np.full_like(V, priors.v)
    stacked = factors.U if spread is None else np.hstack([factors.U, spread.U])
    old = None if spread is None else spread.V  # the weights of the bound are taken there
    if spread is not None:  # what the variance of samples and types adds to the weighted squares
        sums = problem.over_rows(label_spreads, U=stacked, V=V, spread=old)
        own = np.sum([part.own for part in sums], axis=0)
        precision = np.sum([part.precision for part in sums], axis=0) + np.float32(priors.v)
        if tau is not None:
            own += tau @ spread.B
            precision += tau @ (factors.B**2 + spread.B)
        slope = slope - own * V
        diagonal += own
        spread = replace(spread, V=1 / precision)
    direction = precondition(slope)
    curvature = np.sum(problem.over_rows(label_curvatures, U=stacked, V=V, direction=direction, spread=old), axis=0)
    curvature += row_dots(diagonal * direction, direction)
    if tau is not None:
        curvature += row_dots(tau, (direction @ factors.B.T) ** 2)
    size = step_sizes(row_dots(slope, direction).astype(np.float64), curvature)[:, None]
    return replace(factors, V=V + size.astype(np.float32) * direction), spread


def climb_samples(
    X: sparse.csr_matrix,
    Y: sparse.csr_matrix,
    U: Floats,
    V: Floats,
    W: Floats,
    gram: Eigen,
    ridge: float,
    n_steps: int,
    absent: str,
    spread: Floats | None = None,
) -> RowsResult:
    """Climb the factors of some samples (ML-LCS Eq. 16), then sum up what the labels need."""
    U, own = _split_spread(U, spread)
    variance = None if spread is None else product_variance(U, own, V, spread)
    xi = U @ V.T
    omega = label_weights(xi, Y, absent, variance)
    diagonal: Floats | float = ridge
    residual = label_slopes(xi, Y, absent, omega) @ V + np.float32(ridge) * (X @ W - U)
    if spread is not None:
        from_labels = omega @ spread
        diagonal = np.float32(ridge) + from_labels
        residual -= from_labels * U
        own = 1 / (np.float32(ridge) + omega @ (V * V + spread))
    precondition = preconditioner(gram, omega.mean(axis=1, dtype=np.float64), ridge)
    change, image = climb_rows(residual, precondition, V, omega, diagonal, n_steps)
    U = U + change
    variance = None if spread is None else product_variance(U, own, V, spread)
    xi += image
    omega = label_weights(xi, Y, absent, variance)
    slope = label_slopes(xi, Y, absent, omega).T @ U
    likelihood = label_likelihood(xi, Y, absent, variance)
    return RowsResult(U, own, slope, U.T @ U, omega.sum(axis=0, dtype=np.float64), likelihood)


def _split_spread(stacked: Floats, spread: Floats | None) -> tuple[Floats, Floats]:
    """Means and variances of sample factors, which travel side by side."""
    if spread is None:
        return stacked, stacked[:, :0]
    K = stacked.shape[1] // 2
    return stacked[:, :K], stacked[:, K:]


def label_curvatures(
    X: sparse.csr_matrix,  # noqa: ARG001
    Y: sparse.csr_matrix,
    U: Floats,
    V: Floats,
    direction: Floats,
    absent: str,
    spread: Floats | None = None,
) -> npt.NDArray[np.float64]:
    """Second derivative of the bound along a direction of every label, from some samples."""
    U, own = _split_spread(U, spread)
    variance = None if spread is None else product_variance(U, own, V, spread)
    omega = label_weights(U @ V.T, Y, absent, variance)
    change = U @ direction.T
    change *= change
    return np.asarray(np.einsum("ij,ij->j", omega, change), dtype=np.float64)


def label_spreads(
    X: sparse.csr_matrix,  # noqa: ARG001
    Y: sparse.csr_matrix,
    U: Floats,
    V: Floats,
    absent: str,
    spread: Floats,
) -> LabelSpread:
    """What the precision of label factors gets from some samples, and how much of it from their variance."""
    U, own = _split_spread(U, spread)
    omega = label_weights(U @ V.T, Y, absent, product_variance(U, own, V, spread))
    return LabelSpread(omega.T @ own, omega.T @ (U * U + own))


def label_precisions(problem: Problem, factors: Factors) -> Floats32:
    """Diagonals of the precision of seen label factors, all else known."""
    stacked = np.hstack([factors.U, np.zeros_like(factors.U)])
    parts = problem.over_rows(label_spreads, U=stacked, V=factors.V, spread=np.zeros_like(factors.V))
    precisions = np.sum([part.precision for part in parts], axis=0) + np.float32(problem.priors.v)
    if problem.counts is not None:
        precisions += count_terms(factors.V, factors.B, problem.counts)[1] @ factors.B**2
    return np.asarray(precisions, dtype=np.float32)


def _joined_grams(
    first: Floats, first_weights: Floats, second: Floats, second_weights: Floats
) -> tuple[Floats, Floats]:
    """One matrix, and a scale of it for each label, for two sums of weighted outer products."""
    first_mean, second_mean = first_weights.mean() or 1.0, second_weights.mean() or 1.0
    first, second = first_mean * first, second_mean * second
    first_share = np.trace(first) / max(np.trace(first) + np.trace(second), np.finfo(np.float64).tiny)
    scales = first_share * first_weights / first_mean + (1 - first_share) * second_weights / second_mean
    return first + second, scales


def climb_types(problem: Problem, factors: Factors, spread: Spread | None) -> tuple[Factors, Spread | None]:
    """Type-2 factors of all labels (ML-LCS Eq. 18), and Ψ where it is part of the model."""
    counts, priors, V = problem.counts, problem.priors, factors.V
    if counts is None:
        return factors, spread
    n_seen = len(V)
    slope, tau, _ = count_terms(V, factors.B, counts, _count_variance(factors, spread))
    residual = slope.T @ V - np.float32(priors.beta) * factors.B
    diagonal = np.full_like(factors.B, priors.beta)
    if spread is not None:
        own = tau.T @ spread.V
        residual -= own * factors.B
        diagonal += own
        precision = np.float32(priors.beta) + tau.T @ (V * V + spread.V)
        if priors.psi is not None:
            precision[:n_seen] += np.float32(priors.v) * (factors.Psi**2).sum(axis=1)
        spread = replace(spread, B=1 / precision)
    seen, unseen = slice(n_seen), slice(n_seen, None)
    extra = None
    if priors.psi is not None:
        residual[seen] += np.float32(priors.v) * (V - factors.B[seen] @ factors.Psi) @ factors.Psi.T
        extra = np.float32(priors.v) * factors.Psi @ factors.Psi.T
    gram = eigen(V.T @ V)
    B = factors.B.copy()
    for rows, shared in ((seen, extra), (unseen, None)):
        precondition = preconditioner(gram, tau[:, rows].mean(axis=0, dtype=np.float64), priors.beta)
        weights = np.ascontiguousarray(tau[:, rows].T)
        B[rows] += climb_rows(residual[rows], precondition, V, weights, diagonal[rows], problem.n_steps, shared)[0]
    Psi = factors.Psi
    if priors.psi is not None:
        unsure = 0.0 if spread is None else spread.B[seen].sum(axis=0, dtype=np.float64)
        Psi = ridge_map(B[seen], V, priors.psi / priors.v + unsure)
    return replace(factors, B=B, Psi=Psi), spread


def ridge_map(inputs: Floats, outputs: Floats, ridge: Floats | float) -> Floats32:
    """The linear map of least squares with a ridge, of all inputs or of each (ML-LCS Eq. 20)."""
    gram = inputs.T.astype(np.float64) @ inputs
    gram.flat[:: len(gram) + 1] += ridge
    return np.linalg.solve(gram, inputs.T.astype(np.float64) @ outputs).astype(np.float32)


def types_of(V: Floats, counts: Counts, ridge: float) -> Floats32:
    """Type-2 factors of labels on their own, from their counts with the seen labels."""
    B = np.zeros((counts.values.shape[1], V.shape[1]), np.float32)
    gram = eigen(V.T @ V)
    for _ in range(_TYPE_SWEEPS):
        slope, tau, _ = count_terms(V, B, counts)
        precondition = preconditioner(gram, tau.mean(axis=0, dtype=np.float64), ridge)
        B = B + climb_rows(slope.T @ V - np.float32(ridge) * B, precondition, V, tau.T, ridge, 2)[0]
    return B.astype(np.float32)
