"""Growing one tree: label rankings, sides, a sparse hyperplane, and the next two nodes.

A node owns the samples ``order[start:stop]``. Everything about features and labels of a node goes through
scratch arrays as long as the whole vocabulary, of which only the touched entries are read and reset.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

Ids = npt.NDArray[np.int32]
Floats = npt.NDArray[np.float64]
Values = npt.NDArray[np.float32]
Starts = npt.NDArray[np.int64]
Sides = npt.NDArray[np.int8]

NEWTON_STEPS = 10
SWEEPS = 4
TOLERANCE = 0.01  # of the first violation of optimality
ROUNDS = 50  # of the alternation, which nearly always settles long before
SUFFICIENT = 0.01  # share of the promised descent that a Newton step must bring


class Rows(NamedTuple):
    """A CSR matrix."""

    starts: Starts
    ids: Ids
    values: Values


class LabelScratch(NamedTuple):
    """Arrays over all labels; zero, except while a node is at work."""

    gains: Floats  # (2, n_labels), by side
    advantage: Floats  # discount on side 1 less discount on side 0
    present: Ids


class Columns(NamedTuple):
    """The features of a node that may get a weight, by column; rows are places in the node."""

    features: Ids
    starts: Starts
    rows: Ids
    values: Values


# -- sides ------------------------------------------------------------------------------------------------


@njit(nogil=True, cache=True)
def present_labels(Y: Rows, samples: Ids, scratch: LabelScratch) -> int:
    """List the labels that the samples have; return how many."""
    marks, n_present = scratch.advantage, 0
    for sample in samples:
        for at in range(Y.starts[sample], Y.starts[sample + 1]):
            label = Y.ids[at]
            if marks[label] == 0.0:
                marks[label] = 1.0
                scratch.present[n_present] = label
                n_present += 1
    for label in scratch.present[:n_present]:
        marks[label] = 0.0
    return n_present


@njit(nogil=True, cache=True)
def rank_labels(
    Y: Rows, samples: Ids, sides: Sides, discounts: Floats, n_present: int, scratch: LabelScratch
) -> None:
    """Rank the labels of each side by their gain there and set what each gains by side 1 over side 0."""
    gains, present = scratch.gains, scratch.present[:n_present]
    for label in present:
        gains[0, label] = gains[1, label] = scratch.advantage[label] = 0.0
    for i, sample in enumerate(samples):
        side = sides[i]
        for at in range(Y.starts[sample], Y.starts[sample + 1]):
            gains[side, Y.ids[at]] += Y.values[at]
    keys = np.empty(n_present)
    for side in range(2):
        for i, label in enumerate(present):
            keys[i] = -gains[side, label]
        sign = 2 * side - 1
        for rank, i in enumerate(np.argsort(keys, kind="mergesort")):
            if keys[i] == 0.0:  # never seen on this side: as good as last
                break
            scratch.advantage[present[i]] += sign * discounts[rank]


@njit(nogil=True, cache=True)
def choose_sides(Y: Rows, samples: Ids, sides: Sides, advantage: Floats) -> int:
    """Put each sample on the side whose ranking gives it the larger nDCG; return how many changed."""
    changed = 0
    for i, sample in enumerate(samples):
        difference = 0.0
        for at in range(Y.starts[sample], Y.starts[sample + 1]):
            difference += Y.values[at] * advantage[Y.ids[at]]
        if difference != 0.0:
            side = np.int8(difference > 0.0)
            changed += side != sides[i]
            sides[i] = side
    return changed


@njit(nogil=True, cache=True)
def alternate_sides(Y: Rows, samples: Ids, sides: Sides, discounts: Floats, scratch: LabelScratch) -> None:
    """Rank labels and choose sides in turn until no sample changes its side."""
    n_present = present_labels(Y, samples, scratch)
    for _ in range(ROUNDS):
        rank_labels(Y, samples, sides, discounts, n_present, scratch)
        if choose_sides(Y, samples, sides, scratch.advantage) == 0:
            break
    for label in scratch.present[:n_present]:
        scratch.advantage[label] = 0.0


# -- the hyperplane ---------------------------------------------------------------------------------------


@njit(nogil=True, cache=True)
def useful_columns(
    X: Rows, samples: Ids, pull: Floats, slope: Floats, place: Ids, touched: Ids, rows: Ids, values: Values
) -> Columns:
    """Columns whose weight leaves zero: the slope of the loss there exceeds that of the L1 penalty, 1.

    `pull` is the derivative of the loss by the margin of each sample at weights zero.
    """
    n_touched = 0
    for i, sample in enumerate(samples):
        for at in range(X.starts[sample], X.starts[sample + 1]):
            feature = X.ids[at]
            if place[feature] == 0:
                touched[n_touched] = feature
                n_touched += 1
                slope[feature] = 0.0
            place[feature] += 1
            slope[feature] += pull[i] * X.values[at]
    n_columns = 0
    for feature in touched[:n_touched]:
        n_columns += abs(slope[feature]) > 1.0
    features, starts = np.empty(n_columns, np.int32), np.zeros(n_columns + 1, np.int64)
    column = 0
    for feature in touched[:n_touched]:
        if abs(slope[feature]) > 1.0:
            features[column] = feature
            starts[column + 1] = starts[column] + place[feature]
            place[feature] = column
            column += 1
        else:
            place[feature] = -1
    cursor = starts[:-1].copy()
    for i, sample in enumerate(samples):
        for at in range(X.starts[sample], X.starts[sample + 1]):
            column = place[X.ids[at]]
            if column >= 0:
                rows[cursor[column]] = i
                values[cursor[column]] = X.values[at]
                cursor[column] += 1
    for feature in touched[:n_touched]:
        place[feature] = 0
    return Columns(features, starts, rows, values)


@njit(nogil=True, cache=True)
def shrink_step(slope: float, curvature: float, weight: float) -> float:
    """Newton step of one weight on ``slope·d + curvature/2·d² + |weight + d|``."""
    if slope + 1.0 <= curvature * weight:
        return -(slope + 1.0) / curvature
    if slope - 1.0 >= curvature * weight:
        return -(slope - 1.0) / curvature
    return -weight


@njit(nogil=True, cache=True)
def violation_of(slope: float, weight: float) -> float:
    """How far the subgradient of the objective by one weight is from zero."""
    if weight > 0.0:
        return abs(slope + 1.0)
    if weight < 0.0:
        return abs(slope - 1.0)
    return max(abs(slope) - 1.0, 0.0)


@njit(nogil=True, cache=True)
def logistic_loss(margins: Floats, signs: Floats, costs: Floats) -> float:
    """Σ cost·log(1 + exp(−sign·margin))."""
    total = 0.0
    for i in range(len(margins)):
        margin = signs[i] * margins[i]
        total += costs[i] * (np.log1p(np.exp(-abs(margin))) + max(-margin, 0.0))
    return total


@njit(nogil=True, cache=True)
def fit_hyperplane(
    columns: Columns, signs: Floats, costs: Floats, bias: float, newton_steps: int, sweeps: int
) -> tuple[Floats, Floats, int]:
    n, n_columns = len(signs), len(columns.features)
    weights, moves, curvatures = np.zeros(n_columns + 1), np.zeros(n_columns + 1), np.empty(n_columns + 1)
    margins, pull, bend, shift = np.zeros(n), np.empty(n), np.empty(n), np.zeros(n)
    active = np.arange(n_columns)
    n_active = n_columns
    loss = logistic_loss(margins, signs, costs)
    first_violation, slack = 0.0, np.inf
    work = 0
    for step in range(newton_steps):
        for i in range(n):
            miss = 1.0 / (1.0 + np.exp(signs[i] * margins[i]))
            pull[i] = -costs[i] * signs[i] * miss
            bend[i] = costs[i] * miss * (1.0 - miss)
        moves[:] = 0.0
        shift[:] = 0.0
        promised = 0.0  # descent of the linear model
        violation = 0.0
        largest = 0.0
        for sweep in range(sweeps):
            # bias column
            slope, curvature = 0.0, 1e-12
            for i in range(n):
                slope += pull[i]
                curvature += bend[i]
            slope *= bias
            curvature *= bias * bias
            move = shrink_step(slope, curvature, weights[n_columns] + moves[n_columns])
            if sweep == 0:
                violation += violation_of(slope, weights[n_columns])
            if move != 0.0:
                moves[n_columns] += move
                for i in range(n):
                    pull[i] += bend[i] * move * bias
                    shift[i] += move * bias
            at = 0
            change = abs(move)
            while at < n_active:
                column = active[at]
                first, last = columns.starts[column], columns.starts[column + 1]
                work += last - first
                slope = 0.0
                if sweep == 0:
                    curvature = 1e-12
                    for entry in range(first, last):
                        row, value = columns.rows[entry], columns.values[entry]
                        slope += value * pull[row]
                        curvature += value * value * bend[row]
                    curvatures[column] = curvature
                    gap = violation_of(slope, weights[column])
                    violation += gap
                    largest = max(largest, gap)
                    if weights[column] == 0.0 and abs(slope) < 1.0 - slack:
                        n_active -= 1
                        active[at], active[n_active] = active[n_active], column
                        continue
                else:
                    for entry in range(first, last):
                        slope += columns.values[entry] * pull[columns.rows[entry]]
                    curvature = curvatures[column]
                at += 1
                move = shrink_step(slope, curvature, weights[column] + moves[column])
                if move != 0.0:
                    moves[column] += move
                    change = max(change, abs(move) * curvature)
                    for entry in range(first, last):
                        row, value = columns.rows[entry], columns.values[entry]
                        pull[row] += bend[row] * move * value
                        shift[row] += move * value
            if change < 0.1 * largest:
                break
        if step == 0:
            first_violation = violation
        slack = largest / n
        if violation <= TOLERANCE * first_violation:
            break
        # line search
        l1 = 0.0
        l1_new = 0.0
        for column in range(n_columns + 1):
            l1 += abs(weights[column])
        scale = 1.0
        accepted = False
        for _ in range(10):
            l1_new = 0.0
            for column in range(n_columns + 1):
                l1_new += abs(weights[column] + scale * moves[column])
            new_loss = logistic_loss(margins + scale * shift, signs, costs)
            if new_loss + l1_new <= loss + l1:
                accepted = True
                break
            scale *= 0.5
        if not accepted:
            break
        weights += scale * moves
        margins += scale * shift
        loss = new_loss
    return weights, margins, work


@njit(nogil=True, cache=True)
def grow_tree(
    X: Rows, Y: Rows, leaf_values: Values, n_features: int, n_labels: int, coins: Starts,
    C: float, bias: float, max_leaf: int, labels_per_leaf: int, newton_steps: int, sweeps: int,
):
    n_samples = len(coins)
    order = np.arange(n_samples, dtype=np.int32)
    scratch = LabelScratch(np.zeros((2, n_labels)), np.zeros(n_labels), np.empty(n_labels, np.int32))
    discounts = 1.0 / np.log2(np.arange(2, n_labels + 2))
    slope, place, touched = np.zeros(n_features), np.zeros(n_features, np.int32), np.empty(n_features, np.int32)
    rows, values = np.empty(len(X.ids), np.int32), np.empty(len(X.ids), np.float32)
    spare = np.empty(n_samples, np.int32)
    sides_of = np.empty(n_samples, np.int8)

    children = np.empty((n_samples, 2), np.int32)
    biases = np.empty(n_samples, np.float32)
    scales = np.empty(n_samples, np.float32)
    weight_starts = np.zeros(n_samples + 1, np.int64)
    weight_features = np.empty(4096, np.int32)
    weight_values = np.empty(4096, np.int8)
    n_inner = 0
    leaf_starts = np.zeros(n_samples + 1, np.int64)
    leaf_labels = np.empty(len(Y.ids), np.int32)
    leaf_scores = np.empty(len(Y.ids), np.float32)
    n_leaves = 0
    stats = np.zeros(8)

    stack = np.empty((n_samples + 1, 4), np.int64)  # start, stop, depth, parent slot
    stack[0] = (0, n_samples, 0, -1)
    height = 1
    while height > 0:
        height -= 1
        start, stop, depth, slot = stack[height]
        n = stop - start
        samples = order[start:stop]
        is_leaf = n <= max_leaf
        if not is_leaf:
            sides = sides_of[:n]
            for i in range(n):
                sides[i] = (coins[samples[i]] >> (depth % 62)) & 1
            alternate_sides(Y, samples, sides, discounts, scratch)
            n_right = 0
            for i in range(n):
                n_right += sides[i]
            is_leaf = n_right == 0 or n_right == n
            if is_leaf:
                stats[0] += 1
        if not is_leaf:
            signs, costs, pull = np.empty(n), np.empty(n), np.empty(n)
            cost = (C * n / (n - n_right), C * n / n_right)
            for i in range(n):
                signs[i] = 2.0 * sides[i] - 1.0
                costs[i] = cost[sides[i]]
                pull[i] = -0.5 * signs[i] * costs[i]
            columns = useful_columns(X, samples, pull, slope, place, touched, rows, values)
            weights, margins, work = fit_hyperplane(columns, signs, costs, bias, newton_steps, sweeps)
            stats[1] += work
            stats[2] += columns.starts[-1]
            largest = 0.0
            for column in range(len(columns.features)):
                largest = max(largest, abs(weights[column]))
            scale = largest / 127.0
            margins[:] = weights[-1] * bias
            end = weight_starts[n_inner]
            if len(weight_features) < end + len(columns.features):
                room = 2 * end + len(columns.features)
                bigger, bigger_values = np.empty(room, np.int32), np.empty(room, np.int8)
                bigger[:end] = weight_features[:end]
                bigger_values[:end] = weight_values[:end]
                weight_features, weight_values = bigger, bigger_values
            for column in range(len(columns.features)):
                level = 0 if largest == 0.0 else int(round(weights[column] / scale))
                if level != 0:
                    weight_features[end] = columns.features[column]
                    weight_values[end] = level
                    end += 1
                    for entry in range(columns.starts[column], columns.starts[column + 1]):
                        margins[columns.rows[entry]] += scale * level * columns.values[entry]
            n_left, n_right = 0, 0
            for i in range(n):
                if margins[i] > 0.0:
                    spare[n_right] = samples[i]
                    n_right += 1
                else:
                    samples[n_left] = samples[i]
                    n_left += 1
            samples[n_left:] = spare[:n_right]
            is_leaf = n_left == 0 or n_right == 0
            if is_leaf:
                stats[3] += 1
                stats[4] += n
        if is_leaf:
            node = -1 - n_leaves
            n_present = 0
            total = scratch.advantage
            for sample in samples:
                for at in range(Y.starts[sample], Y.starts[sample + 1]):
                    label = Y.ids[at]
                    if total[label] == 0.0:
                        scratch.present[n_present] = label
                        n_present += 1
                    total[label] += leaf_values[at]
            end = leaf_starts[n_leaves]
            for label in scratch.present[:n_present]:
                leaf_labels[end] = label
                leaf_scores[end] = total[label] / n
                end += 1
                total[label] = 0.0
            n_leaves += 1
            leaf_starts[n_leaves] = end
        else:
            node = n_inner
            biases[node] = weights[-1] * bias
            scales[node] = scale
            n_inner += 1
            weight_starts[n_inner] = end
            stack[height] = (start + n_left, stop, depth + 1, 2 * node + 1)
            stack[height + 1] = (start, start + n_left, depth + 1, 2 * node)
            height += 2
        if slot >= 0:
            children[slot // 2, slot % 2] = node
    n_weights, n_scores = weight_starts[n_inner], leaf_starts[n_leaves]
    return (
        children[:n_inner].copy(), biases[:n_inner].copy(), scales[:n_inner].copy(), weight_starts[: n_inner + 1].copy(),
        weight_features[:n_weights].copy(), weight_values[:n_weights].copy(),
        leaf_starts[: n_leaves + 1].copy(), leaf_labels[:n_scores].copy(), leaf_scores[:n_scores].copy(), stats,
    )
