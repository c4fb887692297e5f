"""LEML: a low-rank linear map from features to labels, by alternating least squares.

Yu, Jain, Kar and Dhillon, "Large-scale multi-label learning with missing labels", ICML 2014. Differs: squared loss
only, a constant feature, and absent labels count as negatives, as in the tables of ExMLDS.

`LEMLIMC` adds side information about the labels (inductive matrix completion), as the ExMLDS paper does. Differs:
singular vectors are scaled by the roots of their singular values. All of them without a scale are a rotation of the
label space, with which LEML-IMC would be LEML.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from scipy import linalg, sparse

from reproduce.baselines.low_rank import LowRankMap, LowRankModel
from tacit.arrays import Floats, Floats64
from tacit.core.checks import as_counts
from tacit.core.parameters import Range, document_parameters
from tacit.latent.model import with_constant

if TYPE_CHECKING:
    from typing_extensions import Self


@dataclass(frozen=True, eq=False)
class LabelFeatures:
    """Features of labels as orthonormal `basis` (n_labels, n), each axis times the root of its `scale` (n,)."""

    basis: Any
    scale: Floats64

    @classmethod
    def identity(cls, n_labels: int) -> LabelFeatures:
        """Every label has a feature of its own: LEML."""
        return cls(sparse.eye_array(n_labels, format="csr"), np.ones(n_labels))

    @classmethod
    def spectral(cls, cooccurrence: sparse.csr_matrix) -> LabelFeatures:
        """The eigenvectors of a co-occurrence matrix with eigenvalues above 0; the mean eigenvalue becomes 1."""
        counts = cooccurrence.toarray().astype(np.float64)
        values, vectors = linalg.eigh((counts + counts.T) / 2)
        kept = values > 1e-6 * values[-1]
        return cls(vectors[:, kept], values[kept] / values[kept].mean())


@dataclass(frozen=True, eq=False)
class Problem:
    """``‖Y − X W Hᵀ Fᵀ‖² + ridge (‖W‖² + ‖H‖²)`` over W (n_features, n_factors) and H (n_label_features, n_factors)."""

    X: sparse.csr_matrix
    Y: sparse.csr_matrix
    features: LabelFeatures
    ridge: float

    def objective(self, W: Floats, H: Floats) -> float:
        """The value that no step may raise; small data only."""
        gap = self.Y.toarray() - (self.X @ W) @ self.label_vectors(H).T
        return float((gap**2).sum() + self.ridge * ((W**2).sum() + (H**2).sum()))

    def label_vectors(self, H: Floats) -> Floats:
        """The vectors F H of the labels."""
        return np.asarray(self.features.basis @ (np.sqrt(self.features.scale)[:, None] * H))

    def best_labels(self, W: Floats) -> Floats:
        """The minimiser over H, in closed form: the eigenvectors of AᵀA, A = XW, decouple all its entries."""
        A = np.asarray(self.X @ W)
        values, Q = linalg.eigh(A.T @ A)
        right = np.asarray(self.features.basis.T @ (self.Y.T @ (A @ Q)))
        scale = self.features.scale[:, None]
        return np.asarray((np.sqrt(scale) * right / (scale * values + self.ridge)) @ Q.T)

    def better_map(self, W: Floats, H: Floats, n_steps: int) -> Floats:
        """Steps of conjugate gradients towards the minimiser over W, from a given W."""
        V = self.label_vectors(H)
        gram, by_feature = V.T @ V, self.X.T.tocsr()

        def apply(P: Floats) -> Floats:
            return np.asarray(by_feature @ ((self.X @ P) @ gram) + self.ridge * P)

        return conjugate_gradients(apply, np.asarray(by_feature @ (self.Y @ V)), W, n_steps)


def conjugate_gradients(apply: Callable[[Floats], Floats], right: Floats, start: Floats, n_steps: int) -> Floats:
    """Solve ``apply(W) = right`` for a symmetric positive definite map of matrices."""
    W, residual = start, right - apply(start)
    direction, square = residual, float((residual**2).sum())
    goal = 1e-8 * float((right**2).sum())
    for _ in range(n_steps):
        if square <= goal:
            break
        image = apply(direction)
        step = square / float((direction * image).sum())
        W = W + step * direction
        residual = residual - step * image
        before, square = square, float((residual**2).sum())
        direction = residual + (square / before) * direction
    return W


@document_parameters
@dataclass(kw_only=True, eq=False, repr=False)
class LEML(LowRankModel):
    """A low-rank linear map from features to labels (Yu et al., 2014)."""

    n_factors: Annotated[int, Range(low=1), "rank of the map"] = 100
    ridge: Annotated[float, Range(above=0), "penalty on the squared size of both factors"] = 1.0
    n_sweeps: Annotated[int, Range(low=1), "alternations between the factors"] = 10
    n_steps: Annotated[int, Range(low=1), "steps of conjugate gradients in each"] = 10

    def _learn(self, X: sparse.csr_matrix, Y: sparse.csr_matrix, **data: Any) -> LowRankMap:  # noqa: ARG002
        return self._alternate(Problem(with_constant(X), Y, LabelFeatures.identity(Y.shape[1]), self.ridge))

    def _alternate(self, problem: Problem) -> LowRankMap:
        n_features, n_labels = problem.X.shape[1], problem.Y.shape[1]  # with the constant one
        rng = np.random.default_rng(self.random_state)
        W = rng.standard_normal((n_features, min(self.n_factors, n_labels))) / np.sqrt(n_features)
        for _ in range(self.n_sweeps):
            H = problem.best_labels(W)
            W = problem.better_map(W, H, self.n_steps)
        V = problem.label_vectors(problem.best_labels(W))
        return LowRankMap.of(W[:-1], V.T, V @ W[-1])


@document_parameters
@dataclass(kw_only=True, eq=False, repr=False)
class LEMLIMC(LEML):
    """LEML with side information: label vectors are linear in spectral features of label co-occurrence."""

    def fit(self, X: Any, Y: Any, *, label_names: Sequence[Any] | None = None, cooccurrence: Any = None) -> Self:
        """Learn from samples, their labels, and counts (n_labels, n_labels) of co-occurrence, by default those of Y."""
        return self._fit_checked(X, Y, label_names, cooccurrence=cooccurrence)

    def _fit(self, X: sparse.csr_matrix, Y: sparse.csr_matrix, cooccurrence: Any = None, **data: Any) -> None:
        counts = as_counts(Y.T @ Y if cooccurrence is None else cooccurrence, "cooccurrence", (Y.shape[1],) * 2)
        super()._fit(X, Y, cooccurrence=counts, **data)

    def _learn(self, X: sparse.csr_matrix, Y: sparse.csr_matrix, **data: Any) -> LowRankMap:
        return self._alternate(Problem(with_constant(X), Y, LabelFeatures.spectral(data["cooccurrence"]), self.ridge))
