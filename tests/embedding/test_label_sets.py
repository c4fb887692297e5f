from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from tacit.embedding.label_sets import distinct_label_sets

Y = sparse.csr_matrix(np.array([[1, 0, 1], [0, 1, 0], [1, 0, 1], [0, 0, 1], [0, 1, 0]], np.float32))


def test_equal_rows_share_a_set():
    sets = distinct_label_sets(Y)
    assert list(sets.of_sample) == [0, 1, 0, 2, 1]
    assert list(sets.counts) == [2, 2, 1]
    assert (sets.matrix[sets.of_sample] != Y).nnz == 0


def test_means_of_features_by_set():
    X = sparse.csr_matrix(np.arange(10, dtype=np.float32).reshape(5, 2))
    assert distinct_label_sets(Y).means(X).toarray() == pytest.approx(np.array([[2, 3], [5, 6], [6, 7]]))
