"""Clusters of labels whose samples are alike."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import numpy.typing as npt
from scipy import sparse

from tacit.core.features import FeatureMatrix, Features, compacted, sparse_part, stack_rows
from tacit.kernels.beam_search import fill_clusters
from tacit.numerics.rows import label_means, largest_entries, unit_rows
from tacit.numerics.storage import entries_at_once
from tacit.runtime.tasks import run_tasks

_LABELS_PER_TASK = 512  # at most; fewer if their samples have many features, which bounds memory
_CENTRE_FEATURES = 256  # the largest of a label's centre; clusters hardly change with more
_PASSES = 10  # of k-means at most
_LEAST_GAIN = 1e-3  # relative gain in similarity to the cluster centres for another pass


@dataclass(frozen=True, eq=False)
class LabelClusters:
    """Nested clusters of labels."""

    labels: npt.NDArray[np.int32]  # sorted so that every cluster is contiguous
    levels: list[npt.NDArray[np.int64]]  # from the root to the leaves: where clusters start, then the number of labels


def label_centres(X: FeatureMatrix, Y: sparse.csr_matrix, n_jobs: int | None) -> FeatureMatrix:
    """The unit-length mean of each label's samples, pruned to its largest entries; X has unit rows, Y only ones."""
    Y = Y.tocsc()
    per_sample = X.nnz / max(X.shape[0], 1)
    entries = np.cumsum(np.diff(Y.indptr), dtype=np.int64) * per_sample  # of the samples of all labels so far
    stops = {int(stop) for stop in np.flatnonzero(np.diff(entries // entries_at_once())) + 1}
    stops.update(range(_LABELS_PER_TASK, Y.shape[1], _LABELS_PER_TASK))
    tasks = [{"first": first, "last": last} for first, last in pairwise([0, *sorted(stops), Y.shape[1]])]
    blocks = run_tasks(_centres_of_block, tasks, n_jobs=n_jobs, what="blocks of centres", X=X, Y=Y)
    return stack_rows(blocks)


def _centres_of_block(X: FeatureMatrix, Y: sparse.csc_matrix, first: int, last: int) -> FeatureMatrix:
    centres = label_means(X, Y[:, first:last].tocsr())
    pruned = largest_entries(sparse_part(centres), _CENTRE_FEATURES).astype(np.float32)
    return unit_rows(replace(centres, sparse=pruned) if isinstance(centres, Features) else pruned)


def cluster_labels(
    labels: npt.NDArray[np.int32], centres: FeatureMatrix, arity: int, max_leaf: int, seed: int
) -> LabelClusters:
    """Split `labels` into at most `arity` clusters, recursively, until none has more than `max_leaf`.

    All leaves have the same depth, the smallest possible, and nodes have no more children than that depth requires.
    The sizes of sibling clusters differ by one label at most.
    """
    rng = np.random.default_rng(seed)
    depth, n_children = _shape(len(labels), arity, max_leaf)
    levels = [np.array([0, len(labels)], dtype=np.int64)]
    for _ in range(depth):
        starts = [0]
        ordered = []
        for first, last in pairwise(levels[-1]):
            node = labels[first:last]
            _, compact = compacted(centres[node])
            cluster_of = _balanced_k_means(compact, min(n_children, len(node)), rng)
            ordered.append(node[np.argsort(cluster_of, kind="stable")])
            starts.extend(first + np.cumsum(np.bincount(cluster_of)))
        labels = np.concatenate(ordered)
        levels.append(np.array(starts, dtype=np.int64))
    return LabelClusters(labels, levels)


def _shape(n_labels: int, arity: int, max_leaf: int) -> tuple[int, int]:
    """Depth of the leaves, and children per node."""
    depth = 0
    while max_leaf * arity**depth < n_labels:
        depth += 1
    n_children = 1
    while max_leaf * n_children**depth < n_labels:
        n_children += 1
    return depth, n_children


def _balanced_k_means(centres: FeatureMatrix, n_clusters: int, rng: np.random.Generator) -> npt.NDArray[np.int32]:
    """The cluster of each row: spherical k-means with cluster sizes that differ by one row at most."""
    n_rows = centres.shape[0]
    sizes = np.full(n_clusters, n_rows // n_clusters)
    sizes[: n_rows % n_clusters] += 1
    heads = centres[np.sort(rng.choice(n_rows, n_clusters, replace=False))].toarray().T.copy()  # features × clusters
    cluster_of, best = np.zeros(n_rows, dtype=np.int32), -np.inf
    for _ in range(_PASSES):
        similarities = np.asarray(centres @ heads, dtype=np.float32)
        found = _filled_clusters(similarities, sizes)
        total = float(similarities[np.arange(n_rows), found].sum(dtype=np.float64))
        if total <= best + _LEAST_GAIN * abs(best):
            break
        cluster_of, best = found, total
        is_inside = np.equal(cluster_of[:, None], np.arange(n_clusters), out=similarities, casting="unsafe")
        heads = centres.T @ is_inside
        lengths = np.sqrt(np.einsum("ij,ij->j", heads, heads, dtype=np.float64))
        heads *= np.divide(1, lengths, out=np.zeros_like(lengths), where=lengths > 0).astype(np.float32)
    return cluster_of


def _filled_clusters(similarities: npt.NDArray[np.float32], sizes: npt.NDArray[np.int64]) -> npt.NDArray[np.int32]:
    """The cluster of each row, if clusters of these sizes are filled by the rows that gain most.

    What a row gains is how much closer a cluster is than the average one: rows without a clear cluster come last.
    """
    gains = similarities - similarities.mean(axis=1, keepdims=True, dtype=np.float64).astype(np.float32)
    cluster_of, room = np.full(len(gains), -1, dtype=np.int32), sizes.copy()
    is_better = gains > 0
    fill_clusters(_falling_places(gains, is_better), cluster_of, room)  # nearly all rows; the others are not sorted
    fill_clusters(_falling_places(gains, ~is_better & (cluster_of < 0)[:, None]), cluster_of, room)
    return cluster_of


def _falling_places(values: npt.NDArray[np.float32], where: npt.NDArray[np.bool_]) -> npt.NDArray[np.int64]:
    """Places in `values`, flattened, of those that `where` marks, the largest first; equal ones keep their order."""
    places = np.flatnonzero(where)
    return places[np.argsort(-values.ravel()[places], kind="stable")]
