from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import tacit
from tacit.data.repeats import groups_of, held_out_rows, n_repeated, row_hashes


def test_texts_that_differ_in_white_space_alone_repeat_and_blank_ones_do_not():
    texts = ["a b", "", " a\r\nb ", "b a", "  ", "a b"]
    assert groups_of(texts).tolist() == [0, 1, 0, 3, 4, 0]
    assert n_repeated(texts) == 2


def test_rows_of_features_repeat_whatever_holds_them():
    dense = np.array([[1, 2, 0], [1, 2, 0], [2, 1, 0], [0, 0, 0], [0, 0, 0], [1, 2, 0]], np.float32)
    backwards = sparse.csr_matrix(dense)
    for row in range(len(dense)):
        part = slice(backwards.indptr[row], backwards.indptr[row + 1])
        backwards.indices[part], backwards.data[part] = backwards.indices[part][::-1], backwards.data[part][::-1]
    for X in (sparse.csr_matrix(dense), backwards, tacit.Features(None, dense)):
        assert groups_of(X).tolist() == [0, 0, 2, 3, 4, 0]
    both = tacit.Features(sparse.csr_matrix(dense), np.array([[1], [1], [1], [1], [0], [3]], np.float32))
    assert groups_of(both).tolist() == [0, 0, 2, 3, 4, 5]


def test_hashes_do_not_depend_on_the_other_rows():
    X = sparse.random(40_000, 50, 0.1, format="csr", dtype=np.float32, rng=np.random.default_rng(0))
    np.testing.assert_array_equal(row_hashes(X)[20_000:], row_hashes(X[20_000:]))


@settings(max_examples=200, deadline=None)
@given(st.integers(2, 60), st.integers(1, 60), st.integers(0, 2**16), st.data())
def test_parts_divide_no_group_that_fits(n_rows, n_kinds, seed, data):
    rng = np.random.default_rng(seed)
    groups = groups_of([f"text {kind}" for kind in rng.integers(0, n_kinds, n_rows)])
    sizes = data.draw(st.lists(st.integers(1, n_rows), min_size=1, max_size=4).filter(lambda some: sum(some) <= n_rows))
    parts = held_out_rows(rng.permutation(n_rows), sizes, groups)
    rows = np.concatenate(parts)
    assert len(parts) == len(sizes)
    assert len(set(rows.tolist())) == len(rows)
    largest = np.bincount(groups).max()
    for part, size in zip(parts, sizes, strict=True):
        assert len(part) > 0
        assert abs(len(part) - size) <= largest
        if largest <= min(*sizes, n_rows - sum(sizes) or n_rows):
            assert not set(groups[part].tolist()) & set(groups[np.setdiff1d(np.arange(n_rows), part)].tolist())


@pytest.mark.parametrize("sizes", [[10], [20, 20, 20], [1, 98], [0]])
def test_without_repeats_parts_are_cut_as_they_come(sizes):
    order = np.random.default_rng(3).permutation(100)
    parts = held_out_rows(order, sizes, np.arange(100))
    for part, expected in zip(parts, np.split(order, np.cumsum(sizes)), strict=False):
        np.testing.assert_array_equal(part, expected)


def test_a_row_is_held_out_as_often_whether_or_not_it_repeats():
    groups = np.array([0, 0, 0, 0, *range(4, 40)])
    drawn = [held_out_rows(np.random.default_rng(seed).permutation(40), [10], groups)[0] for seed in range(2000)]
    shares = np.bincount(np.concatenate(drawn), minlength=40) / 2000
    assert shares[0] == pytest.approx(0.25, abs=0.06)
    assert shares[4:].mean() == pytest.approx(0.25, abs=0.01)
