"""All trees of a model as one set of flat, compact arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from tacit.kernels.forest import rank_by_nearness, rank_votes, row_levels, walk_alone, walk_together
from tacit.ranking import Ranking
from tacit.trees.compact import quantised, smallest_ids
from tacit.trees.growth import Tree
from tacit.trees.tail import Nearness

_MANY_ROWS = 32  # from which on it pays to spread out the weights of nodes


@dataclass(frozen=True, eq=False)
class Forest:
    """Inner nodes and leaves of all trees, numbered through.

    A child or root below zero is the leaf ``-1 - child``. A weight is its level times the step of its node
    (``terms[:, 0]``; ``terms[:, 1]`` is the bias), a score in a leaf its level times the leaf's step.
    """

    roots: npt.NDArray[np.int32]
    children: npt.NDArray[np.int32]
    terms: npt.NDArray[np.float32]
    weight_starts: npt.NDArray[np.int64]
    weight_features: npt.NDArray[Any]
    weight_levels: npt.NDArray[np.int8]
    leaf_starts: npt.NDArray[np.int64]
    leaf_labels: npt.NDArray[Any]
    leaf_levels: npt.NDArray[np.uint16]
    leaf_steps: npt.NDArray[np.float32]

    @staticmethod
    def of(trees: Sequence[Tree], n_features: int, n_labels: int) -> Forest:
        """Put trees together, in order."""
        first_inner = np.cumsum([0] + [len(tree.children) for tree in trees])
        first_leaf = np.cumsum([0] + [len(tree.leaf_starts) - 1 for tree in trees])
        leaf_starts = _joined_starts([tree.leaf_starts for tree in trees])
        levels, steps = quantised(np.concatenate([tree.leaf_scores for tree in trees]), leaf_starts, np.uint16)
        return Forest(
            roots=np.concatenate(
                [
                    _renumbered(np.array([0 if len(tree.children) else -1]), inner, leaf)
                    for tree, inner, leaf in zip(trees, first_inner[:-1], first_leaf[:-1], strict=True)
                ]
            ),
            children=np.concatenate(
                [
                    _renumbered(tree.children, inner, leaf)
                    for tree, inner, leaf in zip(trees, first_inner[:-1], first_leaf[:-1], strict=True)
                ]
            ),
            terms=np.concatenate([tree.terms for tree in trees]),
            weight_starts=_joined_starts([tree.weight_starts for tree in trees]),
            weight_features=smallest_ids(np.concatenate([tree.weight_features for tree in trees]), n_features),
            weight_levels=np.concatenate([tree.weight_levels for tree in trees]),
            leaf_starts=leaf_starts,
            leaf_labels=smallest_ids(np.concatenate([tree.leaf_labels for tree in trees]), n_labels),
            leaf_levels=levels,
            leaf_steps=steps,
        )

    def rank(
        self,
        X: sparse.csr_matrix,
        k: int,
        allowed: npt.NDArray[np.bool_],
        min_share: float = 1.0,
        nearness: Nearness | None = None,
    ) -> Ranking:
        """The best allowed labels among those in the leaves of each row, re-ranked by `nearness` if given.

        A row near a hyperplane goes both ways while its shares stay at or above `min_share`.
        """
        starts, features = X.indptr.astype(np.int64), X.indices.astype(np.uint32)
        levels, steps = row_levels(starts, X.data)
        rows = (starts, features, levels, steps, X.shape[1])
        inner = (self.children, self.terms, self.weight_starts, self.weight_features, self.weight_levels)
        n_parts = np.ones((X.shape[0], len(self.roots)), np.int32)
        nodes = np.empty((*n_parts.shape, int(1 / min_share) + 1), np.int32)
        shares = np.ones(nodes.shape, np.float32)
        nodes[:, :, 0] = self.roots
        places = (nodes, shares, n_parts)
        if X.shape[0] >= _MANY_ROWS:
            walk_together(*rows, *inner, float(min_share), *places)
        walk_alone(*rows, *inner, float(min_share), *places)
        leaves = (*places, self.leaf_starts, self.leaf_labels, self.leaf_levels, self.leaf_steps)
        if nearness is None:
            return Ranking(*rank_votes(*leaves, allowed, k))
        centres = nearness.centres
        return Ranking(
            *rank_by_nearness(
                starts,
                features,
                levels,
                *leaves,
                centres.starts,
                centres.labels,
                centres.levels,
                centres.steps,
                centres.squares,
                float(nearness.alpha),
                float(nearness.gamma),
                allowed,
                k,
            )
        )


def _renumbered(nodes: npt.NDArray[np.integer], first_inner: int, first_leaf: int) -> npt.NDArray[np.int32]:
    """Numbers within a tree as numbers within the forest."""
    return np.where(nodes >= 0, nodes + first_inner, nodes - first_leaf).astype(np.int32)


def _joined_starts(parts: Sequence[npt.NDArray[np.int64]]) -> npt.NDArray[np.int64]:
    """Row pointers of matrices stacked on each other."""
    sizes = np.concatenate([np.diff(part) for part in parts])
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
