"""The regression of sample factors on features, again and again for factors that move."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import sparse

from tacit.embedding.regressors import MAX_FACTOR, ridge_solver
from tacit.latent.model import Floats

Regress = Callable[[Floats, Floats], Floats]

_CG_STEPS = 5


def regression(X: sparse.csr_matrix, ridge: float) -> Regress:
    """The function from (U, W) to a W with a smaller ``‖U − XW‖² + ridge ‖W‖²``; the smallest where D or N is small.

    Differs from the paper: ridge is λ_w/λ_u (Eq. 19 minimises Eq. 15 only for λ_u = 1).
    """
    if min(X.shape) <= MAX_FACTOR:
        solve = ridge_solver(X, ridge)
        return lambda U, _: solve(U).astype(np.float32)
    by_feature = X.T.tocsr()
    return lambda U, W: _climb(X, by_feature, U, W, np.float32(ridge))


def _climb(X: sparse.csr_matrix, by_feature: sparse.csr_matrix, U: Floats, W: Floats, ridge: np.float32) -> Floats:
    """A few conjugate-gradient steps from the last W."""
    residual = by_feature @ (U - X @ W) - ridge * W
    direction = residual.copy()
    squares = np.einsum("ij,ij->j", residual, residual)
    for _ in range(_CG_STEPS):
        image = by_feature @ (X @ direction) + ridge * direction
        curvature = np.einsum("ij,ij->j", direction, image)
        step = np.divide(squares, curvature, out=np.zeros_like(squares), where=curvature > 0)
        W = W + step * direction
        residual -= step * image
        previous, squares = squares, np.einsum("ij,ij->j", residual, residual)
        direction = residual + np.divide(squares, previous, out=np.zeros_like(squares), where=previous > 0) * direction
    return W
