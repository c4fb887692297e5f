"""Conjugate-gradient steps on many weighted least-squares problems at once, one for each row of a matrix."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[Any]
Precondition = Callable[[Floats], Floats]


def row_dots(a: Floats, b: Floats) -> Floats:
    """Inner products of the rows of two matrices."""
    return np.asarray(np.einsum("ij,ij->i", a, b))


def step_sizes(slopes: Floats, curvatures: Floats) -> Floats:
    """The best step of each row along its direction; 0 where the direction is."""
    return np.divide(slopes, curvatures, out=np.zeros_like(slopes), where=curvatures > 0)


Eigen = tuple[Floats, Floats]


def eigen(gram: Floats) -> Eigen:
    """Eigenvalues and eigenvectors of a matrix of squares."""
    values, vectors = np.linalg.eigh(gram.astype(np.float64))
    return np.maximum(values, 0), vectors.astype(np.float32)


def preconditioner(gram: Eigen, scales: Floats, ridge: float) -> Precondition:
    """Apply (scale · gram + ridge I)⁻¹ to each row, with a scale for each."""
    values, vectors = gram
    inverse = (1 / (np.outer(scales, values) + ridge)).astype(np.float32)
    return lambda rows: ((rows @ vectors) * inverse) @ vectors.T


def climb_rows(
    residual: Floats,
    precondition: Precondition,
    factors: Floats,
    weights: Floats,
    ridge: Floats | float,
    n_steps: int,
    extra: Floats | None = None,
) -> tuple[Floats, Floats]:
    """Steps towards the minimum of ½ Σ_j w_ij (d_i·f_j)² + ½ Σ_k ridge_ik d_ik² − residual_i·d_i for every row i.

    Every step lowers it, so a few are enough for an EM sweep.

    Parameters
    ----------
    residual : array of shape (n, K)
        Right sides; overwritten.
    precondition : callable
        An approximate inverse.
    factors : array of shape (m, K)
        The rows f_j.
    weights : array of shape (n, m)
        The weights w_ij.
    ridge : float or array of shape (n, K)
        Penalty on squared coordinates.
    n_steps : int
        Steps.
    extra : array of shape (K, K), optional
        A further matrix E that all rows share: ½ d_iᵀ E d_i is added.

    Returns
    -------
    The changes d, and d·f of every row with every factor.
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
        if extra is not None:
            shared += direction @ extra
        size = step_sizes(gain, row_dots(weighted, image) + row_dots(shared, direction))[:, None]
        total += size * direction
        image *= size
        total_image += image
        if step + 1 < n_steps:
            residual -= size * (weighted @ factors + shared)
            improved = precondition(residual)
            previous, gain = gain, row_dots(residual, improved)
            direction = improved + step_sizes(gain, previous)[:, None] * direction
    return total, total_image
