"""The leading eigenpairs of a large symmetric matrix: a randomised block Krylov space with a residual check."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import linalg

from tacit.arrays import Floats

# The largest dimension of the space: so many directions for each pair, plus a constant for few pairs.
_MAX_GROWTH = 4
_ENOUGH_FOR_FEW = 100


def leading_factor(
    apply: Callable[[Floats], Floats],
    size: int,
    n_pairs: int,
    *,
    seed: int,
    positive: bool = True,
    tolerance: float = 0.01,
    start: Floats | None = None,
) -> Floats:
    """Z = U S^½ of the leading eigenpairs of a symmetric matrix, in falling order (ExMLDS Algorithm 2, step 3).

    `apply` is the product of the matrix with a (size, m) block. Fewer pairs are returned where the matrix has fewer;
    without `positive` they are the largest in absolute value (the singular pairs). The space grows block by block, by
    applying the matrix to the last block, until residuals are at most `tolerance` times the largest eigenvalue.
    Starting with half as many random directions as pairs needs fewer products than the wider block of subspace
    iteration; `start` is a first block that is close to the solution.
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
            factor, residual = _ritz_factor(basis, images, n_pairs, positive)
            if is_last or residual <= tolerance:
                return factor
        block = _next_block(basis, images[:, -start.shape[1] :], limit - basis.shape[1])
        if not block.shape[1]:
            return _ritz_factor(basis, images, n_pairs, positive)[0]
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


def _ritz_factor(basis: Floats, images: Floats, n_pairs: int, positive: bool) -> tuple[Floats, float]:
    """Rayleigh-Ritz: the factor of the best approximate eigenpairs within the space, and their largest residual."""
    values, rotation = linalg.eigh(basis.T @ images, check_finite=False)
    largest = np.abs(values).max(initial=0.0)
    sizes = values if positive else np.abs(values)
    order = np.argsort(-sizes, kind="stable")[:n_pairs]
    order = order[sizes[order] > np.finfo(values.dtype).eps * largest * len(values)]
    vectors = basis @ rotation[:, order]
    off = images @ rotation[:, order] - vectors * values[order]
    residual = np.sqrt((off**2).sum(axis=0)).max(initial=0.0)
    return vectors * np.sqrt(np.abs(values[order])), float(residual / largest) if largest else 0.0
