"""Growing one tree: two label rankings, a side for each sample, a sparse hyperplane, and the next two nodes.

A node owns a slice of `order`, the samples in it. What it computes per label or per feature goes through scratch
arrays as long as the whole vocabulary, of which only the touched entries are read and reset. Random choices come
from `random_bits`, 62 random bits per sample, so that a kernel has no hidden state.
"""

from __future__ import annotations

import functools
import math
from typing import NamedTuple

import numpy as np
from numba import njit

from tacit.arrays import Floats32, Floats64, Ints8, Ints16, Ints32, Ints64, UInts32, UInts64
from tacit.kernels.dense import Rows

Stored = tuple[Ints32, Ints8, float, float]  # features, weights in steps, the size of a step, the bias

N_RANDOM_BITS = 62  # of a sample
LEVELS = 127  # a weight is stored as a whole number of 127ths of the largest of its node

# Of a type, as what they are given to would be compiled for plain numbers separately.
_MENDING_ROUNDS: int = np.int64(2)  # type: ignore[assignment]  # of the alternation from the sides of a first hyperplane
_DRAFT_STEPS: int = np.int64(2)  # type: ignore[assignment]  # Newton steps for a first hyperplane
_SMALL = 1e-3
_TINY = 1e-12
_PULL, _BEND, _MARGIN = 0, 1, 2
_BUCKET_BITS = 18  # a bucket holds a 32nd of an octave of gains
_BUCKETS = 512


class Rules(NamedTuple):
    """How a node is split."""

    most_samples: int  # maximum number of samples on which a hyperplane is trained; the others of the node follow it
    rounds: int  # of the alternation
    settled: float  # share of changed sides at which the alternation stops
    improves_sides: bool  # whether the sides of a first hyperplane are improved, and a second one is fitted to them
    shrinks: bool  # whether features that are useless at first are left out
    steps: int  # Newton steps
    tolerance: float  # at which they stop, relative to the initial violation of optimality
    least_level: int  # weights up to this level are dropped: they cost time and hardly improve accuracy
    C: float = 1.0
    bias: float = 1.0
    max_leaf: int = 10
    labels_per_leaf: int = 100
    starts_by_features: bool = False


REFINED = Rules(8192, 20, 0.1, improves_sides=True, shrinks=True, steps=5, tolerance=0.01, least_level=10)
PRINTED = Rules(2**31 - 1, 1000, 0.0, improves_sides=False, shrinks=False, steps=100, tolerance=0.01, least_level=0)


class FeatureRows(NamedTuple):
    """Features in CSR, as numbers and as forests rank them: a level times the step of its row."""

    starts: UInts64
    ids: UInts32
    values: Floats32
    levels: Ints16
    steps: Floats64


class Columns(NamedTuple):
    """The features of a node that may get a weight, by column; the last column is the bias.

    `rows` are places in the node, not samples.
    """

    features: Ints32
    starts: UInts64
    rows: UInts32
    values: Floats32


class LabelScratch(NamedTuple):
    """Arrays over all labels."""

    gains: Floats64  # (2, n_labels), by side; zero between nodes
    advantage: Floats64  # discount on side 1 less discount on side 0
    ranked: Ints32  # (2, n_labels + 1): the node's labels, best first on each side; behind them a candidate's place
    discounts: Floats64  # by rank


class FeatureScratch(NamedTuple):
    """Arrays over all features, and room for the columns of any node."""

    slopes: Floats32  # (n_features, 2): the slope and, through `places`, an integer; zero between nodes
    places: Ints32  # the same memory as integers
    touched: Ints32
    rows: UInts32  # of `Columns`
    values: Floats32


class Tree(NamedTuple):
    """A tree. Inner nodes and leaves are numbered in the order they are made; without inner nodes it is one leaf."""

    children: Ints32  # of inner nodes; a leaf ``l`` as ``-1 - l``
    terms: Floats32  # step and bias
    weight_starts: Ints64
    weight_features: Ints32
    weight_levels: Ints8
    leaf_starts: Ints64
    leaf_labels: Ints32
    leaf_scores: Floats32
    leaf_of: Ints32  # of each sample


