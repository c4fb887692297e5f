from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from tacit.embedding.partition import bounded_clusters, nearest_clusters


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


def test_seeds_give_different_learners_and_the_same_seed_the_same():
    X = sparse.csr_matrix(np.random.default_rng(0).random((300, 5)).astype(np.float32))
    first, again, other = (bounded_clusters(X, 80, seed) for seed in (1, 1, 2))
    assert np.array_equal(first.centers, again.centers)
    assert not np.array_equal(first.centers[0], other.centers[0])


def test_samples_go_to_the_cluster_they_come_from():
    X = blobs()
    partition = bounded_clusters(X, 60, seed=0)
    route = nearest_clusters(X, partition.centers, 2)
    for cluster, rows in enumerate(partition.clusters):
        assert (route.clusters[rows, 0] == cluster).mean() > 0.95
    assert (route.similarities[:, 0] >= route.similarities[:, 1]).all()
