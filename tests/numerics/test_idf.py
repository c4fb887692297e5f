from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from tacit.numerics.idf import holds_counts, inverse_document_frequencies, samples_with, weighted_columns


def test_rare_features_weigh_more():
    weights = inverse_document_frequencies(np.array([0, 3, 9]), 9)
    assert weights == pytest.approx([1 + np.log(10), 1 + np.log(2.5), 1])


def test_a_stored_zero_is_no_occurrence():
    X = sparse.csr_matrix((np.array([0, 2, 1], np.float32), [0, 1, 1], [0, 2, 3]), shape=(2, 3))
    assert list(samples_with(X)) == [0, 2, 0]


@pytest.mark.parametrize(
    ("values", "expected"),
    [([1, 1, 1], True), ([3, 2, 0], True), ([1, 0.5, 1], False), ([1, -2, 1], False), ([1, 5e8], False), ([], True)],
)
def test_counts_are_whole_numbers(values, expected):
    X = sparse.csr_matrix(np.array(values, dtype=np.float32).reshape(1, -1)) if values else sparse.csr_matrix((2, 3))
    assert holds_counts(X) is expected


def test_columns_are_weighted_in_a_new_matrix():
    X = sparse.csr_matrix(np.array([[1, 2, 0], [0, 0, 3], [3e38, 0, 0]], dtype=np.float32))
    weighted = weighted_columns(X, np.array([1, 2, 3], dtype=np.float32))
    assert weighted.toarray()[:2].tolist() == [[1, 4, 0], [0, 0, 9]]
    assert X.data[:3].tolist() == [1, 2, 3]
    assert np.isfinite(weighted_columns(X, np.full(3, 9, np.float32)).data).all()
