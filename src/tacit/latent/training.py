"""Sweeps of EM until the end, kept in a checkpoint every few."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import sparse

from tacit.latent.em import Problem, sweep
from tacit.latent.model import Factors, Spread, initial_factors
from tacit.latent.vectors import LabelVectors
from tacit.tasks import row_blocks, run_tasks

_SWEEPS_PER_TASK = 20
_VARIATIONAL_SWEEPS = 10
_NO_VARIANCE = 1e-6


@dataclass(frozen=True, eq=False)
class Trained:
    """Factors after some sweeps, and the penalised log-likelihood during each."""

    factors: Factors
    spread: Spread | None
    trace: npt.NDArray[np.float64]


def train(problem: Problem, n_factors: int, n_sweeps: int, seed: int | None, variational: bool = False) -> Trained:
    """Run EM from random label factors; variational Bayes then takes over where it ends."""
    n_seen = problem.Y.shape[1]
    n_labels = n_seen if problem.counts is None else problem.counts.values.shape[1]
    n_samples, n_features = problem.X.shape
    factors = initial_factors(n_samples, n_features, n_seen, n_labels, n_factors, seed)
    spread = None
    traces = []
    rounds = row_blocks(n_sweeps, _SWEEPS_PER_TASK)
    if variational:
        rounds.append((n_sweeps, n_sweeps + _VARIATIONAL_SWEEPS))
    for start, stop in rounds:
        if start == n_sweeps:
            spread = initial_spread(factors)
        task = {"problem": problem, "start": factors, "spread": spread, "n_sweeps": stop - start}
        done = run_tasks(_sweeps, [task], n_jobs=1, what="sweeps")[0]
        factors, spread = done.factors, done.spread
        traces.append(done.trace)
    return Trained(factors, spread, np.concatenate(traces))


def _sweeps(problem: Problem, start: Factors, spread: Spread | None, n_sweeps: int) -> Trained:
    trace = np.empty(n_sweeps)
    factors = start
    for i in range(n_sweeps):
        factors, spread, trace[i] = sweep(problem, factors, spread)
    arrays = (factors.U, factors.V, factors.B, factors.W, factors.Psi)
    in_order = Factors(*map(np.ascontiguousarray, arrays))  # as a checkpoint gives them back: sums round alike
    return Trained(in_order, spread, trace)


def initial_spread(factors: Factors) -> Spread:
    """Almost no variance: sweeps raise it to what the data leave open."""
    return Spread(*(np.full_like(values, _NO_VARIANCE) for values in (factors.U, factors.V, factors.B)))


def with_constant(X: sparse.csr_matrix) -> sparse.csr_matrix:
    """X with a feature that is always 1, which gives sample factors a mean."""
    return sparse.csr_matrix(sparse.hstack([X, np.ones((X.shape[0], 1), np.float32)], format="csr"), dtype=np.float32)


def label_vectors(W: npt.NDArray[np.float32], V: npt.NDArray[np.float32]) -> LabelVectors:
    """Scores xᵀWv of labels, the constant feature moved to the intercepts."""
    return LabelVectors(np.ascontiguousarray(V.T), V @ W[-1])
