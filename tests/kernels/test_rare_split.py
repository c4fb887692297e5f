from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from reference import split as reference
from tacit.kernels.ragged import Lists
from tacit.kernels.rare_split import choose_test_rows


@st.composite
def label_matrices(draw):
    n_rows, n_labels = draw(st.integers(1, 12)), draw(st.integers(1, 8))
    cells = draw(st.lists(st.booleans(), min_size=n_rows * n_labels, max_size=n_rows * n_labels))
    return sparse.csr_matrix(np.reshape(cells, (n_rows, n_labels)).astype(np.float32))


def both_ways(matrix):
    return [Lists(Y.indptr.astype(np.int64), Y.indices.astype(np.int32)) for Y in (matrix, matrix.tocsc())]


def rarest_first(matrix, least):
    counts = np.diff(matrix.tocsc().indptr)
    order = np.argsort(counts, kind="stable")
    return order[counts[order] >= least]


@settings(max_examples=150, deadline=None)
@given(label_matrices(), st.data())
def test_choose_test_rows_agrees_with_the_plain_form(matrix, data):
    n_rows = matrix.shape[0]
    order = np.array(data.draw(st.permutations(range(n_rows))), dtype=np.int64)
    n_test = data.draw(st.integers(0, n_rows))
    owed = rarest_first(matrix, data.draw(st.integers(1, 3)))
    chosen = choose_test_rows(*both_ways(matrix), owed, order, n_test)
    expected = reference.choose_test_rows(matrix, owed, order, n_test)
    np.testing.assert_array_equal(chosen, expected, strict=True)
