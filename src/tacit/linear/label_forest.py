"""Trained label trees, laid out for the beam search."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from itertools import pairwise
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt

from tacit.arrays import Floats32, Ints32, Ints64, Mask
from tacit.core.features import FeatureMatrix, dense_part, sparse_part
from tacit.core.ranking import Ranking
from tacit.kernels.beam_search import Scoring, Search, SearchedRows, Weights, rank_leaves, search_tree
from tacit.kernels.best import Places
from tacit.numerics.clusters import LabelClusters
from tacit.numerics.compact import all_halves
from tacit.runtime.memory import return_freed
from tacit.runtime.tasks import row_blocks
from tacit.store.declared import Array, Items, Sizes

_LOGS_AT_A_TIME = 1 << 25  # log-probabilities of labels in the beams of several rows
_MOST_BEST = 100  # labels of a ranking up to which leaves that cannot have one of them are left out
MOST_LOGS = 1 << 28  # ... of one row: leaves have similar sizes, so this is not much more than the number of labels


@dataclass(frozen=True, eq=False)
class Chunk:
    """The classifiers of a node's children: entries (child, value) by feature, and intercepts.

    Children are uint8 or uint16, values float16 or float32. Concatenated arrays take the wider type.
    """

    features: Ints32
    sizes: Ints32
    children: npt.NDArray[Any]
    values: npt.NDArray[Any]
    intercepts: Floats32
    dense: npt.NDArray[Any]  # weights of dense features, features × children, in a row


@dataclass(frozen=True, eq=False)
class LabelForest:
    """All trees in flat arrays, laid out for the kernels of the beam search."""

    level_starts: Annotated[  # of each tree: the first node of every level, and the end
        list[Annotated[Ints64, Array("int64", ("",))]], Items("n_trees", is_filled=True)
    ]
    slot_starts: Annotated[Ints64, Array("int64", ("n_nodes+1",), starts="n_slots", rises=True, widest="n_children")]
    children: Annotated[Ints32, Array("int32", ("n_slots",))]
    intercepts: Annotated[Floats32, Array("float32", ("n_slots",))]
    chunk_starts: Annotated[Ints64, Array("int64", ("n_nodes+1",), starts="n_chunk_features")]
    chunk_features: Annotated[Ints32, Array("int32", ("n_chunk_features",), below="n_features")]
    entry_starts: Annotated[  # int32 where that is enough, as all arrays that grow with the model
        npt.NDArray[Any], Array("int32 int64", ("n_chunk_features+1",), starts="n_entries")
    ]
    entry_children: Annotated[npt.NDArray[Any], Array("uint8 uint16", ("n_entries",), below="n_children")]
    entry_values: Annotated[npt.NDArray[Any], Array("float16 float32", ("n_entries",))]
    dense_values: Annotated[  # of each node: weights of dense features (features × children); None without them
        npt.NDArray[Any] | None, Array("float16 float32", ("n_dense_values",))
    ] = None

    def problem(self, sizes: Sizes) -> tuple[str, str] | None:
        """Check that levels are consecutive, and that children are in the next level or, in the last one, labels."""
        end, n_dense = 0, sizes.get("n_dense", 0)
        dense = self.entry_values[:0] if self.dense_values is None else self.dense_values
        if len(dense) != n_dense * sizes["n_slots"] or dense.dtype != self.entry_values.dtype:
            found = f"{len(dense)} of {dense.dtype}"
            return "dense_values", f"must be weights of {n_dense} features for {sizes['n_slots']} children; got {found}"
        for tree, starts in enumerate(self.level_starts):
            if len(starts) < 2 or starts[0] != end or starts[-1] > sizes["n_nodes"] or (np.diff(starts) <= 0).any():
                return (f"level_starts.{tree}", f"must rise from {end} to at most {sizes['n_nodes']} nodes")
            end = int(starts[-1])
            first_slots = self.slot_starts[starts]
            bounds = [*pairwise(starts[1:].tolist()), (0, sizes["n_labels"])]
            for (first, last), (low, below) in zip(pairwise(first_slots), bounds, strict=True):
                children = self.children[first:last]
                if children.min() < low or children.max() >= below:
                    found = f"{children.min()} to {children.max()}"
                    return "children", f"must hold numbers from {low} to {below - 1} in tree {tree}; got {found}"
        return None if end == sizes["n_nodes"] else ("level_starts", f"must end at {sizes['n_nodes']}; got {end}")

    @staticmethod
    def of(trees: Sequence[LabelClusters], chunks: list[Chunk]) -> LabelForest:
        """Join trees and the chunks of their nodes, in order; the list of chunks is emptied."""
        level_starts, children, n_nodes = [], [], 0
        for tree in trees:
            sizes = [len(level) - 1 for level in tree.levels]
            starts = n_nodes + np.concatenate([[0], np.cumsum(sizes)])
            level_starts.append(starts)
            children += [np.arange(starts[1], starts[-1]), tree.labels]  # a level's children are the next level
            n_nodes = int(starts[-1])
        parts = {part.name: [getattr(chunk, part.name) for chunk in chunks] for part in fields(Chunk)}
        chunks.clear()
        slots, features = ([len(array) for array in parts[name]] for name in ("intercepts", "features"))
        joined = {}
        for name in list(parts):
            joined[name] = np.concatenate(parts.pop(name))
            return_freed()  # the parts, before the next array is joined
        values, dense = joined["values"], joined["dense"]
        dtype = np.result_type(values, dense) if len(dense) else values.dtype
        return LabelForest(
            level_starts,
            _starts(slots),
            np.concatenate(children).astype(np.int32),
            joined["intercepts"],
            _starts(features),
            joined["features"],
            _starts(joined["sizes"], np.int32 if len(values) < 1 << 31 else np.int64),
            joined["children"],
            values.astype(dtype, copy=False),
            dense.astype(dtype, copy=False) if len(dense) else None,
        )

    @property
    def n_dense(self) -> int:
        """Number of dense features."""
        return 0 if self.dense_values is None else len(self.dense_values) // len(self.children)

    @property
    def n_leaves(self) -> int:
        """Number of leaves of the largest tree."""
        return max(int(starts[-1] - starts[-2]) for starts in self.level_starts)

    @property
    def width(self) -> int:
        """Number of children of the widest node."""
        return int(np.diff(self.slot_starts).max())

    def rank(self, X: FeatureMatrix, k: int, allowed: Mask, beam: int, power: int, path_weight: float) -> Ranking:
        """The best allowed labels found by beam search."""
        beam, width = min(beam, self.n_leaves), self.width
        n_rows = max(1, _LOGS_AT_A_TIME // (len(self.level_starts) * beam * width))
        if n_rows < X.shape[0]:
            parts = (X[first:last] for first, last in row_blocks(X.shape[0], n_rows))
            return Ranking.concatenate([self.rank(part, k, allowed, beam, power, path_weight) for part in parts])
        leaves = np.empty((len(self.level_starts), X.shape[0], beam), dtype=np.int32)
        logs = np.empty((*leaves.shape, width), dtype=np.float32)
        words, dense, is_one = sparse_part(X), dense_part(X), len(self.level_starts) == 1
        table = np.full(X.shape[1] if X.shape[0] > 1 else 0, -1, dtype=np.int64)
        rows = SearchedRows(words.indptr.astype(np.int64), words.indices.astype(np.int32), words.data, table)
        weights, n_best = self._weights(), k if is_one and k <= _MOST_BEST else 0
        scoring = Scoring(allowed, self._open_nodes(allowed), power, np.float32(path_weight))
        for tree, starts in enumerate(self.level_starts):
            search_tree(Search(rows, starts, weights, scoring), dense, n_best, leaves[tree], logs[tree])
        ranking = Ranking.empty(X.shape[0], k)
        rank_leaves(leaves, logs, weights, Places(ranking.labels, ranking.scores, allowed))
        return ranking

    def _weights(self) -> Weights:
        """The nodes as kernels take them."""
        is_half = self.entry_values.dtype == np.float16
        dense = self.entry_values[:0] if self.dense_values is None else self.dense_values
        values, dense = (array.view(np.uint16) if is_half else array for array in (self.entry_values, dense))
        halves = all_halves() if is_half else np.empty(0, dtype=np.float32)
        arrays = {name: getattr(self, name) for name in Weights._fields[:-3]}
        return Weights(**arrays, values=values, dense_values=dense, halves=halves)

    def _open_nodes(self, allowed: Mask) -> Mask:
        """For each node, whether it has an allowed label below it."""
        is_open = np.ones(len(self.slot_starts) - 1, dtype=np.bool_)
        if allowed.all():
            return is_open
        for starts in self.level_starts:
            for level in range(len(starts) - 2, -1, -1):
                first, last = starts[level], starts[level + 1]
                slots = self.slot_starts[first : last + 1]
                below = self.children[slots[0] : slots[-1]]
                good = allowed[below] if level == len(starts) - 2 else is_open[below]
                is_open[first:last] = np.logical_or.reduceat(good, slots[:-1] - slots[0])
        return is_open


def _starts(sizes: Sequence[int] | npt.NDArray[Any], dtype: npt.DTypeLike = np.int64) -> npt.NDArray[Any]:
    starts = np.zeros(len(sizes) + 1, dtype)
    np.cumsum(sizes, out=starts[1:])
    return starts
