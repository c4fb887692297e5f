"""Gradient-boosted trees as plain arrays: learned by scikit-learn, stored and evaluated without it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
from threadpoolctl import threadpool_limits

from tacit.arrays import Floats32, Ints32
from tacit.kernels.name_matching import boosted_log_odds
from tacit.store.declared import Array

_N_TREES = 180
_ALL_STEPS = 9.0  # sum of the learning rates of all trees
_LEAVES = 15
_SAMPLES_PER_LEAF = 60
_FEATURES_PER_SPLIT = 0.5
_RIDGE = 10.0
_BINS = 255


@dataclass(frozen=True, eq=False)
class BoostedTrees:
    """Log-odds as a sum of trees: at each node the left child is taken where a feature is at most a threshold."""

    roots: Annotated[Ints32, Array("int32", ("n_trees",), below="n_nodes")]
    features: Annotated[Ints32, Array("int32", ("n_nodes",), low="0")]
    thresholds: Annotated[Floats32, Array("float32", ("n_nodes",))]
    children: Annotated[Ints32, Array("int32", ("n_nodes", "2"), low="-1", below="n_nodes", is_after=True)]
    values: Annotated[Floats32, Array("float32", ("n_nodes",))]
    start: float

    @staticmethod
    def fit(
        X: Floats32,
        y: npt.NDArray[np.bool_],
        weights: Floats32 | None,
        seed: int,
        n_trees: int = _N_TREES,
        n_leaves: int = _LEAVES,
    ) -> BoostedTrees:
        """Learn which rows of X are right; rows count by their weights. Fewer trees take larger steps."""
        from sklearn.ensemble import HistGradientBoostingClassifier

        learner = HistGradientBoostingClassifier(
            max_iter=n_trees,
            learning_rate=_ALL_STEPS / n_trees,
            max_leaf_nodes=n_leaves,
            min_samples_leaf=_SAMPLES_PER_LEAF,
            max_features=_FEATURES_PER_SPLIT,
            l2_regularization=_RIDGE,
            early_stopping=False,
            random_state=seed,
        )
        edges = [_edges(column) for column in X.T]
        binned = np.stack([low[_bins(low, column)] for low, column in zip(edges, X.T, strict=True)], axis=1)
        with threadpool_limits(1):  # on small data, threads wait for each other longer than they work
            learner.fit(binned, y, weights)
        trees = [of_class.nodes for (of_class,) in learner._predictors]
        sizes = np.array([len(nodes) for nodes in trees])
        roots = np.concatenate([[0], np.cumsum(sizes)[:-1]])
        nodes = np.concatenate(trees)
        offsets = np.repeat(roots, sizes)
        is_leaf = nodes["is_leaf"].astype(bool)
        children = np.stack([nodes["left"] + offsets, nodes["right"] + offsets], axis=1)
        return BoostedTrees(
            roots.astype(np.int32),
            nodes["feature_idx"].astype(np.int32),
            _thresholds(edges, nodes["feature_idx"], nodes["num_threshold"]),
            np.where(is_leaf[:, None], -1, children).astype(np.int32),
            nodes["value"].astype(np.float32),
            float(np.ravel(learner._baseline_prediction)[0]),
        )

    @staticmethod
    def of_rules(start: float, rules: Sequence[tuple[int, float, float]]) -> BoostedTrees:
        """Rules (feature, threshold, added log-odds where the feature is above the threshold), each a tree."""
        n_rules = len(rules)
        above = np.array([each for _, _, each in rules], np.float32)
        values = np.stack([np.zeros_like(above), np.zeros_like(above), above], axis=1)
        children = np.tile(np.array([[1, 2], [-1, -1], [-1, -1]], np.int32), (n_rules, 1))
        offsets = np.repeat(3 * np.arange(n_rules), 3)[:, None]
        return BoostedTrees(
            (3 * np.arange(n_rules)).astype(np.int32),
            np.repeat([feature for feature, _, _ in rules], 3).astype(np.int32),
            np.repeat([threshold for _, threshold, _ in rules], 3).astype(np.float32),
            np.where(children >= 0, children + offsets, -1).astype(np.int32),
            values.ravel(),
            start,
        )

    def log_odds(self, X: Floats32) -> Floats32:
        """Log-odds of each row."""
        trees = self.roots, self.features, self.thresholds, self.children, self.values
        return np.asarray(boosted_log_odds(X, *trees, self.start))


def _edges(values: Floats32) -> Floats32:
    """The lowest value of each bin; scikit-learn's own bins of weighted rows take more time than all its trees."""
    return np.unique(np.sort(values)[np.linspace(0, len(values) - 1, _BINS).astype(np.intp)])


def _bins(edges: Floats32, values: Floats32) -> npt.NDArray[np.intp]:
    return np.searchsorted(edges, values, side="right") - 1


def _thresholds(edges: Sequence[Floats32], features: npt.NDArray[Any], between: npt.NDArray[np.float64]) -> Floats32:
    """The largest value below the bin that begins above each threshold, which lies between the lowest of two bins."""
    above = np.empty(len(features), np.float32)
    for feature, lowest in enumerate(edges):
        nodes = np.flatnonzero(features == feature)
        above[nodes] = lowest[np.minimum(np.searchsorted(lowest, between[nodes]), len(lowest) - 1)]
    return np.nextafter(above, np.float32(-np.inf))
