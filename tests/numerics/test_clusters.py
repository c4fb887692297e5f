"""Clusters of labels."""

from __future__ import annotations

import itertools

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from planted import planted
from reference import label_tree as reference
from tacit.numerics.clusters import _filled_clusters, cluster_labels, label_centres


@settings(max_examples=30)
@given(st.integers(1, 60), st.integers(2, 8), st.integers(1, 12), st.integers(0, 9))
def test_clusters_are_nested_and_of_like_size(n_labels, arity, max_leaf, seed):
    centres = sparse.random(n_labels, 15, density=0.4, format="csr", dtype=np.float32, random_state=seed)
    labels = np.arange(n_labels, dtype=np.int32)
    tree = cluster_labels(labels, centres, arity, max_leaf, seed)
    assert sorted(tree.labels) == list(labels)
    for above, below in zip(tree.levels[:-1], tree.levels[1:], strict=True):
        assert set(above) <= set(below)
        for first, last in itertools.pairwise(above):
            sizes = np.diff(below[(below >= first) & (below <= last)])
            assert 1 <= len(sizes) <= arity
            assert sizes.max() - sizes.min() <= 1
    assert np.diff(tree.levels[-1]).max() <= max_leaf


def test_labels_that_go_together_share_a_cluster():
    centres = sparse.csr_matrix(np.repeat(np.eye(4, dtype=np.float32), 5, axis=0)[np.arange(20) * 7 % 20])
    tree = cluster_labels(np.arange(20, dtype=np.int32), centres, 4, 5, 0)
    topics = np.asarray(centres.argmax(axis=1)).ravel()[tree.labels].reshape(4, 5)
    assert (topics == topics[:, :1]).all()


def test_centres_are_the_directions_of_means():
    X, Y = planted()
    unit = X.multiply(1 / np.sqrt(X.multiply(X).sum(axis=1))).tocsr()
    means = (Y.T @ unit).toarray()
    expected = means / np.linalg.norm(means, axis=1, keepdims=True)
    np.testing.assert_allclose(label_centres(unit, Y, None).toarray(), expected, atol=1e-5)


@settings(max_examples=50)
@given(st.integers(1, 30), st.integers(1, 6), st.integers(0, 99))
def test_clusters_are_filled_by_the_rows_that_gain_most(n_rows, n_clusters, seed):
    n_clusters = min(n_clusters, n_rows)
    sizes = np.bincount(np.arange(n_rows) % n_clusters)
    similarities = np.random.default_rng(seed).integers(0, 4, (n_rows, n_clusters)).astype(np.float32)
    gains = similarities - similarities.mean(axis=1, keepdims=True, dtype=np.float64).astype(np.float32)
    order = np.argsort(-gains.ravel(), kind="stable")
    assert list(_filled_clusters(similarities, sizes)) == list(reference.balanced_clusters(order, n_rows, sizes))
