from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

import tacit
from tacit.core.features import Features, compacted, gram_matrix, read_features, row_gram, stack_rows
from tacit.errors import DataError

RNG = np.random.default_rng(0)
WORDS = sparse.random(9, 6, 0.4, "csr", np.float32, random_state=1)
VECTORS = RNG.standard_normal((9, 4)).astype(np.float32)


def both(weight: float = 1.0, dtype: type = np.float32) -> Features:
    return tacit.Features(WORDS, VECTORS.astype(dtype), weight)


def test_columns_are_those_of_both_parts():
    X = both(0.5)
    assert X.shape == (9, 10)
    assert len(X) == 9
    assert X.toarray() == pytest.approx(np.hstack([WORDS.toarray(), 0.5 * VECTORS]))
    assert X.tocsr().toarray() == pytest.approx(X.toarray())


@pytest.mark.parametrize("rows", [slice(2, 5), [4, 1], np.arange(9) % 2 == 0, 3, -1])
def test_rows_are_those_of_both_parts(rows):
    numbers = [rows] if isinstance(rows, int) else rows
    assert np.array_equal(both(0.5)[rows].toarray(), both(0.5).toarray()[numbers])


def test_a_slice_copies_no_vectors_and_float16_stays():
    X = both(dtype=np.float16)
    assert X.dense.dtype == np.float16
    assert np.shares_memory(X[2:5].dense, X.dense)
    with pytest.raises(IndexError):
        X[9]


def test_balanced_rows_have_unit_length_and_the_weight_between_their_parts():
    X = both(0.5).balanced()
    rows = X.toarray()
    words, vectors = np.linalg.norm(rows[:, :6], axis=1), np.linalg.norm(rows[:, 6:], axis=1)
    has_words = np.diff(WORDS.indptr) > 0
    assert has_words.any()
    assert words**2 + vectors**2 == pytest.approx(np.ones(9), abs=1e-6)
    assert vectors[has_words] == pytest.approx(0.5 * words[has_words], abs=1e-6)


@pytest.mark.parametrize("size", [1e-30, 1e30])
def test_rows_near_the_ends_of_float32_become_unit_rows(size):
    X = Features(None, np.outer([size, 1.0], [1.0, 2.0, 2.0]).astype(np.float32))
    expected = X.dense / np.linalg.norm(X.dense.astype(np.float64), axis=1, keepdims=True)
    for unit in (X.balanced(), X.unit_rows(), X.balanced()[:1]):
        assert unit.toarray() == pytest.approx(expected[: len(unit)], rel=1e-6)


def test_unit_rows_keep_the_proportion_of_the_parts():
    rows = both(0.5).toarray()
    assert both(0.5).unit_rows().toarray() == pytest.approx(rows / np.linalg.norm(rows, axis=1, keepdims=True))


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_products_are_those_of_one_matrix(dtype):
    X = both(0.5, dtype)
    one = X.toarray().astype(np.float64)
    right, below = RNG.standard_normal((10, 3)).astype(np.float32), RNG.standard_normal((9, 3)).astype(np.float32)
    left = sparse.random(5, 9, 0.5, "csr", np.float32, random_state=2)
    assert X @ right == pytest.approx(one @ right, abs=1e-5)
    assert X.T @ below == pytest.approx(one.T @ below, abs=1e-5)
    assert X.sums(left).toarray() == pytest.approx(left @ one, abs=1e-5)
    assert gram_matrix(X) == pytest.approx(one.T @ one, abs=1e-5)
    assert row_gram(X) == pytest.approx(one @ one.T, abs=1e-5)
    assert (np.float32(2) * X).toarray() == pytest.approx(2 * one)
    assert X.with_constant().toarray() == pytest.approx(np.hstack([one, np.ones((9, 1))]))


def test_the_product_of_a_row_has_the_same_bits_alone():
    right = RNG.standard_normal((10, 700)).astype(np.float32)
    together = both() @ right
    assert all(np.array_equal((both()[row] @ right)[0], together[row]) for row in range(9))


def test_stacked_and_compacted_features_are_the_same_rows():
    X = both(0.5)
    assert np.array_equal(stack_rows([X[:4], X[4:]]).toarray(), X.toarray())
    columns, small = compacted(X[:3])
    assert small.shape[1] == len(columns) < 10
    assert np.array_equal(small.toarray(), X[:3].toarray()[:, columns])


def test_a_dense_array_is_used_as_it_is_unless_most_of_it_is_0():
    found = read_features(VECTORS)
    assert np.shares_memory(found.dense, VECTORS)
    assert sparse.issparse(read_features(np.eye(5)))
    assert np.array_equal(read_features(WORDS, is_dense=True).dense, WORDS.toarray())
    assert sparse.issparse(read_features(VECTORS, is_dense=False))


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ((WORDS[:5], VECTORS), "inconsistent numbers of samples, 5 in the sparse part and 9 in the dense one"),
        ((WORDS, VECTORS * np.nan), "the dense part of X must be finite; .* NaN at row 0, column 0"),
        ((WORDS, VECTORS.astype(np.float64) * 1e300), "infinity at row 0, column 0 .or a value too large for float32"),
        ((WORDS * np.inf, VECTORS), "the sparse part of X must be finite; Input X contains infinity"),
        ((VECTORS, VECTORS), "the sparse part of X must be a sparse matrix; got ndarray"),
        ((WORDS, VECTORS[0]), "Expected 2D array, got 1D array instead: the dense part of X"),
        ((WORDS, [["a"]] * 9), "the dense part of X must be a matrix of numbers"),
        ((WORDS, VECTORS * 1j), "Complex data not supported: the dense part of X"),
        ((WORDS, VECTORS, -1.0), "the weight of the dense part must be a finite number of at least 0; got -1.0"),
        ((WORDS, VECTORS, True), "the weight of the dense part must be a finite number"),
    ],
)
def test_bad_parts_are_refused(parts, message):
    with pytest.raises(DataError, match=message):
        tacit.Features(*parts)


def test_features_are_not_one_array():
    with pytest.raises(TypeError, match="use toarray"):
        np.asarray(both())
