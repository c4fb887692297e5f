"""One linear classifier per label: losses, corrections for missing labels, and training."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from tacit.arrays import Floats32, Floats64, Ints64
from tacit.core.features import FeatureMatrix, dense_rows, sparse_part
from tacit.core.labels import label_counts, positives
from tacit.evaluation.propensity import propensities_from_counts
from tacit.kernels.dual import (
    LOGISTIC,
    SQUARED,
    SQUARED_HINGE,
    BlockObjective,
    BlockRows,
    label_signs,
    prune,
    train_block,
)
from tacit.numerics.clusters import cluster_labels, label_centres
from tacit.numerics.rows import row_bounds, unit_rows
from tacit.numerics.storage import new_array
from tacit.runtime.tasks import run_tasks, task_seeds

LOSSES = {"squared_hinge": SQUARED_HINGE, "logistic": LOGISTIC, "squared": SQUARED}
POSITIVES = ("propensity", "unbiased", "equal")
CLUSTERED_FROM = 256  # labels; with fewer, clustering takes longer than it saves
LABELS_PER_TASK = 64  # their weights are adjacent in memory, so that a sample's features are read once for all of them


@dataclass(frozen=True, eq=False)
class LinearObjective:
    """A loss of `tacit.kernels.dual`, the cost and target of each label's positives, and the cost of negatives."""

    loss: int
    positive_costs: Floats32
    positive_targets: Floats32
    negative_cost: float


def objective_of(loss: str, positives: str, C: float, propensities: Floats64) -> LinearObjective:
    """The objective for labels of given propensities.

    With `positives` "propensity", the losses of positives are divided by propensities (PfastreXML Theorem 4.1); with
    "unbiased", the objective is, in expectation over missing labels, that of the complete labels; with "equal", all
    positives have the same cost. C is the cost of a negative.
    """
    costs, targets = np.ones(len(propensities)), np.ones(len(propensities))
    if positives == "propensity":
        costs = 1 / propensities
    elif positives == "unbiased" and loss == "squared":
        # PfastreXML Theorem 4.4: ‖y/p − ŷ‖², with ŷ = (1 + w·x) / 2
        targets = 2 / propensities - 1
    elif positives == "unbiased":
        # For the 0/1 loss, ℓ(−1) = 1 − ℓ(1), so ℓ(1)/p + (1 − 1/p) ℓ(−1) is (2/p − 1) ℓ(1) plus a constant: Theorem
        # 4.4 for ŷ in {0, 1}. A convex loss replaces ℓ(1) (Qaraei et al., 2021).
        costs = 2 / propensities - 1
    return LinearObjective(LOSSES[loss], (C * costs).astype(np.float32), targets.astype(np.float32), C)


@dataclass(frozen=True)
class ClassifierOptions:
    """Training options: the parameters of `OneVsAll`."""

    loss: str = "squared_hinge"
    C: float = 0.25
    positives: str = "propensity"
    A: float = 0.55
    B: float = 1.5
    absent: str = "negative"
    bias: float = 1.0
    prune: float = 0.01
    tolerance: float = 0.2
    max_passes: int = 50


@dataclass(frozen=True)
class Classifiers:
    """Classifiers of some labels: weights (features × labels) and intercepts.

    Weights of dense features are apart; their rows in `weights` are empty.
    """

    weights: sparse.csr_matrix
    intercepts: Floats32
    dense: Floats32


def train_classifiers(
    X: FeatureMatrix, Y: sparse.csr_matrix, options: ClassifierOptions, seed: int | None, n_jobs: int | None
) -> Classifiers:
    """Train a classifier for every column of Y by dual coordinate descent, and prune small weights."""
    n_labels = Y.shape[1]
    order = _like_beside_like(X, positives(Y), seed, n_jobs)
    starts = range(0, n_labels, LABELS_PER_TASK)
    blocks = [
        {"labels": order[start : start + LABELS_PER_TASK], "seed": of_task}
        for start, of_task in zip(starts, task_seeds(seed, n_labels), strict=False)
    ]
    propensities = propensities_from_counts(label_counts(Y), Y.shape[0], options.A, options.B)
    objective = objective_of(options.loss, options.positives, options.C, propensities)
    shared = {"X": X, "Y": Y.tocsc(), "objective": objective, "options": options}
    trained = run_tasks(_train_block, blocks, n_jobs=n_jobs, what="blocks of labels", **shared)
    place = np.argsort(order)
    return Classifiers(
        sparse.hstack([block.weights for block in trained], format="csc")[:, place].tocsr(),
        np.concatenate([block.intercepts for block in trained])[place],
        np.ascontiguousarray(np.hstack([block.dense for block in trained])[:, place]),
    )


def _like_beside_like(X: FeatureMatrix, Y: sparse.csr_matrix, seed: int | None, n_jobs: int | None) -> Ints64:
    """The labels in an order in which those with similar samples are neighbours.

    A sample that is far from all labels of a block needs no steps there, so that training takes less time.
    """
    if Y.shape[1] < CLUSTERED_FROM:
        return np.arange(Y.shape[1])
    labels = np.arange(Y.shape[1], dtype=np.int32)
    centres = label_centres(unit_rows(X), Y, n_jobs)
    return cluster_labels(labels, centres, LABELS_PER_TASK, LABELS_PER_TASK, seed or 0).labels.astype(np.int64)


def _train_block(
    X: FeatureMatrix,
    Y: sparse.csc_matrix,
    labels: Ints64,
    objective: LinearObjective,
    options: ClassifierOptions,
    seed: int,
) -> Classifiers:
    absent = 0 if options.absent == "missing" else -1
    signs = label_signs(Y, labels, absent)
    words = sparse_part(X)
    n_words = words.shape[1]
    features = row_bounds(words), words.indices, words.data, n_words, dense_rows(X), np.arange(X.shape[0])
    costs = objective.positive_costs[labels], objective.positive_targets[labels], objective.negative_cost
    block = BlockObjective(objective.loss, *costs, options.bias)
    duals = new_array(signs.size, np.float32).reshape(signs.shape)
    stops = options.tolerance, options.max_passes, seed
    weights, *_ = train_block(BlockRows(*features), signs, block, *stops, duals)
    indptr, indices, data = prune(weights[: n_words + 1], options.prune)
    indptr = np.pad(indptr, (0, X.shape[1] - n_words), mode="edge")
    kept = sparse.csr_matrix((data, indices, indptr), shape=(X.shape[1], len(labels)))
    dense = weights[n_words:-1].copy()
    dense[np.abs(dense) < options.prune] = 0
    return Classifiers(kept, np.float32(options.bias) * weights[-1], dense)
