"""Dual coordinate descent for L2-regularised linear classifiers, a block of labels at a time.

For each label of the block, over the samples i whose state is known (sign y_i = ±1),

    min over w of ½‖w‖² + Σ_i c_i · loss(y_i w·x_i),    loss(m) = max(0, t − m)²,  (t − m)²  or  log(1 + e^−m)

with t = 1 for negatives and a target per label for positives, is solved through its dual, one sample at a time
(Hsieh et al. 2008; Yu, Huang & Lin 2011 for the logistic loss). Every sample has an additional feature of the value
`bias`, whose weight is the intercept.

The labels of a block are trained in the same pass over the samples. Their weights are adjacent in memory,
`weights[feature, label]`, so that the inner loops run over labels and the compiler vectorises them. The loop bound must
stay a run-time value: loops with a constant bound would be unrolled into scalar code instead.

Dense rows are multiplied in tiles by BLAS. Within a tile, the margin of a row is the one at the start of the tile plus
what the steps of the rows before it have added, by their inner products with it: the same steps as one row at a time.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from scipy import sparse

from tacit.arrays import Floats32, Ints8, Ints32, Ints64, UInts32
from tacit.kernels.aligned import aligned_zeros
from tacit.kernels.dense import TILE, DenseRows, dot, gather
from tacit.kernels.splitmix import STEP, mixed

SQUARED_HINGE, LOGISTIC, SQUARED = range(3)

# Samples whose step gained at least this share of the largest gain are visited again, this often, before the
# next pass over all of them: a rare label's few positives need many more steps than the other samples. The
# visits may cost half a pass at most.
_HARD_SHARE = np.float32(0.1)
_HARD_VISITS = 5
_NEWTON_STEPS = 2
# A step that moves no margin of its sample by more than this share of the tolerance is not made: it would cost more
# than finding it.
_NEGLIGIBLE = np.float32(0.1)

_ZERO, _HALF, _ONE = np.float32(0.0), np.float32(0.5), np.float32(1.0)
_LARGEST_EXPONENT = np.float32(25.0)

# Assuming no NaN and no signed zeros, without checks for division by zero, loops can be vectorised. Sums are
# neither reordered nor fused with products, so that results are bit-identical on every machine.
_VECTOR = {"nogil": True, "cache": True, "fastmath": {"nnan", "nsz"}, "error_model": "numpy"}


class BlockRows(NamedTuple):
    """Samples: columns and values of sparse entries, and for each sample the first of them and the one after its last.

    Beside them are `dense` rows or None, and which of these belongs to each sample.
    """

    bounds: Ints64
    indices: Ints32
    data: Floats32
    n_features: int  # of the sparse part
    dense: DenseRows | None
    places: Ints64


class BlockObjective(NamedTuple):
    """The loss, SQUARED_HINGE, LOGISTIC or SQUARED, and c_i of the positives of each label and of all negatives.

    `positive_target` is what w·x should be for the positives of each label; LOGISTIC does not look at it.
    """

    loss: int
    positive_cost: Floats32
    positive_target: Floats32
    negative_cost: float
    bias: float  # value of the constant feature; 0 for no intercept


class _Entries(NamedTuple):
    """Sparse entries of samples, and the value of the constant feature."""

    bounds: Ints64
    columns: UInts32
    data: Floats32
    bias: np.float32


class _Block(NamedTuple):
    """What steps read and change."""

    entries: _Entries
    places: Ints64
    negative_cost: np.float32
    negligible: np.float32  # changes of a margin
    signs: Ints8
    weights: Floats32
    duals: Floats32
    norms: Floats32  # squared lengths of samples
    gains: Floats32  # of the last step on each sample


# Costs of positives, and for squared losses their targets and whether it is the hinge. One of the two is None, so that
# only the steps of the other one are compiled.
_Squared = tuple[Floats32, Floats32, bool]


def label_signs(Y: sparse.csc_matrix, labels: Ints64, absent: int) -> Ints8:
    """State of each (sample, label of the block): 1 positive, -1 negative, 0 ignored.

    A stored 0 is a known negative; `absent` (-1 or 0) is the state of entries that are not stored. A label without a
    positive gets zeros: there is nothing to learn.
    """
    chosen = Y[:, labels]
    columns = np.repeat(np.arange(len(labels)), np.diff(chosen.indptr))
    has_positive = np.bincount(columns, chosen.data > 0, len(labels)) > 0
    signs = aligned_zeros(chosen.shape, np.int8)
    signs[:] = np.where(has_positive, absent, 0)
    signs[chosen.indices, columns] = np.where(chosen.data > 0, 1, -has_positive[columns].astype(np.int8))
    return signs


@njit(nogil=True, cache=True)
def _shuffle(rows: Ints64, state: np.uint64) -> np.uint64:
    for last in range(len(rows) - 1, 0, -1):
        state += STEP
        other = np.int64(mixed(state) % np.uint64(last + 1))
        rows[last], rows[other] = rows[other], rows[last]
    return state


@njit(**_VECTOR)
def _fill_norms(bounds: Ints64, data: Floats32, bias: np.float32, norms: Floats32) -> None:
    for row in range(len(norms)):
        total = bias * bias
        for entry in range(bounds[row, 0], bounds[row, 1]):
            total += data[entry] * data[entry]
        norms[row] = total


@njit(nogil=True, cache=True)
def _add_dense_norms(dense: DenseRows, places: Ints64, norms: Floats32) -> None:
    tile = np.empty((TILE, dense[0].shape[1]), dtype=np.float32)
    for first in range(0, len(places), TILE):
        rows = places[first : first + TILE]
        gather(dense, rows, tile)
        for at in range(len(rows)):
            norms[first + at] += dot(tile[at], tile[at])


@njit(**_VECTOR)
def _margins(entries: _Entries, weights: Floats32, row: int, out: Floats32) -> None:
    """out[label] = w_label · x_row; four features at a time, so that `out` is read and written less often."""
    bounds, columns, data, bias = entries
    for label in range(len(out)):
        out[label] = bias * weights[-1, label]
    entry, end = bounds[row]
    while entry + 4 <= end:
        x0, x1, x2, x3 = data[entry], data[entry + 1], data[entry + 2], data[entry + 3]
        j0, j1, j2, j3 = columns[entry], columns[entry + 1], columns[entry + 2], columns[entry + 3]
        for label in range(len(out)):
            out[label] += (x0 * weights[j0, label] + x1 * weights[j1, label]) + (
                x2 * weights[j2, label] + x3 * weights[j3, label]
            )
        entry += 4
    while entry < end:
        x, j = data[entry], columns[entry]
        for label in range(len(out)):
            out[label] += x * weights[j, label]
        entry += 1


@njit(**_VECTOR)
def _add_row(entries: _Entries, weights: Floats32, duals: Floats32, row: int, steps: Floats32) -> None:
    """w_label += steps[label] · x_row, and the same for the duals of the row."""
    bounds, columns, data, bias = entries
    for label in range(len(steps)):
        duals[row, label] += steps[label]
    for entry in range(bounds[row, 0], bounds[row, 1]):
        x, j = data[entry], columns[entry]
        for label in range(len(steps)):
            weights[j, label] += x * steps[label]
    for label in range(len(steps)):
        weights[-1, label] += bias * steps[label]


@njit(**_VECTOR)
def _squared_steps(
    signs: Ints8,
    duals: Floats32,
    norm: np.float32,
    negative_cost: np.float32,
    positive_cost: Floats32,
    positive_target: Floats32,
    is_hinge: bool,
    margins: Floats32,
    moves: Floats32,
) -> None:
    """Minimise over the row's duals β = yα, exactly.

    `margins` become the steps of β; `moves` keeps by how much a step has moved a sample's own margin at most.
    """
    for label in range(len(margins)):
        y = np.float32(signs[label])
        target = positive_target[label] if y > _ZERO else y
        ridge = _HALF / (positive_cost[label] if y > _ZERO else negative_cost)
        old = duals[label]
        # Hsieh et al. 2008, Algorithm 1 with U = ∞, D_ii = 1/(2c)
        new = old - (margins[label] - target + ridge * old) / (norm + ridge)
        # The hinge wants α ≥ 0, that is yβ ≥ 0; both want β = 0 where y = 0.
        new = new if y * (new if is_hinge else y) > _ZERO else _ZERO
        step = new - old
        margins[label] = step
        moves[label] = max(moves[label], norm * abs(step))


@njit(**_VECTOR)
def _falling_sigmoid(x: np.float32) -> np.float32:
    """1 / (1 + e^x) to about 1e-5, by e^x = (e^(x/64))^64, which unlike a call of exp can be vectorised."""
    x = min(max(x, -_LARGEST_EXPONENT), _LARGEST_EXPONENT) * np.float32(1 / 64)
    power = _ONE + x * (
        _ONE + x * (_HALF + x * (np.float32(1 / 6) + x * (np.float32(1 / 24) + x * np.float32(1 / 120))))
    )
    for _ in range(6):
        power *= power
    return _ONE / (_ONE + power)


@njit(**_VECTOR)
def _logistic_steps(block: _Block, row: int, positive_cost: Floats32, margins: Floats32, moves: Floats32) -> None:
    """Minimise over the row's duals β = yα, 0 < α < c, by Newton's method; otherwise as for the squared losses.

    Yu, Huang & Lin 2011 solve log(α / (c − α)) + Q(α − α_old) + m_old = 0 for α. With α = c·σ(−m) the same
    equation reads m − m_old − Q(c·σ(−m) − α_old) = 0 in the margin m after the step. Its left side rises, is
    convex below m = 0 and concave above, so Newton's steps converge from 0 without ever passing the root,
    and a point on the wrong side of 0 is replaced by 0.
    """
    signs, duals, norm, negative_cost = block.signs, block.duals, block.norms[row], block.negative_cost
    for label in range(len(margins)):
        y = np.float32(signs[row, label])
        cost = positive_cost[label] if y > _ZERO else negative_cost
        old = duals[row, label]
        margin = y * margins[label]
        base = margin - norm * y * old
        curvature = norm * cost
        above = base + _HALF * curvature > _ZERO
        margin = margin if (margin > _ZERO) == above else _ZERO
        for _ in range(_NEWTON_STEPS):
            share = _falling_sigmoid(margin)
            excess = margin - base - curvature * share
            margin -= excess / (_ONE + curvature * share * (_ONE - share))
            margin = margin if (margin > _ZERO) == above else _ZERO
        new = y * cost * _falling_sigmoid(margin)
        step = new - old
        margins[label] = step
        moves[label] = max(moves[label], norm * abs(step))


@njit(nogil=True, cache=True)
def _largest_size(steps: Floats32) -> np.float32:
    """Largest absolute step; a separate function, because in the loops that fill `steps` it prevents vectorisation."""
    largest = _ZERO
    for label in range(len(steps)):
        largest = max(largest, abs(steps[label]))
    return largest


@njit(nogil=True, cache=True)
def _visit(
    block: _Block,
    dense: DenseRows | None,
    squared: _Squared | None,
    logistic: Floats32 | None,
    rows: Ints64,
    steps: Floats32,
    moves: Floats32,
) -> None:
    """One step on each of `rows` in turn; fills their gains, and `moves`: the largest change of a margin per label.

    `steps` are those of a tile of rows.
    """
    entries, places, _, negligible, _, weights, duals, norms, gains = block
    width, at = weights.shape[1], 0
    for label in range(width):
        moves[label] = _ZERO
    if dense is not None:
        n_dense = dense[0].shape[1]
        dense_weights = weights[len(weights) - 1 - n_dense : len(weights) - 1]
        tile, ahead = np.empty((TILE, n_dense), dtype=np.float32), np.empty((TILE, width), dtype=np.float32)
        products, total = np.empty((TILE, TILE), dtype=np.float32), np.empty((n_dense, width), dtype=np.float32)
    for place in range(len(rows)):
        row = rows[place]
        if dense is not None:
            at = place % TILE
            if at == 0:
                gather(dense, places[rows[place : place + TILE]], tile)
                np.dot(tile, dense_weights, ahead)
                np.dot(tile, tile.T, products)
        norm, own = norms[row], steps[at]
        _margins(entries, weights, row, own)
        if dense is not None:
            _add_ahead(ahead, products, steps, at)
        if squared is not None:
            _squared_steps(block.signs[row], duals[row], norm, block.negative_cost, *squared, own, moves)
        if logistic is not None:
            _logistic_steps(block, row, logistic, own, moves)
        largest = _largest_size(own)
        if norm * largest > negligible:
            _add_row(entries, weights, duals, row, own)
        else:
            for label in range(width):
                own[label] = _ZERO
        gains[row] = norm * largest * largest
        if dense is not None:
            if at == TILE - 1 or place == len(rows) - 1:
                steps[at + 1 :] = 0
                np.dot(tile.T, steps, total)
                dense_weights += total


@njit(**_VECTOR)
def _add_ahead(ahead: Floats32, products: Floats32, steps: Floats32, at: int) -> None:
    """Add to the margins of a row, `steps[at]`, those of its dense part: before its tile, and from the tile's steps."""
    for label in range(steps.shape[1]):
        steps[at, label] += ahead[at, label]
    for before in range(at):
        x = products[at, before]
        for label in range(steps.shape[1]):
            steps[at, label] += x * steps[before, label]