class Plane(NamedTuple):
    """State of a hyperplane during training."""

    weights: Floats64  # by column
    points: Floats64  # (n_samples, 3): slope and curvature of the loss by the margin, and the margin


class Growing(NamedTuple):
    """What the nodes of a tree have in common: features, gains of labels, random bits by sample, rules and scratch."""

    X: FeatureRows
    Y: Rows
    random_bits: Ints64
    rules: Rules
    labels: LabelScratch
    features: FeatureScratch


# -- sides ------------------------------------------------------------------------------------------------


def label_scratch(n_labels: int) -> LabelScratch:
    """Scratch arrays for alternations."""
    ranked = np.empty((2, n_labels + 1), np.int32)
    return LabelScratch(np.zeros((2, n_labels)), np.zeros(n_labels), ranked, rank_discounts(n_labels))


def feature_scratch(X: FeatureRows, n_features: int, most_samples: int) -> FeatureScratch:
    """Scratch arrays for the columns of nodes of at most `most_samples` deciding samples."""
    n_deciding, longest = min(len(X.starts) - 1, most_samples), int(np.diff(X.starts).max(initial=0))
    n_entries = min(len(X.ids), n_deciding * longest) + n_deciding
    slopes, touched = np.zeros((n_features, 2), np.float32), np.empty(n_features + 1, np.int32)
    rows, values = np.empty(n_entries, np.uint32), np.empty(n_entries, np.float32)
    return FeatureScratch(slopes, slopes.view(np.int32), touched, rows, values)


@functools.lru_cache(maxsize=1)  # trees of a forest share it
def rank_discounts(n_labels: int) -> Floats64:
    """Discounts by rank; by the C library, whose results do not depend on the processor as those of NumPy do."""
    return np.array([1.0 / math.log2(rank) for rank in range(2, n_labels + 2)])


@njit(nogil=True, cache=True, inline="always")
def first_sides(
    X: FeatureRows, samples: Ints32, random_bits: Ints64, depth: int, by_features: bool, slopes: Floats32, sides: Ints8
) -> None:
    """Initial sides: the more similar of two random samples, or random sides, as in the paper."""
    n = len(samples)
    for i in range(n):
        sides[i] = (random_bits[samples[i]] >> (depth % N_RANDOM_BITS)) & 1
    if not by_features:
        return
    first = random_bits[samples[0]] % n
    second = (first + 1 + random_bits[samples[n - 1]] % (n - 1)) % n
    for turn in range(2):
        pick, sign = (second, -1.0) if turn else (first, 1.0)
        for at in range(X.starts[samples[pick]], X.starts[samples[pick] + 1]):
            slopes[X.ids[at], 0] += sign * X.values[at]
    for i, sample in enumerate(samples):
        lean = 0.0
        for at in range(X.starts[sample], X.starts[sample + 1]):
            lean += X.values[at] * slopes[X.ids[at], 0]
        if lean != 0.0:
            sides[i] = lean > 0.0
    for turn in range(2):
        pick = second if turn else first
        for at in range(X.starts[samples[pick]], X.starts[samples[pick] + 1]):
            slopes[X.ids[at], 0] = 0.0


@njit(nogil=True, cache=True, inline="always")
def sum_gains(Y: Rows, samples: Ints32, sides: Ints8, scratch: LabelScratch) -> int:
    """Sum the gains of labels by side and list the labels; return how many there are."""
    gains, n_present = scratch.gains, 0
    for i, sample in enumerate(samples):
        side = sides[i]
        for at in range(Y.starts[sample], Y.starts[sample + 1]):
            label = Y.ids[at]
            scratch.ranked[0, n_present] = scratch.ranked[1, n_present] = label
            n_present += gains[0, label] + gains[1, label] == 0.0
            gains[side, label] += Y.values[at]
    return n_present


@njit(nogil=True, cache=True)
def sort_by_gain(labels: Ints32, gains: Floats64) -> None:
    """Sort labels by their gain, largest first: into buckets, then by insertion."""
    _sort_into_buckets(labels, gains)
    for i in range(1, len(labels)):
        label, place = labels[i], i
        while place > 0 and gains[labels[place - 1]] < gains[label]:
            labels[place] = labels[place - 1]
            place -= 1
        labels[place] = label


