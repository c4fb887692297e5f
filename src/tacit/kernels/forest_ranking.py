"""Ranking labels with a whole forest, row by row, and the residuals of a forest on its training samples.

Rows and weights are quantised, integers times a step, so that sums of products are exact in any order. Ids and starts
are unsigned: Numba tests every signed index for being negative.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

from tacit.arrays import AnyArray, Floats32, Floats64, Integers, Ints32, Ints64, Mask, UInts32, UInts64
from tacit.kernels.best import Places, insert
from tacit.kernels.dense import Rows

_ROOT_SHARE, _LESS_PER_LEVEL = 0.4, 0.05  # minimum share near the root, where following both branches costs most
_ALMOST = 1 - 1e-5  # margin for rounding errors of scores


class LevelRows(NamedTuple):
    """Samples in CSR; a value is a level times the step of its row."""

    starts: UInts64
    features: UInts32
    levels: Integers
    steps: Floats64


class ForestNodes(NamedTuple):
    """Inner nodes, as `tacit.trees.forest.Forest` stores them."""

    roots: Ints32
    children: Ints32
    terms: Floats32
    weight_starts: UInts64
    weight_features: Integers
    weight_levels: Integers
    large: UInts32
    large_starts: UInts64
    large_nodes: Integers
    large_levels: Integers


class ForestLeaves(NamedTuple):
    """Labels of leaves; a score is a level times the step of its leaf."""

    starts: UInts64
    labels: Integers
    levels: Integers
    steps: Floats32


class Reached(NamedTuple):
    """The leaves of each row in all trees, its shares in them, which sum to 1 per tree, and how many there are."""

    leaves: Ints32
    shares: Floats32
    sizes: Ints64


class CentreLevels(NamedTuple):
    """Centres of labels by feature, as `tacit.trees.pfastrexml.Centres` stores them, and what they are worth."""

    starts: UInts64
    labels: Integers
    levels: Integers
    steps: Floats32
    offsets: Floats32
    alpha: float
    gamma: float


class _Descent(NamedTuple):
    """Scratch: a row by feature and its products by large node, all 0; open nodes of two levels, shares, margins."""

    x: Ints32
    totals: Ints64
    nodes: Ints32
    shares: Floats32
    margins: Floats64


class _Votes(NamedTuple):
    """Scratch by label: votes, labels with votes, whether a label is among them, and products with centres."""

    votes: Floats32
    listed: Ints32
    is_listed: Mask
    products: Ints64


def quantised(values: AnyArray, starts: npt.ArrayLike, dtype: npt.DTypeLike) -> tuple[npt.NDArray[Any], Floats64]:
    """Integer levels, and a step for each row: ``values ≈ levels · step``.

    Non-zero values have non-zero levels, so that no label is dropped from its leaf. Negative values need a signed
    `dtype`.
    """
    rows = np.asarray(starts, np.uint64)
    levels, steps = np.zeros(len(values), np.int16), np.zeros(len(rows) - 1)
    _quantise(values, rows, np.iinfo(dtype).max, levels, steps)
    return levels.astype(dtype, copy=False), steps


@njit(nogil=True, cache=True)
def _quantise(values: AnyArray, starts: UInts64, most: int, levels: Integers, steps: Floats64) -> None:
    for row in range(len(steps)):
        largest = 0.0
        for at in range(starts[row], starts[row + 1]):
            largest = max(largest, abs(np.float64(values[at])))
        steps[row] = largest / most
        for at in range(starts[row], starts[row + 1]):
            if values[at] != 0:
                level = int(np.rint(values[at] / largest * most))
                levels[at] = level if level != 0 else 1 if values[at] > 0 else -1


@njit(nogil=True, cache=True, inline="always")
def _spread_row(rows: LevelRows, row: int, nodes: ForestNodes, x: Ints32, totals: Ints64) -> None:
    """Scatter a row into a dense array, and sum its products with the weights of large nodes."""
    for entry in range(rows.starts[row], rows.starts[row + 1]):
        level, feature = np.int64(rows.levels[entry]), rows.features[entry]
        x[feature] = level
        for at in range(nodes.large_starts[feature], nodes.large_starts[feature + 1]):
            totals[nodes.large_nodes[at]] += level * nodes.large_levels[at]


@njit(nogil=True, cache=True, inline="always")
def _find_margins(nodes: ForestNodes, some: Ints32, x_step: float, scratch: _Descent) -> None:
    """Set ``w·x`` of some nodes for a dense row; `totals` are those of large nodes, 0 for the others."""
    for i in range(len(some)):
        node = np.uint32(some[i])
        total = scratch.totals[nodes.large[node]]
        for at in range(nodes.weight_starts[node], nodes.weight_starts[node + 1]):
            total += np.int64(nodes.weight_levels[at]) * scratch.x[nodes.weight_features[at]]
        scratch.margins[i] = np.float64(total) * x_step * nodes.terms[node, 0] + nodes.terms[node, 1]


def find_leaves(rows: LevelRows, nodes: ForestNodes, min_share: float) -> Reached:
    """The leaves of each row in all trees.

    Differs from the paper: a row within the margin of a hyperplane, where ``|w·x| < 1``, follows both branches, in
    shares of ``(1 ± w·x)/2``, as long as both are at least `min_share` of a whole row, and a little more near the root.
    """
    n_rows, most = len(rows.steps), len(nodes.roots) * int(1.0 / min_share + 1.0) + 1
    reached = Reached(
        np.empty((n_rows, most), np.int32), np.empty((n_rows, most), np.float32), np.empty(n_rows, np.int64)
    )
    scratch = _Descent(
        np.zeros(len(nodes.large_starts) - 1, np.int32),
        np.zeros(int(nodes.large.max(initial=0)) + 1, np.int64),
        np.empty((2, most), np.int32),
        np.empty((2, most), np.float32),
        np.empty(most),
    )
    _find_leaves(rows, nodes, float(min_share), scratch, reached)
    return reached


@njit(nogil=True, cache=True)
def _find_leaves(rows: LevelRows, forest: ForestNodes, min_share: float, scratch: _Descent, reached: Reached) -> None:
    """A row descends all trees at once, level by level, so that consecutive nodes do not depend on each other.

    The weights of large nodes, ``large[node] > 0``, are stored by feature; only those of the row's features are read.
    Those of the other nodes are stored by node; only those on the path of the row are read.
    """
    nodes, next_nodes = scratch.nodes[0], scratch.nodes[1]
    node_shares, next_shares, margins = scratch.shares[0], scratch.shares[1], scratch.margins
    for row in range(len(rows.steps)):
        _spread_row(rows, row, forest, scratch.x, scratch.totals)
        found, found_shares, n_nodes, n_found, depth = reached.leaves[row], reached.shares[row], 0, 0, 0
        for root in forest.roots:
            nodes[n_nodes], node_shares[n_nodes] = root, 1.0
            found[n_found], found_shares[n_found] = -1 - root, 1.0
            n_nodes += root >= 0
            n_found += root < 0
        while n_nodes > 0:
            least = max(min_share, _ROOT_SHARE - _LESS_PER_LEVEL * depth)
            _find_margins(forest, nodes[:n_nodes], rows.steps[row], scratch)
            n_next = 0
            for i in range(n_nodes):
                node, share, side = np.uint32(nodes[i]), node_shares[i], np.uint32(margins[i] > 0.0)
                other_share = np.float32(share * (0.5 - 0.5 * abs(margins[i])))
                if other_share >= least:
                    other, share = forest.children[node, 1 - side], share - other_share
                    next_nodes[n_next], next_shares[n_next] = other, other_share
                    found[n_found], found_shares[n_found] = -1 - other, other_share
                    n_next += other >= 0
                    n_found += other < 0
                child = forest.children[node, side]
                next_nodes[n_next], next_shares[n_next] = child, share
                found[n_found], found_shares[n_found] = -1 - child, share
                n_next += child >= 0
                n_found += child < 0
            nodes, next_nodes, node_shares, next_shares = next_nodes, nodes, next_shares, node_shares
            n_nodes = n_next
            depth += 1
        reached.sizes[row] = n_found
        for feature in rows.features[rows.starts[row] : rows.starts[row + 1]]:
            scratch.x[feature] = 0
        scratch.totals[:] = 0


@njit(nogil=True, cache=True, inline="always")
def _add_votes(reached: Reached, row: int, leaves: ForestLeaves, scratch: _Votes) -> int:
    """Sum the scores of labels over the leaves of a row and list the labels; return how many there are."""
    n_listed, votes = 0, scratch.votes
    for i in range(reached.sizes[row]):
        leaf = np.uint32(reached.leaves[row, i])
        step = reached.shares[row, i] * leaves.steps[leaf]
        for at in range(leaves.starts[leaf], leaves.starts[leaf + 1]):
            label = leaves.labels[at]
            votes[label] += step * np.float32(leaves.levels[at])
            scratch.listed[n_listed] = label
            n_listed += not scratch.is_listed[label]
            scratch.is_listed[label] = True
    return n_listed


def rank_labels_of_leaves(
    rows: LevelRows, reached: Reached, leaves: ForestLeaves, n_trees: int, centres: CentreLevels | None, places: Places
) -> None:
    """Rank the allowed labels of each row by their mean over the trees, if it is above zero.

    With centres, a label's score is ``alpha·log(mean) + (1 - alpha)·log P``, P from its tail classifier: ``P = 1/(1 +
    exp(power))`` with ``power = γ/2·(offset − 2 x·μ)``, x of unit length.
    """
    n = len(places.allowed)
    scratch = _Votes(np.zeros(n, np.float32), np.empty(n + 1, np.int32), np.zeros(n, np.bool_), np.zeros(n, np.int64))
    if centres is None:
        _rank_votes(reached, leaves, n_trees, scratch, places)
    else:
        _rank_by_nearness(rows, reached, leaves, n_trees, centres, scratch, places)


@njit(nogil=True, cache=True)
def _rank_votes(reached: Reached, leaves: ForestLeaves, n_trees: int, scratch: _Votes, places: Places) -> None:
    votes, allowed = scratch.votes, places.allowed
    for row in range(len(places.labels)):
        best, best_scores = places.labels[row], places.scores[row]
        for label in scratch.listed[: _add_votes(reached, row, leaves, scratch)]:
            if votes[label] > 0.0 and allowed[label]:
                insert(best, best_scores, label, votes[label] / n_trees, 0)
            votes[label], scratch.is_listed[label] = 0.0, False


@njit(nogil=True, cache=True)
def _rank_by_nearness(
    rows: LevelRows,
    reached: Reached,
    leaves: ForestLeaves,
    n_trees: int,
    centres: CentreLevels,
    scratch: _Votes,
    places: Places,
) -> None:
    """Entries of the centres come by feature: a row meets only those of its own features."""
    votes, products, alpha = scratch.votes, scratch.products, centres.alpha
    allowed = places.allowed
    for row in range(len(places.labels)):
        square, n_products = 0.0, np.int64(0)
        for entry in range(rows.starts[row], rows.starts[row + 1]):
            level, feature = np.int64(rows.levels[entry]), rows.features[entry]
            square += np.float64(level) * level
            n_products += np.int64(centres.starts[feature + 1] - centres.starts[feature])
            for at in range(centres.starts[feature], centres.starts[feature + 1]):
                products[centres.labels[at]] += level * centres.levels[at]
        length = max(np.sqrt(square), 1.0)  # levels are whole: less than 1 is 0, and so are the products
        best, best_scores = places.labels[row], places.scores[row]
        too_few = 0.0  # votes with which a label cannot reach the last place, however close its centre is
        for label in scratch.listed[: _add_votes(reached, row, leaves, scratch)]:
            if votes[label] > too_few and allowed[label]:
                likeness = centres.steps[label] * (products[label] / length)
                power = 0.5 * centres.gamma * (centres.offsets[label] - 2.0 * likeness)
                unlikely = max(power, 0.0) + np.log1p(np.exp(-abs(power)))  # -log P
                score = alpha * np.log(votes[label] / n_trees) - (1.0 - alpha) * unlikely
                if score >= best_scores[-1]:
                    insert(best, best_scores, label, score, 0)
                    if alpha > 0.0:
                        too_few = _ALMOST * n_trees * np.exp(best_scores[-1] / alpha)
            votes[label], scratch.is_listed[label] = 0.0, False
        if n_products >= len(products):
            products[:] = 0
        else:
            for feature in rows.features[rows.starts[row] : rows.starts[row + 1]]:
                for at in range(centres.starts[feature], centres.starts[feature + 1]):
                    products[centres.labels[at]] = 0


def leaf_residuals(leaves: Ints32, contents: Rows, Y: Rows, n_labels: int) -> Floats32:
    """For each label of each leaf, the sum of the residuals of the leaf's samples: value minus mean score.

    ``leaves[sample, tree]`` is the sample's leaf in a tree; a mean score is that of the sample's leaves.
    """
    sums = np.zeros(len(contents.values), np.float32)
    _add_residuals(leaves, contents, Y, np.zeros(n_labels, np.float32), sums)
    return sums


@njit(nogil=True, cache=True)
def _add_residuals(leaves: Ints32, contents: Rows, Y: Rows, residuals: Floats32, sums: Floats32) -> None:
    share = np.float32(1.0 / leaves.shape[1])
    for sample in range(len(leaves)):
        for leaf in leaves[sample]:
            for at in range(contents.starts[leaf], contents.starts[leaf + 1]):
                residuals[contents.ids[at]] -= share * contents.values[at]
        for at in range(Y.starts[sample], Y.starts[sample + 1]):
            residuals[Y.ids[at]] += Y.values[at]
        for leaf in leaves[sample]:
            for at in range(contents.starts[leaf], contents.starts[leaf + 1]):
                sums[at] += residuals[contents.ids[at]]
        for leaf in leaves[sample]:
            for at in range(contents.starts[leaf], contents.starts[leaf + 1]):
                residuals[contents.ids[at]] = 0.0
        for at in range(Y.starts[sample], Y.starts[sample + 1]):
            residuals[Y.ids[at]] = 0.0
