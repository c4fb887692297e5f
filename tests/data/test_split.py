from __future__ import annotations

import time

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import sparse, stats

from tacit.data.split import hide_positives, hold_out_labels, random_split, train_test_split
from tacit.errors import DataError, ParameterError


def power_law_labels(n_rows, n_labels, mean, exponent=1.0, seed=0):
    """Independent labels of power-law frequency; some rows are without labels, some labels without rows."""
    rng = np.random.default_rng(seed)
    edges = np.cumsum((np.arange(n_labels) + 3.0) ** -exponent)
    rows = np.repeat(np.arange(n_rows), rng.poisson(mean, n_rows))
    columns = np.searchsorted(edges / edges[-1], rng.random(len(rows)))
    matrix = sparse.csr_matrix((np.ones(len(rows), np.float32), (rows, columns)), shape=(n_rows, n_labels))
    matrix.data[:] = 1
    return matrix


def counts(matrix):
    return np.asarray(matrix.sum(axis=0)).ravel()


def check_promises(Y, split, n_test):
    in_all, in_train, in_test = counts(Y), counts(Y[split.train]), counts(Y[split.test])
    assert ((in_all == 0) | (in_train > 0)).all()
    assert abs(len(split.test) - n_test) <= 0.1 * n_test
    np.testing.assert_array_equal(np.sort(np.concatenate([split.train, split.test])), np.arange(Y.shape[0]))
    assert split.train.dtype == split.test.dtype == np.int64
    assert (np.diff(split.train) > 0).all()
    assert (np.diff(split.test) > 0).all()
    return np.flatnonzero((in_all >= 3) & (in_test == 0))  # labels that should be in the test part, but are not


@pytest.mark.parametrize(("exponent", "size"), [(1.0, 0.1), (1.0, 0.25), (0.6, 0.25), (0.6, 0.5)])
def test_rare_labels_survive_on_both_sides(exponent, size):
    Y = power_law_labels(20_000, 20_000, 5, exponent)
    split = train_test_split(Y, size)
    assert len(check_promises(Y, split, size * 20_000)) <= 0.2 * (counts(Y) >= 3).sum()


def test_labels_and_empty_rows_keep_their_frequency():
    Y = power_law_labels(20_000, 300, 1.5)
    split = train_test_split(Y, 0.25)
    common = counts(Y) >= 400
    np.testing.assert_allclose(counts(Y[split.test])[common] / counts(Y)[common], 0.25, atol=0.03)
    empty = np.diff(Y.indptr) == 0
    assert empty[split.test].mean() == pytest.approx(empty.mean(), abs=0.01)


@settings(max_examples=200, deadline=None)
@given(st.integers(2, 12), st.integers(1, 6), st.integers(0, 2**16), st.floats(0.05, 0.95))
def test_promises_hold_on_tiny_data(n_rows, n_labels, seed, size):
    cells = np.random.default_rng(seed).random((n_rows, n_labels)) < 0.3
    Y = sparse.csr_matrix(cells.astype(np.float32))
    n_test = min(max(round(size * n_rows), 1), n_rows - 1)
    try:
        split = train_test_split(Y, size, seed=seed)
    except DataError:
        assume(False)
    check_promises(Y, split, n_test)


def test_a_million_rows_take_seconds():
    train_test_split(power_law_labels(100, 20, 3))  # compiles
    Y = power_law_labels(1_000_000, 1_000_000, 5)
    start = time.process_time()
    split = train_test_split(Y)
    assert time.process_time() - start < 15  # takes about one
    assert len(check_promises(Y, split, 250_000)) <= 0.2 * (counts(Y) >= 3).sum()


@pytest.mark.parametrize("function", [train_test_split, hold_out_labels, hide_positives])
def test_same_seed_same_split(function):
    Y = power_law_labels(500, 100, 3)
    first, again, other = (str(function(Y, seed=seed)) for seed in (7, 7, 8))
    assert first == again != other


def test_stored_zeros_are_no_samples():
    Y = sparse.csr_matrix(np.ones((8, 1), np.float32))
    Y.data[1:] = 0  # label 0 has one sample, in row 0
    before = Y.copy()
    for seed in range(10):
        assert 0 in train_test_split(Y, 4, seed=seed).train
    np.testing.assert_array_equal(Y.data, before.data)


def test_a_contradiction_is_refused():
    with pytest.raises(DataError, match=r"only 0 of 5 test rows .* smaller test_size"):
        train_test_split(np.eye(20), 0.25)


@pytest.mark.parametrize("size", [0, 1.0, -0.1, 20, float("nan"), True, "half", None])
def test_impossible_sizes_are_refused(size):
    with pytest.raises(ParameterError, match="test_size"):
        train_test_split(np.ones((20, 2)), size)


