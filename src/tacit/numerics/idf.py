"""Inverse document frequencies: weights of features, larger for rarer ones."""

from __future__ import annotations

import math

import numpy as np
from scipy import sparse

from tacit.arrays import Floats32, Integers, Ints64, by_value
from tacit.numerics.rows import entry_chunks
from tacit.numerics.storage import new_array

_ALL_WHOLE = 2.0**23  # from here on, every float32 is a whole number


def inverse_document_frequencies(n_with: Integers, n_samples: int) -> Floats32:
    """Weights of features from the number of samples that have them; 1 for features of all samples."""
    return np.asarray(by_value(lambda n: math.log((1 + n_samples) / (1 + n)) + 1, n_with), dtype=np.float32)


def samples_with(X: sparse.csr_matrix) -> Ints64:
    """Number of samples that have each feature."""
    n_with = np.zeros(X.shape[1], dtype=np.int64)
    for chunk in entry_chunks(X):
        n_with += np.bincount(X.indices[chunk][X.data[chunk] != 0], minlength=X.shape[1])
    return n_with


def holds_counts(X: sparse.csr_matrix) -> bool:
    """Whether all values are non-negative integers: flags or counts without weights."""
    parts = (X.data[chunk] for chunk in entry_chunks(X))
    return all(((part >= 0) & (part < _ALL_WHOLE) & (part == np.rint(part))).all() for part in parts)


def weighted_columns(X: sparse.csr_matrix, weights: Floats32) -> sparse.csr_matrix:
    """Multiply every feature by its weight, in float64, because large float32 values would overflow."""
    data = new_array(X.nnz, np.float64)
    for chunk in entry_chunks(X):
        np.multiply(X.data[chunk], weights[X.indices[chunk]], out=data[chunk], dtype=np.float64)
    return sparse.csr_matrix((data, X.indices, X.indptr), shape=X.shape, copy=False)
