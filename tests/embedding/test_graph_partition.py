from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from planted import planted
from tacit.embedding.graph_partition import bounded_assignment, graph_clusters
from tacit.embedding.neighbors import cosine_neighbors
from tacit.embedding.partition import bounded_clusters, nearest_clusters

X, Y = planted(600)
NEAR = cosine_neighbors(Y, 10)


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
    sent = nearest_clusters(X, partition.centers, 1).clusters[:, 0]
    assert np.mean([(sent[rows] == cluster).mean() for cluster, rows in enumerate(partition.clusters)]) > 0.8


def test_seeds_give_different_partitions_and_the_same_seed_the_same():
    first, again, other = (graph_clusters(X, NEAR, 250, seed) for seed in (0, 0, 1))
    assert np.array_equal(first.centers, again.centers)
    assert first.centers.shape != other.centers.shape or not np.array_equal(first.centers, other.centers)


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


def test_too_little_room_is_an_error():
    with pytest.raises(ValueError, match="2 clusters of 3 have no room for 7 rows"):
        bounded_assignment(np.zeros((7, 2), np.float32), 3)
