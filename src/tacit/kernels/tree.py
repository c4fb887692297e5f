"""Growing one tree: two label rankings, a side for each sample, a sparse hyperplane, and the next two nodes.

A node owns a slice of `order`, the samples in it. What it computes per label or per feature goes through scratch
arrays as long as the whole vocabulary, of which only the touched entries are read and reset. Random choices come
from `coins`, 62 random bits per sample, so that a kernel has no hidden state.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

Ids = npt.NDArray[np.int32]
Places = npt.NDArray[np.uint32]  # unsigned, which saves Numba's test for negative indices
Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Values = npt.NDArray[np.float32]
Sides = npt.NDArray[np.int8]
Levels = npt.NDArray[np.int8]
Stored = tuple[Ids, Levels, float, float]  # features, weights in steps, the size of a step, the bias

N_COINS = 62  # bits of a sample's coin
LEVELS = 127  # a weight is stored as a whole number of 127ths of the largest of its node

_ROUNDS = 50  # of the alternation, which settles long before
_DRAFT_STEPS, _STEPS = 2, 8  # Newton steps for the first sides, and for the second ones
_TOLERANCE = 0.01  # share of the first violation of optimality that is good enough
_HALVINGS = 10  # of a Newton step that does not descend
_TINY = 1e-12
_HUGE = 1e290
_LOW_BITS = (1 << 32) - 1


class Rows(NamedTuple):
    """A CSR matrix."""

    starts: Ints
    ids: Places
    values: Values


class Columns(NamedTuple):
    """The features of a node that may get a weight, by column; the last column is the bias.

    `rows` are places in the node, not samples.
    """

    features: Ids
    starts: Ints
    rows: Places
    values: Values


class LabelScratch(NamedTuple):
    """Arrays over all labels."""

    gains: Floats  # (2, n_labels), by side
    advantage: Floats  # discount on side 1 less discount on side 0; zero between nodes
    present: Ids
    discounts: Floats  # by rank


class FeatureScratch(NamedTuple):
    """Arrays over all features, and room for the columns of any node."""

    slope: Floats  # zero between nodes
    place: Ids  # zero between nodes
    touched: Ids
    rows: Places
    values: Values


class Plane(NamedTuple):
    """A hyperplane in the making."""

    weights: Floats  # by column
    margins: Floats  # by sample of the node


# -- sides ------------------------------------------------------------------------------------------------


@njit(nogil=True, cache=True)
def label_scratch(n_labels: int) -> LabelScratch:
    """Scratch arrays for alternations."""
    discounts = 1.0 / np.log2(np.arange(2, n_labels + 2))
    return LabelScratch(np.zeros((2, n_labels)), np.zeros(n_labels), np.empty(n_labels, np.int32), discounts)


@njit(nogil=True, cache=True)
def first_sides(X: Rows, samples: Ids, coins: Ints, depth: int, by_features: bool, slope: Floats, sides: Sides) -> None:
    """Sides to start from: the more similar of two random samples, or a coin.

    Differs from the paper: it tosses coins only, which measured lower precision.
    """
    n = len(samples)
    for i in range(n):
        sides[i] = (coins[samples[i]] >> (depth % N_COINS)) & 1
    if not by_features:
        return
    first = coins[samples[0]] % n
    second = (first + 1 + coins[samples[n - 1]] % (n - 1)) % n
    for sign, pick in ((1.0, first), (-1.0, second)):
        for at in range(X.starts[samples[pick]], X.starts[samples[pick] + 1]):
            slope[X.ids[at]] += sign * X.values[at]
    for i, sample in enumerate(samples):
        lean = 0.0
        for at in range(X.starts[sample], X.starts[sample + 1]):
            lean += X.values[at] * slope[X.ids[at]]
        if lean != 0.0:
            sides[i] = lean > 0.0
    for pick in (first, second):
        for at in range(X.starts[samples[pick]], X.starts[samples[pick] + 1]):
            slope[X.ids[at]] = 0.0


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
    marks[scratch.present[:n_present]] = 0.0
    return n_present


@njit(nogil=True, cache=True)
def rank_labels(Y: Rows, samples: Ids, sides: Sides, n_present: int, scratch: LabelScratch) -> None:
    """Rank the labels of each side by their gain there; set what each label gains by side 1 over side 0."""
    gains, present, discounts = scratch.gains, scratch.present[:n_present], scratch.discounts
    for label in present:
        gains[0, label] = gains[1, label] = scratch.advantage[label] = 0.0
    for i, sample in enumerate(samples):
        side = sides[i]
        for at in range(Y.starts[sample], Y.starts[sample + 1]):
            gains[side, Y.ids[at]] += Y.values[at]
    gain = np.empty(1, np.float32)
    bits = gain.view(np.int32)  # as whole numbers, positive floats sort alike
    keys = np.empty(n_present, np.int64)
    for side in range(2):
        sign = 2.0 * side - 1.0
        n_ranked, rank = 0, n_present
        for label in present:
            gain[0] = gains[side, label]
            if bits[0] > 0:
                keys[n_ranked] = (np.int64(bits[0]) << 32) | label
                n_ranked += 1
            else:  # absent labels come last, in any order
                rank -= 1
                scratch.advantage[label] += sign * discounts[rank]
        keys[:n_ranked].sort()
        for rank in range(n_ranked):
            label = keys[n_ranked - 1 - rank] & _LOW_BITS
            scratch.advantage[label] += sign * discounts[rank]


@njit(nogil=True, cache=True)
def choose_sides(Y: Rows, samples: Ids, sides: Sides, advantage: Floats) -> int:
    """Put each sample on the side whose ranking gives it the larger nDCG; return how many changed."""
    n_changed = 0
    for i, sample in enumerate(samples):
        difference = 0.0
        for at in range(Y.starts[sample], Y.starts[sample + 1]):
            difference += Y.values[at] * advantage[Y.ids[at]]
        if difference != 0.0:
            side = np.int8(difference > 0.0)
            n_changed += side != sides[i]
            sides[i] = side
    return n_changed


@njit(nogil=True, cache=True)
def alternate_sides(Y: Rows, samples: Ids, sides: Sides, rounds: int, scratch: LabelScratch) -> None:
    """Rank labels and choose sides in turn, until no sample changes its side."""
    n_present = present_labels(Y, samples, scratch)
    for _ in range(rounds):
        rank_labels(Y, samples, sides, n_present, scratch)
        if choose_sides(Y, samples, sides, scratch.advantage) == 0:
            break
    scratch.advantage[scratch.present[:n_present]] = 0.0


# -- the hyperplane ---------------------------------------------------------------------------------------


@njit(nogil=True, cache=True)
def sample_costs(sides: Sides, C: float) -> tuple[Floats, Floats]:
    """Sides as -1 and 1, and the cost of each sample: C divided by the share of its side."""
    n_right = 0
    for side in sides:
        n_right += side
    by_side = (C * len(sides) / (len(sides) - n_right), C * len(sides) / n_right)
    signs, costs = np.empty(len(sides)), np.empty(len(sides))
    for i, side in enumerate(sides):
        signs[i], costs[i] = 2.0 * side - 1.0, by_side[side]
    return signs, costs


@njit(nogil=True, cache=True)
def useful_columns(
    X: Rows, samples: Ids, signs: Floats, costs: Floats, bias: float, scratch: FeatureScratch
) -> Columns:
    """Columns whose weight would leave zero: the slope of the loss there exceeds that of the L1 penalty, 1."""
    slope, place, n_touched = scratch.slope, scratch.place, 0
    for i, sample in enumerate(samples):
        pull = -0.5 * signs[i] * costs[i]  # derivative of the loss by the margin, at margin 0
        for at in range(X.starts[sample], X.starts[sample + 1]):
            feature = X.ids[at]
            if place[feature] == 0:
                scratch.touched[n_touched] = feature
                n_touched += 1
            place[feature] += 1
            slope[feature] += pull * X.values[at]
    touched = scratch.touched[:n_touched]
    n_columns = 0
    for feature in touched:
        n_columns += abs(slope[feature]) > 1.0
    features, starts = np.empty(n_columns, np.int32), np.zeros(n_columns + 2, np.int64)
    column = 0
    for feature in touched:
        is_useful = abs(slope[feature]) > 1.0
        slope[feature] = 0.0
        if is_useful:
            features[column] = feature
            starts[column + 1] = starts[column] + place[feature]
            place[feature] = column
            column += 1
        else:
            place[feature] = -1
    _fill_columns(X, samples, bias, starts, scratch)
    place[touched] = 0
    return Columns(features, starts, scratch.rows, scratch.values)


@njit(nogil=True, cache=True)
def _fill_columns(X: Rows, samples: Ids, bias: float, starts: Ints, scratch: FeatureScratch) -> None:
    """Write the entries of the columns that `place` names, then the column of the bias."""
    rows, values, last = scratch.rows, scratch.values, len(starts) - 2
    cursor = starts[:-1].copy()
    for i, sample in enumerate(samples):
        for at in range(X.starts[sample], X.starts[sample + 1]):
            column = scratch.place[X.ids[at]]
            if column >= 0:
                rows[cursor[column]], values[cursor[column]] = i, X.values[at]
                cursor[column] += 1
        rows[starts[last] + i], values[starts[last] + i] = i, bias
    starts[last + 1] = starts[last] + len(samples)


@njit(nogil=True, cache=True)
def shrinking_move(slope: float, curvature: float, weight: float) -> float:
    """The d that minimises ``slope·d + curvature/2·d² + |weight + d|``."""
    if slope + 1.0 <= curvature * weight:
        return -(slope + 1.0) / curvature
    if slope - 1.0 >= curvature * weight:
        return -(slope - 1.0) / curvature
    return -weight


@njit(nogil=True, cache=True)
def violation_of(slope: float, weight: float) -> float:
    """How far the nearest subgradient of the objective by one weight is from zero."""
    if weight == 0.0:
        return max(abs(slope) - 1.0, 0.0)
    return abs(slope + 1.0) if weight > 0.0 else abs(slope - 1.0)


@njit(nogil=True, cache=True)
def logistic_loss(margins: Floats, shift: Floats, scale: float, signs: Floats, costs: Floats) -> float:
    """``Σ cost·log(1 + exp(−sign·margin))`` at the margins moved by ``scale·shift``."""
    total, product, cost = 0.0, 1.0, 0.0  # the logarithm of a product is cheaper than a sum of logarithms
    for i in range(len(margins)):
        if costs[i] != cost or product > _HUGE:
            total, product, cost = total + cost * np.log(product), 1.0, costs[i]
        margin = signs[i] * (margins[i] + scale * shift[i])
        product *= 1.0 + np.exp(-abs(margin))
        total += cost * max(-margin, 0.0)
    return float(total + cost * np.log(product))


@njit(nogil=True, cache=True)
def newton_moves(
    columns: Columns, plane: Plane, signs: Floats, costs: Floats, active: Ids
) -> tuple[Floats, Floats, Ids, float]:
    """One sweep of coordinate descent over the quadratic model of the loss at `plane`.

    Returns the moves of the weights and of the margins, the columns still active (a weight that rests at zero
    is left there for good: exact optima are not worth their time in an ensemble), and the sum of violations.
    """
    n = len(signs)
    pull, bend, shift, moves = np.empty(n), np.empty(n), np.zeros(n), np.zeros(len(plane.weights))
    for i in range(n):
        miss = 1.0 / (1.0 + np.exp(signs[i] * plane.margins[i]))
        pull[i] = -costs[i] * signs[i] * miss
        bend[i] = costs[i] * miss * (1.0 - miss)
    violation, n_active = 0.0, 0
    for column in active:
        first, last = columns.starts[column], columns.starts[column + 1]
        slope, curvature, weight = 0.0, _TINY, plane.weights[column]
        for entry in range(first, last):
            row, value = columns.rows[entry], columns.values[entry]
            slope += value * pull[row]
            curvature += value * value * bend[row]
        if weight == 0.0 and abs(slope) < 1.0:
            continue
        active[n_active] = column
        n_active += 1
        violation += violation_of(slope, weight)
        move = shrinking_move(slope, curvature, weight)
        if move != 0.0:
            moves[column] = move
            for entry in range(first, last):
                row, step = columns.rows[entry], move * columns.values[entry]
                pull[row] += bend[row] * step
                shift[row] += step
    return moves, shift, active[:n_active], violation


@njit(nogil=True, cache=True)
def descend(plane: Plane, moves: Floats, shift: Floats, signs: Floats, costs: Floats) -> bool:
    """Take the longest of the steps 1, 1/2, 1/4, … that lowers the objective; return whether there is one."""
    now = logistic_loss(plane.margins, shift, 0.0, signs, costs) + np.abs(plane.weights).sum()
    scale = 1.0
    for _ in range(_HALVINGS):
        penalty = np.abs(plane.weights + scale * moves).sum()
        if logistic_loss(plane.margins, shift, scale, signs, costs) + penalty < now:
            plane.weights[:] += scale * moves
            plane.margins[:] += scale * shift
            return True
        scale *= 0.5
    return False


@njit(nogil=True, cache=True)
def fit_plane(columns: Columns, plane: Plane, signs: Floats, costs: Floats, active: Ids, n_steps: int) -> Ids:
    """Minimise ``‖w‖₁ + Σ cost·log(1 + exp(−sign·w·x))`` by Newton steps from where `plane` is.

    Only weights of `active` columns move; returned are those that still may.
    """
    enough = 0.0
    for step in range(n_steps):
        moves, shift, active, violation = newton_moves(columns, plane, signs, costs, active)
        if step == 0:
            enough = _TOLERANCE * violation
        if violation <= enough or not descend(plane, moves, shift, signs, costs):
            break
    return active


# -- growth -----------------------------------------------------------------------------------------------


@njit(nogil=True, cache=True)
def is_one_sided(sides: Sides) -> bool:
    """Whether all samples are on the same side."""
    for side in sides:
        if side != sides[0]:
            return False
    return True


@njit(nogil=True, cache=True)
def split_node(
    X: Rows, Y: Rows, samples: Ids, sides: Sides, C: float, bias: float, labels: LabelScratch, features: FeatureScratch
) -> Stored:
    """A hyperplane for first `sides`, which become the sides of that hyperplane.

    Returns the features it uses, their weights in whole steps, the size of a step and the bias. Samples are
    routed by the weights as stored, so that training and prediction agree.
    """
    alternate_sides(Y, samples, sides, _ROUNDS, labels)
    if is_one_sided(sides):
        return np.empty(0, np.int32), np.empty(0, np.int8), 0.0, 0.0
    signs, costs = sample_costs(sides, C)
    columns = useful_columns(X, samples, signs, costs, bias, features)
    plane = Plane(np.zeros(len(columns.features) + 1), np.zeros(len(samples)))
    active = np.arange(len(plane.weights)).astype(np.int32)
    active = fit_plane(columns, plane, signs, costs, active, _DRAFT_STEPS)
    for i, margin in enumerate(plane.margins):
        sides[i] = margin > 0.0
    alternate_sides(Y, samples, sides, 1, labels)
    if not is_one_sided(sides):
        signs, costs = sample_costs(sides, C)
        fit_plane(columns, plane, signs, costs, active, _STEPS)
    stored: Stored = _stored_plane(columns, plane, bias, sides)
    return stored


@njit(nogil=True, cache=True)
def _stored_plane(columns: Columns, plane: Plane, bias: float, sides: Sides) -> Stored:
    n_columns = len(columns.features)
    largest = 0.0
    for weight in plane.weights[:n_columns]:
        largest = max(largest, abs(weight))
    step = np.float32(largest / LEVELS)
    kept, levels, n_kept = np.empty(n_columns, np.int32), np.empty(n_columns, np.int8), 0
    intercept = np.float32(plane.weights[n_columns] * bias)
    plane.margins[:] = intercept
    for column in range(n_columns):
        level = int(np.rint(plane.weights[column] / step)) if step > 0.0 else 0
        if level != 0:
            kept[n_kept], levels[n_kept] = columns.features[column], level
            n_kept += 1
            for entry in range(columns.starts[column], columns.starts[column + 1]):
                plane.margins[columns.rows[entry]] += step * level * columns.values[entry]
    for i, margin in enumerate(plane.margins):
        sides[i] = margin > 0.0
    return kept[:n_kept], levels[:n_kept], float(step), float(intercept)


@njit(nogil=True, cache=True)
def _part(samples: Ids, sides: Sides) -> int:
    """Reorder samples by side, keeping their order within; return how many are on side 0."""
    right = np.empty(len(samples), np.int32)
    n_left = 0
    for i in range(len(samples)):
        if sides[i]:
            right[i - n_left] = samples[i]
        else:
            samples[n_left] = samples[i]
            n_left += 1
    samples[n_left:] = right[: len(samples) - n_left]
    return n_left


@njit(nogil=True, cache=True)
def leaf_scores(Y: Rows, worth: Values, samples: Ids, limit: int, scratch: LabelScratch) -> tuple[Ids, Values]:
    """The labels of the samples and their mean worth, the `limit` largest."""
    total = scratch.gains[0]
    n_present = present_labels(Y, samples, scratch)
    total[scratch.present[:n_present]] = 0.0
    for sample in samples:
        for at in range(Y.starts[sample], Y.starts[sample + 1]):
            total[Y.ids[at]] += worth[at]
    labels = np.sort(scratch.present[:n_present])
    if n_present > limit:
        best = np.argsort(-total[labels], kind="mergesort")[:limit]
        labels = np.sort(labels[best])
    return labels, (total[labels] / len(samples)).astype(np.float32)


@njit(nogil=True, cache=True)
def _with_room(array, n_used, n_more):  # type: ignore[no-untyped-def]
    """`array`, or a longer copy of it if there is no room for more."""
    if n_used + n_more <= len(array):
        return array
    longer = np.empty(2 * (n_used + n_more), array.dtype)
    longer[:n_used] = array[:n_used]
    return longer


@njit(nogil=True, cache=True)
def grow_tree(
    x_starts: Ints,
    x_features: Places,
    x_values: Values,
    n_features: int,
    y_starts: Ints,
    y_labels: Places,
    y_gains: Values,
    y_worth: Values,
    n_labels: int,
    coins: Ints,
    C: float,
    bias: float,
    max_leaf: int,
    labels_per_leaf: int,
) -> tuple[Ids, Values, Ints, Ids, Levels, Ints, Ids, Values]:
    """Grow a tree over all samples, depth first.

    Inner nodes and leaves are numbered in the order they are made. Returned are, for inner nodes, their two
    children (a leaf ``l`` as ``-1 - l``), their (step, bias), and their weights as starts, features and levels;
    for leaves their starts, labels and scores. A tree without inner nodes is one leaf.
    """
    X, Y = Rows(x_starts, x_features, x_values), Rows(y_starts, y_labels, y_gains)
    n_samples = len(coins)
    labels, features = label_scratch(n_labels), _feature_scratch(n_features, len(x_features) + n_samples)
    order, all_sides = np.arange(n_samples).astype(np.int32), np.empty(n_samples, np.int8)
    children, terms = np.empty((n_samples, 2), np.int32), np.empty((n_samples, 2), np.float32)
    weight_starts, leaf_starts = np.zeros(n_samples + 1, np.int64), np.zeros(n_samples + 1, np.int64)
    weight_features, weight_levels = np.empty(0, np.int32), np.empty(0, np.int8)
    scored_labels, scores = np.empty(len(y_labels), np.int32), np.empty(len(y_labels), np.float32)
    stack = [(0, n_samples, 0, -1)]  # start and stop in `order`, depth, place among the children
    n_inner, n_leaves = 0, 0
    while len(stack) > 0:
        start, stop, depth, slot = stack.pop()
        samples, sides = order[start:stop], all_sides[start:stop]
        is_split = False
        for by_features in (True, False):
            if len(samples) > max_leaf and not is_split:
                first_sides(X, samples, coins, depth, by_features, features.slope, sides)
                used, levels, step, intercept = split_node(X, Y, samples, sides, C, bias, labels, features)
                is_split = not is_one_sided(sides)
        if is_split:
            node, end = n_inner, weight_starts[n_inner]
            terms[node] = (step, intercept)
            weight_features = _with_room(weight_features, end, len(used))
            weight_levels = _with_room(weight_levels, end, len(used))
            weight_features[end : end + len(used)], weight_levels[end : end + len(used)] = used, levels
            n_inner += 1
            weight_starts[n_inner] = end + len(used)
            middle = start + _part(samples, sides)
            stack.append((middle, stop, depth + 1, 2 * node + 1))
            stack.append((start, middle, depth + 1, 2 * node))
        else:
            node, end = -1 - n_leaves, leaf_starts[n_leaves]
            found, worth = leaf_scores(Y, y_worth, samples, labels_per_leaf, labels)
            scored_labels[end : end + len(found)], scores[end : end + len(found)] = found, worth
            n_leaves += 1
            leaf_starts[n_leaves] = end + len(found)
        if slot >= 0:
            children[slot // 2, slot % 2] = node
    n_weights, n_scores = weight_starts[n_inner], leaf_starts[n_leaves]
    return (
        children[:n_inner].copy(),
        terms[:n_inner].copy(),
        weight_starts[: n_inner + 1].copy(),
        weight_features[:n_weights].copy(),
        weight_levels[:n_weights].copy(),
        leaf_starts[: n_leaves + 1].copy(),
        scored_labels[:n_scores].copy(),
        scores[:n_scores].copy(),
    )


@njit(nogil=True, cache=True)
def _feature_scratch(n_features: int, n_entries: int) -> FeatureScratch:
    return FeatureScratch(
        np.zeros(n_features),
        np.zeros(n_features, np.int32),
        np.empty(n_features, np.int32),
        np.empty(n_entries, np.uint32),
        np.empty(n_entries, np.float32),
    )
