"""Training the nodes of label trees, each on the samples that have a label below it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt
from scipy import sparse

from tacit.kernels.dual import prune, train_block
from tacit.linear.label_clusters import LabelClusters
from tacit.linear.label_forest import Chunk
from tacit.numerics.classifiers import LinearObjective
from tacit.numerics.halves import as_halves

_INNER_WEIGHT = 2.0  # of positives in inner nodes: a label whose cluster is missed is lost


@dataclass(frozen=True, eq=False)
class LabelNode:
    """A node: its labels, and where its children begin among them; the number of labels comes last."""

    labels: npt.NDArray[np.int32]
    bounds: npt.NDArray[np.int64]
    is_leaf: bool


def nodes_of(tree: LabelClusters) -> Iterator[LabelNode]:
    """The nodes of a tree, level by level."""
    for depth, level in enumerate(tree.levels):
        is_leaf = depth == len(tree.levels) - 1
        below = np.arange(len(tree.labels) + 1) if is_leaf else tree.levels[depth + 1]
        for first, last in pairwise(level):
            inside = below[np.searchsorted(below, first) : np.searchsorted(below, last) + 1]
            yield LabelNode(tree.labels[first:last], inside - first, is_leaf)


def even_groups(work: Sequence[float]) -> list[slice]:
    """Consecutive nodes that together are no more work than the largest one."""
    groups, first, total = [], 0, 0.0
    for i, amount in enumerate(work):
        if i > first and total + amount > max(work):
            groups.append(slice(first, i))
            first, total = i, 0.0
        total += amount
    return [*groups, slice(first, len(work))]


@dataclass(frozen=True)
class NodeOptions:
    """What all nodes share."""

    negatives: float
    bias: float
    prune: float
    tolerance: float
    max_passes: int
    dtype: str


def train_nodes(
    X: sparse.csr_matrix,
    Y: sparse.csc_matrix,
    nodes: list[LabelNode],
    seeds: list[int],
    objective: LinearObjective,
    options: NodeOptions,
) -> list[Chunk]:
    """The classifiers of some nodes; the positives' part of the objective is for leaves."""
    return [_train_node(X, Y, node, seed, objective, options) for node, seed in zip(nodes, seeds, strict=True)]


def _train_node(
    X: sparse.csr_matrix,
    Y: sparse.csc_matrix,
    node: LabelNode,
    seed: int,
    objective: LinearObjective,
    options: NodeOptions,
) -> Chunk:
    rows, signs = _samples_of(Y, node, options.negatives, seed)
    columns, samples = _compacted(X if len(rows) == X.shape[0] else X[rows])
    inner_costs = np.full(signs.shape[1], _INNER_WEIGHT * objective.negative_cost, dtype=np.float32)
    weights, *_ = train_block(
        samples.indptr.astype(np.int64),
        samples.indices,
        samples.data,
        len(columns),
        signs,
        objective.positive_costs[node.labels] if node.is_leaf else inner_costs,
        objective.positive_targets[node.labels] if node.is_leaf else np.ones_like(inner_costs),
        objective.negative_cost,
        options.bias,
        objective.loss,
        options.tolerance,
        options.max_passes,
        seed,
    )
    starts, children, values = prune(weights, options.prune)
    sizes = np.diff(starts)
    is_used = sizes > 0
    return Chunk(
        columns[is_used],
        sizes[is_used].astype(np.int32),
        children.astype(np.uint8 if signs.shape[1] <= 1 << 8 else np.uint16),
        as_halves(values) if options.dtype == "float16" else values,
        np.float32(options.bias) * weights[-1],
    )


def _samples_of(
    Y: sparse.csc_matrix, node: LabelNode, negatives: float, seed: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int8]]:
    """The samples a node learns from, and for each child whether they have one of its labels (1 or -1).

    These are the samples with a label of the node, and `negatives` times as many drawn from all: a sample that is
    led into the wrong node must find its labels unlikely there.
    """
    inside = Y[:, node.labels]
    own = np.unique(inside.indices)
    n_drawn = min(int(negatives * len(own)), Y.shape[0])
    rows = np.union1d(own, np.random.default_rng(seed).choice(Y.shape[0], n_drawn, replace=False))
    child_of_label = np.repeat(np.arange(len(node.bounds) - 1), np.diff(node.bounds))
    signs = np.full((len(rows), len(node.bounds) - 1), -1, dtype=np.int8)
    signs[np.searchsorted(rows, inside.indices), np.repeat(child_of_label, np.diff(inside.indptr))] = 1
    return rows, signs


def _compacted(X: sparse.csr_matrix) -> tuple[npt.NDArray[np.int32], sparse.csr_matrix]:
    """The columns that occur in X, and X with these alone."""
    occurs = np.zeros(X.shape[1], dtype=np.bool_)
    occurs[X.indices] = True
    columns = np.flatnonzero(occurs).astype(np.int32)
    place = np.cumsum(occurs, dtype=np.int32) - 1
    return columns, sparse.csr_matrix((X.data, place[X.indices], X.indptr), shape=(X.shape[0], len(columns)))
