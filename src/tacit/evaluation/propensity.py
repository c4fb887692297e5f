"""Propensities of labels: the probability that a label is observed where it is relevant, from its frequency."""

from __future__ import annotations

import math
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from tacit.arrays import Floats64, Integers, by_value
from tacit.core.labels import Matrix, label_counts
from tacit.errors import DataError, ParameterError
from tacit.numerics.rows import row_of_entry

_MOST_LOG = 700.0  # logarithm of the largest float64, with a margin

#: (A, B) as used in the literature, by kind of data: ``propensities(Y, *PRESETS["amazon"])``.
PRESETS = MappingProxyType({"default": (0.55, 1.5), "wikipedia": (0.5, 0.4), "amazon": (0.6, 2.6)})


def propensities(Y_train: Matrix, A: float = PRESETS["default"][0], B: float = PRESETS["default"][1]) -> Floats64:
    """Propensity of each label, in (0, 1], from how often it is positive in the training data.

    Parameters
    ----------
    Y_train : sparse matrix or dense array of shape (n_samples, n_labels)
        Training labels; only ones count, stored zeros are known negatives.
    A, B : float
        Shape of the curve; see `PRESETS` for the pairs in use.
    """
    return propensities_from_counts(label_counts(Y_train), Y_train.shape[0], A, B)


def propensities_from_counts(
    counts: npt.ArrayLike, n_samples: int, A: float = PRESETS["default"][0], B: float = PRESETS["default"][1]
) -> Floats64:
    """Propensity of each label, from its number of positives among `n_samples` training samples."""
    if not (np.isfinite(A) and A >= 0 and np.isfinite(B) and B > 0):
        raise ParameterError(f"A must be a number of at least 0 and B a number above 0; got A = {A} and B = {B}")
    if A * max(math.log1p(B), -math.log(B)) > _MOST_LOG:
        raise ParameterError(f"(B + 1) ** A and B ** -A must be finite float64 numbers; got A = {A} and B = {B}")
    if n_samples < 1:
        raise DataError("propensities need at least one training sample; got no rows")
    C = max(math.log(n_samples) - 1, 0.0) * (B + 1) ** A
    inverse = 1 + C * by_value(lambda count: math.pow(count + B, -A), np.asarray(counts))  # 1/p_l = 1 + C (N_l + B)^-A
    return np.asarray(1 / inverse, dtype=np.float64)


def inverse_propensities(relevant: sparse.csr_matrix, propensities: Any) -> sparse.csr_matrix:
    """``1 / p`` at every entry of `relevant`, a result of `tacit.core.labels.relevant_labels`, as a matrix like it."""
    probabilities = check_propensities(propensities, relevant.shape)
    rows, columns = entries(relevant)
    at_entries = values_at(probabilities, rows, columns)
    lacking = np.flatnonzero(at_entries == 0)
    if lacking.size:
        row, column = rows[lacking[0]], columns[lacking[0]]
        raise DataError(f"propensities must be given for every positive of Y; none for row {row}, column {column}")
    return sparse.csr_matrix((1 / at_entries, relevant.indices, relevant.indptr), shape=relevant.shape)


def check_propensities(propensities: Any, shape: tuple[int, int]) -> Any:
    """Propensities per label (1-D) or per (sample, label) (dense or CSR) as float64, all in (0, 1]."""
    checked = as_values(propensities, shape, "propensities")
    stored = checked.data if sparse.issparse(checked) else checked
    inside = (stored > 0) & (stored <= 1)
    if not inside.all():
        raise DataError(f"propensities must lie in (0, 1]; found {stored[~inside][0]:g}")
    return checked


def as_values(values: Any, shape: tuple[int, int], what: str) -> Any:
    """Numbers per label (1-D) or per (sample, label) (dense or CSR) as float64, checked against `shape`."""
    is_sparse = sparse.issparse(values)
    checked = sparse.csr_matrix(values, dtype=np.float64) if is_sparse else np.asarray(values, dtype=np.float64)
    if checked.shape not in {(shape[1],), tuple(shape)}:
        expected = f"one value per label, shape ({shape[1]},), or one per sample and label, shape {tuple(shape)}"
        raise DataError(f"{what} must have {expected}; got shape {checked.shape}")
    return checked


def values_at(values: Any, rows: Integers, columns: Integers) -> Floats64:
    """Entries (rows, columns) of what `as_values` returned; 0 where a sparse matrix stores nothing."""
    if rows.size == 0:  # for empty indices scipy returns a sparse matrix
        return np.zeros(0)
    if sparse.issparse(values):
        return np.asarray(values[rows, columns], dtype=np.float64).ravel()
    found = values[columns] if values.ndim == 1 else values[rows, columns]
    return np.asarray(found, dtype=np.float64)


def entries(matrix: sparse.csr_matrix) -> tuple[Integers, Integers]:
    """Row and column of every stored entry of a CSR matrix."""
    return row_of_entry(matrix), matrix.indices
