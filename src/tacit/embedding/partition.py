"""Stage 1: samples cut into clusters of bounded size, by their features or by their neighbours in label space."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from scipy import sparse

from tacit.arrays import Floats32, Ids, Ints32
from tacit.core.features import FeatureMatrix, Features, sparse_part
from tacit.embedding.neighbors import Neighbors
from tacit.kernels.dense import Rows
from tacit.kernels.graph_partition import FtrlCentres, partition_pass
from tacit.numerics.rows import unit_rows

_LEAST_SIMILARITY = np.float32(1e-6)  # of a sample to its cluster where it is similar to none
_PASSES = 10  # of k-means, which need not converge: the learners are meant to differ
_GRAPH_RATE = 0.1
_GRAPH_L1 = 0.1
_FILL = 0.75  # of the capacity of clusters of equal size; the rest allows for unequal ones


@dataclass(frozen=True, eq=False)
class Partition:
    """Clusters of samples; a new sample belongs to the one whose centre has the largest inner product with it."""

    centers: Floats32  # of shape (n_clusters, n_features)
    clusters: list[Ints32]  # the samples of each in rising order; each sample is in exactly one
    others: list[Ints32] = field(default_factory=list)  # for each, the samples without labels nearest to it


def fit_partition(
    X: FeatureMatrix,
    labelled: Ints32,
    others: Ints32,
    max_cluster: int,
    seed: int,
    near: Neighbors | None = None,
    n_passes: int = 10,
) -> Partition:
    """A task: cut the labelled samples into clusters, then assign the others to the nearest centres.

    With label-space neighbours `near` of the labelled samples the cut follows these, otherwise the features.
    """
    if near is None:
        cut = bounded_clusters(X[labelled], max_cluster, seed)
    else:
        cut = graph_clusters(X[labelled], near, max_cluster, seed, n_passes)
    nearest = nearest_clusters(X[others], cut.centers, 1)[0][:, 0]
    assigned = [others[nearest == cluster] for cluster in range(len(cut.clusters))]
    return Partition(cut.centers, [labelled[rows] for rows in cut.clusters], assigned)


def nearest_clusters(X: FeatureMatrix, centers: Floats32, n_clusters: int) -> tuple[Ids, Floats32]:
    """The nearest clusters of each row (ExMLDS Algorithm 1, step 1), and their cosines, at least 0."""
    similarities: Floats32 = unit_rows(X) @ np.ascontiguousarray(centers.T)
    order = np.argsort(-similarities, axis=1, kind="stable")[:, :n_clusters]
    nearest = np.maximum(np.take_along_axis(similarities, order, axis=1), 0)
    nearest[:, 0] = np.maximum(nearest[:, 0], _LEAST_SIMILARITY)
    return order, nearest


# -- by features: spherical k-means -----------------------------------------------------------------------


def bounded_clusters(X: FeatureMatrix, max_size: int, seed: int) -> Partition:
    """Cut the rows of X into clusters of at most `max_size`; clusters that are too large are cut again."""
    X = unit_rows(X)
    rng = np.random.default_rng(seed)
    pending = [np.arange(X.shape[0], dtype=np.int32)]
    clusters: list[Ints32] = []
    while pending:
        rows = pending.pop()
        if len(rows) <= max_size:
            clusters.append(rows)
            continue
        n_clusters = -(-len(rows) // max_size)
        assigned = _spherical_k_means(X[rows], n_clusters, rng)
        parts = [rows[assigned == cluster] for cluster in range(n_clusters)]
        if max(map(len, parts)) == len(rows):  # the features do not tell these samples apart
            parts = np.array_split(rows, n_clusters)
        pending.extend(part for part in reversed(parts) if len(part))
    return Partition(np.stack([_center(X[rows]) for rows in clusters]), clusters)


def _spherical_k_means(X: FeatureMatrix, n_clusters: int, rng: np.random.Generator) -> Ids:
    centers = X[np.sort(rng.choice(X.shape[0], n_clusters, replace=False))].toarray()
    assigned = np.full(X.shape[0], -1)
    for _ in range(_PASSES):
        similarities = np.asarray(X @ centers.T)
        nearest = similarities.argmax(axis=1)
        if np.array_equal(nearest, assigned):
            break
        assigned = nearest
        for cluster in range(n_clusters):
            members = assigned == cluster
            if members.any():
                centers[cluster] = _center(X[members])
            else:  # start again from the sample that is farthest from all centres
                centers[cluster] = X[similarities.max(axis=1).argmin()].toarray()
    return assigned


def _center(X: FeatureMatrix) -> Floats32:
    total = np.asarray(sparse_part(X).sum(axis=0, dtype=np.float64)).ravel()
    if isinstance(X, Features):
        total = np.concatenate([total, X.rows32().sum(axis=0, dtype=np.float64)])
    length = np.linalg.norm(total)
    return (total / length if length else total).astype(np.float32)


# -- by label-space neighbours: the partition of AnnexML --------------------------------------------------


def graph_clusters(X: sparse.csr_matrix, near: Neighbors, max_size: int, seed: int, n_passes: int = 10) -> Partition:
    """Cut the rows of X, whose label-space neighbours are `near`, into clusters of at most `max_size`.

    Every cluster has a linear centre, and a sample belongs to the centre of the largest inner product. Centres are
    learned so that the centre of a sample also attracts its neighbours in label space, and no other samples.
    """
    X = unit_rows(X)
    n_clusters = 1 if X.shape[0] <= max_size else -(-X.shape[0] // max(1, int(_FILL * max_size)))
    centers = _learned_centers(X, near, n_clusters, np.random.default_rng(seed), n_passes)
    assigned = bounded_assignment(np.asarray(X @ centers), max_size)
    clusters = [np.flatnonzero(assigned == cluster).astype(np.int32) for cluster in range(n_clusters)]
    filled = [cluster for cluster, rows in enumerate(clusters) if len(rows)]
    return Partition(np.ascontiguousarray(centers.T[filled]), [clusters[cluster] for cluster in filled])


def _learned_centers(
    X: sparse.csr_matrix, near: Neighbors, n_clusters: int, rng: np.random.Generator, n_passes: int
) -> Floats32:
    """FTRL-proximal over pairs of neighbours and as many random pairs; the first pass assigns random clusters."""
    n_samples = X.shape[0]
    centers, sums, squares = (np.zeros((X.shape[1], n_clusters), np.float32) for _ in range(3))
    state = FtrlCentres(centers, sums, squares, _GRAPH_RATE, _GRAPH_L1)
    for step in range(n_passes):
        order = rng.permutation(n_samples).astype(np.int32)
        chosen = np.full(n_samples, -1) if step else rng.integers(0, n_clusters, n_samples)
        negatives = rng.integers(0, n_samples, n_samples)
        pairs = (near.draw(order, rng), negatives.astype(np.int32))
        partition_pass(Rows.of(X), order, chosen.astype(np.int32), *pairs, state)
    return centers


def bounded_assignment(scores: Floats32, max_size: int) -> Ids:
    """The best cluster of each row, under a bound on the size of clusters.

    A full cluster keeps its highest-scoring rows; the others try their next best one. The result is a stable matching:
    no row and cluster would both gain by changing.
    """
    n_rows, n_clusters = scores.shape
    order = np.argsort(-scores, axis=1, kind="stable")
    choice = np.zeros(n_rows, np.intp)
    rows = np.arange(n_rows)
    while True:
        assigned = order[rows, choice]
        sizes = np.bincount(assigned, minlength=n_clusters)
        if sizes.max(initial=0) <= max_size:
            return assigned
        for cluster in np.flatnonzero(sizes > max_size):
            members = np.flatnonzero(assigned == cluster)
            best_first = members[np.argsort(-scores[members, cluster], kind="stable")]
            choice[best_first[max_size:]] += 1
