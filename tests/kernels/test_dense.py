from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from tacit.kernels.dense import Rows, gram, products_at, row_products


@given(st.integers(1, 9), st.integers(1, 6), st.integers(0, 1000))
def test_gram_is_the_product_with_the_transpose(n_rows, n_columns, seed):
    Y = (np.random.default_rng(seed).random((n_rows, n_columns)) < 0.4).astype(np.float32)
    rows, columns = sparse.csr_matrix(Y), sparse.csc_matrix(Y)
    assert np.array_equal(gram(Rows.of(rows), Rows.of(columns)), Y @ Y.T)


def test_products_at_are_entries_of_the_gram_matrix():
    rng = np.random.default_rng(0)
    places = sparse.random(12, 12, 0.3, format="csr", random_state=0)
    rows = rng.standard_normal((12, 21), dtype=np.float32)
    i, j = places.nonzero()
    assert products_at(places.indptr, places.indices, rows) == pytest.approx((rows @ rows.T)[i, j], abs=1e-5)


def test_row_products_do_not_depend_on_the_number_of_rows():
    rng = np.random.default_rng(0)
    left, right = rng.standard_normal((7, 33), dtype=np.float32), rng.standard_normal((33, 5), dtype=np.float32)
    products = row_products(left, right)
    assert products == pytest.approx(left @ right, abs=1e-5)
    assert all(np.array_equal(row_products(left[i : i + 1], right)[0], products[i]) for i in range(7))