@njit(nogil=True, cache=True, inline="always")
def _sort_into_buckets(labels: Ints32, gains: Floats64) -> None:
    """Sort labels by gain, largest first, approximately: gains that differ by less than about a 32nd may be swapped."""
    largest = 0.0
    for label in labels:
        largest = max(largest, gains[label])
    float_bits = np.empty(2, np.float32)
    float_bits[0] = largest
    bits = float_bits.view(np.int32)  # as whole numbers, positive floats sort alike
    ends, buckets = np.zeros(_BUCKETS + 1, np.int64), np.empty(len(labels), np.int64)
    for i, label in enumerate(labels):
        float_bits[1] = gains[label]
        buckets[i] = min((bits[0] - bits[1]) >> _BUCKET_BITS, _BUCKETS - 1)
        ends[buckets[i] + 1] += 1
    for bucket in range(_BUCKETS):
        ends[bucket + 1] += ends[bucket]
    unsorted = labels.copy()
    for i, label in enumerate(unsorted):
        labels[ends[buckets[i]]] = label
        ends[buckets[i]] += 1


@njit(nogil=True, cache=True, inline="always")
def rank_labels(n_present: int, scratch: LabelScratch) -> None:
    """Rank the labels of each side by their gain there; set what each label gains by side 1 over side 0."""
    for side in range(2):
        labels = scratch.ranked[side, :n_present]
        sort_by_gain(labels, scratch.gains[side])
        for rank, label in enumerate(labels):
            if side == 0:
                scratch.advantage[label] = -scratch.discounts[rank]
            else:
                scratch.advantage[label] += scratch.discounts[rank]


@njit(nogil=True, cache=True, inline="always")
def choose_sides(Y: Rows, samples: Ints32, sides: Ints8, scratch: LabelScratch) -> int:
    """Put each sample on the side whose ranking gives it the larger nDCG; return how many changed."""
    n_changed = 0
    for i, sample in enumerate(samples):
        difference = 0.0
        for at in range(Y.starts[sample], Y.starts[sample + 1]):
            difference += Y.values[at] * scratch.advantage[Y.ids[at]]
        side = np.int8(difference > 0.0)
        if difference != 0.0 and side != sides[i]:
            sides[i] = side
            n_changed += 1
            for at in range(Y.starts[sample], Y.starts[sample + 1]):
                scratch.gains[side, Y.ids[at]] += Y.values[at]
                scratch.gains[1 - side, Y.ids[at]] -= Y.values[at]
    return n_changed


@njit(nogil=True, cache=True)
def alternate_sides(Y: Rows, samples: Ints32, sides: Ints8, rounds: int, settled: float, scratch: LabelScratch) -> None:
    """Rank labels and choose sides in turn, until no more than a share of the samples changes its side."""
    n_present = sum_gains(Y, samples, sides, scratch)
    for _ in range(rounds):
        rank_labels(n_present, scratch)
        n_changed = choose_sides(Y, samples, sides, scratch)
        if n_changed <= settled * len(samples):
            break
    for label in scratch.ranked[0, :n_present]:
        scratch.gains[0, label] = scratch.gains[1, label] = 0.0


# -- the hyperplane ---------------------------------------------------------------------------------------


@njit(nogil=True, cache=True)
def sample_costs(sides: Ints8, C: float) -> tuple[Floats64, Floats64]:
    """Sides as -1 and 1, and the cost of each sample: C divided by the share of its side."""
    n_right = 0
    for side in sides:
        n_right += side
    by_side = (C * len(sides) / (len(sides) - n_right), C * len(sides) / n_right)
    signs, costs = np.empty(len(sides)), np.empty(len(sides))
    for i, side in enumerate(sides):
        signs[i], costs[i] = 2.0 * side - 1.0, by_side[side]
    return signs, costs


