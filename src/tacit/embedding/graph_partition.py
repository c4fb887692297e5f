"""Stage 1, the other choice: clusters that keep label-space neighbours together (the partition of AnnexML).

A cluster has a linear centre; a sample belongs to the centre of the largest inner product. Centres are learned so
that the centre of a sample also takes the sample's neighbours in label space, and not others.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy import sparse

from tacit.embedding.neighbors import Neighbors
from tacit.embedding.partition import Partition
from tacit.kernels.graph_partition import partition_pass
from tacit.numerics.rows import unit_rows

_PASSES = 10
_RATE = 0.1
_L1 = 0.1
_FILL = 0.75  # of the room in clusters of equal size: leaves some for unequal ones

Floats32 = npt.NDArray[np.float32]


def graph_clusters(X: sparse.csr_matrix, near: Neighbors, max_size: int, seed: int) -> Partition:
    """Cut the rows of X, whose label-space neighbours are `near`, into clusters of at most `max_size`."""
    X = unit_rows(X)
    n_clusters = 1 if X.shape[0] <= max_size else -(-X.shape[0] // max(1, int(_FILL * max_size)))
    centers = _learned_centers(X, near, n_clusters, np.random.default_rng(seed))
    assigned = bounded_assignment(np.asarray(X @ centers), max_size)
    clusters = [np.flatnonzero(assigned == cluster).astype(np.int32) for cluster in range(n_clusters)]
    filled = [cluster for cluster, rows in enumerate(clusters) if len(rows)]
    return Partition(np.ascontiguousarray(centers.T[filled]), [clusters[cluster] for cluster in filled])


def _learned_centers(X: sparse.csr_matrix, near: Neighbors, n_clusters: int, rng: np.random.Generator) -> Floats32:
    """FTRL-proximal over pairs of neighbours and as many random pairs; the first pass has random clusters."""
    n_samples = X.shape[0]
    shape = (X.shape[1], n_clusters)
    centers, sums, squares = np.zeros(shape, np.float32), np.zeros(shape, np.float32), np.zeros(shape, np.float32)
    parts = (X.indptr, X.indices, X.data)
    for step in range(_PASSES):
        order = rng.permutation(n_samples).astype(np.int32)
        chosen = np.full(n_samples, -1) if step else rng.integers(0, n_clusters, n_samples)
        negatives = rng.integers(0, n_samples, n_samples)
        pairs = (near.draw(order, rng), negatives.astype(np.int32))
        partition_pass(*parts, order, chosen.astype(np.int32), *pairs, centers, sums, squares, _RATE, _L1)
    return centers


def bounded_assignment(scores: Floats32, max_size: int) -> npt.NDArray[np.intp]:
    """The best cluster of each row that has room for it: a full cluster keeps the rows that score highest.

    A row that is turned away asks its next best cluster, which may turn away another; no row and cluster are
    left that would both rather have each other.
    """
    n_rows, n_clusters = scores.shape
    if n_rows > n_clusters * max_size:
        raise ValueError(f"{n_clusters} clusters of {max_size} have no room for {n_rows} rows")
    order = np.argsort(-scores, axis=1, kind="stable")
    turn = np.zeros(n_rows, np.intp)
    rows = np.arange(n_rows)
    while True:
        assigned = order[rows, turn]
        sizes = np.bincount(assigned, minlength=n_clusters)
        if sizes.max(initial=0) <= max_size:
            return assigned
        for cluster in np.flatnonzero(sizes > max_size):
            members = np.flatnonzero(assigned == cluster)
            best_first = members[np.argsort(-scores[members, cluster], kind="stable")]
            turn[best_first[max_size:]] += 1