@njit(nogil=True, cache=True, inline="always")
def _hard_rows(rows: Ints64, gains: Floats32, hard: Ints64) -> Ints64:
    """Rows whose last step gained at least a certain share of the largest gain, in the array `hard`."""
    largest, count = _ZERO, 0
    for row in rows:
        largest = max(largest, gains[row])
    for row in rows:
        hard[count] = row
        count += gains[row] > _HARD_SHARE * largest
    return hard[:count]


def train_block(
    samples: BlockRows,
    signs: Ints8,
    objective: BlockObjective,
    tolerance: float,
    max_passes: int,
    seed: int,
    duals: Floats32,
) -> tuple[Floats32, int, Floats32]:
    """Train one classifier per column of `signs`, which are those of `label_signs`.

    Training ends after a pass over all samples in which no step moved the margin of its sample by more than
    `tolerance`, or after `max_passes`. `duals`, of the shape of `signs`, become y_i α_i.

    Returns weights (features + dense features + 1) × labels, of which the last row is that of the constant feature, the
    number of passes, and the largest move in the last of them, by label.
    """
    (n_samples, width), dense = signs.shape, samples.dense
    n_dense = 0 if dense is None else dense[0].shape[1]
    duals[:] = _ZERO
    columns = samples.indices.view(f"u{samples.indices.itemsize}")  # which Numba need not check for numbers below 0
    entries = _Entries(samples.bounds, columns, samples.data, np.float32(objective.bias))
    weights = aligned_zeros((samples.n_features + n_dense + 1, width), np.float32)
    loss, *costs, negative_cost, _ = objective
    limits = np.float32(negative_cost), np.float32(_NEGLIGIBLE * tolerance)
    block = _Block(entries, samples.places, *limits, signs, weights, duals, *np.zeros((2, n_samples), np.float32))
    of_loss = (None, costs[0]) if loss == LOGISTIC else ((*costs, loss == SQUARED_HINGE), None)
    known = np.flatnonzero(signs.any(axis=1))
    steps = aligned_zeros((1 if dense is None else TILE, width), np.float32)
    moves = aligned_zeros((2, width), np.float32)
    passes = _train(block, dense, *of_loss, (tolerance, max_passes, np.uint64(seed)), known, steps, moves)
    return weights, passes, moves[0]


