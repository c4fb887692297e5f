"""Stage 1: samples cut into clusters of bounded size by spherical k-means on their features."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import sparse

from tacit.numerics.rows import unit_rows

_FAINT = np.float32(1e-6)  # similarity of a sample to its cluster where it is similar to none
_PASSES = 10  # of k-means; the clusters need not be optimal, learners differ on purpose


@dataclass(frozen=True, eq=False)
class Partition:
    """Clusters of samples.

    Attributes
    ----------
    centers : float32 array of shape (n_clusters, n_features)
        Unit vectors; a new sample belongs to the cluster with the largest inner product.
    clusters : list of int32 arrays
        The samples of each cluster in rising order; together every sample once.
    """

    centers: npt.NDArray[np.float32]
    clusters: list[npt.NDArray[np.int32]]


def bounded_clusters(X: sparse.csr_matrix, max_size: int, seed: int) -> Partition:
    """Cut the rows of X into clusters of at most `max_size`; too large ones are cut again."""
    X = unit_rows(X)
    rng = np.random.default_rng(seed)
    pending = [np.arange(X.shape[0], dtype=np.int32)]
    clusters: list[npt.NDArray[np.int32]] = []
    while pending:
        rows = pending.pop()
        if len(rows) <= max_size:
            clusters.append(rows)
            continue
        n_clusters = -(-len(rows) // max_size)
        assigned = _spherical_k_means(X[rows], n_clusters, rng)
        parts = [rows[assigned == cluster] for cluster in range(n_clusters)]
        if max(map(len, parts)) == len(rows):  # samples that features cannot tell apart
            parts = np.array_split(rows, n_clusters)
        pending.extend(part for part in reversed(parts) if len(part))
    return Partition(np.stack([_center(X[rows]) for rows in clusters]), clusters)


@dataclass(frozen=True, eq=False)
class Route:
    """The clusters a sample is sent to, nearest first, with their cosines (at least 0)."""

    clusters: npt.NDArray[np.intp]
    similarities: npt.NDArray[np.float32]


def nearest_clusters(X: sparse.csr_matrix, centers: npt.NDArray[np.float32], n_clusters: int) -> Route:
    """The nearest clusters of each row (ExMLDS Algorithm 1, step 1)."""
    similarities: npt.NDArray[np.float32] = unit_rows(X) @ np.ascontiguousarray(centers.T)
    order = np.argsort(-similarities, axis=1, kind="stable")[:, :n_clusters]
    nearest = np.maximum(np.take_along_axis(similarities, order, axis=1), 0)
    nearest[:, 0] = np.maximum(nearest[:, 0], _FAINT)
    return Route(order, nearest)


def _spherical_k_means(X: sparse.csr_matrix, n_clusters: int, rng: np.random.Generator) -> npt.NDArray[np.intp]:
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
            else:  # start again from the sample that is served worst
                centers[cluster] = X[similarities.max(axis=1).argmin()].toarray()
    return assigned


def _center(X: sparse.csr_matrix) -> npt.NDArray[np.float32]:
    total = np.asarray(X.sum(axis=0, dtype=np.float64)).ravel()
    length = np.linalg.norm(total)
    return (total / length if length else total).astype(np.float32)
