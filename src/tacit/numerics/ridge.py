"""Ridge regression with many targets, optionally with an ℓ1 penalty on the predictions.

``min ‖Z − XV‖² + ridge ‖V‖² + l1 ‖XV‖₁`` is solved directly if l1 is 0, otherwise by ADMM (ExMLDS Algorithm 2, step
4). Solves use one Cholesky factorisation of the smaller Gram matrix, or conjugate gradients if it would be too large.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import linalg

from tacit.core.features import FeatureMatrix, compacted, gram_matrix, row_gram, transposed

Floats = npt.NDArray[np.floating[Any]]
Solve = Callable[[Floats], Floats]

#: Largest Gram matrix that is factorised; conjugate gradients were faster above it (measured on EURLEX57K).
MAX_FACTOR = 4000
_CG_TOLERANCE = 1e-3
_CG_STEPS = 100
_ADMM_PENALTY = 2.0
_ADMM_PASSES = 30
_ADMM_TOLERANCE = 1e-3


def fit_regressor(X: FeatureMatrix, Z: Floats, ridge: float, l1: float = 0.0) -> npt.NDArray[np.float32]:
    """Coefficients V of shape (n_features, n_targets); rows of features that do not occur are zero."""
    V = np.zeros((X.shape[1], Z.shape[1]), np.float32)
    present, X = compacted(X)
    V[present] = _admm(X, Z, ridge, l1) if l1 > 0 else ridge_solver(X, ridge)(Z)
    return V


def ridge_solver(X: FeatureMatrix, ridge: float) -> Solve:
    """The function from Z to the minimiser of ``‖Z − XV‖² + ridge ‖V‖²``."""
    n_samples, n_features = X.shape
    if n_features <= min(n_samples, MAX_FACTOR):
        factor = _factor(gram_matrix(X), ridge)
        return lambda Z: linalg.cho_solve(factor, X.T @ Z, check_finite=False)
    if n_samples <= MAX_FACTOR:  # V = Xᵀ (XXᵀ + ridge I)⁻¹ Z, the same minimiser
        factor = _factor(row_gram(X), ridge)
        return lambda Z: X.T @ linalg.cho_solve(factor, Z, check_finite=False)
    return lambda Z: conjugate_gradients(X, Z, ridge)


def _factor(gram: Floats, ridge: float) -> Any:
    gram = gram.astype(np.float64)
    gram.flat[:: len(gram) + 1] += ridge
    return linalg.cho_factor(gram, overwrite_a=True, check_finite=False)


def improving_solver(X: FeatureMatrix, ridge: float, n_steps: int) -> Callable[[Floats, Floats], Floats]:
    """A function of Z and an initial V: the minimiser of `ridge_solver`, or V after some conjugate-gradient steps."""
    if min(X.shape) <= MAX_FACTOR:
        solve = ridge_solver(X, ridge)
        return lambda Z, _: solve(Z).astype(np.float32)
    by_feature = transposed(X)

    def improve(Z: Floats, V: Floats) -> Floats:
        residual = by_feature @ (Z - X @ V) - np.float32(ridge) * V
        return _descend(X, by_feature, ridge, V, residual, goal=-1.0, max_steps=n_steps)

    return improve


def conjugate_gradients(X: FeatureMatrix, Z: Floats, ridge: float, max_steps: int = _CG_STEPS) -> Floats:
    """Solve ``(XᵀX + ridge I) V = XᵀZ``, all columns at once, each with its own step sizes."""
    by_feature = transposed(X)
    residual = np.asarray(by_feature @ Z.astype(np.float32))
    goal = _CG_TOLERANCE**2 * np.einsum("ij,ij->j", residual, residual).max(initial=0.0)
    return _descend(X, by_feature, ridge, np.zeros_like(residual), residual, goal, max_steps)


def _descend(
    X: FeatureMatrix, by_feature: Any, ridge: float, V: Floats, residual: Floats, goal: float, max_steps: int
) -> Floats:
    """Conjugate-gradient steps from V until the largest squared norm of a column of the residual is at most `goal`."""
    direction = residual.copy()
    squares = np.einsum("ij,ij->j", residual, residual)
    for _ in range(max_steps):
        if squares.max(initial=0.0) <= goal:
            break
        image = by_feature @ (X @ direction) + np.float32(ridge) * direction
        step = ratio(squares, np.einsum("ij,ij->j", direction, image))
        V = V + step * direction
        residual -= step * image
        previous, squares = squares, np.einsum("ij,ij->j", residual, residual)
        direction = residual + ratio(squares, previous) * direction
    return V


def ratio(above: Floats, below: Floats) -> Floats:
    """Quotients, 0 where the divisor is not above 0."""
    return np.divide(above, below, out=np.zeros_like(above), where=below > 0)


def _admm(X: FeatureMatrix, Z: Floats, ridge: float, l1: float) -> Floats:
    """ADMM with the predictions W = XV as the second variable and scaled multipliers U."""
    half = _ADMM_PENALTY / 2
    solve = ridge_solver(X, ridge / (1 + half))
    W = U = np.zeros_like(Z)
    for _ in range(_ADMM_PASSES):
        V = solve((Z + half * (W - U)) / (1 + half))
        predicted = X @ V
        before, W = W, _shrink(predicted + U, l1 / _ADMM_PENALTY)
        U = U + predicted - W
        if max(abs(predicted - W).max(), abs(W - before).max()) <= _ADMM_TOLERANCE * abs(Z).max():
            break
    return V


def _shrink(values: Floats, by: float) -> Floats:
    return np.sign(values) * np.maximum(np.abs(values) - by, 0)
