from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import tacit
from tacit.data.repeats import folds_of, groups_of, n_repeated, one_of_each, row_hashes, unlike

ROWS = st.lists(st.integers(0, 30), min_size=1, max_size=60)


def alike(groups: np.ndarray) -> list[int]:
    """The first row of the group of each row."""
    return [groups.tolist().index(group) for group in groups]


def test_texts_that_differ_in_case_or_white_space_repeat_and_blank_ones_do_not():
    groups = groups_of(["a b", "", " A\r\nb ", "b a", "  ", "a b"])
    assert alike(groups) == [0, 1, 0, 3, 4, 0]
    assert n_repeated(groups) == 2


def test_rows_of_features_repeat_whatever_holds_them():
    dense = np.array([[1, 2, 0], [1, 2, 0], [2, 1, 0], [0, 0, 0], [0, 0, 0], [1, 2, 0]], np.float32)
    backwards, padded = sparse.csr_matrix(dense), sparse.lil_matrix(dense)
    for row in range(len(dense)):
        part = slice(backwards.indptr[row], backwards.indptr[row + 1])
        backwards.indices[part], backwards.data[part] = backwards.indices[part][::-1], backwards.data[part][::-1]
    padded[0, 2] = padded[3, 0] = 9
    padded = padded.tocsr()
    padded.data[padded.data == 9] = 0  # stored zeros
    for X in (sparse.csr_matrix(dense), backwards, padded, tacit.Features(None, dense)):
        assert alike(groups_of(X)) == [0, 0, 2, 3, 4, 0]
    both = tacit.Features(sparse.csr_matrix(dense), np.array([[1], [1], [1], [1], [0], [3]], np.float32))
    assert alike(groups_of(both)) == [0, 0, 2, 3, 4, 5]
    swapped = tacit.Features(sparse.csr_matrix([[1.0], [0.0]]), np.array([[0], [1]], np.float32))
    assert alike(groups_of(swapped)) == [0, 1]


def test_hashes_do_not_depend_on_the_other_rows():
    X = sparse.random(40_000, 50, 0.1, format="csr", dtype=np.float32, rng=np.random.default_rng(0))
    np.testing.assert_array_equal(row_hashes(X)[20_000:], row_hashes(X[20_000:]))


@settings(max_examples=200, deadline=None)
@given(ROWS, st.integers(0, 2**16), st.integers(1, 5))
def test_no_row_is_like_one_on_the_other_side(kinds, seed, n_folds):
    groups = groups_of([f"text {kind}" for kind in kinds])
    order = np.random.default_rng(seed).permutation(len(kinds))
    kinds = np.array(kinds)
    each = one_of_each(order, groups)
    assert sorted(kinds[each]) == sorted(set(kinds))
    part = each[: len(each) // 2]
    rest = unlike(part, groups)
    assert not set(kinds[part]) & set(kinds[rest])
    assert set(kinds[part]) | set(kinds[rest]) == set(kinds)
    folds = folds_of(order, groups, n_folds)
    assert len(set(zip(kinds, folds, strict=True))) == len(set(kinds))
    sizes = np.bincount(folds[each], minlength=n_folds)
    assert sizes.max() - sizes.min() <= 1


def test_a_text_that_is_a_large_part_of_the_data_stays_in_training():
    groups = groups_of(["the same"] * 30 + [f"text {row}" for row in range(70)])
    for seed in range(20):
        each = one_of_each(np.random.default_rng(seed).permutation(100), groups)
        assert len(each) == 71
        assert each[-1] < 30
