from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from tacit.core.checks import as_csr, as_features
from tacit.errors import DataError


def with_parts(matrix: sparse.spmatrix, **parts: object) -> sparse.spmatrix:
    broken = matrix.copy()
    for name, value in parts.items():
        setattr(broken, name, value)
    return broken


CSR = sparse.csr_matrix(np.eye(3, dtype=np.float32))


@pytest.mark.parametrize(
    "matrix",
    [
        with_parts(CSR, indices=np.array([0, 3, 1])),
        with_parts(CSR, indices=np.array([0, -2, 1])),
        with_parts(CSR.tocsc(), indices=np.array([0, 9, 1])),
        with_parts(CSR.tocoo(), row=np.array([0, 9, 1])),
        with_parts(CSR, indptr=np.array([0, 2, 1, 3])),
        with_parts(CSR, indptr=np.array([0, 1, 2, 9])),
        with_parts(CSR, indptr=np.array([0, 1, 3])),
        with_parts(CSR, indptr=np.array([1, 1, 2, 3])),
    ],
)
def test_broken_sparse_matrices(matrix):
    with pytest.raises(DataError, match="X has (the (row|column) index|a broken row pointer)"):
        as_csr(matrix, "X", np.float32)


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (np.array([[1, 2j]]), "Complex data not supported"),
        (np.array([["a", "b"]]), "must be a matrix of numbers"),
        (np.ones((2, 2, 2)), "Expected 2D array, got 3D"),
        ([[1.0, np.nan]], "NaN at row 0, column 1"),
        ([[1.0], [-np.inf]], "infinity at row 1, column 0"),
        ([[1.0, 2.0], [1.0]], "must be a matrix of numbers"),
    ],
)
def test_wrong_features(X, message):
    with pytest.raises(DataError, match=message):
        as_features(X)


def test_numbers_as_text_are_read():
    assert as_features([["1.5", "2"]]).toarray().tolist() == [[1.5, 2.0]]
