from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from reference import label_tree as reference
from tacit.core.features import FeatureMatrix, Features
from tacit.kernels.beam_search import fill_clusters
from tacit.linear import label_forest
from tacit.linear.label_forest import Chunk, LabelForest
from tacit.numerics.clusters import LabelClusters

N_FEATURES = 40


@settings(max_examples=50)
@given(st.integers(1, 20), st.integers(1, 6), st.integers(0, 99))
def test_clusters_are_filled_in_order(n_rows, n_clusters, seed):
    n_clusters = min(n_clusters, n_rows)
    sizes = np.full(n_clusters, n_rows // n_clusters)
    sizes[: n_rows % n_clusters] += 1
    order = np.random.default_rng(seed).permutation(n_rows * n_clusters)
    found, room = np.full(n_rows, -1, dtype=np.int32), sizes.copy()
    for part in np.split(order, [len(order) // 2]):  # the second call goes on where the first has ended
        fill_clusters(part, found, room)
    assert list(found) == list(reference.balanced_clusters(order, n_rows, sizes))
    assert list(np.bincount(found, minlength=n_clusters)) == list(sizes)
    assert not room.any()


def random_forest(seed: int, n_labels: int, n_trees: int, depth: int, dtype: type, n_dense: int = 0) -> LabelForest:
    """Trees of any shape with random weights, some of them without a single feature."""
    rng = np.random.default_rng(seed)
    trees, chunks = [], []
    for _ in range(n_trees):
        levels = [np.array([0, n_labels])]
        for _ in range(depth):
            cuts = rng.choice(np.arange(1, n_labels), rng.integers(0, 4), replace=False)
            levels.append(np.union1d(levels[-1], cuts))
        trees.append(LabelClusters(rng.permutation(n_labels).astype(np.int32), levels))
        for below, level in zip([*levels[1:], np.arange(n_labels + 1)], levels, strict=True):
            first = np.searchsorted(below, level)
            chunks += [random_chunk(rng, first, node, dtype, n_dense) for node in range(len(level) - 1)]
    return LabelForest.of(trees, chunks)


def random_chunk(rng: np.random.Generator, first_children: np.ndarray, node: int, dtype: type, n_dense: int) -> Chunk:
    n_children = int(first_children[node + 1] - first_children[node])
    shape = N_FEATURES - n_dense, n_children
    weights = sparse.csr_matrix(rng.normal(size=shape) * (rng.random(shape) < rng.random() / 2))
    sizes = np.diff(weights.indptr)
    return Chunk(
        np.flatnonzero(sizes).astype(np.int32),
        sizes[sizes > 0].astype(np.int32),
        weights.indices.astype(np.uint8 if dtype is np.float16 else np.uint16),
        weights.data.astype(dtype),
        rng.normal(size=n_children).astype(np.float32),
        rng.normal(size=n_dense * n_children).astype(dtype),
    )


def random_rows(seed: int, n_rows: int, n_dense: int = 0) -> FeatureMatrix:
    X = sparse.random(n_rows, N_FEATURES, density=0.4, format="csr", dtype=np.float32, random_state=seed)
    return Features(X[:, :-n_dense], X[:, -n_dense:].toarray()) if n_dense else X


@settings(max_examples=60)
@given(
    st.integers(0, 999),
    st.integers(5, 25),
    st.integers(1, 3),
    st.integers(0, 3),
    st.integers(1, 4),
    st.sampled_from([0, 1, 2, 3]),
    st.sampled_from([0.0, 0.5, 1.0]),
    st.sampled_from([np.float32, np.float16]),
    st.sampled_from([0, 7, N_FEATURES]),
    st.booleans(),
)
def test_beam_search_is_that_of_the_reference(
    seed, n_labels, n_trees, depth, beam, power, path_weight, dtype, n_dense, restrict
):
    forest = random_forest(seed, n_labels, n_trees, depth, dtype, n_dense)
    X = random_rows(seed, 6, n_dense)
    allowed = np.random.default_rng(seed).random(n_labels) < (0.4 if restrict else 1.0)
    ranking = forest.rank(X, n_labels, allowed, beam, power, path_weight)
    for row, x in enumerate(X.toarray()):
        expected = reference.label_scores(forest, x.astype(float), n_labels, beam, power, path_weight, allowed)
        found = ranking.labels[row][ranking.labels[row] >= 0]
        assert set(found) == set(np.flatnonzero(expected > 0))
        assert ranking.scores[row, : len(found)] == pytest.approx(expected[found], rel=1e-3, abs=1e-12)


@settings(max_examples=60)
@given(
    st.integers(0, 999),
    st.integers(1, 3),
    st.integers(1, 12),
    st.integers(1, 8),
    st.sampled_from([0, 3]),
    st.sampled_from([0.0, 0.5, 1.0]),
    st.booleans(),
)
def test_leaves_that_are_left_out_change_no_place(seed, depth, beam, k, power, path_weight, restrict):
    forest = random_forest(seed, 60, 1, depth, np.float16)
    X, allowed = random_rows(seed, 20), np.random.default_rng(seed).random(60) < (0.4 if restrict else 1.0)
    few = forest.rank(X, k, allowed, beam, power, path_weight)
    many = forest.rank(X, label_forest._MOST_BEST + 1, allowed, beam, power, path_weight)  # nothing is left out
    assert np.array_equal(few.labels, many.labels[:, :k])
    assert np.array_equal(few.scores, many.scores[:, :k])


@pytest.mark.parametrize("n_dense", [0, 7])
@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_a_row_alone_gets_the_same_bits(dtype, n_dense):
    forest = random_forest(3, 60, 2, 2, dtype, n_dense)
    X, allowed = random_rows(1, 300, n_dense), np.ones(60, dtype=np.bool_)
    together = forest.rank(X, 20, allowed, 3, 3, 0.5)
    for row in range(0, 300, 7):
        alone = forest.rank(X[row], 20, allowed, 3, 3, 0.5)
        assert np.array_equal(alone.labels[0], together.labels[row])
        assert np.array_equal(alone.scores[0], together.scores[row])


def test_equal_scores_rank_the_smaller_label_first():
    tree = LabelClusters(np.array([2, 0, 1], dtype=np.int32), [np.array([0, 3])])
    none = np.empty(0, dtype=np.float32)
    chunk = Chunk(
        none.astype(np.int32), none.astype(np.int32), none.astype(np.uint16), none, np.ones(3, np.float32), none
    )
    ranking = LabelForest.of([tree], [chunk]).rank(random_rows(0, 2), 2, np.ones(3, dtype=np.bool_), 1, 3, 0.5)
    assert ranking.labels.tolist() == [[0, 1], [0, 1]]
    assert (ranking.scores == 1).all()
