"""Ranking labels with a whole forest, row by row.

Rows and weights are quantised, integers times a step, so that sums of products are exact in any order.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from tacit.arrays import Floats32, Floats64, Integers, Ints16, Ints32, Ints64, Mask, UInts32, UInts64

Room = tuple[Floats32, Ints32, Mask, Ints64]

_FEW_LABELS = 512  # up to this number, all labels are scanned rather than only those with votes
_ROOT_SHARE, _LESS_PER_LEVEL = 0.4, 0.05  # minimum share near the root, where following both branches costs most
_ALMOST = 1 - 1e-5  # margin for rounding errors of scores
_X_LEVELS = 32767  # quantisation levels of features, relative to the largest of a row


def row_levels(x_starts: UInts64, x_values: Floats32) -> tuple[Ints16, Floats64]:
    """Quantised rows, and the step of each row: ``values ≈ levels · step``."""
    levels, steps = np.zeros(len(x_values), np.int16), np.zeros(len(x_starts) - 1)
    _quantise(x_starts, x_values, levels, steps)
    return levels, steps


@njit(nogil=True, cache=True)
def _quantise(x_starts: UInts64, x_values: Floats32, levels: Integers, steps: Floats64) -> None:
    for row in range(len(steps)):
        largest = 0.0
        for at in range(x_starts[row], x_starts[row + 1]):
            largest = max(largest, abs(np.float64(x_values[at])))
        steps[row] = largest / _X_LEVELS
        if largest > 0.0:
            for at in range(x_starts[row], x_starts[row + 1]):
                levels[at] = int(np.rint(x_values[at] / largest * _X_LEVELS))


@njit(nogil=True, cache=True, inline="always")
def spread_row(
    features: UInts32,
    levels: Integers,
    large_starts: UInts64,
    large_nodes: Integers,
    large_levels: Integers,
    x: Ints32,
    totals: Ints64,
) -> None:
    """Scatter a row into a dense array, and sum its products with the weights of large nodes."""
    for entry in range(len(features)):
        level, feature = np.int64(levels[entry]), features[entry]
        x[feature] = level
        for at in range(large_starts[feature], large_starts[feature + 1]):
            totals[large_nodes[at]] += level * large_levels[at]


@njit(nogil=True, cache=True, inline="always")
def find_margins(
    nodes: Ints32,
    x: Ints32,
    x_step: float,
    totals: Ints64,
    terms: Floats32,
    weight_starts: UInts64,
    weight_features: Integers,
    weight_levels: Integers,
    large: Integers,
    margins: Floats64,
) -> None:
    """Set ``w·x`` of each node for a dense row; `totals` are those of large nodes, 0 for the others."""
    for i in range(len(nodes)):
        node = np.uint32(nodes[i])
        total = totals[large[node]]
        for at in range(weight_starts[node], weight_starts[node + 1]):
            total += np.int64(weight_levels[at]) * x[weight_features[at]]
        margins[i] = np.float64(total) * x_step * terms[node, 0] + terms[node, 1]


@njit(nogil=True, cache=True)
def find_leaves(
    x_starts: UInts64,
    x_features: UInts32,
    x_levels: Integers,
    x_steps: Floats64,
    roots: Ints32,
    children: Ints32,
    terms: Floats32,
    weight_starts: UInts64,
    weight_features: Integers,
    weight_levels: Integers,
    large: Integers,
    large_starts: UInts64,
    large_nodes: Integers,
    large_levels: Integers,
    min_share: float,
    x: Ints32,
    totals: Ints64,
    open_nodes: Ints32,
    open_shares: Floats32,
    margins: Floats64,
    leaves: Ints32,
    shares: Floats32,
    n_leaves: Ints64,
) -> None:
    """Fill the leaves of each row in all trees, its shares in them, which sum to 1 per tree, and their number.

    Differs from the paper: a row within the margin of a hyperplane, where ``|w·x| < 1``, follows both branches, in
    shares of ``(1 ± w·x)/2``, as long as both are at least `min_share` of a whole row, and a little more near the root.

    A row descends all trees at once, level by level, so that consecutive nodes do not depend on each other. The
    weights of large nodes, ``large[node] > 0``, are stored by feature; only those of the row's features are read.
    Those of the other nodes are stored by node; only those on the path of the row are read.

    Room: `x`, by feature, and `totals`, by large node, all 0; two rows of `open_nodes` and `open_shares`, and
    `margins`, each as long as a row of `leaves`.
    """
    nodes, next_nodes, node_shares, next_shares = open_nodes[0], open_nodes[1], open_shares[0], open_shares[1]
    for row in range(len(x_steps)):
        entries = slice(x_starts[row], x_starts[row + 1])
        spread_row(x_features[entries], x_levels[entries], large_starts, large_nodes, large_levels, x, totals)
        found, found_shares, n_nodes, n_found, depth = leaves[row], shares[row], 0, 0, 0
        for root in roots:
            nodes[n_nodes], node_shares[n_nodes] = root, 1.0
            found[n_found], found_shares[n_found] = -1 - root, 1.0
            n_nodes += root >= 0
            n_found += root < 0
        while n_nodes > 0:
            least = max(min_share, _ROOT_SHARE - _LESS_PER_LEVEL * depth)
            find_margins(
                nodes[:n_nodes],
                x,
                x_steps[row],
                totals,
                terms,
                weight_starts,
                weight_features,
                weight_levels,
                large,
                margins,
            )
            n_next = 0
            for i in range(n_nodes):
                node, share, side = np.uint32(nodes[i]), node_shares[i], np.uint32(margins[i] > 0.0)
                other_share = np.float32(share * (0.5 - 0.5 * abs(margins[i])))
                if other_share >= least:
                    other, share = children[node, 1 - side], share - other_share
                    next_nodes[n_next], next_shares[n_next] = other, other_share
                    found[n_found], found_shares[n_found] = -1 - other, other_share
                    n_next += other >= 0
                    n_found += other < 0
                child = children[node, side]
                next_nodes[n_next], next_shares[n_next] = child, share
                found[n_found], found_shares[n_found] = -1 - child, share
                n_next += child >= 0
                n_found += child < 0
            nodes, next_nodes, node_shares, next_shares = next_nodes, nodes, next_shares, node_shares
            n_nodes = n_next
            depth += 1
        n_leaves[row] = n_found
        for feature in x_features[entries]:
            x[feature] = 0
        totals[:] = 0


@njit(nogil=True, cache=True, inline="always")
def insert_label(labels: Ints32, scores: Floats32, label: int, score: float) -> None:
    """Insert a label into a row of a ranking if it scores above the last place; equal scores keep their order."""
    place = len(labels) - 1
    if labels[place] >= 0 and score <= scores[place]:
        return
    while place > 0 and (labels[place - 1] < 0 or scores[place - 1] < score):
        labels[place], scores[place] = labels[place - 1], scores[place - 1]
        place -= 1
    labels[place], scores[place] = label, score


@njit(nogil=True, cache=True, inline="always")
def add_votes(
    leaves: Ints32,
    shares: Floats32,
    leaf_starts: UInts64,
    leaf_labels: Integers,
    leaf_levels: Integers,
    leaf_steps: Floats32,
    votes: Floats32,
    is_listed: Mask,
    listed: Ints32,
) -> int:
    """Sum the scores of labels over the leaves of a row and list the labels; return how many there are."""
    n_listed, lists_all = 0, len(votes) <= _FEW_LABELS
    for i in range(len(leaves)):
        leaf = np.uint32(leaves[i])
        step = shares[i] * leaf_steps[leaf]
        for at in range(leaf_starts[leaf], leaf_starts[leaf + 1]):
            votes[leaf_labels[at]] += step * np.float32(leaf_levels[at])
        if not lists_all:
            for at in range(leaf_starts[leaf], leaf_starts[leaf + 1]):
                listed[n_listed] = leaf_labels[at]
                n_listed += not is_listed[leaf_labels[at]]
                is_listed[leaf_labels[at]] = True
    if lists_all:
        n_listed = len(votes)
        for label in range(n_listed):
            listed[label] = label
    return n_listed


def room_for_votes(n_labels: int) -> Room:
    """What the rankings need, by label: votes, labels with votes, whether a label is among them, and products."""
    votes, products = np.zeros(n_labels, np.float32), np.zeros(n_labels, np.int64)
    return votes, np.empty(n_labels + 1, np.int32), np.zeros(n_labels, np.bool_), products


@njit(nogil=True, cache=True)
def rank_votes(
    leaves: Ints32,
    shares: Floats32,
    n_leaves: Ints64,
    leaf_starts: UInts64,
    leaf_labels: Integers,
    leaf_levels: Integers,
    leaf_steps: Floats32,
    n_trees: int,
    allowed: Mask,
    room: Room,
    labels: Ints32,
    scores: Floats32,
) -> None:
    """Rank the allowed labels of each row by their mean over the trees, if it is above zero.

    `labels` and `scores` are -1 and -inf, and stay so where there are fewer.
    """
    votes, listed, is_listed, _ = room
    for row in range(len(labels)):
        n, best, best_scores = n_leaves[row], labels[row], scores[row]
        n_listed = add_votes(
            leaves[row, :n],
            shares[row, :n],
            leaf_starts,
            leaf_labels,
            leaf_levels,
            leaf_steps,
            votes,
            is_listed,
            listed,
        )
        for label in listed[:n_listed]:
            if votes[label] > 0.0 and allowed[label]:
                insert_label(best, best_scores, label, votes[label] / n_trees)
            votes[label], is_listed[label] = 0.0, False


@njit(nogil=True, cache=True)
def rank_by_nearness(
    x_starts: UInts64,
    x_features: UInts32,
    x_levels: Integers,
    leaves: Ints32,
    shares: Floats32,
    n_leaves: Ints64,
    leaf_starts: UInts64,
    leaf_labels: Integers,
    leaf_levels: Integers,
    leaf_steps: Floats32,
    centre_starts: UInts64,
    centre_labels: Integers,
    centre_levels: Integers,
    centre_steps: Floats32,
    centre_offsets: Floats32,
    alpha: float,
    gamma: float,
    n_trees: int,
    allowed: Mask,
    room: Room,
    labels: Ints32,
    scores: Floats32,
) -> None:
    """Like `rank_votes`, a label's score being ``alpha·log(mean) + (1 - alpha)·log P`` with its tail classifier P.

    ``P = 1/(1 + exp(power))`` with ``power = γ/2·(offset − 2 x·μ)``, x of unit length. Entries of the centres come by
    feature: a row meets only those of its own features.
    """
    votes, listed, is_listed, products = room
    for row in range(len(labels)):
        square, n_products = 0.0, np.int64(0)
        for entry in range(x_starts[row], x_starts[row + 1]):
            level, feature = np.int64(x_levels[entry]), x_features[entry]
            square += np.float64(level) * level
            n_products += np.int64(centre_starts[feature + 1] - centre_starts[feature])
            for at in range(centre_starts[feature], centre_starts[feature + 1]):
                products[centre_labels[at]] += level * centre_levels[at]
        length = max(np.sqrt(square), 1.0)  # levels are whole: less than 1 is 0, and so are the products
        n, best, best_scores = n_leaves[row], labels[row], scores[row]
        n_listed = add_votes(
            leaves[row, :n],
            shares[row, :n],
            leaf_starts,
            leaf_labels,
            leaf_levels,
            leaf_steps,
            votes,
            is_listed,
            listed,
        )
        too_few = 0.0  # votes with which a label cannot reach the last place, however close its centre is
        for label in listed[:n_listed]:
            if votes[label] > too_few and allowed[label]:
                likeness = centre_steps[label] * (products[label] / length)
                power = 0.5 * gamma * (centre_offsets[label] - 2.0 * likeness)
                unlikely = max(power, 0.0) + np.log1p(np.exp(-abs(power)))  # -log P
                score = alpha * np.log(votes[label] / n_trees) - (1.0 - alpha) * unlikely
                if score > best_scores[-1]:
                    insert_label(best, best_scores, label, score)
                    if alpha > 0.0:
                        too_few = _ALMOST * n_trees * np.exp(best_scores[-1] / alpha)
            votes[label], is_listed[label] = 0.0, False
        if n_products >= len(products):
            products[:] = 0
        else:
            for feature in x_features[x_starts[row] : x_starts[row + 1]]:
                for at in range(centre_starts[feature], centre_starts[feature + 1]):
                    products[centre_labels[at]] = 0
