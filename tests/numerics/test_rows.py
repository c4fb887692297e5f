"""Rows of sparse matrices, against loops."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from scipy import sparse

from tacit.numerics.rows import (
    entry_blocks,
    falling_order,
    label_means,
    largest_entries,
    occurring,
    row_of_entry,
    selected,
    stacked,
    unit_rows,
)
from tacit.numerics.storage import large_on_disk

matrices = arrays.arrays(
    np.float32, arrays.array_shapes(min_dims=2, max_dims=2, max_side=7), elements=st.sampled_from([0, 0, 1, 2, -2, 3.5])
).map(sparse.csr_matrix)


@given(matrices)
def test_rows_and_order_of_entries(matrix):
    pairs = [(row, column) for row, column in zip(*matrix.toarray().nonzero(), strict=True)]
    assert list(zip(row_of_entry(matrix), matrix.indices, strict=True)) == pairs
    order, places = falling_order(matrix, matrix.data)
    slow = []
    for row in range(matrix.shape[0]):
        inside = range(matrix.indptr[row], matrix.indptr[row + 1])
        slow += [(entry, place) for place, entry in enumerate(sorted(inside, key=lambda e: (-matrix.data[e], e)))]
    assert list(zip(order, places, strict=True)) == slow


@given(matrices, st.integers(1, 4))
def test_the_largest_entries_of_rows(matrix, n):
    kept = largest_entries(matrix, n)
    assert kept.has_sorted_indices
    for row, values in enumerate(matrix.toarray()):
        best = sorted(np.flatnonzero(values), key=lambda column: (-abs(values[column]), column))[:n]
        expected = np.zeros_like(values)
        expected[best] = values[best]
        assert kept[row].toarray().ravel().tolist() == expected.tolist()


def test_means_of_labels():
    rng = np.random.default_rng(0)
    X, Y = rng.random((9, 4)), rng.random((9, 3)) < 0.4
    Y[:, 2] = False
    found = label_means(sparse.csr_matrix(X), sparse.csr_matrix(Y, dtype=np.float32)).toarray()
    assert found[0] == pytest.approx(X[Y[:, 0]].mean(axis=0))
    assert not found[2].any()


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([[3, 4, 0], [0, 0, 0], [0, 0, 2]], [[0.6, 0.8, 0], [0, 0, 0], [0, 0, 1]]),
        ([[3e30, 4e30], [3e-30, 4e-30]], [[0.6, 0.8], [0.6, 0.8]]),
        ([[0, 0], [0, 0]], [[0, 0], [0, 0]]),
    ],
)
def test_unit_rows(rows, expected):
    X = sparse.csr_matrix(np.array(rows, dtype=np.float32))
    before = X.copy()
    assert unit_rows(X).toarray() == pytest.approx(np.array(expected))
    assert (before != X).nnz == 0


def test_rows_of_unit_length_are_not_copied():
    X = sparse.csr_matrix(np.array([[0.6, 0.8, 0], [0, 0, 0], [0, 0, -1]], dtype=np.float32))
    assert unit_rows(X) is X
    assert unit_rows(X.astype(np.float64)).dtype == np.float32
    X.data[-1] = -1.001
    assert unit_rows(X).data.tolist() == [*X.data[:2], -1]  # rows do not depend on one another


def test_rows_on_disk_are_those_in_memory(tmp_path):
    X = sparse.random(300, 40, 0.2, format="csr", dtype=np.float32, random_state=0)
    X.data[X.indptr[7] : X.indptr[8]] = 0
    X.eliminate_zeros()
    some = np.array([3, 3, 299, 7, 0])
    with large_on_disk(tmp_path, least_bytes=1, entries=50):
        assert len(entry_blocks(X)) > 10
        on_disk = {
            "unit": unit_rows(X),
            "selected": selected(X, some),
            "none": selected(X, some[:0]),
            "stacked": stacked(iter([X[:10], X[10:10], X[10:]])),
        }
        occurs = occurring(X)
    assert on_disk["stacked"].data.base is not None
    in_memory = {"unit": unit_rows(X), "selected": X[some], "none": X[some[:0]], "stacked": X}
    for name, expected in in_memory.items():
        found = on_disk[name]
        assert found.shape == expected.shape
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found.toarray(), expected.toarray(), err_msg=name)
    np.testing.assert_array_equal(occurs, X.getnnz(axis=0) > 0)
