"""Ranking labels with a whole forest, row by row."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numba import njit

Ids = npt.NDArray[np.integer]
Ints = npt.NDArray[np.int64]
Values = npt.NDArray[np.float32]
Levels = npt.NDArray[np.integer]
Flags = npt.NDArray[np.bool_]


@njit(nogil=True, cache=True)
def _part(rows: npt.NDArray[np.uint32], is_right: Flags) -> int:
    """Reorder rows such that those on the right come last; return how many are on the left."""
    left, right = 0, len(rows) - 1
    while left <= right:
        if is_right[left]:
            rows[left], rows[right] = rows[right], rows[left]
            is_right[left], is_right[right] = is_right[right], is_right[left]
            right -= 1
        else:
            left += 1
    return left


@njit(nogil=True, cache=True)
def find_leaves(
    x_starts: Ints,
    x_features: npt.NDArray[np.uint32],
    x_values: Values,
    n_features: int,
    roots: npt.NDArray[np.int32],
    children: npt.NDArray[np.int32],
    terms: Values,
    weight_starts: Ints,
    weight_features: Ids,
    weight_levels: Levels,
) -> npt.NDArray[np.int32]:
    """The leaf that each row reaches in each tree.

    All rows go down a tree together, and the weights of a node are spread out once for the rows that reach it:
    the cost of a row is its own features, however many weights a node has.
    """
    n_rows = len(x_starts) - 1
    leaves = np.empty((n_rows, len(roots)), np.int32)
    dense, order, is_right = np.zeros(n_features, np.float32), np.empty(n_rows, np.uint32), np.empty(n_rows, np.bool_)
    for tree, root in enumerate(roots):
        order[:] = np.arange(n_rows)
        stack = [(np.int64(root), 0, n_rows)]
        while len(stack) > 0:
            node, start, stop = stack.pop()
            rows = order[start:stop]
            if node < 0:
                for row in rows:
                    leaves[row, tree] = -1 - node
                continue
            first, last = weight_starts[node], weight_starts[node + 1]
            for at in range(first, last):
                dense[weight_features[at]] = weight_levels[at]
            for i, row in enumerate(rows):
                total = np.float32(0.0)
                for at in range(x_starts[row], x_starts[row + 1]):
                    total += x_values[at] * dense[x_features[at]]
                is_right[i] = terms[node, 0] * total + terms[node, 1] > 0.0
            for at in range(first, last):
                dense[weight_features[at]] = 0.0
            middle = start + _part(rows, is_right)
            if middle < stop:
                stack.append((np.int64(children[node, 1]), middle, stop))
            if start < middle:
                stack.append((np.int64(children[node, 0]), start, middle))
    return leaves


@njit(nogil=True, cache=True)
def insert_label(labels: npt.NDArray[np.int32], scores: Values, label: int, score: float) -> None:
    """Insert a label into a row of a ranking if it scores above the last place; equal scores keep their order."""
    place = len(labels) - 1
    if labels[place] >= 0 and score <= scores[place]:
        return
    while place > 0 and (labels[place - 1] < 0 or scores[place - 1] < score):
        labels[place], scores[place] = labels[place - 1], scores[place - 1]
        place -= 1
    labels[place], scores[place] = label, score


@njit(nogil=True, cache=True)
def _log_probability(distance: float, gamma: float) -> float:
    """``log 1/(1 + exp(γ/2·distance))`` of a squared distance."""
    power = 0.5 * gamma * distance
    return float(-max(power, 0.0) - np.log1p(np.exp(-abs(power))))


@njit(nogil=True, cache=True)
def rank_rows(
    x_starts: Ints,
    x_features: npt.NDArray[np.uint32],
    x_values: Values,
    n_features: int,
    leaves: npt.NDArray[np.int32],
    leaf_starts: Ints,
    leaf_labels: Ids,
    leaf_levels: Levels,
    leaf_steps: Values,
    centre_starts: Ints,
    centre_features: Ids,
    centre_levels: Levels,
    centre_steps: Values,
    centre_squares: Values,
    alpha: float,
    gamma: float,
    allowed: Flags,
    k: int,
) -> tuple[npt.NDArray[np.int32], Values]:
    """The `k` best allowed labels of each row and their scores; -1 and -inf where the leaves hold fewer labels.

    A label's score is its mean over the leaves of all trees; with centres (``len(centre_starts) > 1``) it is
    ``alpha·log(mean) + (1 - alpha)·log P`` with the tail classifier P.
    """
    n_rows = len(x_starts) - 1
    labels, scores = np.full((n_rows, k), -1, np.int32), np.full((n_rows, k), -np.inf, np.float32)
    x = np.zeros(n_features, np.float32)
    votes, voted = np.zeros(len(allowed), np.float32), np.empty(len(allowed), np.int32)
    for row in range(n_rows):
        square = 0.0
        for at in range(x_starts[row], x_starts[row + 1]):
            x[x_features[at]] = x_values[at]
            square += x_values[at] * x_values[at]
        n_voted = 0
        for leaf in leaves[row]:
            for at in range(leaf_starts[leaf], leaf_starts[leaf + 1]):
                label = leaf_labels[at]
                if allowed[label]:
                    if votes[label] == 0.0:
                        voted[n_voted] = label
                        n_voted += 1
                    votes[label] += leaf_steps[leaf] * np.float32(leaf_levels[at])
        for label in voted[:n_voted]:
            score = votes[label] / leaves.shape[1]
            votes[label] = 0.0
            if len(centre_starts) > 1:
                likeness = 0.0
                for at in range(centre_starts[label], centre_starts[label + 1]):
                    likeness += np.float32(centre_levels[at]) * x[centre_features[at]]
                likeness *= centre_steps[label] / np.sqrt(square) if square > 0.0 else 0.0
                distance = (1.0 if square > 0.0 else 0.0) - 2.0 * likeness + centre_squares[label]
                score = alpha * np.log(score) + (1.0 - alpha) * _log_probability(distance, gamma)
            insert_label(labels[row], scores[row], label, score)
        for at in range(x_starts[row], x_starts[row + 1]):
            x[x_features[at]] = 0.0
    return labels, scores
