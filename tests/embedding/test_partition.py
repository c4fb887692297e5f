from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from planted import planted
from tacit.embedding.neighbors import cosine_neighbors
from tacit.embedding.partition import (
    bounded_assignment,
    bounded_clusters,
    fit_partition,
    graph_clusters,
    nearest_clusters,
)

X, Y = planted(600)
NEAR = cosine_neighbors(Y, 10)


def blobs(n_each=50, seed=0):
    rng = np.random.default_rng(seed)
    X = np.vstack([np.eye(4)[blob] + 0.1 * rng.random((n_each, 4)) for blob in range(4)])
    return sparse.csr_matrix(X.astype(np.float32))


@pytest.mark.parametrize("max_size", [1, 7, 60, 1000])
def test_clusters_are_bounded_and_hold_every_sample_once(max_size):
    X = blobs()
    partition = bounded_clusters(X, max_size, seed=0)
    assert max(map(len, partition.clusters)) <= max_size
    assert sorted(np.concatenate(partition.clusters)) == list(range(200))
    assert partition.centers.shape == (len(partition.clusters), 4)


def test_samples_that_features_cannot_tell_apart_are_cut_too():
    clusters = bounded_clusters(sparse.csr_matrix(np.ones((10, 3), np.float32)), 4, seed=0).clusters
    assert max(map(len, clusters)) <= 4
    assert sorted(np.concatenate(clusters)) == list(range(10))


def test_samples_go_to_the_cluster_they_come_from():
    X = blobs()
    partition = bounded_clusters(X, 60, seed=0)
    nearest, similarities = nearest_clusters(X, partition.centers, 2)
    for cluster, rows in enumerate(partition.clusters):
        assert (nearest[rows, 0] == cluster).mean() > 0.95
    assert (similarities[:, 0] >= similarities[:, 1]).all()


# -- by label-space neighbours ----------------------------------------------------------------------------


def kept_together(clusters):
    """Share of label-space neighbours in the same cluster."""
    of_sample = np.empty(X.shape[0], int)
    for cluster, rows in enumerate(clusters):
        of_sample[rows] = cluster
    first, second, _ = NEAR.pairs()
    return (of_sample[first] == of_sample[second]).mean()


def test_every_sample_is_in_one_cluster_of_bounded_size():
    partition = graph_clusters(X, NEAR, 150, seed=0)
    assert sorted(np.concatenate(partition.clusters)) == list(range(600))
    assert max(map(len, partition.clusters)) <= 150
    assert partition.centers.shape == (len(partition.clusters), X.shape[1])


def test_label_space_neighbours_are_kept_together_whatever_else_features_say():
    sources = np.random.default_rng(0).integers(0, 3, X.shape[0])  # the strongest features, unrelated to labels
    mixed = sparse.hstack([X, 3 * sparse.csr_matrix(np.eye(3)[sources])], format="csr", dtype=np.float32)
    by_graph = kept_together(graph_clusters(mixed, NEAR, 250, seed=0).clusters)
    by_features = kept_together(bounded_clusters(mixed, 250, seed=0).clusters)
    assert by_graph > 0.6 > 0.5 > by_features


def test_most_samples_are_sent_to_the_cluster_they_are_in():
    partition = graph_clusters(X, NEAR, 250, seed=0)
    sent = nearest_clusters(X, partition.centers, 1)[0][:, 0]
    assert np.mean([(sent[rows] == cluster).mean() for cluster, rows in enumerate(partition.clusters)]) > 0.8


@pytest.mark.parametrize(
    "cut", [lambda seed: bounded_clusters(X, 250, seed), lambda seed: graph_clusters(X, NEAR, 250, seed)]
)
def test_seeds_give_different_partitions_and_the_same_seed_the_same(cut):
    first, again, other = (cut(seed) for seed in (0, 0, 1))
    assert np.array_equal(first.centers, again.centers)
    assert not np.array_equal(first.centers, other.centers)


def test_few_samples_are_one_cluster():
    assert len(graph_clusters(X, NEAR, 600, seed=0).clusters) == 1


@given(st.integers(0, 1000), st.integers(1, 5), st.integers(1, 9))
def test_assignment_is_bounded_and_stable(seed, n_clusters, max_size):
    rng = np.random.default_rng(seed)
    n_rows = rng.integers(0, n_clusters * max_size, endpoint=True)
    scores = rng.standard_normal((n_rows, n_clusters)).astype(np.float32)
    assigned = bounded_assignment(scores, max_size)
    sizes = np.bincount(assigned, minlength=n_clusters)
    assert sizes.max(initial=0) <= max_size
    for row, cluster in enumerate(assigned):
        for better in np.flatnonzero(scores[row] > scores[row, cluster]):
            assert sizes[better] == max_size
            assert (scores[assigned == better, better] >= scores[row, better]).all()


@pytest.mark.parametrize("near", [None, cosine_neighbors(Y[:500], 10)], ids=["features", "graph"])
def test_samples_without_labels_go_to_the_nearest_centre(near):
    labelled, others = np.split(np.arange(600, dtype=np.int32), [500])
    partition = fit_partition(X, labelled, others, 200, 0, near)
    assert sorted(np.concatenate(partition.clusters)) == labelled.tolist()
    assert sorted(np.concatenate(partition.others)) == others.tolist()
    for cluster, rows in enumerate(partition.others):
        assert (nearest_clusters(X[rows], partition.centers, 1)[0] == cluster).all()
