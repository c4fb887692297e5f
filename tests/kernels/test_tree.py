from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from scipy.optimize import minimize

from reference.tree import logistic_objective, ndcg_sum, printed_leaves, printed_plane, printed_sides
from tacit.kernels import tree
from tacit.kernels.dense import Rows
from tacit.kernels.forest_ranking import quantised

C, BIAS = 4.0, 0.7


def as_rows(matrix: sparse.csr_matrix) -> Rows:
    return Rows(matrix.indptr.astype(np.uint64), matrix.indices.astype(np.uint32), matrix.data.astype(np.float32))


def random_matrix(seed: int, n_rows: int, n_columns: int, density: float = 0.3) -> sparse.csr_matrix:
    rng = np.random.default_rng(seed)
    dense = rng.random((n_rows, n_columns)) * (rng.random((n_rows, n_columns)) < density)
    return sparse.csr_matrix(dense.astype(np.float32))


def columns_of(
    X: sparse.csr_matrix, samples: np.ndarray, signs: np.ndarray, costs: np.ndarray, least_slope: float = 1.0
) -> tree.Columns:
    scratch = tree._feature_scratch(as_rows(X), X.shape[1], X.shape[0])
    columns = tree.useful_columns(as_rows(X), samples, signs, costs, BIAS, least_slope, scratch)
    assert not scratch.slopes.any()
    return columns


def grown_from(X: sparse.csr_matrix, Y: sparse.csr_matrix, coins: np.ndarray, rules: tree.Rules) -> tree.Tree:
    rows, y = as_rows(X), as_rows(Y)
    x = tree.FeatureRows(*rows, *quantised(rows.values, rows.starts, np.int16))
    return tree.grow_tree(x, X.shape[1], y, y.values, Y.shape[1], coins, rules._replace(bias=BIAS))


sizes = st.integers(2, 40)
seeds = st.integers(0, 2**32 - 1)


# -- sides ------------------------------------------------------------------------------------------------


@given(st.lists(st.one_of(st.integers(0, 50), st.floats(-1e-9, 1e9)), max_size=80))
def test_labels_are_sorted_by_gain(values):
    gains = np.array(values, dtype=np.float64)
    labels = np.random.default_rng(len(values)).permutation(len(values)).astype(np.int32)
    tree.sort_by_gain(labels, gains)
    assert sorted(labels) == list(range(len(values)))
    assert list(gains[labels]) == sorted(values, reverse=True)


@given(seeds, sizes, st.integers(1, 12))
def test_no_step_of_the_alternation_lowers_the_ndcg(seed, n_samples, n_labels):
    gains = random_matrix(seed, n_samples, n_labels)
    Y, scratch = as_rows(gains), tree.label_scratch(n_labels)
    samples = np.arange(n_samples, dtype=np.int32)
    sides = np.random.default_rng(seed).integers(0, 2, n_samples).astype(np.int8)
    n_present = tree.sum_gains(Y, samples, sides, scratch)
    dense, before = gains.toarray(), -1.0
    for _ in range(20):
        value = sum(ndcg_sum(dense, samples[sides == side]) for side in (0, 1))
        assert value >= before - 1e-5
        before = value
        tree.rank_labels(n_present, scratch)
        n_changed = tree.choose_sides(Y, samples, sides, scratch)
        for side in (0, 1):
            assert scratch.gains[side] == pytest.approx(dense[sides == side].sum(axis=0), abs=1e-5)
        if n_changed == 0:
            return


@given(seeds, sizes, st.integers(1, 12))
def test_labels_are_ranked_by_their_gain_on_each_side(seed, n_samples, n_labels):
    gains = random_matrix(seed, n_samples, n_labels, density=0.6)
    scratch, samples = tree.label_scratch(n_labels), np.arange(n_samples, dtype=np.int32)
    sides = np.random.default_rng(seed).integers(0, 2, n_samples).astype(np.int8)
    n_present = tree.sum_gains(as_rows(gains), samples, sides, scratch)
    present = set(gains.indices)
    tree.rank_labels(n_present, scratch)
    expected = np.zeros(n_labels)
    for side, sign in ((0, -1.0), (1, 1.0)):
        total, ranked = gains.toarray()[sides == side].sum(axis=0), scratch.ranked[side, :n_present]
        assert set(ranked) == present
        assert (np.diff(total[ranked]) <= 1e-6).all()
        expected[ranked] += sign / np.log2(np.arange(n_present) + 2)
    assert scratch.advantage == pytest.approx(expected, abs=1e-9)


