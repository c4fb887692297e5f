"""The leading eigenpairs of a large symmetric matrix: a randomised block Krylov space with a residual check."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import linalg

from tacit.arrays import Floats

# The largest dimension of the space: so many directions for each pair wanted, plus a constant for few pairs.
_MAX_GROWTH = 4
_ENOUGH_FOR_FEW = 100


@dataclass(frozen=True, eq=False)
class Eigenpairs:
    """Eigenvalues, largest first, and their eigenvectors as columns, with their accuracy.

    Attributes
    ----------
    residual : float
        The largest ‖A v − λ v‖ over the largest |λ|.
    n_products : int
        Number of vectors that A was applied to.
    """

    values: Floats
    vectors: Floats
    residual: float
    n_products: int

    def factor(self) -> Floats:
        """Z = U S^½ (ExMLDS Algorithm 2, step 3): rows whose inner products approximate the matrix."""
        return self.vectors * np.sqrt(np.abs(self.values))


def leading_eigenpairs(
    apply: Callable[[Floats], Floats],
    size: int,
    n_pairs: int,
    *,
    seed: int,
    positive: bool = True,
    tolerance: float = 0.01,
    start: Floats | None = None,
) -> Eigenpairs:
    """The `n_pairs` leading eigenpairs of a symmetric matrix.

    The space grows block by block, by applying the matrix to the last block, until the pairs are accurate enough.
    Starting with half as many random directions as pairs needs fewer products than the wider block of subspace
    iteration.

    Parameters
    ----------
    apply : callable
        The product of the matrix with a (size, m) block.
    size : int
        Rows of the matrix.
    n_pairs : int
        Number of pairs wanted; fewer are returned where the matrix has fewer.
    seed : int
        Seed of the random first block.
    positive : bool
        Only pairs with a positive eigenvalue, largest first; otherwise the largest in absolute value, which are the
        singular pairs.
    tolerance : float
        Stop when no wanted pair has a residual above this share of the largest eigenvalue.
    start : array of shape (size, m), optional
        A first block that is close to the solution.
    """
    if start is None:
        width = min(size, n_pairs // 2 + 10)
        start = np.random.default_rng(seed).standard_normal((size, width), dtype=np.float32)
    basis = _orthonormal(start)
    images = apply(basis)
    limit = min(size, _MAX_GROWTH * n_pairs + _ENOUGH_FOR_FEW)
    while True:
        is_last = basis.shape[1] >= limit
        if is_last or basis.shape[1] >= n_pairs:
            pairs = _ritz_pairs(basis, images, n_pairs, positive)
            if is_last or pairs.residual <= tolerance:
                return pairs
        block = _next_block(basis, images[:, -start.shape[1] :], limit - basis.shape[1])
        if not block.shape[1]:
            return _ritz_pairs(basis, images, n_pairs, positive)
        basis, images = np.hstack([basis, block]), np.hstack([images, apply(block)])


def _next_block(basis: Floats, image: Floats, most: int) -> Floats:
    """The new directions in the last image; no columns where these are only rounding errors."""
    scale = np.abs(image).max(initial=0.0)
    fresh: Floats = image - basis @ (basis.T @ image)
    if np.abs(fresh).max(initial=0.0) <= 10 * np.finfo(image.dtype).eps * scale:
        return fresh[:, :0]
    block = _orthonormal(fresh[:, :most])
    return _orthonormal(block - basis @ (basis.T @ block))  # once more, against cancellation


def _orthonormal(block: Floats) -> Floats:
    basis: Floats = linalg.qr(block, mode="economic", check_finite=False)[0]
    return basis


def _ritz_pairs(basis: Floats, images: Floats, n_pairs: int, positive: bool) -> Eigenpairs:
    """Rayleigh-Ritz: the best approximate eigenpairs within the space."""
    values, rotation = linalg.eigh(basis.T @ images, check_finite=False)
    largest = np.abs(values).max(initial=0.0)
    order = np.argsort(-values if positive else -np.abs(values), kind="stable")[:n_pairs]
    noise = np.finfo(values.dtype).eps * largest * len(values)
    order = order[(values[order] if positive else np.abs(values[order])) > noise]
    vectors = basis @ rotation[:, order]
    off = images @ rotation[:, order] - vectors * values[order]
    residual = np.sqrt((off**2).sum(axis=0)).max(initial=0.0)
    return Eigenpairs(values[order], vectors, float(residual / largest) if largest else 0.0, basis.shape[1])
