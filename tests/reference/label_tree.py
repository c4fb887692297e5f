"""Slow, plain versions of the clustering and the beam search of label trees."""

from __future__ import annotations

from typing import Any

import numpy as np


def balanced_clusters(order: np.ndarray, n_rows: int, sizes: np.ndarray) -> np.ndarray:
    """Rows into clusters by pairs in order, while there is room."""
    cluster_of, room = [-1] * n_rows, list(sizes)
    for pair in order:
        row, cluster = divmod(int(pair), len(sizes))
        if cluster_of[row] == -1 and room[cluster]:
            cluster_of[row] = cluster
            room[cluster] -= 1
    return np.array(cluster_of)


def log_probability(margins: np.ndarray, power: int) -> np.ndarray:
    """Of a child given its node; power 0 is the logistic."""
    return -np.logaddexp(0, -margins) if power == 0 else -(np.maximum(0, 1 - margins) ** power)


def node_weights(forest: Any, node: int, n_features: int) -> np.ndarray:
    """Dense (children × features) weights of a node."""
    n_children = forest.slot_starts[node + 1] - forest.slot_starts[node]
    weights = np.zeros((n_children, n_features))
    for at in range(forest.chunk_starts[node], forest.chunk_starts[node + 1]):
        part = slice(forest.entry_starts[at], forest.entry_starts[at + 1])
        weights[forest.entry_children[part], forest.chunk_features[at]] = forest.entry_values[part]
    if forest.n_dense:
        first, last = forest.n_dense * forest.slot_starts[node : node + 2]
        weights[:, -forest.n_dense :] = forest.dense_values[first:last].reshape(forest.n_dense, n_children).T
    return weights


def label_scores(
    forest: Any, x: np.ndarray, n_labels: int, beam: int, power: int, path_weight: float, allowed: np.ndarray
) -> np.ndarray:
    """Mean probability of each label over trees, 0 where no beam came."""
    scores = np.zeros(n_labels)
    for starts in forest.level_starts:
        depth = len(starts) - 2
        below = _labels_below(forest, starts)
        paths = {int(starts[0]): 0.0}
        for level in range(depth + 1):
            found = {}
            for node in sorted(paths):
                slots = slice(forest.slot_starts[node], forest.slot_starts[node + 1])
                margins = node_weights(forest, node, len(x)) @ x + forest.intercepts[slots]
                logs = (path_weight if level == depth else 1) * paths[node] + log_probability(margins, power)
                found.update(zip(map(int, forest.children[slots]), logs, strict=True))
            if level < depth:
                found = {node: log for node, log in found.items() if allowed[below[node]].any()}
                found = dict(sorted(found.items(), key=lambda item: -item[1])[:beam])
            paths = found
        for label, log in paths.items():
            scores[label] += np.exp(max(log, -80.0)) * allowed[label]
    return scores / len(forest.level_starts)


def _labels_below(forest: Any, starts: np.ndarray) -> dict[int, list[int]]:
    """The labels under each node of a tree."""
    below: dict[int, list[int]] = {}
    for node in range(int(starts[-1]) - 1, int(starts[0]) - 1, -1):
        children = [int(child) for child in forest.children[forest.slot_starts[node] : forest.slot_starts[node + 1]]]
        is_leaf = node >= starts[-2]
        below[node] = children if is_leaf else [label for child in children for label in below[child]]
    return below
