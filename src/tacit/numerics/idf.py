"""Inverse document frequencies: weights of features, larger for rarer ones."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy import sparse

Weights = npt.NDArray[np.float32]

_ALL_WHOLE = 2.0**23  # from here on, every float32 is a whole number


def inverse_document_frequencies(n_with: npt.NDArray[np.integer], n_samples: int) -> Weights:
    """Weights of features from the number of samples that have them; 1 for features of all samples."""
    weights: Weights = (np.log((1 + n_samples) / (1 + n_with)) + 1).astype(np.float32)
    return weights


def samples_with(X: sparse.csr_matrix) -> npt.NDArray[np.int64]:
    """Number of samples that have each feature."""
    return np.bincount(X.indices[X.data != 0], minlength=X.shape[1])


def holds_counts(X: sparse.csr_matrix) -> bool:
    """Whether all values are non-negative integers: flags or counts without weights."""
    return bool(((X.data >= 0) & (X.data < _ALL_WHOLE) & (X.data == np.rint(X.data))).all())


def weighted_columns(X: sparse.csr_matrix, weights: Weights) -> sparse.csr_matrix:
    """Multiply every feature by its weight, in float64, because large float32 values would overflow."""
    return sparse.csr_matrix((X.data.astype(np.float64) * weights[X.indices], X.indices, X.indptr), shape=X.shape)
