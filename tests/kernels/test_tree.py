from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from scipy.optimize import minimize

from reference.tree import logistic_objective, printed_leaves
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
    scratch = tree.feature_scratch(as_rows(X), X.shape[1], X.shape[0])
    columns = tree.useful_columns(as_rows(X), samples, signs, costs, BIAS, least_slope, scratch)
    assert not scratch.slopes.any()
    return columns


def grown_from(X: sparse.csr_matrix, Y: sparse.csr_matrix, random_bits: np.ndarray, rules: tree.Rules) -> tree.Tree:
    rows, y = as_rows(X), as_rows(Y)
    x = tree.FeatureRows(*rows, *quantised(rows.values, rows.starts, np.int16))
    return tree.grow_tree(x, X.shape[1], y, y.values, Y.shape[1], random_bits, rules._replace(bias=BIAS))


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


# -- the hyperplane ---------------------------------------------------------------------------------------


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


# -- trees ------------------------------------------------------------------------------------------------


def grow(X: sparse.csr_matrix, Y: sparse.csr_matrix, max_leaf: int = 2, labels_per_leaf: int = 100) -> tree.Tree:
    random_bits = np.random.default_rng(0).integers(2**tree.N_RANDOM_BITS, size=X.shape[0])
    options = {"C": C, "max_leaf": max_leaf, "labels_per_leaf": labels_per_leaf, "starts_by_features": True}
    return grown_from(X, Y, random_bits, tree.REFINED._replace(**options))


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
    n = 3 * tree.REFINED.most_samples
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


@pytest.mark.parametrize("seed", range(8))
def test_a_printed_tree_parts_samples_as_the_papers_algorithm(seed):
    X, gains = random_matrix(seed, 60, 8, density=0.6), random_matrix(seed + 100, 60, 10)
    random_bits = np.random.default_rng(seed).integers(2**tree.N_RANDOM_BITS, size=60)
    grown = grown_from(X, gains, random_bits, EXACT._replace(C=20.0, max_leaf=5))
    leaves = [np.flatnonzero(grown.leaf_of == leaf).tolist() for leaf in range(len(grown.leaf_starts) - 1)]
    assert len(leaves) > 3
    assert leaves == printed_leaves(X.toarray(), gains.toarray().astype(float), random_bits, 20.0, BIAS, 5)