@njit(nogil=True, cache=True, inline="always")
def useful_columns(
    X: FeatureRows,
    samples: Ints32,
    signs: Floats64,
    costs: Floats64,
    bias: float,
    least_slope: float,
    scratch: FeatureScratch,
) -> Columns:
    """Columns where the gradient of the loss exceeds `least_slope`; above 1, that of the L1 penalty, weights move."""
    slopes, places, n_touched = scratch.slopes, scratch.places, 0
    for i, sample in enumerate(samples):
        pull = np.float32(-0.5 * signs[i] * costs[i])  # derivative of the loss by the margin, at margin 0
        for at in range(X.starts[sample], X.starts[sample + 1]):
            feature = X.ids[at]
            scratch.touched[n_touched] = feature
            n_touched += places[feature, 1] == 0
            places[feature, 1] += 1
            slopes[feature, 0] += pull * X.values[at]
    touched = scratch.touched[:n_touched]
    features, starts, n_columns = np.empty(n_touched, np.int32), np.zeros(n_touched + 2, np.int64), 0
    for feature in touched:
        is_useful = abs(slopes[feature, 0]) > least_slope
        slopes[feature, 0] = 0.0
        features[n_columns] = feature
        starts[n_columns + 1] = starts[n_columns] + places[feature, 1]
        places[feature, 1] = n_columns if is_useful else -1
        n_columns += is_useful
    starts = starts[: n_columns + 2]
    _fill_columns(X, samples, bias, starts, scratch)
    for feature in touched:
        places[feature, 1] = 0
    return Columns(features[:n_columns], starts.astype(np.uint64), scratch.rows, scratch.values)


@njit(nogil=True, cache=True, inline="always")
def _fill_columns(X: FeatureRows, samples: Ints32, bias: float, starts: Ints64, scratch: FeatureScratch) -> None:
    """Write the entries of the columns that `places` names, then the column of the bias."""
    rows, values, last = scratch.rows, scratch.values, len(starts) - 2
    cursor = starts[:-1].astype(np.uint32)
    for i, sample in enumerate(samples):
        for at in range(X.starts[sample], X.starts[sample + 1]):
            column = scratch.places[X.ids[at], 1]
            if column >= 0:
                rows[cursor[column]], values[cursor[column]] = i, X.values[at]
                cursor[column] += 1
        rows[starts[last] + i], values[starts[last] + i] = i, bias
    starts[last + 1] = starts[last] + len(samples)


@njit(nogil=True, cache=True, inline="always")
def shrinking_move(slope: float, curvature: float, weight: float) -> float:
    """The d that minimises ``slope·d + curvature/2·d² + |weight + d|``."""
    if slope + 1.0 <= curvature * weight:
        return -(slope + 1.0) / curvature
    if slope - 1.0 >= curvature * weight:
        return -(slope - 1.0) / curvature
    return -weight


@njit(nogil=True, cache=True, inline="always")
def violation_of(slope: float, weight: float) -> float:
    """How far the nearest subgradient of the objective by one weight is from zero."""
    if weight == 0.0:
        return max(abs(slope) - 1.0, 0.0)
    return abs(slope + 1.0) if weight > 0.0 else abs(slope - 1.0)


@njit(nogil=True, cache=True, inline="always")
def bound_loss(points: Floats64, signs: Floats64, costs: Floats64) -> None:
    """Slope and curvature of the parabola that touches ``cost·log(1 + exp(−sign·margin))`` from above.

    Its curvature is ``cost·tanh(m/2)/(2m)`` at margin m (Jaakkola and Jordan): no step down the parabolas can
    raise the loss, which saves the line search.
    """
    for i in range(len(signs)):
        margin = signs[i] * points[i, _MARGIN]
        miss = 1.0 / (1.0 + np.exp(margin))
        points[i, _PULL] = -costs[i] * signs[i] * miss
        points[i, _BEND] = costs[i] * ((0.5 - miss) / margin if abs(margin) > _SMALL else 0.25)


