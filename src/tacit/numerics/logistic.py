"""The logistic curve, and logistic regression on one score."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.floating[Any]]

_NEWTON_STEPS = 25
_LEAST_SPREAD = 1e-30  # of scores; from less, a slope would overflow float32
_RIDGE = 1e-3  # keeps the slope finite if the classes are separable


def sigmoid(log_odds: Floats) -> Floats:
    """Probabilities of log-odds, in the type of these."""
    return np.asarray(0.5 * np.tanh(0.5 * log_odds) + 0.5)


def fit_logistic(scores: Floats, truth: Floats, weights: Floats | None = None) -> tuple[float, float]:
    """Slope and intercept by maximum likelihood with Newton's method; the slope is never negative."""
    x, y = scores.ravel().astype(np.float64), truth.ravel().astype(np.float64)
    weights = np.ones_like(y) if weights is None else weights
    share = np.clip(np.average(y, weights=weights), 0.5 / len(y), 1 - 0.5 / len(y))
    centre, spread = x.mean(), x.std()
    spread = spread if spread > _LEAST_SPREAD else 1.0
    design = np.stack([(x - centre) / spread, np.ones_like(x)], axis=1)
    w = np.array([0.0, np.log(share / (1 - share))])
    for _ in range(_NEWTON_STEPS):
        p = sigmoid(design @ w)
        hessian = (design * (weights * p * (1 - p))[:, None]).T @ design + _RIDGE * np.eye(2)
        step = np.linalg.solve(hessian, design.T @ (weights * (y - p)) - _RIDGE * np.array([w[0], 0.0]))
        w = w + step / max(1.0, float(np.abs(step).max()))
        if np.abs(step).max() < 1e-8:
            break
    slope = max(w[0], 0.0) / spread
    return float(slope), float(w[1] - slope * centre)
