"""Slow, plain versions of what the tree kernels compute."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from scipy.optimize import minimize
from scipy.special import expit


def logistic_objective(X: np.ndarray, weights: np.ndarray, signs: np.ndarray, costs: np.ndarray) -> float:
    """``‖w‖₁ + Σ cost·log(1 + exp(−sign·w·x))``, the bias being a column of X."""
    return float(np.abs(weights).sum() + (costs * np.logaddexp(0, -signs * (X @ weights))).sum())


def node_weights(forest: Any, n_features: int) -> np.ndarray:
    """The weights of each node, dense."""
    weights = np.zeros((len(forest.children), n_features))
    for node in range(len(weights)):
        part = slice(forest.weight_starts[node], forest.weight_starts[node + 1])
        weights[node, forest.weight_features[part]] = forest.weight_levels[part]
    node_of = {number: node for node, number in enumerate(forest.large) if number > 0}
    for feature in range(n_features):
        for at in range(forest.large_starts[feature], forest.large_starts[feature + 1]):
            weights[node_of[forest.large_nodes[at]], feature] = forest.large_levels[at]
    return weights * forest.terms[:, :1]


def forest_scores(forest: Any, X: np.ndarray, n_labels: int, min_share: float) -> np.ndarray:
    """Mean leaf scores of each row, one node at a time; those below zero are left out of rankings."""
    scores = np.zeros((len(X), n_labels))
    weights = node_weights(forest, X.shape[1])

    def add(row: int, node: int, share: float, depth: int) -> None:
        if node < 0:
            leaf = -1 - node
            part = slice(forest.leaf_starts[leaf], forest.leaf_starts[leaf + 1])
            scores[row, forest.leaf_labels[part]] += share * forest.leaf_steps[leaf] * forest.leaf_levels[part]
            return
        margin = weights[node] @ X[row] + forest.terms[node, 1]
        right = share * np.clip((1 + margin) / 2, 0, 1)
        if min(right, share - right) < max(min_share, 0.4 - 0.05 * depth):
            right = share * (margin > 0)
        for side, its_share in ((0, share - right), (1, right)):
            if its_share > 0:
                add(row, int(forest.children[node, side]), its_share, depth + 1)

    for row in range(len(X)):
        for root in forest.roots:
            add(row, int(root), 1.0, 0)
    return np.maximum(scores / len(forest.roots), 0)


def refitted(scores: np.ndarray, leaf_of: np.ndarray, Y: np.ndarray, refit: float) -> np.ndarray:
    """Leaf scores with a share of the mean residual of each leaf added; `leaf_of` has a row per sample."""
    residuals = Y - scores[leaf_of].mean(axis=1)
    means = [residuals[(leaf_of == leaf).any(axis=1)].mean(axis=0) for leaf in range(len(scores))]
    return scores + refit * np.array(means)


def rescored(
    scores: np.ndarray, X: np.ndarray, centres: sparse.csr_matrix, offsets: np.ndarray, alpha: float, gamma: float
) -> np.ndarray:
    """PfastreXML's score of every label with a vote, -inf for the others; X has unit rows."""
    log_p = -np.logaddexp(0, gamma / 2 * (offsets[None, :] - 2 * X @ centres.toarray().T))
    with np.errstate(divide="ignore"):
        return np.where(scores > 0, alpha * np.log(scores) + (1 - alpha) * log_p, -np.inf)


# -- a tree as FastXML's Algorithms 1 and 2 print it --------------------------------------------------------


def printed_sides(gains: np.ndarray, sides: np.ndarray) -> np.ndarray:
    """Alternate rankings and sides until no side changes.

    A sample that gains the same on both sides stays, and labels of equal gain keep their order, at first that of the
    samples they occur in.
    """
    sides = sides.astype(bool)
    present = list(dict.fromkeys(np.nonzero(gains)[1].tolist()))
    ranked = [np.array(present, dtype=int)] * 2
    while True:
        advantage = np.zeros(gains.shape[1])
        for side in (0, 1):
            totals = gains[sides == side].sum(axis=0)
            ranked[side] = ranked[side][np.argsort(-totals[ranked[side]], kind="stable")]
            advantage[ranked[side]] += (2 * side - 1) / np.log2(np.arange(len(present)) + 2)
        chosen = np.where(gains @ advantage == 0, sides, gains @ advantage > 0)
        if np.array_equal(chosen, sides):
            return sides
        sides = chosen


def printed_plane(X: np.ndarray, sides: np.ndarray, C: float) -> np.ndarray:
    """The optimal hyperplane; weights as a difference of two positive parts make the L1 penalty smooth."""
    signs, n = np.where(sides, 1.0, -1.0), X.shape[1]
    costs = C * len(sides) / np.where(sides, sides.sum(), (~sides).sum())

    def objective(parts: np.ndarray) -> tuple[float, np.ndarray]:
        margins = signs * (X @ (parts[:n] - parts[n:]))
        slope = X.T @ (-costs * signs * expit(-margins))
        return float(parts.sum() + costs @ np.logaddexp(0, -margins)), 1 + np.concatenate([slope, -slope])

    options = {"ftol": 1e-15, "gtol": 1e-9, "maxiter": 10_000}
    found = minimize(objective, np.zeros(2 * n), jac=True, bounds=[(0, None)] * (2 * n), options=options).x
    return found[:n] - found[n:]


def printed_leaves(
    X: np.ndarray, gains: np.ndarray, random_bits: np.ndarray, C: float, bias: float, max_leaf: int
) -> list[list[int]]:
    """The samples of each leaf, left before right: random sides, one hyperplane, and the same again for either side."""
    with_bias = np.hstack([X, np.full((len(X), 1), bias)])

    def grow(samples: np.ndarray, depth: int) -> list[list[int]]:
        sides = printed_sides(gains[samples], (random_bits[samples] >> depth) & 1)
        if len(samples) > max_leaf and sides.any() and not sides.all():
            right = with_bias[samples] @ printed_plane(with_bias[samples], sides, C) > 0
            if right.any() and not right.all():
                return grow(samples[~right], depth + 1) + grow(samples[right], depth + 1)
        return [samples.tolist()]

    return grow(np.arange(len(X)), 0)