@njit(nogil=True, cache=True, inline="always")
def newton_step(
    columns: Columns, plane: Plane, signs: Floats64, costs: Floats64, active: Ints32
) -> tuple[Ints32, float]:
    """One sweep of coordinate descent on a quadratic upper bound of the loss.

    Returns the columns still active (a weight that is optimal at zero stays there: in an ensemble, exact optima
    are not worth the time) and the sum of violations of optimality.
    """
    weights, points = plane.weights, plane.points
    bound_loss(points, signs, costs)
    violation, n_active = 0.0, 0
    for column in active:
        first, last = columns.starts[column], columns.starts[column + 1]
        slope, curvature, weight = 0.0, _TINY, weights[column]
        for entry in range(first, last):
            row, value = columns.rows[entry], columns.values[entry]
            slope += value * points[row, _PULL]
            curvature += value * value * points[row, _BEND]
        if weight == 0.0 and abs(slope) < 1.0:
            continue
        active[n_active] = column
        n_active += 1
        violation += violation_of(slope, weight)
        move = shrinking_move(slope, curvature, weight)
        if move != 0.0:
            weights[column] = weight + move
            for entry in range(first, last):
                row, step = columns.rows[entry], move * columns.values[entry]
                points[row, _PULL] += points[row, _BEND] * step
                points[row, _MARGIN] += step
    return active[:n_active], violation


@njit(nogil=True, cache=True)
def fit_plane(
    columns: Columns, plane: Plane, signs: Floats64, costs: Floats64, active: Ints32, n_steps: int, rules: Rules
) -> Ints32:
    """Minimise ``‖w‖₁ + Σ cost·log(1 + exp(−sign·w·x))`` from where `plane` is.

    Only weights of `active` columns move; returned are those that still may.
    """
    enough = 0.0
    for step in range(n_steps):
        still_active, violation = newton_step(columns, plane, signs, costs, active.copy())
        if rules.shrinks:
            active = still_active
        if step == 0:
            enough = rules.tolerance * violation
        if violation <= enough:
            break
    return active


# -- growth -----------------------------------------------------------------------------------------------


@njit(nogil=True, cache=True)
def is_one_sided(sides: Ints8) -> bool:
    """Whether all samples are on the same side."""
    for side in sides:
        if side != sides[0]:
            return False
    return True


@njit(nogil=True, cache=True)
def _numbers(n: int) -> Ints32:
    """The numbers below n."""
    numbers = np.empty(n, np.int32)
    for number in range(n):
        numbers[number] = number
    return numbers


@njit(nogil=True, cache=True, inline="always")
def find_plane(
    X: FeatureRows, Y: Rows, samples: Ints32, sides: Ints8, rules: Rules, labels: LabelScratch, features: FeatureScratch
) -> Stored:
    """A hyperplane that splits samples, given their initial sides.

    Returns the features it uses, their weights in whole steps, the size of a step and the bias.
    """
    alternate_sides(Y, samples, sides, rules.rounds, rules.settled, labels)
    if is_one_sided(sides):
        return np.empty(0, np.int32), np.empty(0, np.int8), 0.0, 0.0
    signs, costs = sample_costs(sides, rules.C)
    columns = useful_columns(X, samples, signs, costs, rules.bias, 1.0 if rules.shrinks else -1.0, features)
    plane = Plane(np.zeros(len(columns.features) + 1), np.zeros((len(samples), 3)))
    active = _numbers(len(plane.weights))
    if rules.improves_sides:
        active = fit_plane(columns, plane, signs, costs, active, _DRAFT_STEPS, rules)
        for i in range(len(samples)):
            sides[i] = plane.points[i, _MARGIN] > 0.0
        alternate_sides(Y, samples, sides, _MENDING_ROUNDS, rules.settled, labels)
    if not is_one_sided(sides):
        signs, costs = sample_costs(sides, rules.C)
        fit_plane(columns, plane, signs, costs, active, rules.steps, rules)
    stored: Stored = _in_steps(columns.features, plane.weights, rules.bias, rules.least_level)
    return stored