def test_too_few_rows_are_refused():
    with pytest.raises(DataError, match="at least two rows; got 1"):
        train_test_split(np.ones((1, 2)))


class TestHoldOutLabels:
    def test_parts_fit_together(self):
        Y = power_law_labels(300, 60, 3)
        held = hold_out_labels(Y, 0.4, seed=3)
        with_positives = (counts(Y) > 0).sum()
        assert len(held.seen) == with_positives - round(0.4 * with_positives)
        np.testing.assert_array_equal(np.sort(held.order), np.arange(60))
        np.testing.assert_array_equal(held.Y_seen.toarray(), Y[:, held.seen].toarray())
        dense = Y.toarray().astype(np.int64)[:, held.order]
        np.testing.assert_array_equal(held.cooccurrence.toarray(), dense[:, : len(held.seen)].T @ dense, strict=True)
        assert held.Y_seen.dtype == np.float32

    def test_stored_zeros_stay_and_do_not_count(self):
        Y = sparse.csr_matrix(np.ones((4, 2), np.float32))
        Y.data[:2] = 0
        held = hold_out_labels(Y, 0.5)
        assert held.Y_seen.nnz == 4
        np.testing.assert_array_equal(held.cooccurrence.toarray(), [[3, 3]])

    def test_nothing_left_is_refused(self):
        with pytest.raises(DataError, match="must stay seen"):
            hold_out_labels(np.ones((3, 2)), 1.0)
        with pytest.raises(ParameterError, match=r"share must lie between 0 and 1; got 1\.5"):
            hold_out_labels(np.ones((3, 2)), 1.5)


class TestHidePositives:
    def test_hides_the_share_exactly_and_nothing_else(self):
        Y = power_law_labels(400, 50, 4)
        observed = hide_positives(Y, 0.8, seed=1)
        assert observed.nnz == Y.nnz - round(0.8 * Y.nnz)
        assert (observed.multiply(Y) != observed).nnz == 0
        assert observed.dtype == np.float32
        assert hide_positives(Y, 0).nnz == Y.nnz
        assert hide_positives(Y, 1.0).nnz == 0

    def test_by_propensity_each_label_at_its_own_rate(self):
        Y = np.ones((4000, 5))
        propensities = np.array([1e-9, 0.1, 0.5, 0.9, 1.0])
        kept = counts(hide_positives(Y, seed=2, propensities=propensities))
        assert kept[0] == 0
        assert kept[4] == 4000
        for label in (1, 2, 3):
            assert stats.binomtest(int(kept[label]), 4000, propensities[label]).pvalue > 1e-3

    def test_wrong_propensities_are_refused(self):
        for wrong in ([0.5], [0.5, 1.2], [np.nan, 1]):
            with pytest.raises(DataError, match="propensities"):
                hide_positives(np.ones((3, 2)), propensities=wrong)


def test_a_random_split_is_like_the_data():
    """A rule that spares rare labels would hold out rows with many of them."""
    rng = np.random.default_rng(0)
    Y = sparse.random(4000, 3000, 0.0005, format="csr", rng=rng, data_rvs=np.ones)
    rest, held_out = random_split(4000, 0.05, seed=1)
    assert (len(rest), len(held_out)) == (3800, 200)
    assert sorted([*rest, *held_out]) == list(range(4000))
    assert Y[held_out].nnz / 200 == pytest.approx(Y.nnz / 4000, rel=0.25)
    by_rule = train_test_split(Y, 0.05, seed=1).test
    assert Y[by_rule].nnz / len(by_rule) > 1.5 * Y.nnz / 4000
    assert np.array_equal(random_split(4000, 200, seed=1)[1], held_out)
    for wrong in (0, 1.0, 4000, "half"):
        with pytest.raises(ParameterError, match="test_size"):
            random_split(4000, wrong)


def test_alike_rows_stay_together_and_every_label_in_training():
    for seed in range(50):
        rng = np.random.default_rng(seed)
        groups = rng.integers(0, 60, 100)
        Y = sparse.random(100, 30, 0.05, format="csr", rng=rng, data_rvs=np.ones)
        rest, test = random_split(100, 20, seed, groups=groups, Y=Y)
        assert sorted([*rest, *test]) == list(range(100))
        assert 20 - np.bincount(groups).max() < len(test) <= 20
        assert not set(groups[rest]) & set(groups[test])
        assert set(Y[test].indices) <= set(Y[rest].indices)


def test_a_random_split_that_labels_leave_no_room_for():
    with pytest.raises(DataError, match="smaller test_size"):
        random_split(20, 0.5, Y=np.eye(20))
