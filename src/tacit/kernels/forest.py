"""Ranking labels with a whole forest, row by row.

Products of rows and weights are sums of whole numbers, exact in any order: a row alone gets the same leaves as among
others, whichever way is the faster one.
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
_ALL = 30.0  # the lean at which a share is all or nothing
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
def right_share(total: int, x_step: float, terms: Values, share: float, min_share: float) -> float:
    """The share that goes to side 1 of a node, of a share of a row whose product of levels is `total`.

    Differs from the paper: a row near the hyperplane goes both ways, as long as both shares are large enough.
    """
    lean = _STEEPNESS * (np.float64(total) * x_step * terms[0] + terms[1])
    if abs(lean) < _ALL:
        right = share / (1.0 + np.exp(-lean))
        if right >= min_share and share - right >= min_share:
            return float(right)
    return share if lean > 0.0 else 0.0


@njit(nogil=True, cache=True)
def walk_together(
    x_starts: Ints,
    x_features: Places,
    x_levels: Nodes,
    x_steps: Floats,
    n_features: int,
    children: Nodes,
    terms: Values,
    weight_starts: Ints,
    weight_features: Ids,
    weight_levels: Levels,
    min_share: float,
    nodes: Nodes,
    shares: Values,
    n_parts: Nodes,
) -> None:
    """Take rows from the roots down to the first nodes of few weights, all rows of a tree together.

    The many weights of a node are spread out once for all rows that reach it: the cost of a row is its own features.
    Row i is in tree t at ``nodes[i, t, :n_parts[i, t]]``, with `shares` that sum to 1.
    """
    n_rows, n_trees, width = nodes.shape
    few = len(x_features) // n_rows  # a row's own features
    spread, kept = np.zeros(n_features, np.int32), np.empty(n_rows, np.uint32)
    parts = np.empty(n_rows * width, np.uint32)  # row · width + part; what is pending, the next node's on top
    for tree in range(n_trees):
        for row in range(n_rows):
            parts[row] = row * width
        pending = [(np.int64(nodes[0, tree, 0]), 0, n_rows)]
        while len(pending) > 0:
            node, start, stop = pending.pop()
            if node < 0 or weight_starts[node + 1] - weight_starts[node] <= few:
                for part in parts[start:stop]:
                    nodes[part // width, tree, part % width] = node
                continue
            for at in range(weight_starts[node], weight_starts[node + 1]):
                spread[weight_features[at]] = weight_levels[at]
            n_right, n_left = 0, 0
            for i in range(start, stop):
                row, part = parts[i] // width, parts[i] % width
                total = 0
                for at in range(x_starts[row], x_starts[row + 1]):
                    total += np.int64(x_levels[at]) * spread[x_features[at]]
                share = shares[row, tree, part]
                right = np.float32(right_share(total, x_steps[row], terms[node], share, min_share))
                if right > 0.0:
                    parts[start + n_right] = row * width + part
                    shares[row, tree, part] = right
                    n_right += 1
                if right < share:
                    if right > 0.0:
                        part = n_parts[row, tree]
                        n_parts[row, tree] += 1
                    kept[n_left] = row * width + part
                    shares[row, tree, part] = share - right
                    n_left += 1
            for at in range(weight_starts[node], weight_starts[node + 1]):
                spread[weight_features[at]] = 0
            middle = start + n_right
            for i in range(n_left):
                parts[middle + i] = kept[i]
            if n_right > 0:
                pending.append((np.int64(children[node, 1]), start, middle))
            if n_left > 0:
                pending.append((np.int64(children[node, 0]), middle, middle + n_left))


@njit(nogil=True, cache=True)
def walk_alone(
    x_starts: Ints,
    x_features: Places,
    x_levels: Nodes,
    x_steps: Floats,
    n_features: int,
    children: Nodes,
    terms: Values,
    weight_starts: Ints,
    weight_features: Ids,
    weight_levels: Levels,
    min_share: float,
    nodes: Nodes,
    shares: Values,
    n_parts: Nodes,
) -> None:
    """Take rows from where they are down to leaves, one row after the other; a leaf is ``-1 - node``.

    A row is spread out once for all trees: the cost of a node is the number of its weights.
    """
    n_rows, n_trees, _ = nodes.shape
    x = np.zeros(n_features, np.int32)
    for row in range(n_rows):
        for at in range(x_starts[row], x_starts[row + 1]):
            x[x_features[at]] = x_levels[at]
        for tree in range(n_trees):
            part = 0
            while part < n_parts[row, tree]:
                node, share = np.int64(nodes[row, tree, part]), shares[row, tree, part]
                while node >= 0:
                    total = 0
                    for at in range(weight_starts[node], weight_starts[node + 1]):
                        total += np.int64(weight_levels[at]) * x[weight_features[at]]
                    right = np.float32(right_share(total, x_steps[row], terms[node], share, min_share))
                    if 0.0 < right < share:
                        nodes[row, tree, n_parts[row, tree]] = children[node, 0]
                        shares[row, tree, n_parts[row, tree]] = share - right
                        n_parts[row, tree] += 1
                        share = right
                    node = np.int64(children[node, 1 if right > 0.0 else 0])
                nodes[row, tree, part], shares[row, tree, part] = node, share
                part += 1
        for at in range(x_starts[row], x_starts[row + 1]):
            x[x_features[at]] = 0


@njit(nogil=True, cache=True)
def sort_parts(nodes: Nodes, shares: Values) -> None:
    """Sort the leaves of a row in a tree: votes are summed in one order, however the leaves were found."""
    for i in range(1, len(nodes)):
        place = i
        while place > 0 and nodes[place - 1] < nodes[place]:
            nodes[place - 1], nodes[place] = nodes[place], nodes[place - 1]
            shares[place - 1], shares[place] = shares[place], shares[place - 1]
            place -= 1


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
    nodes: Nodes,
    shares: Values,
    n_parts: Nodes,
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
    for tree in range(len(n_parts)):
        sort_parts(nodes[tree, : n_parts[tree]], shares[tree, : n_parts[tree]])
        for part in range(n_parts[tree]):
            leaf = -1 - nodes[tree, part]
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
    nodes: Nodes,
    shares: Values,
    n_parts: Nodes,
    leaf_starts: Ints,
    leaf_labels: Ids,
    leaf_levels: Levels,
    leaf_steps: Values,
    allowed: Flags,
    k: int,
) -> tuple[Nodes, Values]:
    """The `k` allowed labels of each row with the largest mean over its leaves; -1 and -inf where there are fewer."""
    n_rows, n_trees = n_parts.shape
    leaves = (leaf_starts, leaf_labels, leaf_levels, leaf_steps)
    labels, scores = np.full((n_rows, k), -1, np.int32), np.full((n_rows, k), -np.inf, np.float32)
    votes, voted = np.zeros(len(allowed), np.float32), np.empty(len(allowed) + 1, np.int32)
    for row in range(n_rows):
        n_voted = add_votes(nodes[row], shares[row], n_parts[row], *leaves, allowed, votes, voted)
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
    nodes: Nodes,
    shares: Values,
    n_parts: Nodes,
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
    n_rows, n_trees = n_parts.shape
    leaves = (leaf_starts, leaf_labels, leaf_levels, leaf_steps)
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
        n_voted = add_votes(nodes[row], shares[row], n_parts[row], *leaves, allowed, votes, voted)
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