@njit(nogil=True, cache=True, inline="always")
def _in_steps(features: Ints32, weights: Floats64, bias: float, least_level: int) -> Stored:
    """Quantised weights, without the smallest ones."""
    largest, n_kept = 0.0, 0
    for column in range(len(features)):
        largest = max(largest, abs(weights[column]))
    step = np.float32(largest / LEVELS)
    used, levels = np.empty(len(features), np.int32), np.empty(len(features), np.int8)
    for column in range(len(features)):
        level = int(np.rint(weights[column] / step)) if step > 0.0 else 0
        used[n_kept], levels[n_kept] = features[column], level
        n_kept += abs(level) > least_level
    return used[:n_kept], levels[:n_kept], float(step), float(np.float32(weights[-1] * bias))


@njit(nogil=True, cache=True, inline="always")
def route(X: FeatureRows, samples: Ints32, plane: Stored, weights: Ints32, sides: Ints8) -> None:
    """Put each sample on its side of a stored hyperplane, exactly as `forest_ranking.find_leaves` does."""
    features, levels, step, intercept = plane
    for i, feature in enumerate(features):
        weights[feature, 0] = levels[i]
    for i, sample in enumerate(samples):
        total = np.int64(0)
        for at in range(X.starts[sample], X.starts[sample + 1]):
            total += np.int64(X.levels[at]) * weights[X.ids[at], 0]
        sides[i] = np.float64(total) * X.steps[sample] * step + intercept > 0.0
    for feature in features:
        weights[feature, 0] = 0