def test_the_alternation_leaves_its_scratch_clean_and_parts_two_topics():
    gains = sparse.csr_matrix(np.kron(np.eye(2), np.ones((10, 3))).astype(np.float32))
    scratch, samples = tree.label_scratch(6), np.arange(20, dtype=np.int32)
    sides = (np.arange(20) < 8).astype(np.int8)
    tree.alternate_sides(as_rows(gains), samples, sides, 50, 0.1, scratch)
    assert list(sides) == [1] * 10 + [0] * 10
    assert not scratch.gains.any()


# -- the hyperplane ---------------------------------------------------------------------------------------


@given(seeds, sizes, st.integers(1, 12))
def test_useful_columns_are_those_whose_slope_exceeds_the_penalty(seed, n_samples, n_features):
    X = random_matrix(seed, n_samples, n_features)
    sides = np.arange(n_samples).astype(np.int8) % 2
    signs, costs = tree.sample_costs(sides, C)
    columns = columns_of(X, np.arange(n_samples, dtype=np.int32), signs, costs)
    slopes = np.abs(X.T @ (-0.5 * signs * costs))
    clear = np.abs(slopes - 1) > 1e-5
    assert set(columns.features[clear[columns.features]]) == set(np.flatnonzero((slopes > 1) & clear))
    for column, feature in enumerate(columns.features):
        part = slice(columns.starts[column], columns.starts[column + 1])
        dense = np.zeros(n_samples, np.float32)
        dense[columns.rows[part]] = columns.values[part]
        assert np.array_equal(dense, X.toarray()[:, feature])


@given(seeds, sizes, st.integers(1, 12))
def test_no_newton_step_raises_the_objective(seed, n_samples, n_features):
    X = random_matrix(seed, n_samples, n_features)
    sides = np.random.default_rng(seed).permutation(np.arange(n_samples) % 2).astype(np.int8)
    signs, costs = tree.sample_costs(sides, C)
    columns = columns_of(X, np.arange(n_samples, dtype=np.int32), signs, costs)
    used = np.hstack([X.toarray()[:, columns.features], np.full((n_samples, 1), BIAS)])
    plane = tree.Plane(np.zeros(used.shape[1]), np.zeros((n_samples, 3)))
    active, before = np.arange(used.shape[1], dtype=np.int32), np.inf
    for _ in range(10):
        value = logistic_objective(used, plane.weights, signs, costs)
        assert value <= before + 1e-9
        assert plane.points[:, 2] == pytest.approx(used @ plane.weights, abs=1e-6)
        before = value
        active = tree.fit_plane(columns, plane, signs, costs, active, 1, tree.REFINED)


def test_the_hyperplane_reaches_the_optimum_of_a_peer():
    X = random_matrix(3, 200, 6, density=0.8)
    noise = np.random.default_rng(0).normal(size=200)
    sides = (X.toarray() @ np.array([2.0, -2, 1, -1, 0, 0]) + noise > 0.1).astype(np.int8)
    signs, costs = tree.sample_costs(sides, C)
    columns = columns_of(X, np.arange(200, dtype=np.int32), signs, costs)
    n_weights = len(columns.features) + 1
    plane = tree.Plane(np.zeros(n_weights), np.zeros((200, 3)))
    tree.fit_plane(columns, plane, signs, costs, np.arange(n_weights, dtype=np.int32), 200, tree.REFINED)
    used = np.hstack([X.toarray()[:, columns.features], np.full((200, 1), BIAS)])

    def split_objective(parts):  # weights as a difference of two positive parts make the penalty smooth
        return parts.sum() + (costs * np.logaddexp(0, -signs * (used @ (parts[:n_weights] - parts[n_weights:])))).sum()

    peer = minimize(split_objective, np.ones(2 * n_weights), bounds=[(0, None)] * (2 * n_weights))
    assert logistic_objective(used, plane.weights, signs, costs) <= 1.001 * peer.fun