@njit(nogil=True, cache=True)
def _train(
    block: _Block,
    dense: DenseRows | None,
    squared: _Squared | None,
    logistic: Floats32 | None,
    stops: tuple[float, int, np.uint64],
    rows: Ints64,
    steps: Floats32,
    moves: Floats32,
) -> int:
    """Train; return the number of passes. Arrays that it needs are given: it would take longer to compile otherwise."""
    tolerance, max_passes, state = stops
    _fill_norms(block.entries.bounds, block.entries.data, block.entries.bias, block.norms)
    if dense is not None:
        _add_dense_norms(dense, block.places, block.norms)
    passes, hard = 0, np.empty_like(rows)
    while passes < max_passes:
        state = _shuffle(rows, state)
        _visit(block, dense, squared, logistic, rows, steps, moves[0])
        passes += 1
        is_settled = True
        for move in moves[0]:
            is_settled &= move <= tolerance
        if is_settled:
            break
        again = _hard_rows(rows, block.gains, hard)
        for _ in range(min(_HARD_VISITS, len(rows) // (2 * max(len(again), 1)))):
            state = _shuffle(again, state)
            _visit(block, dense, squared, logistic, again, steps, moves[1])
    return passes


def prune(weights: Floats32, threshold: float) -> tuple[Ints64, Ints32, Floats32]:
    """CSR (features × labels) of the weights that are not 0 and at least `threshold` in size, without intercepts."""
    kept, width = weights[:-1], weights.shape[1]
    least = max(np.float32(threshold), np.finfo(np.float32).smallest_subnormal)
    at = np.flatnonzero((kept >= least) | (kept <= -least))
    return np.searchsorted(at, np.arange(len(weights)) * width), (at % width).astype(np.int32), kept.ravel()[at]
