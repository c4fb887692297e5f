"""Singular value projection: a low-rank matrix that agrees with a few given entries (SLEEC's embedding)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from tacit.embedding.spectrum import Floats, leading_eigenpairs
from tacit.kernels.gram import products_at

_SMALLEST_STEP = 1e-3
_EXACT = 1e-6  # of float32


@dataclass(frozen=True, eq=False)
class Projection:
    """Rows Z whose inner products approximate the given entries.

    Attributes
    ----------
    rows : array of shape (n, dimension)
        Z.
    errors : list of float
        ‖P_Ω(G − ZZᵀ)‖ / ‖P_Ω(G)‖ after each step, never rising.
    """

    rows: Floats
    errors: list[float]


def singular_value_projection(
    entries: sparse.csr_matrix,
    dimension: int,
    *,
    seed: int,
    tolerance: float = 0.01,
    max_steps: int = 200,
) -> Projection:
    """Minimise ``‖P_Ω(G − ZZᵀ)‖`` over Z by projected gradient steps.

    Parameters
    ----------
    entries : csr_matrix of shape (n, n)
        G at the places Ω, which are symmetric.
    dimension : int
        Columns of Z.
    seed : int
        Of the eigensolver.
    tolerance : float
        Stop when a step lowers the error by less than this share of it.
    max_steps : int
        Stop after so many steps in any case.
    """
    norm = float(np.linalg.norm(entries.data))
    # The first step from Z = 0 projects P_Ω(G) itself; longer steps are tried as long as they help.
    step = 1.0
    rows = np.zeros((entries.shape[0], 1), np.float32)
    gap, error = entries, 1.0
    errors: list[float] = []
    options: dict[str, Any] = {"seed": seed, "tolerance": 0.01}
    while len(errors) < max_steps:
        candidate = _projected(rows, gap, step, dimension, options)
        candidate_gap = _gap(entries, candidate)
        candidate_error = float(np.linalg.norm(candidate_gap.data)) / norm
        if candidate_error > error:
            step /= 2
            if step < _SMALLEST_STEP:
                break
            continue
        gain = 1 - candidate_error / error
        rows, gap, error = candidate, candidate_gap, candidate_error
        errors.append(error)
        if gain < tolerance or error <= _EXACT:
            break
        step *= 1.5
    return Projection(rows, errors)


def _projected(
    rows: Floats, gap: sparse.csr_matrix, step: float, dimension: int, options: dict[str, Any]
) -> npt.NDArray[np.float32]:
    """The nearest positive semidefinite matrix of low rank to ZZᵀ + step · P_Ω(G − ZZᵀ), as its factor."""

    def apply(block: Floats) -> Floats:
        image: Floats = rows @ (rows.T @ block) + np.float32(step) * (gap @ block)
        return image

    start = rows if rows.shape[1] == dimension else None
    pairs = leading_eigenpairs(apply, gap.shape[0], dimension, start=start, **options)
    return np.ascontiguousarray(pairs.factor(), np.float32)


def _gap(entries: sparse.csr_matrix, rows: npt.NDArray[np.float32]) -> sparse.csr_matrix:
    products = products_at(entries.indptr, entries.indices, rows)
    return sparse.csr_matrix((entries.data - products, entries.indices, entries.indptr), shape=entries.shape)
