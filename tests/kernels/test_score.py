from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse

from reference import score as reference
from tacit.kernels.dense import Rows
from tacit.kernels.score import rank_linear, top_k

# few distinct values, so that ties are common; multiples of 1/8, so that sums are exact in any order
VALUES = st.integers(-4, 4).map(lambda value: value / 8)
EVERY = np.empty(0, dtype=np.bool_)


def matrices(n_rows, n_columns):
    return hnp.arrays(np.float32, st.tuples(n_rows, n_columns), elements=VALUES)


def masks(n_labels):
    return st.one_of(st.just(EVERY), hnp.arrays(np.bool_, n_labels))


def csr_arrays(matrix):
    return Rows(matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32), matrix.data.astype(np.float32))


def check(found, expected):
    for got, wanted in zip(found, expected, strict=True):
        np.testing.assert_array_equal(got, wanted, strict=True)


@settings(max_examples=200, deadline=None)
@given(matrices(st.integers(1, 5), st.integers(1, 20)), st.integers(1, 25), st.data())
def test_top_k_agrees_with_sorting(scores, k, data):
    allowed = data.draw(masks(scores.shape[1]))
    check(top_k(scores, allowed, k), reference.top_k(scores, allowed, k))


@settings(max_examples=200, deadline=None)
@given(st.integers(1, 4), st.integers(1, 6), st.integers(1, 12), st.integers(1, 14), st.data())
def test_rank_linear_agrees_with_a_dense_product(n_samples, n_features, n_labels, k, data):
    X = data.draw(matrices(st.just(n_samples), st.just(n_features)))
    W = data.draw(matrices(st.just(n_features), st.just(n_labels)))
    intercepts = data.draw(hnp.arrays(np.float32, n_labels, elements=VALUES))
    allowed = data.draw(masks(n_labels))
    split = data.draw(st.integers(0, n_features))
    words, dense = np.split(X, [split], axis=1)
    of_words, of_dense = np.split(W, [split])
    if split == n_features:
        dense = of_dense = None
    samples = (csr_arrays(sparse.csr_matrix(words)), None if dense is None else np.ascontiguousarray(dense))
    found = rank_linear(*samples, csr_arrays(sparse.csr_matrix(of_words)), of_dense, intercepts, allowed, k)
    with np.errstate(invalid="ignore"):  # BLAS may raise the flag for what it reads beyond a small matrix
        expected = X @ W + intercepts
    check(found, reference.top_k(expected, allowed, k))


def test_a_label_of_score_minus_infinity_ranks_last_but_ranks():
    labels, scores = top_k(np.array([[-np.inf, 2, -np.inf]], dtype=np.float32), EVERY, 3)
    np.testing.assert_array_equal(labels, [[1, 0, 2]])
    np.testing.assert_array_equal(scores, [[2, -np.inf, -np.inf]])
