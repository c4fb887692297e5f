from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from tacit.kernels.gram import gram, products_at


@given(st.integers(1, 9), st.integers(1, 6), st.integers(0, 1000))
def test_gram_is_the_product_with_the_transpose(n_rows, n_columns, seed):
    Y = (np.random.default_rng(seed).random((n_rows, n_columns)) < 0.4).astype(np.float32)
    rows, columns = sparse.csr_matrix(Y), sparse.csc_matrix(Y)
    assert np.array_equal(gram(rows.indptr, rows.indices, columns.indptr, columns.indices), Y @ Y.T)


def test_products_at_are_entries_of_the_gram_matrix():
    rng = np.random.default_rng(0)
    places = sparse.random(12, 12, 0.3, format="csr", random_state=0)
    rows = rng.standard_normal((12, 21), dtype=np.float32)
    i, j = places.nonzero()
    assert products_at(places.indptr, places.indices, rows) == pytest.approx((rows @ rows.T)[i, j], abs=1e-5)
