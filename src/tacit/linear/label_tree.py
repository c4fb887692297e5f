"""Label trees: linear classifiers choose among clusters of labels, then among the labels of the best clusters."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise
from typing import Annotated, ClassVar

import numpy as np
from scipy import sparse
from sklearn.base import clone

from tacit.arrays import Ints8, Ints32, Ints64, Mask
from tacit.core.base import Estimator, Idf, Normalize
from tacit.core.features import FeatureMatrix, dense_rows, sparse_part
from tacit.core.labels import positives
from tacit.core.parameters import OneOf, Range, Tune, document_parameters
from tacit.core.ranking import Ranking
from tacit.evaluation.propensity import propensities_from_counts
from tacit.kernels.dual import BlockObjective, BlockRows, prune, train_block
from tacit.linear.label_forest import MOST_LOGS, Chunk, LabelForest
from tacit.numerics.classifiers import LOSSES, POSITIVES, LinearObjective, objective_of
from tacit.numerics.clusters import LabelClusters, cluster_labels, label_centres
from tacit.numerics.compact import as_halves
from tacit.numerics.rows import entry_chunks, occurring, row_bounds, row_of_entry, selected, sorted_set, unit_rows
from tacit.numerics.storage import new_array
from tacit.runtime.memory import return_freed
from tacit.runtime.tasks import row_blocks, run_tasks, task_seeds
from tacit.store.declared import Sizes

_INNER_WEIGHT = 2.0  # of positives in inner nodes: if a cluster is missed, its labels cannot be found
_INNER_C = 1.5  # times C: otherwise clusters are missed more often where labels have one or two samples
_SHARE_REACHED = 0.1  # of the leaves, to which a sample may be added as a negative
_MOST_REACHED = 20
_POOL = 2  # candidates per hard negative that is drawn from them
_LANES = 8  # numbers that a processor takes at once; training is a fifth faster on a multiple of it
_ROWS_SEARCHED = 1 << 13  # per task, so that setting up the lookup tables of nodes costs little


@document_parameters
@dataclass(kw_only=True, eq=False, repr=False)
class LabelTree(Estimator):
    """Linear classifiers in trees over the labels, searched with a beam.

    Labels are clustered top-down by balanced spherical k-means (Parabel, Prabhu et al. 2018; wide and shallow as in
    Bonsai, Khandagale et al. 2020). Each node has a linear classifier for every child, trained on the samples that
    have a label below the node and on negatives. Those of a leaf are random samples and samples that the trained inner
    nodes lead there. A label's probability is the product along its path, averaged over trees; inner nodes count less
    than the leaf, by an exponent, because a mistake on the way would otherwise outweigh what the leaf knows.
    """

    n_trees: Annotated[int, Range(low=1), "number of trees; time and model size grow in proportion"] = 1
    arity: Annotated[int, Range(low=2, high=1 << 16), "maximum number of children of an inner node"] = 64
    max_leaf: Annotated[int, Range(low=1, high=1 << 16), Tune(30, 300), "maximum number of labels in a leaf"] = 100
    beam: Annotated[int, Range(low=1), "beam width: nodes per level that are followed when ranking"] = 20
    loss: Annotated[str, OneOf(tuple(LOSSES)), "loss function of the classifiers"] = "squared_hinge"
    power: Annotated[int, Range(low=1, high=9), "probability is exp(-max(0, 1 - margin)^power); not for logistic"] = 3
    path_weight: Annotated[
        float,
        Range(low=0, high=1),
        "exponent of the probability of reaching a leaf in that of its labels; 1 is the plain product",
    ] = 0.3
    C: Annotated[
        float, Range(above=0), Tune(0.05, 3), "inverse strength of the regularisation; logistic needs 1 to 3"
    ] = 0.3
    positives: Annotated[
        str,
        OneOf(POSITIVES),
        "weight of positives in leaves, for missing labels: 1/propensity, an unbiased estimate of the loss, or 1",
    ] = "propensity"
    negatives: Annotated[
        float, Range(low=0), Tune(0, 3, log=False), "samples added to a node as negatives, per sample it has"
    ] = 2.0
    hard_negatives: Annotated[
        float,
        Range(low=0, high=1),
        "share of a leaf's negatives that are samples which the inner nodes lead there; the others are random",
    ] = 0.5
    A: Annotated[float, Range(low=0), "propensity model: how fast the propensity rises with a label's count"] = 0.55
    B: Annotated[float, Range(above=0), "propensity model: added to a label's count"] = 1.5
    bias: Annotated[float, Range(low=0), "value of the constant feature; 0 for no intercept"] = 1.0
    prune: Annotated[float, Range(low=0), "weights smaller than this are dropped"] = 0.05
    dtype: Annotated[str, OneOf(("float16", "float32")), "type of the weights; float16 makes models smaller"] = (
        "float16"
    )
    tolerance: Annotated[float, Range(low=0), "training stops when no margin changes by more in a pass"] = 0.6
    max_passes: Annotated[int, Range(low=1), "maximum number of passes over the samples"] = 50
    idf: Idf = None
    normalize: Normalize = True

    takes_dense: ClassVar[bool] = True

    forest_: LabelForest = field(init=False)

    def problem(self, _: Sizes) -> tuple[str, str] | None:
        """Whether the beams of a row would need too much memory: room for the widest node at each of their nodes."""
        forest = self.forest_
        if len(forest.level_starts) * min(self.beam, forest.n_leaves) * forest.width <= MOST_LOGS:
            return None
        found = f"{forest.n_leaves} leaves of up to {forest.width} labels"
        return "forest_.slot_starts", f"must give the beams of all trees at most {MOST_LOGS} places; got {found}"

    @property
    def _power(self) -> int:
        """As kernels take it: 0 for the logistic function."""
        return 0 if self.loss == "logistic" else self.power

    def _fit(self, X: FeatureMatrix, Y: sparse.csr_matrix) -> None:
        Y = positives(Y)
        trees = self._clustered(X, Y)
        return_freed()  # after each step, or glibc keeps what only that step has needed
        train = partial(self._trained, X, Y.tocsc())
        chunks: list[Chunk] = []
        for tree, seed in zip(trees, task_seeds(self.random_state, 2 * self.n_trees)[self.n_trees :], strict=True):
            *upper, leaves = nodes_of(tree)
            inner = train([node for level in upper for node in level], "groups of inner nodes", seed)
            if inner and self.hard_negatives and self.negatives:
                leaves = self._with_hard_negatives(X, Y, tree, inner, leaves, seed)
            return_freed()
            chunks += [*inner, *train(leaves, "groups of leaves", seed + 1)]
        return_freed()
        self.forest_ = LabelForest.of(trees, chunks)

    def _trained(
        self, X: FeatureMatrix, Y: sparse.csc_matrix, nodes: Sequence[LabelNode], what: str, seed: int
    ) -> list[Chunk]:
        if not nodes:
            return []
        seeds = task_seeds(seed, len(nodes))
        groups = even_groups([self.label_counts_[node.labels].sum() * len(node.bounds) for node in nodes])
        parts = run_tasks(
            train_nodes,
            [{"nodes": nodes[group], "seeds": seeds[group]} for group in groups],
            n_jobs=self.n_jobs,
            what=what,
            X=X,
            Y=Y,
            objective=objective_of(
                self.loss,
                self.positives,
                self.C,
                propensities_from_counts(self.label_counts_, self.n_samples_, self.A, self.B),
            ),
            options=clone(self),
        )
        return [chunk for part in parts for chunk in part]

    def _with_hard_negatives(
        self,
        X: FeatureMatrix,
        Y: sparse.csr_matrix,
        tree: LabelClusters,
        inner: list[Chunk],
        leaves: Sequence[LabelNode],
        seed: int,
    ) -> list[LabelNode]:
        """The leaves with samples that inner nodes lead to them, a few times as many as will be drawn."""
        n_reached = min(max(int(_SHARE_REACHED * len(leaves)), 1), _MOST_REACHED)
        n_wanted = int(_POOL * self.hard_negatives * self.negatives * Y.nnz / n_reached)
        rows = np.sort(np.random.default_rng(seed).permutation(X.shape[0])[: max(n_wanted, 1)])
        leaf_starts = tree.levels[-1]
        leaf_of_label = np.zeros(Y.shape[1], dtype=np.int32)
        leaf_of_label[tree.labels] = np.repeat(np.arange(len(leaves), dtype=np.int32), np.diff(leaf_starts))
        clusters = [np.searchsorted(leaf_starts, level) for level in tree.levels[:-1]]
        found = run_tasks(
            leaves_of_others,
            [{"rows": rows[first:last]} for first, last in row_blocks(len(rows), _ROWS_SEARCHED)],
            n_jobs=self.n_jobs,
            what="blocks of samples",
            X=X,
            Y=Y,
            forest=LabelForest.of([LabelClusters(np.arange(len(leaves), dtype=np.int32), clusters)], [*inner]),
            leaf_of_label=leaf_of_label,
            n_reached=n_reached,
            beam=self.beam,
            power=self._power,
        )
        is_found = (reached := np.concatenate(found)) >= 0
        starts = np.concatenate([[0], np.cumsum(is_found.sum(axis=1))])
        by_leaf = sparse.csr_matrix((is_found[is_found], reached[is_found], starts), (len(rows), len(leaves))).tocsc()
        samples = np.split(rows[by_leaf.indices], by_leaf.indptr[1:-1])
        return [replace(leaf, near=near) for leaf, near in zip(leaves, samples, strict=True)]

    def _clustered(self, X: FeatureMatrix, Y: sparse.csr_matrix) -> list[LabelClusters]:
        centres = label_centres(X if self.normalize else unit_rows(X), Y, self.n_jobs)
        return run_tasks(
            cluster_labels,
            [{"seed": seed} for seed in task_seeds(self.random_state, self.n_trees)],
            n_jobs=self.n_jobs,
            what="label trees",
            labels=np.flatnonzero(self.label_counts_).astype(np.int32),
            centres=centres,
            arity=self.arity,
            max_leaf=self.max_leaf,
        )

    def _rank(self, X: FeatureMatrix, k: int, allowed: Mask | None) -> Ranking:
        mask = np.ones(len(self.classes_), dtype=np.bool_) if allowed is None else allowed
        return self.forest_.rank(X, k, mask, self.beam, self._power, self.path_weight)


# -- nodes, each trained on the samples that have a label below it --------------------------------------


@dataclass(frozen=True, eq=False)
class LabelNode:
    """A node: its labels, the start of each child among them, followed by the number of labels, and hard negatives."""

    labels: Ints32
    bounds: Ints64
    is_leaf: bool
    near: Ints64 = field(default_factory=lambda: np.empty(0, dtype=np.int64))


def nodes_of(tree: LabelClusters) -> Iterator[list[LabelNode]]:
    """The nodes of each level of a tree."""
    for depth, level in enumerate(tree.levels):
        is_leaf = depth == len(tree.levels) - 1
        below = np.arange(len(tree.labels) + 1) if is_leaf else tree.levels[depth + 1]
        bounds = (
            below[np.searchsorted(below, first) : np.searchsorted(below, last) + 1] for first, last in pairwise(level)
        )
        yield [LabelNode(tree.labels[inside[0] : inside[-1]], inside - inside[0], is_leaf) for inside in bounds]


def even_groups(work: Sequence[float]) -> list[slice]:
    """Groups of consecutive nodes, each group at most as much work as the largest node."""
    groups, first, total = [], 0, 0.0
    for i, amount in enumerate(work):
        if i > first and total + amount > max(work):
            groups.append(slice(first, i))
            first, total = i, 0.0
        total += amount
    return [*groups, slice(first, len(work))]


def leaves_of_others(
    X: FeatureMatrix,
    Y: sparse.csr_matrix,
    rows: Ints64,
    forest: LabelForest,
    leaf_of_label: Ints32,
    n_reached: int,
    beam: int,
    power: int,
) -> Ints32:
    """The best leaves of some samples by the inner nodes, the `forest`; -1 for leaves with a label of the sample."""
    n_leaves = int(leaf_of_label.max()) + 1
    best = forest.rank(X[rows], n_reached, np.ones(n_leaves, dtype=np.bool_), beam, power, 1.0).labels
    Y = Y[rows]
    is_own = np.zeros((len(rows), n_leaves), dtype=np.bool_)
    is_own[row_of_entry(Y), leaf_of_label[Y.indices]] = True
    return np.where(np.take_along_axis(is_own, best, axis=1), np.int32(-1), best)


def train_nodes(
    X: FeatureMatrix,
    Y: sparse.csc_matrix,
    nodes: list[LabelNode],
    seeds: list[int],
    objective: LinearObjective,
    options: LabelTree,
) -> list[Chunk]:
    """Train the classifiers of some nodes; the weights of positives in the objective apply to leaves."""
    return [_train_node(X, Y, node, seed, objective, options) for node, seed in zip(nodes, seeds, strict=True)]


def _train_node(
    X: FeatureMatrix, Y: sparse.csc_matrix, node: LabelNode, seed: int, objective: LinearObjective, options: LabelTree
) -> Chunk:
    rows, signs = _samples_of(Y, node, options, seed)
    n_children, width = len(node.bounds) - 1, signs.shape[1]
    columns, bounds, words = _sparse_part_of(sparse_part(X), rows, width)
    negative_cost = objective.negative_cost * (1 if node.is_leaf else _INNER_C)
    costs = np.full(width, _INNER_WEIGHT * negative_cost, dtype=np.float32)
    targets = np.ones_like(costs)
    if node.is_leaf:
        costs[:n_children] = objective.positive_costs[node.labels]
        targets[:n_children] = objective.positive_targets[node.labels]
    indices = words.indices.astype(np.int32, copy=False)
    weights, *_ = train_block(
        BlockRows(bounds, indices, words.data, len(columns), dense_rows(X), rows),
        signs,
        BlockObjective(objective.loss, costs, targets, negative_cost, options.bias),
        options.tolerance,
        options.max_passes,
        seed,
        new_array(signs.size, np.float32).reshape(signs.shape),
    )
    starts, children, values = prune(weights[: len(columns) + 1], options.prune)
    dense = weights[len(columns) : -1, :n_children].ravel()
    dense[np.abs(dense) < options.prune] = 0
    sizes = np.diff(starts)
    is_used = sizes > 0
    return Chunk(
        columns[is_used],
        sizes[is_used].astype(np.int32),
        children.astype(np.uint8 if n_children <= 1 << 8 else np.uint16),
        as_halves(values) if options.dtype == "float16" else values,
        np.float32(options.bias) * weights[-1, :n_children],
        as_halves(dense) if options.dtype == "float16" else dense,
    )


def _samples_of(Y: sparse.csc_matrix, node: LabelNode, options: LabelTree, seed: int) -> tuple[Ints64, Ints8]:
    """The training samples of a node, and for each child whether they have one of its labels (1 or -1).

    These are the samples with a label of the node, and `negatives` times as many others, drawn from the samples that
    reach the node and from all. They teach it to give low probabilities to samples that reach it by mistake.
    Columns of 0, whose weights stay 0, follow those of the children up to a multiple of `_LANES`.
    """
    rng = np.random.default_rng(seed)
    inside = Y[:, node.labels]
    own = sorted_set(inside.indices)
    n_drawn = min(int(options.negatives * len(own)), Y.shape[0])
    n_near = min(int(options.hard_negatives * n_drawn), len(node.near))
    near, others = (
        rng.choice(pool, n, replace=False) for pool, n in ((node.near, n_near), (Y.shape[0], n_drawn - n_near))
    )
    rows = sorted_set(np.concatenate([own, near, others]))
    child_of_label = np.repeat(np.arange(len(node.bounds) - 1), np.diff(node.bounds))
    n_children = len(node.bounds) - 1
    shape = len(rows), -(-n_children // _LANES) * _LANES
    signs = new_array(math.prod(shape), np.int8).reshape(shape)
    signs[:, :n_children], signs[:, n_children:] = -1, 0
    signs[np.searchsorted(rows, inside.indices), np.repeat(child_of_label, np.diff(inside.indptr))] = 1
    return rows, signs


def _sparse_part_of(X: sparse.csr_matrix, rows: Ints64, n_children: int) -> tuple[Ints32, Ints64, sparse.csr_matrix]:
    """Columns for which weights are trained, the bounds of the rows, and the matrix that they are bounds in.

    That is X itself, or a copy of the rows with the columns in which they have entries, whichever takes less memory:
    an entry takes twice the bytes of a weight.
    """
    bounds = row_bounds(X, rows)
    if 2 * np.diff(bounds).sum() >= X.shape[1] * n_children:
        return np.arange(X.shape[1], dtype=np.int32), bounds, X
    copy = selected(X, rows)
    occurs = occurring(copy)
    place = np.cumsum(occurs, dtype=np.int32) - 1
    for chunk in entry_chunks(copy):
        copy.indices[chunk] = place[copy.indices[chunk]]
    return np.flatnonzero(occurs).astype(np.int32), row_bounds(copy), copy
