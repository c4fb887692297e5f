"""All trees of a model in one set of flat, quantised arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from tacit.arrays import Floats32, Integers, Ints8, Ints16, Ints32, Ints64, Mask, UInts32, UInts64
from tacit.core.ranking import Ranking
from tacit.kernels.best import Places
from tacit.kernels.dense import Rows
from tacit.kernels.forest_ranking import (
    CentreLevels,
    ForestLeaves,
    ForestNodes,
    LevelRows,
    find_leaves,
    leaf_residuals,
    quantised,
    rank_labels_of_leaves,
)
from tacit.kernels.tree import Tree
from tacit.numerics.compact import smallest_ids
from tacit.store.declared import IDS, Array

_LARGE = 64  # weights of a node above which they are kept by feature


@dataclass(frozen=True, eq=False)
class Forest:
    """Inner nodes and leaves of all trees, numbered consecutively.

    A child or root below zero is the leaf ``-1 - child``. A weight is its level times the step of its node
    (``terms[:, 0]``; ``terms[:, 1]`` is the bias), a score in a leaf its level times the leaf's step. The weights of
    large nodes are kept by feature: ``large[node]`` is the number of a node among these, from 1, and 0 for the others.
    """

    roots: Annotated[Ints32, Array("int32", ("n_trees",), low="-n_leaves", below="n_nodes", is_filled=True)]
    children: Annotated[Ints32, Array("int32", ("n_nodes", "2"), low="-n_leaves", below="n_nodes", is_after=True)]
    terms: Annotated[Floats32, Array("float32", ("n_nodes", "2"))]
    weight_starts: Annotated[UInts64, Array("uint64", ("n_nodes+1",), starts="n_weights")]
    weight_features: Annotated[npt.NDArray[Any], Array(IDS, ("n_weights",), below="n_features")]
    weight_levels: Annotated[Ints8, Array("int8", ("n_weights",))]
    large: Annotated[UInts32, Array("uint32", ("n_nodes",), below="n_nodes+1", most="n_large")]
    large_starts: Annotated[UInts64, Array("uint64", ("n_features+1",), starts="n_large_weights")]
    large_nodes: Annotated[npt.NDArray[Any], Array(IDS, ("n_large_weights",), below="n_large+1")]
    large_levels: Annotated[Ints8, Array("int8", ("n_large_weights",))]
    leaf_starts: Annotated[UInts64, Array("uint64", ("n_leaves+1",), starts="n_leaf_labels")]
    leaf_labels: Annotated[npt.NDArray[Any], Array(IDS, ("n_leaf_labels",), below="n_labels")]
    leaf_levels: Annotated[Ints16, Array("int16", ("n_leaf_labels",))]
    leaf_steps: Annotated[Floats32, Array("float32", ("n_leaves",))]

    @staticmethod
    def of(trees: Sequence[Tree], Y: sparse.csr_matrix, n_features: int, refit: float) -> Forest:
        """Join trees, in order.

        Leaves are means of rows of Y. `refit` times the forest's mean residual on the samples of each leaf is added
        to the leaf.
        """
        first_inner = np.cumsum([0] + [len(tree.children) for tree in trees])
        first_leaf = np.cumsum([0] + [len(tree.leaf_starts) - 1 for tree in trees])
        leaf_starts = _joined_starts([tree.leaf_starts for tree in trees])
        leaf_labels = np.concatenate([tree.leaf_labels for tree in trees])
        leaf_scores = np.concatenate([tree.leaf_scores for tree in trees])
        if refit > 0:
            leaves = np.stack([tree.leaf_of + first for tree, first in zip(trees, first_leaf, strict=False)], axis=1)
            leaf_scores += refit * _mean_residuals(leaves, leaf_starts, leaf_labels, leaf_scores, Y)
        levels, steps = quantised(leaf_scores, leaf_starts, np.int16)
        numbered = list(zip(trees, first_inner[:-1], first_leaf[:-1], strict=True))
        roots = [_renumbered(np.array([0 if len(tree.children) else -1]), *firsts) for tree, *firsts in numbered]
        return Forest(
            roots=np.concatenate(roots),
            children=np.concatenate([_renumbered(tree.children, *firsts) for tree, *firsts in numbered]),
            terms=np.concatenate([tree.terms for tree in trees]),
            **_weights(trees, n_features),
            leaf_starts=leaf_starts.astype(np.uint64),
            leaf_labels=smallest_ids(leaf_labels, Y.shape[1]),
            leaf_levels=levels,
            leaf_steps=steps.astype(np.float32),
        )

    def rank(
        self, X: sparse.csr_matrix, k: int, allowed: Mask, min_share: float, centres: CentreLevels | None
    ) -> Ranking:
        """The best allowed labels among those in the leaves of each row, re-ranked by `centres` if given."""
        starts = X.indptr.astype(np.uint64)
        rows = LevelRows(starts, X.indices.astype(np.uint32), *quantised(X.data, starts, np.int16))
        nodes = ForestNodes(*(getattr(self, name) for name in ForestNodes._fields))
        leaves = ForestLeaves(self.leaf_starts, self.leaf_labels, self.leaf_levels, self.leaf_steps)
        reached, ranking = find_leaves(rows, nodes, min_share), Ranking.empty(X.shape[0], k)
        places = Places(ranking.labels, ranking.scores, allowed)
        rank_labels_of_leaves(rows, reached, leaves, len(self.roots), centres, places)
        return ranking


def _mean_residuals(
    leaves: Integers, leaf_starts: Ints64, leaf_labels: Ints32, leaf_scores: Floats32, Y: sparse.csr_matrix
) -> Floats32:
    """For each label in each leaf, the mean residual of the forest on the samples of the leaf."""
    contents = Rows(leaf_starts.astype(np.uint64), leaf_labels.astype(np.uint32), leaf_scores)
    truth = Rows(Y.indptr.astype(np.uint64), Y.indices.astype(np.uint32), Y.data)
    sums = leaf_residuals(leaves.astype(np.int32), contents, truth, Y.shape[1])
    n_samples = np.bincount(leaves.ravel(), minlength=len(leaf_starts) - 1)
    return np.divide(sums, np.repeat(n_samples, np.diff(leaf_starts)), dtype=np.float32)


def _weights(trees: Sequence[Tree], n_features: int) -> dict[str, Any]:
    """The weights of all trees, grouped by node; those of large nodes are grouped by feature."""
    starts = _joined_starts([tree.weight_starts for tree in trees])
    features = np.concatenate([tree.weight_features for tree in trees])
    levels = np.concatenate([tree.weight_levels for tree in trees])
    sizes = np.diff(starts)
    is_large = sizes > _LARGE
    large = np.where(is_large, np.cumsum(is_large), 0).astype(np.uint32)
    in_large = np.repeat(is_large, sizes)
    order = np.argsort(features[in_large], kind="stable")
    counts = np.bincount(features[in_large], minlength=n_features)
    return {
        "weight_starts": np.concatenate([[0], np.cumsum(np.where(is_large, 0, sizes))]).astype(np.uint64),
        "weight_features": smallest_ids(features[~in_large], n_features),
        "weight_levels": levels[~in_large],
        "large": large,
        "large_starts": np.concatenate([[0], np.cumsum(counts)]).astype(np.uint64),
        "large_nodes": smallest_ids(np.repeat(large, sizes)[in_large][order], int(is_large.sum()) + 1),
        "large_levels": levels[in_large][order],
    }


def _renumbered(nodes: Integers, first_inner: int, first_leaf: int) -> Ints32:
    """Node numbers within a tree converted to numbers within the forest."""
    return np.where(nodes >= 0, nodes + first_inner, nodes - first_leaf).astype(np.int32)


def _joined_starts(parts: Sequence[Ints64]) -> Ints64:
    """Row pointers of vertically stacked CSR matrices."""
    sizes = np.concatenate([np.diff(part) for part in parts])
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
