"""Pólya-Gamma EM for ML-LCS: every step is a weighted least-squares problem, improved by conjugate gradients.

Exact solves (ML-LCS Eq. 16 to 18) need a K × K matrix per sample. A few preconditioned conjugate-gradient steps need
only matrix products. Each step raises the bound that EM maximises, and the next sweep continues where they stop.
Samples are processed in blocks, so that N × L is never held whole.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from tacit.arrays import Floats, Floats32, Floats64
from tacit.latent.model import (
    Counts,
    Factors,
    Priors,
    Spread,
    count_terms,
    initial_factors,
    label_slopes,
    label_weights,
    score_variance,
)
from tacit.numerics.ridge import ratio
from tacit.runtime.tasks import row_blocks, run_tasks

_ENTRIES_PER_TASK = 2**19  # of N × L, held at a time
_TYPE_SWEEPS = 30  # for type-2 factors on their own
_SWEEPS_PER_TASK = 20  # after which a checkpoint is written
_VARIATIONAL_SWEEPS = 10
_NO_VARIANCE = 1e-6

Eigen = tuple[Floats, Floats]
Precondition = Callable[[Floats], Floats]


# -- conjugate gradients, one problem for each row of a matrix --------------------------------------------


def row_dots(a: Floats, b: Floats) -> Floats:
    """Inner products of the rows of two matrices."""
    return np.asarray(np.einsum("ij,ij->i", a, b))


def eigen(gram: Floats) -> Eigen:
    """Eigenvalues and eigenvectors of a Gram matrix."""
    values, vectors = np.linalg.eigh(gram.astype(np.float64))
    return np.maximum(values, 0), vectors.astype(np.float32)


def preconditioner(gram: Eigen, scales: Floats, ridge: float) -> Precondition:
    """A function that applies (scale · gram + ridge I)⁻¹ to each row, with a scale for each."""
    values, vectors = gram
    inverse = (1 / (np.outer(scales, values) + ridge)).astype(np.float32)
    return lambda rows: ((rows @ vectors) * inverse) @ vectors.T


def climb_rows(
    residual: Floats, precondition: Precondition, factors: Floats, weights: Floats, ridge: Floats | float, n_steps: int
) -> tuple[Floats, Floats]:
    """Steps towards the minimum of ½ Σ_j w_ij (d_i·f_j)² + ½ Σ_k ridge_ik d_ik² − residual_i·d_i for every row i.

    Every step lowers it, so a few are enough for an EM sweep. `residual` (n, K) is overwritten, `precondition` is an
    approximate inverse, `factors` (m, K) are the rows f_j, `weights` (n, m) the w_ij, and `ridge` may be (n, K).
    Returns the changes d, and d·f of every row with every factor.
    """
    penalty = np.asarray(ridge, np.float32)
    direction = precondition(residual)
    gain = row_dots(residual, direction)
    total = np.zeros_like(residual)
    total_image = np.zeros_like(weights)
    for step in range(n_steps):
        image = direction @ factors.T
        weighted = weights * image
        shared = penalty * direction
        size = ratio(gain, row_dots(weighted, image) + row_dots(shared, direction))[:, None]
        total += size * direction
        image *= size
        total_image += image
        if step + 1 < n_steps:
            residual -= size * (weighted @ factors + shared)
            improved = precondition(residual)
            previous, gain = gain, row_dots(residual, improved)
            direction = improved + ratio(gain, previous)[:, None] * direction
    return total, total_image


# -- the data and a whole training run --------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class EMProblem:
    """The data of a training run, its priors and the options of the solver."""

    X: sparse.csr_matrix
    Y: sparse.csr_matrix
    counts: Counts | None
    priors: Priors
    regress: Callable[[Floats, Floats], Floats] = lambda _, W: W  # from U and the last W to the next W
    absent: str = "negative"
    n_steps: int = 2
    n_jobs: int | None = None

    def over_rows(
        self, function: Callable[..., Any], factors: Factors, spread: Spread | None, **shared: Any
    ) -> list[Any]:
        """Results of a function of problem, factors and variances for blocks of samples."""
        blocks = row_blocks(self.Y.shape[0], max(1, _ENTRIES_PER_TASK // max(1, self.Y.shape[1])))
        if len(blocks) == 1:  # without the overhead of a task: small data have many sweeps
            return [function(self, factors, spread, **shared)]
        tasks = [
            {
                "problem": replace(self, X=self.X[start:stop], Y=self.Y[start:stop]),
                "factors": replace(factors, U=factors.U[start:stop]),
                "spread": spread and replace(spread, U=spread.U[start:stop]),
            }
            for start, stop in blocks
        ]
        return run_tasks(function, tasks, n_jobs=self.n_jobs, what="blocks of samples", keep=False, **shared)


@dataclass(frozen=True, eq=False)
class Trained:
    """Factors after some sweeps, and their variances."""

    factors: Factors
    spread: Spread | None


def train(problem: EMProblem, n_factors: int, n_sweeps: int, seed: int | None, variational: bool = False) -> Trained:
    """Run EM from random label factors; variational Bayes then continues where EM ends."""
    n_seen = problem.Y.shape[1]
    n_labels = n_seen if problem.counts is None else problem.counts.values.shape[1]
    n_samples, n_features = problem.X.shape
    factors = initial_factors(n_samples, n_features, n_seen, n_labels, n_factors, seed)
    spread = None
    rounds = row_blocks(n_sweeps, _SWEEPS_PER_TASK)
    if variational:
        rounds.append((n_sweeps, n_sweeps + _VARIATIONAL_SWEEPS))
    for start, stop in rounds:
        if start == n_sweeps:
            spread = initial_spread(factors)
        task = {"problem": problem, "start": factors, "spread": spread, "n_sweeps": stop - start}
        done = run_tasks(_sweeps, [task], n_jobs=1, what="sweeps")[0]
        factors, spread = done.factors, done.spread
    return Trained(factors, spread)


def _sweeps(problem: EMProblem, start: Factors, spread: Spread | None, n_sweeps: int) -> Trained:
    factors = start
    for _ in range(n_sweeps):
        factors, spread = sweep(problem, factors, spread)
    arrays = (factors.U, factors.V, factors.B, factors.W)
    in_order = Factors(*map(np.ascontiguousarray, arrays))  # as a checkpoint returns them, for the same rounding
    return Trained(in_order, spread)


def initial_spread(factors: Factors) -> Spread:
    """Variances close to 0; sweeps raise them to those of the posterior."""
    return Spread(*(np.full_like(values, _NO_VARIANCE) for values in (factors.U, factors.V, factors.B)))


# -- one sweep --------------------------------------------------------------------------------------------


def sweep(problem: EMProblem, factors: Factors, spread: Spread | None = None) -> tuple[Factors, Spread | None]:
    """One sweep over all factors, which never lowers the penalised log-likelihood.

    With variances (variational Bayes) it never lowers the bound on the evidence.
    """
    priors, V = problem.priors, factors.V
    parts = problem.over_rows(climb_samples, factors, spread, gram=eigen(V.T @ V))
    U = np.concatenate([part.U for part in parts])
    factors = replace(factors, U=U, W=problem.regress(U, factors.W))
    slope, sample_gram, weights, *variances = _totals([part.sums for part in parts])
    if spread is not None:
        spread = replace(spread, U=np.concatenate([part.spread for part in parts]))
    slope -= np.float32(priors.v) * V
    weights = weights / len(U)
    tau: Floats | None = None
    if problem.counts is not None:
        count_slope, tau = count_terms(V, factors.B, problem.counts, spread)
        slope += count_slope @ factors.B
        type_weights = tau.mean(axis=1, dtype=np.float64)
        sample_gram, weights = _joined_grams(sample_gram, weights, factors.B.T @ factors.B, type_weights)
    precondition = preconditioner(eigen(sample_gram), weights, priors.v)
    factors, spread = _move_labels(problem, factors, spread, slope, precondition, tau, variances)
    return climb_types(problem, factors, spread)


def _totals(parts: Sequence[Sequence[Floats]]) -> list[Floats]:
    return [np.sum(arrays, axis=0) for arrays in zip(*parts, strict=True)]


class RowsResult(NamedTuple):
    """The new factors of a block of samples, their variances, and its contribution to the sums over samples."""

    U: Floats32
    spread: Floats32 | None
    sums: tuple[Floats, ...]  # slopes of labels, UᵀU, weights of labels; with variances, these and squares, weighted


def climb_samples(problem: EMProblem, factors: Factors, spread: Spread | None, gram: Eigen) -> RowsResult:
    """Improve the factors of some samples (ML-LCS Eq. 16), then compute the sums that the labels need."""
    Y, absent, ridge, U, V = problem.Y, problem.absent, problem.priors.u, factors.U, factors.V
    xi = U @ V.T
    omega = label_weights(xi, Y, absent, score_variance(factors, spread))
    diagonal: Floats | float = ridge
    residual = label_slopes(xi, Y, absent, omega) @ V + np.float32(ridge) * (problem.X @ factors.W - U)
    if spread is not None:
        from_labels = omega @ spread.V
        diagonal = np.float32(ridge) + from_labels
        residual -= from_labels * U
        spread = replace(spread, U=1 / (np.float32(ridge) + omega @ (V * V + spread.V)))
    precondition = preconditioner(gram, omega.mean(axis=1, dtype=np.float64), ridge)
    change, image = climb_rows(residual, precondition, V, omega, diagonal, problem.n_steps)
    U = U + change
    xi += image
    omega = label_weights(xi, Y, absent, score_variance(replace(factors, U=U), spread))
    sums: tuple[Floats, ...] = label_slopes(xi, Y, absent, omega).T @ U, U.T @ U, omega.sum(axis=0, dtype=np.float64)
    if spread is not None:
        sums += (omega.T @ spread.U, omega.T @ (U * U + spread.U))
    own = None if spread is None else spread.U
    return RowsResult(U, own, sums)


def _joined_grams(
    first: Floats, first_weights: Floats, second: Floats, second_weights: Floats
) -> tuple[Floats, Floats]:
    """One matrix, with a scale for each label, that stands for two sums of weighted outer products."""
    first_mean, second_mean = first_weights.mean() or 1.0, second_weights.mean() or 1.0
    first, second = first_mean * first, second_mean * second
    first_share = np.trace(first) / max(np.trace(first) + np.trace(second), np.finfo(np.float64).tiny)
    scales = first_share * first_weights / first_mean + (1 - first_share) * second_weights / second_mean
    return first + second, scales


def _move_labels(
    problem: EMProblem,
    factors: Factors,
    spread: Spread | None,
    slope: Floats,
    precondition: Precondition,
    tau: Floats | None,
    variances: Sequence[Floats],
) -> tuple[Factors, Spread | None]:
    """One step of the factors of seen labels, of the best length (ML-LCS Eq. 17).

    `variances` are the weighted sums of variances and of expected squares of sample factors, if there are any.
    """
    V, B, priors = factors.V, factors.B, problem.priors
    diagonal, moved = np.full_like(V, priors.v), spread
    if spread is not None and tau is not None:  # the variances of samples and types add to the weighted squares
        own = variances[0] + tau @ spread.B
        slope = slope - own * V
        diagonal += own
        moved = replace(spread, V=1 / (variances[1] + np.float32(priors.v) + tau @ (B**2 + spread.B)))
    direction = precondition(slope)
    # The weights of the bound are those at the old variances.
    curvature = np.sum(problem.over_rows(label_curvatures, factors, spread, direction=direction), axis=0)
    curvature += row_dots(diagonal * direction, direction)
    if tau is not None:
        curvature += row_dots(tau, (direction @ B.T) ** 2)
    size = ratio(row_dots(slope, direction).astype(np.float64), curvature)[:, None]
    return replace(factors, V=V + size.astype(np.float32) * direction), moved


def _weights(problem: EMProblem, factors: Factors, spread: Spread | None) -> Floats:
    return label_weights(factors.U @ factors.V.T, problem.Y, problem.absent, score_variance(factors, spread))


def label_curvatures(problem: EMProblem, factors: Factors, spread: Spread | None, direction: Floats) -> Floats64:
    """The second derivative of the bound along a direction of every label, from some samples."""
    change = factors.U @ direction.T
    change *= change
    return np.asarray(np.einsum("ij,ij->j", _weights(problem, factors, spread), change), dtype=np.float64)


def label_squares(problem: EMProblem, factors: Factors, spread: Spread | None) -> Floats32:
    """Weighted sums over some samples of the squared factors, for every label."""
    return np.asarray(_weights(problem, factors, spread).T @ (factors.U * factors.U))


def label_precisions(problem: EMProblem, factors: Factors) -> Floats32:
    """Diagonals of the precision of seen label factors, given all other factors."""
    parts = problem.over_rows(label_squares, factors, None)
    precisions = np.sum(parts, axis=0) + np.float32(problem.priors.v)
    if problem.counts is not None:
        precisions += count_terms(factors.V, factors.B, problem.counts)[1] @ factors.B**2
    return np.asarray(precisions, dtype=np.float32)


def climb_types(problem: EMProblem, factors: Factors, spread: Spread | None) -> tuple[Factors, Spread | None]:
    """Improve the type-2 factors of all labels (ML-LCS Eq. 18)."""
    counts, priors, V = problem.counts, problem.priors, factors.V
    if counts is None:
        return factors, spread
    slope, tau = count_terms(V, factors.B, counts, spread)
    residual = slope.T @ V - np.float32(priors.beta) * factors.B
    diagonal = np.full_like(factors.B, priors.beta)
    if spread is not None:
        own = tau.T @ spread.V
        residual -= own * factors.B
        diagonal += own
        spread = replace(spread, B=1 / (np.float32(priors.beta) + tau.T @ (V * V + spread.V)))
    gram, B = eigen(V.T @ V), factors.B.copy()
    for rows in (slice(len(V)), slice(len(V), None)):  # seen labels, then unseen ones
        precondition = preconditioner(gram, tau[:, rows].mean(axis=0, dtype=np.float64), priors.beta)
        weights = np.ascontiguousarray(tau[:, rows].T)
        B[rows] += climb_rows(residual[rows], precondition, V, weights, diagonal[rows], problem.n_steps)[0]
    return replace(factors, B=B), spread


def ridge_map(inputs: Floats, outputs: Floats, ridge: float) -> Floats32:
    """Ψ as ridge regression (ML-LCS Eq. 8 and 20): from type-2 factors of labels to those of type 1."""
    gram = inputs.T.astype(np.float64) @ inputs
    gram.flat[:: len(gram) + 1] += ridge
    return np.linalg.solve(gram, inputs.T.astype(np.float64) @ outputs).astype(np.float32)


def types_of(V: Floats, counts: Counts, ridge: float) -> Floats32:
    """Type-2 factors of labels on their own, from their counts with the seen labels."""
    B = np.zeros((counts.values.shape[1], V.shape[1]), np.float32)
    gram = eigen(V.T @ V)
    for _ in range(_TYPE_SWEEPS):
        slope, tau = count_terms(V, B, counts)
        precondition = preconditioner(gram, tau.mean(axis=0, dtype=np.float64), ridge)
        B = B + climb_rows(slope.T @ V - np.float32(ridge) * B, precondition, V, tau.T, ridge, 2)[0]
    return B.astype(np.float32)
