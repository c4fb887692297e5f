"""L-BFGS for many small independent problems at once: each column has its own history and step size."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tacit.arrays import Floats, Ids, Mask

Objective = Callable[[Floats, Ids], tuple[Floats, Floats]]
Evaluated = tuple[Floats, Floats, Floats]  # point, values of the columns, and gradient

_MEMORY = 8
_SUFFICIENT = 1e-4  # Armijo's condition
_SHRINK = 0.4
_TRIALS = 12


def minimize_columns(objective: Objective, start: Floats, n_steps: int, tolerance: float = 1e-4) -> Floats:
    """Minimise a sum over the columns of an (n, m) array in at most `n_steps` steps from `start`.

    `objective` maps an array and its column numbers to the values and the gradient of the columns. A column has
    converged when its gradient norm is at most `tolerance` times the initial one, or no step lowers it.
    """
    at = (start, *objective(start, np.arange(start.shape[1])))
    first = np.sqrt(_dots(at[2], at[2]))
    history: list[tuple[Floats, Floats, Floats]] = []
    is_done = np.zeros(len(first), np.bool_)
    for _ in range(n_steps):
        point, _, gradient = at
        squares = _dots(gradient, gradient)
        is_done |= np.sqrt(squares) <= tolerance * first
        if is_done.all():
            break
        direction = -_inverse_product(gradient, history, first)
        slope = _dots(gradient, direction)
        is_uphill = slope >= 0
        direction[:, is_uphill] = -gradient[:, is_uphill]
        slope[is_uphill] = -squares[is_uphill]
        at, is_stuck = _backtrack(objective, at, direction, slope, np.flatnonzero(~is_done))
        is_done |= is_stuck
        change, turn = at[0] - point, at[2] - gradient
        curvature = _dots(change, turn)
        history = [*history[1 - _MEMORY :], (change, turn, np.where(curvature > 0, curvature, np.inf))]
    return at[0]


def _dots(a: Floats, b: Floats) -> Floats:
    return np.asarray(np.einsum("ij,ij->j", a, b))


def _inverse_product(gradient: Floats, history: list[tuple[Floats, Floats, Floats]], first: Floats) -> Floats:
    """The two-loop recursion; pairs with infinite curvature are ignored."""
    product = gradient.copy()
    shares = []
    for change, turn, curvature in reversed(history):
        share = _dots(change, product) / curvature
        product -= share * turn
        shares.append(share)
    if history:
        _, turn, curvature = history[-1]
        scale = curvature / np.maximum(_dots(turn, turn), np.finfo(turn.dtype).tiny)
        product *= np.where(np.isfinite(curvature), scale, 1).astype(product.dtype)
    else:
        product /= np.where(first > 0, first, 1)
    for (change, turn, curvature), share in zip(history, reversed(shares), strict=True):
        product += change * (share - _dots(turn, product) / curvature)
    return product


def _backtrack(
    objective: Objective, at: Evaluated, direction: Floats, slope: Floats, left: Ids
) -> tuple[Evaluated, Mask]:
    """Backtracking line search in the columns `left`; returns the new point and a mask of columns without a valid step.

    Those, and all other columns, stay where they are. The objective is evaluated for unfinished columns only.
    """
    point, value, gradient = at
    moved = point.copy(), value.copy(), gradient.copy()
    step = 1.0
    for _ in range(_TRIALS):
        trial = point[:, left] + np.asarray(step, point.dtype) * direction[:, left]
        values, gradients = objective(trial, left)
        enough = values <= value[left] + _SUFFICIENT * step * slope[left]
        lowered, left = left[enough], left[~enough]
        moved[0][:, lowered], moved[1][lowered] = trial[:, enough], values[enough]
        moved[2][:, lowered] = gradients[:, enough]
        if not len(left):
            break
        step *= _SHRINK
    is_stuck = np.zeros(len(value), np.bool_)
    is_stuck[left] = True
    return moved, is_stuck
