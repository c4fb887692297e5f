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

import numpy as np
import numpy.typing as npt
from numba import njit

from tacit.kernels.dense import TILE, DenseRows, gather
from tacit.kernels.dot import dot

SQUARED_HINGE = 0
LOGISTIC = 1
SQUARED = 2

# Samples whose step gained at least this share of the largest gain are visited again, this often, before the
# next pass over all of them: a rare label's few positives need many more steps than the other samples. The
# visits may cost half a pass at most.
_HARD_SHARE = np.float32(0.1)
_HARD_VISITS = 5
_NEWTON_STEPS = 2

_ZERO, _HALF, _ONE = np.float32(0.0), np.float32(0.5), np.float32(1.0)
_LARGEST_EXPONENT = np.float32(25.0)

# Assuming no NaN and no signed zeros, without checks for division by zero, loops can be vectorised. Sums are
# neither reordered nor fused with products, so that results are bit-identical on every machine.
_VECTOR = {"nogil": True, "cache": True, "fastmath": {"nnan", "nsz"}, "error_model": "numpy"}

Floats = npt.NDArray[np.float32]


@njit(nogil=True, cache=True)
def label_signs(
    y_indptr: npt.NDArray[np.int64],
    y_indices: npt.NDArray[np.int32],
    y_values: Floats,
    labels: npt.NDArray[np.int64],
    n_samples: int,
    absent: int,
) -> npt.NDArray[np.int8]:
    """State of each (sample, label of the block): 1 positive, -1 negative, 0 ignored.

    Y is in CSC format; a stored 0 is a known negative; `absent` (-1 or 0) is the state of entries that are
    not stored. A label without a positive gets zeros: there is nothing to learn.
    """
    signs = np.zeros((n_samples, len(labels)), dtype=np.int8)
    for column in range(len(labels)):
        start, end = y_indptr[labels[column]], y_indptr[labels[column] + 1]
        has_positive = False
        for entry in range(start, end):
            has_positive |= y_values[entry] > _ZERO
        if not has_positive:
            continue
        for row in range(n_samples):
            signs[row, column] = absent
        for entry in range(start, end):
            signs[y_indices[entry], column] = 1 if y_values[entry] > _ZERO else -1
    return signs


@njit(nogil=True, cache=True)
def _shuffle(rows: npt.NDArray[np.int64], state: np.uint64) -> np.uint64:
    """Shuffle rows with splitmix64, so that the order does not depend on the version of a library."""
    for last in range(len(rows) - 1, 0, -1):
        state += np.uint64(0x9E3779B97F4A7C15)
        mixed = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        other = np.int64((mixed ^ (mixed >> np.uint64(31))) % np.uint64(last + 1))
        rows[last], rows[other] = rows[other], rows[last]
    return state


@njit(**_VECTOR)
def _squared_norms(bounds: npt.NDArray[np.int64], data: Floats, bias: np.float32) -> Floats:
    norms = np.empty(len(bounds), dtype=np.float32)
    for row in range(len(norms)):
        total = bias * bias
        for entry in range(bounds[row, 0], bounds[row, 1]):
            total += data[entry] * data[entry]
        norms[row] = total
    return norms


@njit(nogil=True, cache=True)
def _add_dense_norms(dense: DenseRows, places: npt.NDArray[np.int64], norms: Floats) -> None:
    tile = np.empty((TILE, dense[0].shape[1]), dtype=np.float32)
    for first in range(0, len(places), TILE):
        rows = places[first : first + TILE]
        gather(dense, rows, tile)
        for at in range(len(rows)):
            norms[first + at] += dot(tile[at], tile[at])


@njit(**_VECTOR)
def _margins(
    bounds: npt.NDArray[np.int64],
    indices: npt.NDArray[np.int32],
    data: Floats,
    weights: Floats,
    bias: np.float32,
    row: int,
    out: Floats,
) -> None:
    """out[label] = w_label · x_row; four features at a time, so that `out` is read and written less often."""
    for label in range(len(out)):
        out[label] = bias * weights[-1, label]
    entry, end = bounds[row]
    while entry + 4 <= end:
        x0, x1, x2, x3 = data[entry], data[entry + 1], data[entry + 2], data[entry + 3]
        j0, j1, j2, j3 = indices[entry], indices[entry + 1], indices[entry + 2], indices[entry + 3]
        for label in range(len(out)):
            out[label] += (x0 * weights[j0, label] + x1 * weights[j1, label]) + (
                x2 * weights[j2, label] + x3 * weights[j3, label]
            )
        entry += 4
    while entry < end:
        x, j = data[entry], indices[entry]
        for label in range(len(out)):
            out[label] += x * weights[j, label]
        entry += 1


@njit(**_VECTOR)
def _add_row(
    bounds: npt.NDArray[np.int64],
    indices: npt.NDArray[np.int32],
    data: Floats,
    weights: Floats,
    bias: np.float32,
    row: int,
    steps: Floats,
) -> None:
    """w_label += steps[label] · x_row."""
    for entry in range(bounds[row, 0], bounds[row, 1]):
        x, j = data[entry], indices[entry]
        for label in range(len(steps)):
            weights[j, label] += x * steps[label]
    for label in range(len(steps)):
        weights[-1, label] += bias * steps[label]


