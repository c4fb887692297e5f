"""Shifted positive pointwise mutual information of co-occurrence counts, and its factorisation.

Nodes are samples, or samples and labels. Nodes with equal rows are represented once, with their number as a weight;
the results are exactly those of the matrix with all nodes.
"""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias

import numpy as np
from scipy import sparse

from tacit.arrays import Floats, Floats32, Floats64
from tacit.core.parameters import OneOf, Range, Tune
from tacit.embedding.spectrum import leading_factor
from tacit.numerics.rows import row_of_entry
from tacit.runtime.tasks import row_blocks

Matrix: TypeAlias = sparse.csr_matrix | Floats32
Shift = Annotated[float, Range(above=0), Tune(0.3, 10), "number of negative samples the factorisation stands for"]
Eigenvalues = Annotated[str, OneOf(("positive", "all")), "which eigenpairs of SPPMI to keep ('all': the SVD)"]

_ROWS_AT_A_TIME = 64  # of a dense matrix, to stay within the processor's cache

#: A matrix with a larger fraction of entries than this is multiplied faster as a dense block (measured).
DENSE_SHARE = 0.05


def sample_counts(sets: sparse.csr_matrix) -> Matrix:
    """M_ij = ⟨y_i, y_j⟩ (ExMLDS, above Eq. 4), dense where most entries are filled."""
    per_label = np.bincount(sets.indices, minlength=sets.shape[1]).astype(np.float64)
    if (per_label**2).sum() > DENSE_SHARE * sets.shape[0] ** 2:
        from tacit.kernels.dense import Rows, gram

        return np.asarray(gram(Rows.of(sets), Rows.of(sets.tocsc())))
    product = sparse.csr_matrix(sets @ sets.T, dtype=np.float32)
    product.sort_indices()
    return product


def sppmi(matrix: Matrix, weights: Floats64, shift: float = 1.0) -> Matrix:
    """max(PMI − log shift, 0) of symmetric float32 counts, which are overwritten if dense.

    Each node stands for `weights` equal ones. A `shift` of 1 is none.
    """
    degrees = np.asarray(matrix @ weights.astype(np.float32), np.float64)
    total = float(degrees @ weights)
    if total == 0:
        return matrix
    # A node without counts has degree 0; the logarithm of its degree is never used with a positive count.
    log_degrees = np.log(degrees, out=np.zeros_like(degrees), where=degrees > 0).astype(np.float32)
    constant = np.float32(np.log(total) - np.log(shift))
    if isinstance(matrix, np.ndarray):
        for start, stop in row_blocks(len(matrix), _ROWS_AT_A_TIME):
            offsets = constant - log_degrees[start:stop, None] - log_degrees
            matrix[start:stop] = _shifted_positive(matrix[start:stop], offsets)
        return matrix
    offsets = constant - log_degrees[row_of_entry(matrix)] - log_degrees[matrix.indices]
    values = _shifted_positive(matrix.data, offsets)
    result = sparse.csr_matrix((values, matrix.indices, matrix.indptr), shape=matrix.shape)
    result.eliminate_zeros()
    return result


def _shifted_positive(counts: Floats32, offsets: Floats32) -> Floats32:
    # ExMLDS Eq. 4 and the PMI above it: log(M_ij |M| / (#(i) #(j))) − log k, or 0
    with np.errstate(divide="ignore"):
        return np.maximum(np.log(counts) + offsets, 0, dtype=np.float32)


def factorise(similarities: Matrix, weights: Floats64, dimension: int, **options: Any) -> Floats:
    """Rows Z with ZZᵀ ≈ `similarities`, one for each distinct node; `options` are those of `leading_factor`.

    Repeating the rows of Z by their weights gives the factor of the matrix with all nodes: with P the matrix
    that repeats them and W = PᵀP the weights, P S Pᵀ has the eigenvectors P W^−½ Q of W^½ S W^½ = Q Λ Qᵀ.
    """
    roots = np.sqrt(weights).astype(np.float32)[:, None]

    def apply(block: Floats) -> Floats:
        return np.asarray(roots * (similarities @ (roots * block)))

    rows: Floats = leading_factor(apply, len(weights), dimension, **options) / roots
    return rows