@given(st.floats(-800, 800), st.floats(-800, 800), st.sampled_from([-1.0, 1.0]), st.floats(0.1, 10))
def test_the_parabola_touches_the_loss_from_above(margin, elsewhere, sign, cost):
    points = np.array([[0.0, 0.0, margin]])
    tree.bound_loss(points, np.array([sign]), np.array([cost]))
    (slope, curvature, _), distance = points[0], elsewhere - margin
    loss, loss_elsewhere = (cost * np.logaddexp(0, -sign * m) for m in (margin, elsewhere))
    assert loss_elsewhere <= loss + slope * distance + curvature / 2 * distance**2 + 1e-6 * (1 + abs(loss))
    assert slope == pytest.approx(-cost * sign / (1 + np.exp(np.clip(sign * margin, -700, 700))), abs=1e-9)


@given(st.floats(-50, 50), st.floats(0.01, 50), st.floats(-5, 5))
def test_a_move_minimises_its_own_quadratic(slope, curvature, weight):
    def value(d):
        return slope * d + curvature / 2 * d * d + abs(weight + d)

    move = tree.shrinking_move(slope, curvature, weight)
    assert all(value(move) <= value(move + delta) + 1e-9 for delta in (-1.0, -1e-3, 1e-3, 1.0))


# -- trees ------------------------------------------------------------------------------------------------


def grow(X: sparse.csr_matrix, Y: sparse.csr_matrix, max_leaf: int = 2, labels_per_leaf: int = 100) -> tree.Tree:
    coins = np.random.default_rng(0).integers(2**tree.N_COINS, size=X.shape[0])
    options = {"C": C, "max_leaf": max_leaf, "labels_per_leaf": labels_per_leaf, "starts_by_features": True}
    return grown_from(X, Y, coins, tree.REFINED._replace(**options))


ones = sparse.csr_matrix(np.ones((30, 3), np.float32))
eye = sparse.csr_matrix(np.eye(30, dtype=np.float32))
nothing = sparse.csr_matrix((30, 3), dtype=np.float32)
DEGENERATE = {
    "identical samples": (ones, eye),
    "no features": (nothing, eye),
    "no labels": (eye, nothing),
    "the same labels everywhere": (eye, ones),
    "one sample": (ones[:1], ones[:1]),
}


@pytest.mark.parametrize("case", DEGENERATE)
def test_a_node_that_cannot_be_split_becomes_a_leaf(case):
    X, Y = DEGENERATE[case]
    grown = grow(X, Y)
    assert len(grown.leaf_starts) == len(grown.children) + 2
    assert len(grown.weight_starts) == len(grown.children) + 1
    if case in ("identical samples", "no features"):
        assert len(grown.children) == 0
        assert np.array_equal(np.sort(grown.leaf_labels), np.arange(30))
        assert grown.leaf_scores == pytest.approx(np.full(30, 1 / 30))


@given(seeds, st.integers(2, 60), st.integers(1, 5))
def test_a_tree_keeps_every_label_and_every_child(seed, n_samples, max_leaf):
    X, Y = random_matrix(seed, n_samples, 8), random_matrix(seed + 1, n_samples, 5)
    Y.data[:] = 1
    grown = grow(X, Y, max_leaf)
    n_leaves = len(grown.leaf_starts) - 1
    expected = [*range(1, len(grown.children)), *range(-n_leaves, 0)] if len(grown.children) else []
    assert sorted(grown.children.ravel()) == sorted(expected)
    assert (grown.weight_levels != 0).all()
    assert (grown.weight_features < 8).all()
    for leaf in range(n_leaves):
        members = Y[grown.leaf_of == leaf].toarray()
        assert len(members) > 0
        scores = np.zeros(5)
        part = slice(grown.leaf_starts[leaf], grown.leaf_starts[leaf + 1])
        scores[grown.leaf_labels[part]] = grown.leaf_scores[part]
        assert scores == pytest.approx(members.mean(axis=0), abs=1e-6)