@njit(**_VECTOR)
def _squared_steps(
    margins: Floats,
    signs: npt.NDArray[np.int8],
    duals: Floats,
    row: int,
    norm: np.float32,
    positive_cost: Floats,
    positive_target: Floats,
    negative_cost: np.float32,
    is_hinge: bool,
    moves: Floats,
) -> None:
    """Minimise over the row's duals β = yα, exactly.

    `margins` become the steps of β; `moves` keeps by how much a step has moved a sample's own margin at most.
    """
    for label in range(len(margins)):
        y = np.float32(signs[row, label])
        target = positive_target[label] if y > _ZERO else y
        ridge = _HALF / (positive_cost[label] if y > _ZERO else negative_cost)
        old = duals[row, label]
        # Hsieh et al. 2008, Algorithm 1 with U = ∞, D_ii = 1/(2c)
        new = old - (margins[label] - target + ridge * old) / (norm + ridge)
        # The hinge wants α ≥ 0, that is yβ ≥ 0; both want β = 0 where y = 0.
        new = new if y * (new if is_hinge else y) > _ZERO else _ZERO
        step = new - old
        duals[row, label] = new
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
def _logistic_steps(
    margins: Floats,
    signs: npt.NDArray[np.int8],
    duals: Floats,
    row: int,
    norm: np.float32,
    positive_cost: Floats,
    negative_cost: np.float32,
    moves: Floats,
) -> None:
    """Minimise over the row's duals β = yα, 0 < α < c, by Newton's method; otherwise as for the squared losses.

    Yu, Huang & Lin 2011 solve log(α / (c − α)) + Q(α − α_old) + m_old = 0 for α. With α = c·σ(−m) the same
    equation reads m − m_old − Q(c·σ(−m) − α_old) = 0 in the margin m after the step. Its left side rises, is
    convex below m = 0 and concave above, so Newton's steps converge from 0 without ever passing the root,
    and a point on the wrong side of 0 is replaced by 0.
    """
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
        duals[row, label] = new
        margins[label] = step
        moves[label] = max(moves[label], norm * abs(step))


@njit(nogil=True, cache=True)
def _largest_size(steps: Floats) -> np.float32:
    """Largest absolute step; a separate function, because in the loops that fill `steps` it prevents vectorisation."""
    largest = _ZERO
    for label in range(len(steps)):
        largest = max(largest, abs(steps[label]))
    return largest


@njit(nogil=True, cache=True)
def _visit(
    bounds: npt.NDArray[np.int64],
    indices: npt.NDArray[np.int32],
    data: Floats,
    dense: DenseRows | None,
    places: npt.NDArray[np.int64],
    weights: Floats,
    bias: np.float32,
    signs: npt.NDArray[np.int8],
    duals: Floats,
    norms: Floats,
    positive_cost: Floats,
    positive_target: Floats,
    negative_cost: np.float32,
    loss: int,
    rows: npt.NDArray[np.int64],
    gains: Floats,
) -> Floats:
    """One step on each of `rows` in turn; fills their gains, returns the largest change of a margin per label."""
    width = weights.shape[1]
    moves = np.zeros(width, dtype=np.float32)
    tile_steps, at = np.empty((1 if dense is None else TILE, width), dtype=np.float32), 0
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
        norm, steps = norms[row], tile_steps[at]
        _margins(bounds, indices, data, weights, bias, row, steps)
        if dense is not None:
            _add_ahead(ahead, products, tile_steps, at)
        if loss == LOGISTIC:
            _logistic_steps(steps, signs, duals, row, norm, positive_cost, negative_cost, moves)
        else:
            is_hinge = loss == SQUARED_HINGE
            _squared_steps(
                steps, signs, duals, row, norm, positive_cost, positive_target, negative_cost, is_hinge, moves
            )
        largest = _largest_size(steps)
        if largest > _ZERO:
            _add_row(bounds, indices, data, weights, bias, row, steps)
        gains[row] = norm * largest * largest
        if dense is not None:
            if at == TILE - 1 or place == len(rows) - 1:
                tile_steps[at + 1 :] = 0
                np.dot(tile.T, tile_steps, total)
                dense_weights += total
    return moves


@njit(**_VECTOR)
def _add_ahead(ahead: Floats, products: Floats, steps: Floats, at: int) -> None:
    """Add to the margins of a row, `steps[at]`, those of its dense part: before its tile, and from the tile's steps."""
    for label in range(steps.shape[1]):
        steps[at, label] += ahead[at, label]
    for before in range(at):
        x = products[at, before]
        for label in range(steps.shape[1]):
            steps[at, label] += x * steps[before, label]


