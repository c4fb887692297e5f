"""Approximate nearest neighbours in large clusters, through the extra 'ann' (see docs/decisions/nearest-neighbours)."""

from __future__ import annotations

import importlib
import importlib.util
from typing import Annotated, Any

import numpy as np

from tacit.arrays import Floats32
from tacit.core.parameters import OneOf
from tacit.embedding.neighbors import Neighbors, embedded_neighbors
from tacit.errors import MissingExtraError
from tacit.progress import announce

Search = Annotated[
    str, OneOf(("auto", "exact", "approximate")), "how near samples are found ('auto': by the size of a cluster)"
]

#: With fewer points the exact search is as fast (measured: python -m benchmarks embedding).
MIN_APPROXIMATE = 20_000
_LINKS, _BUILD_WIDTH, _SEARCH_WIDTH = 32, 80, 128
_LARGE, _LARGE_SEARCH_WIDTH = 200_000, 256  # a larger graph needs a wider search (python -m benchmarks.joint search)
_RECALL_QUERIES = 200


def wants_index(search: str, n_points: int) -> bool:
    """Whether a cluster gets an index; raises where one is required and the extra is missing."""
    if search == "exact" or (search == "auto" and n_points < MIN_APPROXIMATE):
        return False
    if importlib.util.find_spec("faiss") is not None:
        return True
    if search == "approximate":
        raise MissingExtraError("approximate search", "ann")
    announce(f"a cluster of {n_points:,} samples is searched exactly; the extra 'ann' would be faster")
    return False


def build_index(points: Floats32) -> Any:
    """A graph for search by inner product; the same points give the same graph."""
    faiss = _faiss()
    index = faiss.IndexHNSWFlat(points.shape[1], _LINKS, faiss.METRIC_INNER_PRODUCT)
    index.hnsw.efConstruction = _BUILD_WIDTH
    index.hnsw.efSearch = _SEARCH_WIDTH if len(points) < _LARGE else _LARGE_SEARCH_WIDTH
    index.add(np.ascontiguousarray(points))
    return index


def approximate_neighbors(index: Any, queries: Floats32, k: int) -> Neighbors:
    """The neighbours that an index finds for each query, nearest first."""
    _faiss()
    similarities, samples = index.search(np.ascontiguousarray(queries), min(k, index.ntotal))
    similarities = np.where(samples < 0, -np.inf, similarities).astype(np.float32)
    return Neighbors(samples.astype(np.int32), similarities)


def recall(index: Any, points: Floats32, k: int) -> float:
    """Share of the exact `k` nearest points that the index finds, over a sample of the points."""
    sample = points[np.unique(np.linspace(0, len(points) - 1, _RECALL_QUERIES).astype(np.intp))]
    exact = embedded_neighbors(sample, points, k).samples
    found = approximate_neighbors(index, sample, k).samples
    return float(np.mean([np.isin(right, given).mean() for right, given in zip(exact, found, strict=True)]))


def _faiss() -> Any:
    try:
        faiss = importlib.import_module("faiss")
    except ImportError as error:
        raise MissingExtraError("approximate search", "ann") from error
    faiss.omp_set_num_threads(1)  # holds for this thread; with more threads the graph would depend on timing
    return faiss
