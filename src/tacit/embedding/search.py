"""Approximate nearest neighbours in large clusters, through the extra 'ann' (see docs/decisions/nearest-neighbours)."""

from __future__ import annotations

import importlib
import importlib.util
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt

from tacit.core.parameters import OneOf
from tacit.embedding.neighbors import Neighbors, embedded_neighbors
from tacit.errors import MissingExtraError, ModelFileError
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


def build_index(points: npt.NDArray[np.float32]) -> npt.NDArray[np.uint8]:
    """A graph for search by inner product, serialised to bytes."""
    faiss = _faiss()
    index = faiss.IndexHNSWFlat(points.shape[1], _LINKS, faiss.METRIC_INNER_PRODUCT)
    index.hnsw.efConstruction = _BUILD_WIDTH
    index.add(points)
    stored: npt.NDArray[np.uint8] = faiss.serialize_index(index)
    return stored


def open_index(stored: npt.NDArray[np.uint8]) -> Any:
    """The graph that `build_index` serialised."""
    try:
        index = _faiss().deserialize_index(np.array(stored))
    except RuntimeError as error:
        raise ModelFileError(f"the search index cannot be read by this version of faiss ({error})") from error
    index.hnsw.efSearch = _SEARCH_WIDTH if index.ntotal < _LARGE else _LARGE_SEARCH_WIDTH
    return index


def index_problem(stored: npt.NDArray[np.uint8], n_points: int, dimension: int) -> str:
    """Why `stored` is not a graph of `n_points` points, or "" if it is one: faiss trusts all links and lengths.

    The layout is that of ``IndexHNSWFlat``. A point has links on levels 0 to some highest level. `offsets` says where
    the links of each point begin, `per_level` how many places all levels below a given one take.
    """
    read = _Reader(stored)
    try:
        read.header(b"IHNf", dimension, n_points)
        read.vector("<f8")
        per_level, levels, offsets, links = (read.vector(kind) for kind in ("<i4", "<i4", "<u8", "<i4"))
        entry, top, *_ = read.numbers("<i4", 5)
        read.header(b"IxFI", dimension, n_points)
        codes = read.vector("<f4")
    except ValueError as error:
        return str(error)
    if read.at != len(stored) or len(codes) != n_points * dimension:
        return "it has another length"
    n_levels = len(per_level) - 1
    if len(levels) != n_points or n_levels < 1 or levels.min() < 1 or levels.max() > n_levels:
        return "its levels are wrong"
    if per_level[0] != 0 or (np.diff(per_level) < 0).any() or not 0 <= entry < n_points or levels[entry] != top + 1:
        return "its levels are wrong"
    starts = np.concatenate([[0], np.cumsum(per_level[levels], dtype=np.int64)])
    if not np.array_equal(starts, offsets) or starts[-1] != len(links):
        return "its links are misplaced"
    if links.min(initial=-1) < -1 or links.max(initial=-1) >= n_points:
        return "a link leads nowhere"
    for level in range(1, n_levels):  # on every level, links lead only to points that have this level
        first = starts[:-1][levels > level] + per_level[level]
        linked = links[first[:, None] + np.arange(per_level[level + 1] - per_level[level])]
        if (levels[linked[linked >= 0]] <= level).any():
            return "a link leads to a point of a lower level"
    return ""


class _Reader:
    """Reads the bytes of a faiss index in order; raises `ValueError` where they are something else."""

    def __init__(self, stored: npt.NDArray[np.uint8]) -> None:
        self.stored, self.at = stored, 0

    def numbers(self, kind: str, n: int) -> npt.NDArray[Any]:
        end = self.at + n * np.dtype(kind).itemsize
        if end > len(self.stored):
            raise ValueError("it is too short")
        found = self.stored[self.at : end].copy().view(kind)  # copied, as it may not be aligned
        self.at = end
        return found

    def vector(self, kind: str) -> npt.NDArray[Any]:
        return self.numbers(kind, int(self.numbers("<u8", 1)[0]))

    def header(self, name: bytes, dimension: int, n_points: int) -> None:
        if self.numbers("u1", 4).tobytes() != name:
            raise ValueError("it is of another kind")
        if self.numbers("<i4", 1)[0] != dimension or self.numbers("<i8", 3)[0] != n_points:
            raise ValueError("it is of other points")
        if self.numbers("u1", 1)[0] != 1 or self.numbers("<i4", 1)[0] != 0:
            raise ValueError("it is not for inner products")


def approximate_neighbors(index: Any, queries: npt.NDArray[np.float32], k: int) -> Neighbors:
    """The neighbours that an index finds for each query, nearest first."""
    _faiss()
    similarities, samples = index.search(np.ascontiguousarray(queries), min(k, index.ntotal))
    similarities = np.where(samples < 0, -np.inf, similarities).astype(np.float32)
    return Neighbors(samples.astype(np.int32), similarities)


def recall(index: Any, points: npt.NDArray[np.float32], k: int) -> float:
    """Share of the exact `k` nearest points that the index finds, over a sample of the points."""
    sample = points[np.unique(np.linspace(0, len(points) - 1, _RECALL_QUERIES).astype(np.intp))]
    exact = embedded_neighbors(sample, points, k).samples
    found = approximate_neighbors(index, sample, k).samples
    return float(np.mean([np.isin(right, given).mean() for right, given in zip(exact, found, strict=True)]))


def _faiss() -> Any:
    faiss = importlib.import_module("faiss")
    faiss.omp_set_num_threads(1)  # holds for this thread; with more threads the graph would depend on timing
    return faiss