@njit(nogil=True, cache=True, inline="always")
def split_node(growing: Growing, samples: Ints32, sides: Ints8, depth: int) -> Stored:
    """Find a hyperplane for a node and set the sides of its samples; all on one side if there is none."""
    X, Y, random_bits, rules, labels, features = growing
    plane: Stored = (np.empty(0, np.int32), np.empty(0, np.int8), 0.0, 0.0)
    for i in range(len(sides)):
        sides[i] = 0
    if len(samples) <= rules.max_leaf:
        return plane
    deciding = np.empty(min(len(samples), rules.most_samples), np.int32)
    for i in range(len(deciding)):
        deciding[i] = samples[i * len(samples) // len(deciding)]
    for attempt in range(2):
        by_features = rules.starts_by_features and attempt == 0
        first_sides(X, deciding, random_bits, depth, by_features, features.slopes, sides[: len(deciding)])
        plane = find_plane(X, Y, deciding, sides[: len(deciding)], rules, labels, features)
        route(X, samples, plane, features.places, sides)
        if not by_features or not is_one_sided(sides):
            break
    return plane


@njit(nogil=True, cache=True, inline="always")
def _part(samples: Ints32, sides: Ints8) -> int:
    """Reorder samples by side, keeping their order within; return how many are on side 0."""
    right = np.empty(len(samples), np.int32)
    n_left = 0
    for i in range(len(samples)):
        if sides[i]:
            right[i - n_left] = samples[i]
        else:
            samples[n_left] = samples[i]
            n_left += 1
    for i in range(n_left, len(samples)):
        samples[i] = right[i - n_left]
    return n_left


@njit(nogil=True, cache=True, inline="always")
def leaf_scores(
    Y: Rows, worth: Floats32, samples: Ints32, labels: Ints32, scores: Floats32, scratch: LabelScratch
) -> int:
    """Write the labels of the samples, best first, and their mean worth; return how many there was room for."""
    total, present, n_present = scratch.gains[0], scratch.ranked[0], 0
    for sample in samples:
        for at in range(Y.starts[sample], Y.starts[sample + 1]):
            present[n_present] = Y.ids[at]
            n_present += total[Y.ids[at]] == 0.0
            total[Y.ids[at]] += worth[at]
    sort_by_gain(present[:n_present], total)
    n_kept = min(n_present, len(labels))
    for i in range(n_kept):
        labels[i], scores[i] = present[i], total[present[i]] / len(samples)
    for label in present[:n_present]:
        total[label] = 0.0
    return n_kept


@njit(nogil=True, cache=True)
def _appended(array, n_used, more):  # type: ignore[no-untyped-def]
    """`array`, or a longer copy of it, with `more` behind the part that is used."""
    if n_used + len(more) > len(array):
        longer = np.empty(2 * (n_used + len(more)), array.dtype)
        for place in range(n_used):  # a slice given to a slice takes seconds to compile
            longer[place] = array[place]
        array = longer
    for place in range(len(more)):
        array[n_used + place] = more[place]
    return array


def grow_tree(
    X: FeatureRows, n_features: int, Y: Rows, worth: Floats32, n_labels: int, random_bits: Ints64, rules: Rules
) -> Tree:
    """Grow a tree over all samples, depth first."""
    n_samples, n_positives = len(random_bits), len(Y.ids)
    room = Tree(
        np.empty((n_samples, 2), np.int32),
        np.empty((n_samples, 2), np.float32),
        np.zeros(n_samples + 1, np.int64),
        np.empty(n_samples, np.int32),
        np.empty(n_samples, np.int8),
        np.zeros(n_samples + 1, np.int64),
        np.empty(n_positives, np.int32),
        np.empty(n_positives, np.float32),
        np.empty(n_samples, np.int32),
    )
    order, sides = np.arange(n_samples, dtype=np.int32), np.zeros(n_samples, np.int8)
    stack = np.empty((n_samples + 1, 4), np.int64)
    scratch = label_scratch(n_labels), feature_scratch(X, n_features, rules.most_samples)
    growing = Growing(X, Y, random_bits, rules, *scratch)
    n_inner, n_leaves, features, levels = _grow(growing, worth, order, sides, stack, room)
    n_weights, n_scores = room.weight_starts[n_inner], room.leaf_starts[n_leaves]
    return Tree(
        room.children[:n_inner],
        room.terms[:n_inner],
        room.weight_starts[: n_inner + 1],
        features[:n_weights],
        levels[:n_weights],
        room.leaf_starts[: n_leaves + 1],
        room.leaf_labels[:n_scores],
        room.leaf_scores[:n_scores],
        room.leaf_of,
    )


@njit(nogil=True, cache=True)
def _grow(
    growing: Growing, worth: Floats32, order: Ints32, all_sides: Ints8, stack: Ints64, tree: Tree
) -> tuple[int, int, Ints32, Ints8]:
    """Grow a tree in the room that is given; return how many inner nodes and leaves it has, and its weights.

    `order` are the numbers of the samples, `stack` has for each open node its start and stop in `order`, its depth, and
    its place among the children.
    """
    children, terms, weight_starts, weight_features, weight_levels, leaf_starts, leaf_labels, scores, leaf_of = tree
    Y, rules, labels = growing.Y, growing.rules, growing.labels
    stack[0, 0], stack[0, 1], stack[0, 2], stack[0, 3] = 0, len(order), 0, -1
    n_inner, n_leaves, n_open = 0, 0, 1
    while n_open > 0:
        n_open -= 1
        start, stop, depth, slot = stack[n_open, 0], stack[n_open, 1], stack[n_open, 2], stack[n_open, 3]
        samples, sides = order[start:stop], all_sides[start:stop]
        plane = split_node(growing, samples, sides, depth)
        if is_one_sided(sides):
            node, end = -1 - n_leaves, leaf_starts[n_leaves]
            for sample in samples:
                leaf_of[sample] = n_leaves
            n_leaves += 1
            leaf = leaf_labels[end : end + rules.labels_per_leaf]
            leaf_starts[n_leaves] = end + leaf_scores(Y, worth, samples, leaf, scores[end:], labels)
        else:
            node, end = n_inner, weight_starts[n_inner]
            n_inner += 1
            weight_starts[n_inner] = end + len(plane[0])
            weight_features = _appended(weight_features, end, plane[0])
            weight_levels = _appended(weight_levels, end, plane[1])
            terms[node, 0], terms[node, 1] = plane[2], plane[3]
            middle = start + _part(samples, sides)
            for side in range(1, -1, -1):
                stack[n_open, 0], stack[n_open, 1] = (middle, stop) if side else (start, middle)
                stack[n_open, 2], stack[n_open, 3] = depth + 1, 2 * node + side
                n_open += 1
        if slot >= 0:
            children[slot // 2, slot % 2] = node
    return n_inner, n_leaves, weight_features, weight_levels
