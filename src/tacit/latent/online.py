"""Online EM for ML-LCS: mini-batches of samples, and statistics that forget (Cappé and Moulines, 2009).

For each seen label the sufficient statistics over samples are a K × K matrix and a vector. A batch replaces a fraction
of them: that of its samples among all so far after a fit, whose factors have converged, and a larger one from the
start, because the first factors are poor. The regression of sample factors on features continues by least squares on
kept samples, so that no matrix of features by features is ever stored.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np

from tacit.arrays import Floats, Floats32
from tacit.core.features import stack_rows
from tacit.core.parameters import Range
from tacit.latent.em import Eigen, EMProblem, climb_samples, climb_types, eigen, types_of
from tacit.latent.model import Counts, Factors, Priors, count_terms, initial_factors, label_slopes, label_weights
from tacit.numerics.ridge import ridge_solver
from tacit.runtime.tasks import row_blocks
from tacit.store.declared import Array

_FORGETTING = 0.6  # power of the fraction of a batch among all samples, from the start; 1 after a fit
_CLIMBS = 5  # updates of the sample factors of a batch
_ROUNDS = 3  # of EM on a batch, which may be larger than all data before it
_ENTRIES_AT_A_TIME = 2**22  # of samples by K², or by labels


@dataclass(frozen=True, eq=False)
class OnlineState:
    """All that is kept between two batches: factors without U, and for every seen label the means of ωuuᵀ and κu."""

    factors: Factors
    squares: Annotated[Floats32, Array("float32", ("n_seen", "n_factors", "n_factors"))]
    products: Annotated[Floats32, Array("float32", ("n_seen", "n_factors"))]
    counts: Counts
    n_samples: int  # so far
    forgetting: Annotated[float, Range(above=0, high=1)]  # power of the fraction of a batch

    def label_precisions(self, priors: Priors, n_total: int | None) -> Floats32:
        """Diagonals of the precision of seen label factors, given all other factors."""
        squares = _label_system(self, priors, n_total or self.n_samples)[0]
        return np.asarray(np.diagonal(squares, axis1=1, axis2=2), dtype=np.float32)


def online_start(n_features: int, counts: Counts, n_factors: int, seed: int | None) -> OnlineState:
    """The state before the first batch."""
    n_seen, n_labels = counts.values.shape
    factors = initial_factors(0, n_features, n_seen, n_labels, n_factors, seed)
    squares = np.zeros((n_seen, n_factors, n_factors), np.float32)
    return OnlineState(factors, squares, squares[:, 0].copy(), counts, 0, _FORGETTING)


def online_resume(
    kept: EMProblem, counts: Counts, V: Floats32, W: Floats32, n_samples: int, n_total: int | None
) -> OnlineState:
    """The state after a fit with the factors V and W: statistics whose best factors are these.

    `kept` are samples of the fit: all of its `n_samples`, or some that represent all.
    """
    K = V.shape[1]
    priors = kept.priors
    factors = Factors(np.empty((0, K), np.float32), V, types_of(V, counts, priors.beta), W)
    _, squares, _ = _batch_statistics(kept, factors)
    squares *= np.float32(1 / kept.X.shape[0])
    state = OnlineState(factors, squares, np.zeros_like(V), counts, n_samples, 1.0)
    # EM stops before it converges, and the samples may be some of many. The products are therefore those that lead to
    # V itself, so that only the data of a batch move it.
    n_counted = n_total or n_samples
    precision, right = _label_system(state, priors, n_counted)
    products = (np.einsum("lij,lj->li", precision, V, dtype=np.float64) - right) / n_counted
    return replace(state, products=products.astype(np.float32))


def online_step(state: OnlineState, batch: EMProblem, n_total: int | None, past: Any) -> OnlineState:
    """Learn from one batch of `n_total` samples (default: as many as so far); `past` are features of earlier ones."""
    n_new = batch.X.shape[0]
    n_counted = n_total or state.n_samples + n_new
    share = np.float32((n_new / (state.n_samples + n_new)) ** state.forgetting)
    regress = _regression_on(past, batch, state.factors.W, share, n_counted)
    after = replace(state, n_samples=state.n_samples + n_new)
    for _ in range(_ROUNDS):
        U, *sums = _batch_statistics(batch, after.factors)
        squares, products = (np.float32(1 / n_new) * each for each in sums)
        mixed = (_mixed(state.squares, squares, share), _mixed(state.products, products, share))
        after = replace(after, squares=mixed[0], products=mixed[1])
        factors = replace(after.factors, V=label_factors(after, batch.priors, n_counted), W=regress(U))
        for _ in range(2):
            factors, _ = climb_types(replace(batch, counts=state.counts), factors, None)
        after = replace(after, factors=factors)
    return after


def _mixed(old: Floats32, new: Floats32, share: np.float32) -> Floats32:
    return np.asarray((1 - share) * old + share * new, dtype=np.float32)


def _batch_statistics(batch: EMProblem, factors: Factors) -> tuple[Floats32, Floats32, Floats32]:
    """Factors of the samples of a batch, and the sums of ωuuᵀ and κu over them."""
    n_seen, K = factors.V.shape
    gram = eigen(factors.V.T @ factors.V)
    squares, products = np.zeros((n_seen, K * K), np.float32), np.zeros((n_seen, K), np.float32)
    parts = []
    for start, stop in row_blocks(batch.X.shape[0], max(1, _ENTRIES_AT_A_TIME // max(K * K, n_seen))):
        U, omega, kappa = _climbed(replace(batch, X=batch.X[start:stop], Y=batch.Y[start:stop]), factors, gram)
        squares += omega.T @ np.einsum("ni,nj->nij", U, U).reshape(len(U), K * K)
        products += kappa.T @ U
        parts.append(U)
    return np.concatenate(parts), squares.reshape(-1, K, K), products


def _climbed(batch: EMProblem, factors: Factors, gram: Eigen) -> tuple[Floats32, Floats, Floats]:
    """Factors of samples, and ω and κ of their labels."""
    U = np.asarray(batch.X @ factors.W)
    for _ in range(_CLIMBS):
        U = climb_samples(batch, replace(factors, U=U), None, gram).U
    xi = U @ factors.V.T
    omega = label_weights(xi, batch.Y, batch.absent)
    return U, omega, label_slopes(xi, batch.Y, batch.absent, omega) + omega * xi  # κ = slope + ωξ


def _regression_on(
    past: Any, batch: EMProblem, W: Floats32, share: np.float32, n_samples: int
) -> Callable[[Floats32], Floats32]:
    """The function from the sample factors of a batch to the regression weights of all samples.

    The last weights W were optimal for `past`: their predictions stand for what was learned from it.
    """
    X, ridge = batch.X, batch.priors.w / batch.priors.u
    n_past = 0 if past is None else past.shape[0]
    new = np.float32(np.sqrt(n_samples * share / X.shape[0]))
    rows = [new * X] if past is None else [np.float32(np.sqrt(n_samples * (1 - share) / n_past)) * past, new * X]
    weighted = stack_rows(rows)
    solve, predicted = ridge_solver(weighted, ridge), weighted @ W

    def regress(U: Floats32) -> Floats32:
        target = share * predicted
        target[n_past:] += new * U - predicted[n_past:]
        return np.asarray((1 - share) * W + solve(target), dtype=np.float32)

    return regress


def label_factors(state: OnlineState, priors: Priors, n_samples: int) -> Floats32:
    """ML-LCS Eq. 17 from the statistics, exactly."""
    squares, right = _label_system(state, priors, n_samples)
    return np.asarray(np.linalg.solve(squares, right[:, :, None])[:, :, 0], dtype=np.float32)


def _label_system(state: OnlineState, priors: Priors, n_samples: int) -> tuple[Floats32, Floats32]:
    """Left and right sides of ML-LCS Eq. 17 for every seen label."""
    B = state.factors.B
    slope, tau = count_terms(state.factors.V, B, state.counts)
    kappa = slope + tau * (state.factors.V @ B.T)
    K = B.shape[1]
    squares = n_samples * state.squares + (tau @ np.einsum("ni,nj->nij", B, B).reshape(len(B), K * K)).reshape(-1, K, K)
    squares += np.float32(priors.v) * np.eye(K, dtype=np.float32)
    return squares, n_samples * state.products + kappa @ B