def test_a_large_node_is_decided_by_a_part_of_its_samples():
    n = 3 * tree.REFINED.jury
    topic = np.arange(n) % 2
    X = sparse.csr_matrix((np.ones(n, np.float32), topic, np.arange(n + 1)), shape=(n, 2))
    grown = grow(X, X, max_leaf=n - 1)
    assert grown.children.tolist() == [[-1, -2]]
    assert list(grown.weight_starts) == [0, len(grown.weight_features)]
    assert len(grown.weight_levels) > 0
    assert sorted(grown.leaf_labels) == [0, 1]
    assert list(grown.leaf_scores) == [1.0, 1.0]


def test_a_leaf_keeps_its_best_labels():
    Y = sparse.csr_matrix(np.tril(np.ones((5, 5), np.float32)))
    grown = grow(nothing[:5], Y, labels_per_leaf=2)
    assert list(grown.leaf_labels) == [0, 1]
    assert grown.leaf_scores == pytest.approx([1.0, 0.8])


# -- as printed -------------------------------------------------------------------------------------------

EXACT = tree.PRINTED._replace(steps=20_000, tolerance=1e-9)  # as the reference, whose optimum is exact


@given(seeds, sizes, st.integers(1, 12))
def test_the_printed_alternation_ends_when_no_side_changes(seed, n_samples, n_labels):
    gains = random_matrix(seed, n_samples, n_labels)
    sides = np.random.default_rng(seed).integers(0, 2, n_samples).astype(np.int8)
    expected = printed_sides(gains.toarray().astype(np.float64), sides)
    samples, rules = np.arange(n_samples, dtype=np.int32), tree.PRINTED
    scratch = tree.label_scratch(n_labels)
    tree.alternate_sides(as_rows(gains), samples, sides, rules.rounds, rules.settled, scratch)
    assert np.array_equal(sides, expected)


@pytest.mark.parametrize("seed", range(5))
def test_the_printed_hyperplane_is_optimal_over_all_features(seed):
    X = random_matrix(seed, 60, 12, density=0.6)
    sides = np.random.default_rng(seed).permutation(np.arange(60) % 2).astype(np.int8)
    signs, costs = tree.sample_costs(sides, C)
    samples = np.arange(60, dtype=np.int32)
    columns = columns_of(X, samples, signs, costs, least_slope=-1.0)
    assert len(columns.features) == 12
    plane = tree.Plane(np.zeros(13), np.zeros((60, 3)))
    rules = tree.PRINTED
    tree.fit_plane(columns, plane, signs, costs, np.arange(13, dtype=np.int32), rules.steps, rules)
    used = np.hstack([X.toarray()[:, columns.features], np.full((60, 1), BIAS)])
    best = logistic_objective(used, printed_plane(used, sides > 0, C), signs, costs)
    assert best - 1e-6 <= logistic_objective(used, plane.weights, signs, costs) <= 1.001 * best


@pytest.mark.parametrize("seed", range(8))
def test_a_printed_tree_parts_samples_as_the_papers_algorithm(seed):
    X, gains = random_matrix(seed, 60, 8, density=0.6), random_matrix(seed + 100, 60, 10)
    coins = np.random.default_rng(seed).integers(2**tree.N_COINS, size=60)
    grown = grown_from(X, gains, coins, EXACT._replace(C=20.0, max_leaf=5))
    leaves = [np.flatnonzero(grown.leaf_of == leaf).tolist() for leaf in range(len(grown.leaf_starts) - 1)]
    assert len(leaves) > 3
    assert leaves == printed_leaves(X.toarray(), gains.toarray().astype(float), coins, 20.0, BIAS, 5)


def test_the_printed_rules_are_no_trifle():
    X, gains = random_matrix(0, 200, 20), random_matrix(1, 200, 30)
    coins = np.random.default_rng(0).integers(2**tree.N_COINS, size=200)
    trees = [grown_from(X, gains, coins, rules._replace(C=20.0)) for rules in (tree.PRINTED, tree.REFINED)]
    assert not np.array_equal(trees[0].leaf_of, trees[1].leaf_of)
