"""Slow, plain twins of the kernels in tacit.kernels.dual: one label, dense arrays, double precision."""

from __future__ import annotations

import numpy as np


def label_signs(by_label, labels, absent):
    """`by_label`: dense (samples × labels) array of 1, 0 and NaN for an entry that is not stored."""
    chosen = by_label[:, labels]
    signs = np.where(np.isnan(chosen), absent, np.where(chosen > 0, 1, -1))
    return np.where((chosen == 1).any(axis=0), signs, 0).astype(np.int8)


def with_constant(X, bias):
    return np.column_stack([X, np.full(len(X), bias)]).astype(float)


def primal(X, y, costs, w, loss, target=1.0):
    """`target` is what the positives' margin should be; that of negatives is 1."""
    margins, targets = y * (X @ w), np.where(y > 0, target, 1.0)
    losses = {
        "squared hinge": np.maximum(0, targets - margins) ** 2,
        "squared": (targets - margins) ** 2,
        "logistic": np.logaddexp(0, -margins),
    }[loss]
    return 0.5 * w @ w + costs @ (losses * (y != 0))


def dual(X, y, costs, beta, loss, target=1.0):
    w, alpha, known = X.T @ beta, (y * beta)[y != 0], y != 0
    c = costs[known]
    if loss != "logistic":
        targets = np.where(y > 0, target, 1.0)[known]
        return targets @ alpha - 0.5 * w @ w - (alpha**2 / (4 * c)).sum()
    alpha = np.clip(alpha, 1e-300, c * (1 - 1e-12))
    entropy = alpha * np.log(alpha) + (c - alpha) * np.log(c - alpha) - c * np.log(c)
    return -0.5 * w @ w - entropy.sum()


def best_weights(X, y, costs, loss, target=1.0):
    """Minimise the primal by damped Newton steps."""
    X, y, costs = X[y != 0], y[y != 0], costs[y != 0]
    targets = np.where(y > 0, target, 1.0)
    w = np.zeros(X.shape[1])
    for _ in range(200):
        margins = y * (X @ w)
        if loss == "logistic":
            share = 1 / (1 + np.exp(margins))
            slopes, curves = -share, share * (1 - share)
        else:
            counts = (margins < targets) | (loss == "squared")
            slopes, curves = -2 * (targets - margins) * counts, 2.0 * counts
        gradient = w + X.T @ (costs * y * slopes)
        hessian = np.eye(len(w)) + (X.T * (costs * curves)) @ X
        direction = np.linalg.solve(hessian, -gradient)
        if np.abs(direction).max() < 1e-10:
            break
        here, length = primal(X, y, costs, w, loss, target), 1.0
        while primal(X, y, costs, w + length * direction, loss, target) > here and length > 1e-12:
            length /= 2
        w = w + length * direction
    return w


def prune(weights, threshold):
    kept = weights[:-1].copy()
    kept[np.abs(kept) < np.float32(threshold)] = 0
    return kept
