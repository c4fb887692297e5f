"""Online EM for ML-LCS: mini-batches of samples, and statistics that forget (Cappé and Moulines, 2009).

What the factors of seen labels need of all samples is, for each label, a K × K matrix and a vector; for the regression
of samples on features the same. A batch replaces a share of these statistics, which falls with the number of batches.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np
import numpy.typing as npt
from scipy import sparse

from tacit.latent.climb import eigen
from tacit.latent.em import Problem, climb_samples, climb_types
from tacit.latent.model import (
    Counts,
    Factors,
    Floats32,
    Priors,
    count_terms,
    initial_factors,
    label_slopes,
    label_weights,
)
from tacit.store.declared import Array

_FORGETTING = 0.6
_CLIMBS = 5  # rounds of the factors of a batch


@dataclass(frozen=True, eq=False)
class OnlineState:
    """Everything between two batches; statistics are means over samples.

    Attributes
    ----------
    factors : Factors
        Of labels and the regression; U is empty.
    squares, products : arrays of shape (n_seen, K, K) and (n_seen, K)
        Means of ωuuᵀ and κu for every seen label.
    feature_squares, feature_products : arrays of shape (n_features, n_features) and (n_features, K)
        Means of xxᵀ and xuᵀ.
    counts : Counts
        Co-occurrence counts, which came with the first batch.
    n_samples, n_batches : int
        Seen so far.
    """

    factors: Factors
    squares: Annotated[Floats32, Array("float32", ("n_seen", "n_factors", "n_factors"))]
    products: Annotated[Floats32, Array("float32", ("n_seen", "n_factors"))]
    feature_squares: Annotated[Floats32, Array("float32", ("n_features+1", "n_features+1"))]
    feature_products: Annotated[Floats32, Array("float32", ("n_features+1", "n_factors"))]
    counts: Counts
    n_samples: int
    n_batches: int


def online_start(n_features: int, counts: Counts, n_factors: int, seed: int | None) -> OnlineState:
    """Before the first batch."""
    n_seen, n_labels = counts.values.shape
    factors = initial_factors(0, n_features, n_seen, n_labels, n_factors, seed)
    squares = np.zeros((n_seen, n_factors, n_factors), np.float32)
    features = np.zeros((n_features, n_features), np.float32)
    return OnlineState(factors, squares, squares[:, 0].copy(), features, factors.W.copy(), counts, 0, 0)


def online_step(
    state: OnlineState,
    X: sparse.csr_matrix,
    Y: sparse.csr_matrix,
    priors: Priors,
    absent: str,
    n_total: int | None,
) -> OnlineState:
    """Learn from one batch; `n_total` is how many samples there are, by default as many as were seen."""
    factors = state.factors
    U, squares, products = _batch_statistics(X, Y, factors, priors, absent)
    share = np.float32((state.n_batches + 1) ** -_FORGETTING)
    n_samples = state.n_samples + X.shape[0]
    size = np.float32(1 / X.shape[0])
    state = replace(
        state,
        squares=_mixed(state.squares, size * squares, share),
        products=_mixed(state.products, size * products, share),
        feature_squares=_mixed(state.feature_squares, size * (X.T @ X).toarray(), share),
        feature_products=_mixed(state.feature_products, size * (X.T @ U), share),
        n_samples=n_samples,
        n_batches=state.n_batches + 1,
    )
    n_counted = n_total or n_samples
    W = _regression(state, priors, n_counted)
    V = _label_factors(state, priors, n_counted)
    factors = replace(factors, V=V, W=W)
    problem = Problem(X, Y, state.counts, priors, lambda _, W: W, absent)
    for _ in range(2):
        factors, _ = climb_types(problem, factors, None)
    return replace(state, factors=factors)


def _mixed(old: npt.NDArray[np.float32], new: npt.NDArray[np.float32], share: np.float32) -> Floats32:
    return np.asarray((1 - share) * old + share * new, dtype=np.float32)


def _batch_statistics(
    X: sparse.csr_matrix, Y: sparse.csr_matrix, factors: Factors, priors: Priors, absent: str
) -> tuple[Floats32, Floats32, Floats32]:
    """Factors of the samples of a batch, and the sums of ωuuᵀ and κu over them."""
    V = factors.V
    gram = eigen(V.T @ V)
    U = np.asarray(X @ factors.W)
    for _ in range(_CLIMBS):
        U = climb_samples(X, Y, U, V, factors.W, gram, priors.u, 2, absent).U
    xi = U @ V.T
    omega = label_weights(xi, Y, absent)
    K = V.shape[1]
    squares = omega.T @ np.einsum("ni,nj->nij", U, U).reshape(len(U), K * K)
    return U, squares.reshape(-1, K, K), (label_slopes(xi, Y, absent, omega) + omega * xi).T @ U  # κ = slope + ωξ


def _regression(state: OnlineState, priors: Priors, n_samples: int) -> Floats32:
    gram = n_samples * state.feature_squares.astype(np.float64)
    gram.flat[:: len(gram) + 1] += priors.w / priors.u
    return np.asarray(np.linalg.solve(gram, n_samples * state.feature_products), dtype=np.float32)


def _label_factors(state: OnlineState, priors: Priors, n_samples: int) -> Floats32:
    """ML-LCS Eq. 17 from the statistics, exactly."""
    B = state.factors.B
    slope, tau, _ = count_terms(state.factors.V, B, state.counts)
    kappa = slope + tau * (state.factors.V @ B.T)
    K = B.shape[1]
    squares = n_samples * state.squares + (tau @ np.einsum("ni,nj->nij", B, B).reshape(len(B), K * K)).reshape(-1, K, K)
    squares += np.float32(priors.v) * np.eye(K, dtype=np.float32)
    right = n_samples * state.products + kappa @ B
    return np.asarray(np.linalg.solve(squares, right[:, :, None])[:, :, 0], dtype=np.float32)