@njit(nogil=True, cache=True, inline="always")
def _known_rows(signs: npt.NDArray[np.int8]) -> npt.NDArray[np.int64]:
    """Rows with a known state for at least one label of the block."""
    rows = np.empty(len(signs), dtype=np.int64)
    count = 0
    for row in range(len(signs)):
        is_known = False
        for label in range(signs.shape[1]):
            is_known |= signs[row, label] != 0
        rows[count] = row
        count += is_known
    return rows[:count]


@njit(nogil=True, cache=True, inline="always")
def _hard_rows(rows: npt.NDArray[np.int64], gains: Floats) -> npt.NDArray[np.int64]:
    """Rows whose last step gained at least a certain share of the largest gain."""
    largest = _ZERO
    for row in rows:
        largest = max(largest, gains[row])
    hard, count = np.empty(len(rows), dtype=np.int64), 0
    for row in rows:
        hard[count] = row
        count += gains[row] > _HARD_SHARE * largest
    return hard[:count]


@njit(nogil=True, cache=True)
def train_block(
    bounds: npt.NDArray[np.int64],
    indices: npt.NDArray[np.int32],
    data: Floats,
    n_features: int,
    dense: DenseRows | None,
    places: npt.NDArray[np.int64],
    signs: npt.NDArray[np.int8],
    positive_cost: Floats,
    positive_target: Floats,
    negative_cost: float,
    bias: float,
    loss: int,
    tolerance: float,
    max_passes: int,
    seed: int,
    duals: Floats,
) -> tuple[Floats, int, Floats]:
    """Train one classifier per column of `signs`.

    Parameters
    ----------
    bounds, indices, data
        The sparse part of the samples: columns and values of entries, and for each sample the first of its entries
        and the one after its last.
    n_features
        Its columns.
    dense, places
        Dense rows or None, and which of them belongs to each sample.
    signs
        As `label_signs` returns them.
    positive_cost, negative_cost
        c_i of the positives of each label, and of all negatives.
    positive_target
        What w·x should be for the positives of each label; -1 for negatives. LOGISTIC does not look at it.
    bias
        Value of the constant feature; 0 for no intercept.
    loss
        SQUARED_HINGE, LOGISTIC or SQUARED.
    tolerance
        Training ends after a pass over all samples in which no step moved the margin of its sample by more.
    max_passes
        Passes over all samples after which it ends in any case.
    seed
        Of the order in which samples are visited.
    duals
        Room for y_i α_i, of the shape of `signs`; filled.

    Returns
    -------
    weights
        Shape (n_features + dense features + 1, labels); the last row is the weight of the constant feature.
    passes, moves
        Passes made over all samples, and the largest move in the last of them, by label.
    """
    n_dense = 0 if dense is None else dense[0].shape[1]
    weights = np.zeros((n_features + n_dense + 1, signs.shape[1]), dtype=np.float32)
    duals[:] = _ZERO
    constant, negative = np.float32(bias), np.float32(negative_cost)
    norms = _squared_norms(bounds, data, constant)
    if dense is not None:
        _add_dense_norms(dense, places, norms)
    rows = _known_rows(signs)
    gains = np.zeros(len(signs), dtype=np.float32)
    moves = np.zeros(signs.shape[1], dtype=np.float32)
    samples = (bounds, indices, data, dense, places, weights, constant, signs, duals, norms)
    objective = (positive_cost, positive_target, negative, loss)
    state = np.uint64(seed)
    passes = 0
    while passes < max_passes:
        state = _shuffle(rows, state)
        moves = _visit(*samples, *objective, rows, gains)
        passes += 1
        is_settled = True
        for move in moves:
            is_settled &= move <= tolerance
        if is_settled:
            break
        hard = _hard_rows(rows, gains)
        for _ in range(min(_HARD_VISITS, len(rows) // (2 * max(len(hard), 1)))):
            state = _shuffle(hard, state)
            _visit(*samples, *objective, hard, gains)
    return weights, passes, moves


@njit(nogil=True, cache=True)
def prune(weights: Floats, threshold: float) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32], Floats]:
    """CSR (features × labels) of the weights that are not 0 and at least `threshold` in size, without intercepts."""
    n_features, width = weights.shape[0] - 1, weights.shape[1]
    smallest = np.float32(threshold)
    indptr = np.zeros(n_features + 1, dtype=np.int64)
    for feature in range(n_features):
        kept = 0
        for label in range(width):
            size = abs(weights[feature, label])
            kept += (size >= smallest) & (size > _ZERO)
        indptr[feature + 1] = indptr[feature] + kept
    indices = np.empty(indptr[-1] + 1, dtype=np.int32)  # one more, as the place after the last is written, too
    values = np.empty(indptr[-1] + 1, dtype=np.float32)
    place = 0
    for feature in range(n_features):
        if indptr[feature] == indptr[feature + 1]:
            continue
        for label in range(width):  # without a branch, which would be mispredicted too often
            size = abs(weights[feature, label])
            indices[place], values[place] = label, weights[feature, label]
            place += (size >= smallest) & (size > _ZERO)
    return indptr, indices[:-1], values[:-1]
