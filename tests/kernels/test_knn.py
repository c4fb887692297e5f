from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from reference import knn as reference
from tacit.kernels.dense import Rows
from tacit.kernels.knn import nearest_points, nearest_rows, rank_votes

small_numbers = st.integers(-4, 4).map(lambda n: n / 4)  # exact in float32, with many ties


def dense(draw, n_rows, n_columns, numbers=small_numbers):
    cells = draw(st.lists(numbers, min_size=n_rows * n_columns, max_size=n_rows * n_columns))
    return np.array(cells, np.float32).reshape(n_rows, n_columns)


@given(st.data(), st.integers(1, 5), st.integers(1, 12), st.integers(1, 4))
def test_nearest_points_matches_a_full_sort(data, n_queries, n_points, n_axes):
    queries, points = dense(data.draw, n_queries, n_axes), dense(data.draw, n_points, n_axes)
    k = data.draw(st.integers(1, n_points))
    ids, scores = nearest_points(queries @ points.T, queries, points, k, 1e-5)
    assert np.array_equal(ids, reference.nearest_points(queries, points, k))
    assert np.array_equal(scores, np.take_along_axis(queries @ points.T, ids, axis=1))


def test_nearest_points_does_not_depend_on_rounding_of_the_product():
    rng = np.random.default_rng(0)
    points = np.repeat(rng.standard_normal((20, 30), dtype=np.float32), 3, axis=0)
    queries = rng.standard_normal((10, 30), dtype=np.float32)
    exact = queries @ points.T
    shaken = exact + rng.uniform(-4e-6, 4e-6, exact.shape).astype(np.float32)
    expected, found = (nearest_points(rough, queries, points, 5, 1e-5) for rough in (exact, shaken))
    assert np.array_equal(expected[0], found[0])
    assert np.array_equal(expected[1], found[1])


@given(st.data(), st.integers(1, 9), st.integers(1, 5), st.integers(1, 6))
def test_nearest_rows_matches_all_products(data, n_rows, n_columns, k):
    matrix = dense(data.draw, n_rows, n_columns)
    check_nearest_rows(matrix, k)


@given(st.data(), st.integers(1, 6), st.integers(1, 40), st.integers(1, 12))
def test_nearest_rows_whose_products_cancel_on_the_way(data, n_rows, n_columns, k):
    """Products of rows of 1 and -1 come back to 0 after every other feature."""
    signs = dense(data.draw, n_rows, 1, st.sampled_from([-1, 1]))
    flips = dense(data.draw, 1, n_columns, st.sampled_from([-1, 1]))
    alternating = np.where(np.arange(n_columns) % 2, signs, 1) * flips
    check_nearest_rows(alternating.astype(np.float32), k)


def check_nearest_rows(matrix, k):
    rows, columns = sparse.csr_matrix(matrix), sparse.csc_matrix(matrix)
    ids, scores = nearest_rows(Rows.of(rows), Rows.of(columns), k)
    for row, expected in enumerate(reference.nearest_rows(matrix, k)):
        assert [(i, s) for i, s in zip(ids[row], scores[row], strict=True) if i >= 0] == expected
        assert (ids[row, len(expected) :] == -1).all()
        assert np.isneginf(scores[row, len(expected) :]).all()


@given(st.data(), st.integers(1, 4), st.integers(1, 5), st.integers(1, 6), st.integers(1, 6))
def test_votes_match_dense_sums(data, n_rows, n_training, n_labels, k):
    Y = dense(data.draw, n_training, n_labels, st.sampled_from([0, 1]))
    voters = dense(data.draw, n_rows, 3, st.integers(-1, n_training - 1)).astype(np.int32)
    weights = np.maximum(dense(data.draw, n_rows, 3), 0)
    label_weights = dense(data.draw, 1, n_labels, st.sampled_from([0, 0.5, 1, 2]))[0]
    csr = sparse.csr_matrix(Y)
    labels, scores = rank_votes(voters, weights, csr.indptr, csr.indices, label_weights, k)
    for row, expected in enumerate(reference.rank_votes(voters, weights, Y, label_weights, k)):
        assert [(i, s) for i, s in zip(labels[row], scores[row], strict=True) if i >= 0] == expected
