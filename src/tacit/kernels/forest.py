"""Ranking labels with a whole forest, row by row.

Rows and weights are whole numbers times a step: their products are exact in any order.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numba import njit

Ids = npt.NDArray[np.integer]
Places = npt.NDArray[np.uint32]  # unsigned, which saves Numba's test for negative indices
Nodes = npt.NDArray[np.int32]
Ints = npt.NDArray[np.int64]
Values = npt.NDArray[np.float32]
Floats = npt.NDArray[np.float64]
Levels = npt.NDArray[np.integer]
Flags = npt.NDArray[np.bool_]

_STEEPNESS = 3.0  # of the share by the margin
_X_LEVELS = 32767  # a feature is a whole number of so many parts of the largest of its row


@njit(nogil=True, cache=True)
def row_levels(x_starts: Ints, x_values: Values) -> tuple[Nodes, Floats]:
    """Rows as whole numbers, and the step of each row: ``values ≈ levels · step``."""
    levels, steps = np.zeros(len(x_values), np.int32), np.zeros(len(x_starts) - 1)
    for row in range(len(steps)):
        largest = 0.0
        for at in range(x_starts[row], x_starts[row + 1]):
            largest = max(largest, abs(np.float64(x_values[at])))
        steps[row] = largest / _X_LEVELS
        if largest > 0.0:
            for at in range(x_starts[row], x_starts[row + 1]):
                levels[at] = int(np.rint(x_values[at] / largest * _X_LEVELS))
    return levels, steps


@njit(nogil=True, cache=True)
def right_share(margin: float, share: np.float32, min_share: float, widest: float) -> np.float32:
    """How much of a share of a row goes to side 1 of a node; beyond the margin `widest` it is all or nothing.

    Differs from the paper: a row near the hyperplane goes both ways, as long as both shares are large enough.
    """
    if abs(margin) < widest:
        right = np.float32(share / (1.0 + np.exp(-_STEEPNESS * margin)))
        if right >= min_share and share - right >= min_share:
            return right
    return share if margin > 0.0 else np.float32(0.0)


@njit(nogil=True, cache=True)
def widest_margin(min_share: float) -> float:
    """The margin beyond which the smaller side of a whole row would get less than `min_share`."""
    return float(np.log(1.0 / min_share - 1.0) / _STEEPNESS) if min_share < 0.5 else 0.0


@njit(nogil=True, cache=True)
def find_leaves(
    x_starts: Ints,
    x_features: Places,
    x_levels: Nodes,
    x_steps: Floats,
    roots: Nodes,
    children: Nodes,
    terms: Values,
    weight_starts: Ints,
    weight_features: Ids,
    weight_levels: Levels,
    large: Nodes,
    large_starts: Ints,
    large_nodes: Ids,
    large_levels: Levels,
    min_share: float,
    width: int,
) -> tuple[Nodes, Values, Nodes]:
    """The leaves of each row in each tree, its shares in them, which sum to 1, and their number; `width` at most.

    The weights of large nodes, ``large[node] >= 0``, come by feature: a row meets those of its own features, for
    all trees in one go. Those of the other nodes come by node: a row, spread out, meets those on its way.
    """
    n_rows, n_trees, widest = len(x_steps), len(roots), widest_margin(min_share)
    leaves, shares = np.empty((n_rows, n_trees, width), np.int32), np.empty((n_rows, n_trees, width), np.float32)
    n_leaves = np.ones((n_rows, n_trees), np.int32)
    x, totals = np.zeros(len(large_starts) - 1, np.int32), np.zeros(large.max() + 1 if len(large) else 0, np.int64)
    for row in range(n_rows):
        for entry in range(x_starts[row], x_starts[row + 1]):
            level, feature = np.int64(x_levels[entry]), x_features[entry]
            x[feature] = level
            for at in range(large_starts[feature], large_starts[feature + 1]):
                totals[large_nodes[at]] += level * large_levels[at]
        for tree in range(n_trees):
            leaves[row, tree, 0], shares[row, tree, 0] = roots[tree], 1.0
            part, n_parts = 0, 1
            while part < n_parts:
                node, share = np.int64(leaves[row, tree, part]), shares[row, tree, part]
                while node >= 0:
                    total = np.int64(0)
                    if large[node] >= 0:
                        total = totals[large[node]]
                    for at in range(weight_starts[node], weight_starts[node + 1]):
                        total += np.int64(weight_levels[at]) * x[weight_features[at]]
                    margin = np.float64(total) * x_steps[row] * terms[node, 0] + terms[node, 1]
                    right = right_share(margin, share, min_share, widest)
                    if 0.0 < right < share:
                        leaves[row, tree, n_parts], shares[row, tree, n_parts] = children[node, 0], share - right
                        n_parts += 1
                        share = right
                    node = np.int64(children[node, 1 if right > 0.0 else 0])
                leaves[row, tree, part], shares[row, tree, part] = -1 - node, share
                part += 1
            n_leaves[row, tree] = n_parts
        for entry in range(x_starts[row], x_starts[row + 1]):
            x[x_features[entry]] = 0
        for i in range(len(totals)):
            totals[i] = 0
    return leaves, shares, n_leaves


@njit(nogil=True, cache=True)
def insert_label(labels: Nodes, scores: Values, label: int, score: float) -> None:
    """Insert a label into a row of a ranking if it scores above the last place; equal scores keep their order."""
    place = len(labels) - 1
    if labels[place] >= 0 and score <= scores[place]:
        return
    while place > 0 and (labels[place - 1] < 0 or scores[place - 1] < score):
        labels[place], scores[place] = labels[place - 1], scores[place - 1]
        place -= 1
    labels[place], scores[place] = label, score


@njit(nogil=True, cache=True)
def add_votes(
    leaves: Nodes,
    shares: Values,
    n_leaves: Nodes,
    leaf_starts: Ints,
    leaf_labels: Ids,
    leaf_levels: Levels,
    leaf_steps: Values,
    allowed: Flags,
    votes: Values,
    voted: Nodes,
) -> int:
    """Sum the scores of allowed labels over the leaves of a row and list the labels; return how many there are."""
    n_voted = 0
    for tree in range(len(n_leaves)):
        for part in range(n_leaves[tree]):
            leaf = leaves[tree, part]
            step = shares[tree, part] * leaf_steps[leaf]
            for at in range(leaf_starts[leaf], leaf_starts[leaf + 1]):
                label = leaf_labels[at]
                if allowed[label]:
                    voted[n_voted] = label
                    n_voted += votes[label] == 0.0
                    votes[label] += step * np.float32(leaf_levels[at])
    return n_voted


@njit(nogil=True, cache=True)
def rank_votes(
    leaves: Nodes,
    shares: Values,
    n_leaves: Nodes,
    leaf_starts: Ints,
    leaf_labels: Ids,
    leaf_levels: Levels,
    leaf_steps: Values,
    allowed: Flags,
    k: int,
) -> tuple[Nodes, Values]:
    """The `k` allowed labels of each row with the largest mean over its leaves; -1 and -inf where there are fewer."""
    n_rows, n_trees = n_leaves.shape
    contents = (leaf_starts, leaf_labels, leaf_levels, leaf_steps)
    labels, scores = np.full((n_rows, k), -1, np.int32), np.full((n_rows, k), -np.inf, np.float32)
    votes, voted = np.zeros(len(allowed), np.float32), np.empty(len(allowed) + 1, np.int32)
    for row in range(n_rows):
        n_voted = add_votes(leaves[row], shares[row], n_leaves[row], *contents, allowed, votes, voted)
        for label in voted[:n_voted]:
            insert_label(labels[row], scores[row], label, votes[label] / n_trees)
            votes[label] = 0.0
    return labels, scores


@njit(nogil=True, cache=True)
def log_nearness(distance: float, gamma: float) -> float:
    """``log 1/(1 + exp(γ/2·distance))`` of a squared distance."""
    power = 0.5 * gamma * distance
    return float(-max(power, 0.0) - np.log1p(np.exp(-abs(power))))


@njit(nogil=True, cache=True)
def rank_by_nearness(
    x_starts: Ints,
    x_features: Places,
    x_levels: Nodes,
    leaves: Nodes,
    shares: Values,
    n_leaves: Nodes,
    leaf_starts: Ints,
    leaf_labels: Ids,
    leaf_levels: Levels,
    leaf_steps: Values,
    centre_starts: Ints,
    centre_labels: Ids,
    centre_levels: Levels,
    centre_steps: Values,
    centre_squares: Values,
    alpha: float,
    gamma: float,
    allowed: Flags,
    k: int,
) -> tuple[Nodes, Values]:
    """Like `rank_votes`, a label's score being ``alpha·log(mean) + (1 - alpha)·log P`` with its tail classifier P.

    Entries of the centres come by feature: a row meets only those of its own features.
    """
    n_rows, n_trees = n_leaves.shape
    contents = (leaf_starts, leaf_labels, leaf_levels, leaf_steps)
    labels, scores = np.full((n_rows, k), -1, np.int32), np.full((n_rows, k), -np.inf, np.float32)
    votes, voted = np.zeros(len(allowed), np.float32), np.empty(len(allowed) + 1, np.int32)
    products = np.zeros(len(allowed), np.int64)
    for row in range(n_rows):
        square = 0.0
        for entry in range(x_starts[row], x_starts[row + 1]):
            level, feature = np.int64(x_levels[entry]), x_features[entry]
            square += np.float64(level) * level
            for at in range(centre_starts[feature], centre_starts[feature + 1]):
                products[centre_labels[at]] += level * centre_levels[at]
        length = np.sqrt(square)
        n_voted = add_votes(leaves[row], shares[row], n_leaves[row], *contents, allowed, votes, voted)
        for label in voted[:n_voted]:
            distance = np.float64(centre_squares[label])  # ‖x − μ‖² = ‖x‖² − 2 x·μ + ‖μ‖², x of unit length
            if length > 0.0:
                distance += 1.0 - 2.0 * centre_steps[label] * (products[label] / length)
            score = alpha * np.log(votes[label] / n_trees) + (1.0 - alpha) * log_nearness(distance, gamma)
            insert_label(labels[row], scores[row], label, score)
            votes[label] = 0.0
        for entry in range(x_starts[row], x_starts[row + 1]):
            for at in range(centre_starts[x_features[entry]], centre_starts[x_features[entry] + 1]):
                products[centre_labels[at]] = 0
    return labels, scores
