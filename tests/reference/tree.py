"""Slow, plain versions of what the tree kernels compute."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse


def ndcg_sum(gains: np.ndarray, samples: np.ndarray) -> float:
    """What the samples of one side gain by their best common ranking."""
    total = np.sort(gains[samples].sum(axis=0))[::-1]
    return float((total / np.log2(np.arange(2, len(total) + 2))).sum())


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
