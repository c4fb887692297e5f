"""Weights of features: one that few samples have says more of them than one that most have."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy import sparse

Weights = npt.NDArray[np.float32]

_ALL_WHOLE = 2.0**23  # from here on, float32 holds whole numbers only


def inverse_document_frequencies(n_with: npt.NDArray[np.integer], n_samples: int) -> Weights:
    """Weights of features from the number of samples that have them; 1 for those that all have."""
    weights: Weights = (np.log((1 + n_samples) / (1 + n_with)) + 1).astype(np.float32)
    return weights


def samples_with(X: sparse.csr_matrix) -> npt.NDArray[np.int64]:
    """How many samples have each feature."""
    return np.bincount(X.indices[X.data != 0], minlength=X.shape[1])


def holds_counts(X: sparse.csr_matrix) -> bool:
    """Whether all values are flags or counts, which nobody has weighted yet: whole numbers from 0 up."""
    return bool(((X.data >= 0) & (X.data < _ALL_WHOLE) & (X.data == np.rint(X.data))).all())


def weighted_columns(X: sparse.csr_matrix, weights: Weights) -> sparse.csr_matrix:
    """Every feature of X times its weight, in float64: the largest values of float32 would overflow."""
    return sparse.csr_matrix((X.data.astype(np.float64) * weights[X.indices], X.indices, X.indptr), shape=X.shape)
