"""LPSR: samples are partitioned, and each part ranks only the labels assigned to it, by a given linear classifier.

Weston, Makadia and Yee, "Label partitioning for sublinear ranking", ICML 2013. Differs: all samples count alike in the
hierarchical k-means; labels without a positive in a part are not assigned to it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.special import expit

from reproduce.baselines.sparse_linear import SparseLinear
from tacit.arrays import Floats, Floats32, Floats64, Mask
from tacit.core.labels import positives
from tacit.core.parameters import OneOf, Range, document_parameters
from tacit.core.ranking import Ranking
from tacit.embedding.partition import bounded_clusters, nearest_clusters
from tacit.numerics.classifiers import LOSSES, POSITIVES, ClassifierOptions, train_classifiers
from tacit.runtime.tasks import run_tasks
from tacit.store.declared import Array

_STEPS = 30
_K = 5  # places that count


@dataclass(frozen=True, eq=False)
class Part:
    """The samples of a part: their labels, each with weight 1/|y| and in the order of the classifier's scores.

    Attributes
    ----------
    order : array of shape (n_samples, n_candidates)
        Candidate labels of each sample, best score first.
    gains : array of that shape
        1/|y| where the label at that place is relevant, 0 elsewhere.
    """

    order: npt.NDArray[np.intp]
    gains: Floats64

    @classmethod
    def of(cls, scores: Floats, relevant: npt.NDArray[np.bool_]) -> Part:
        """The part with these scores and labels (n_samples, n_candidates)."""
        order = np.argsort(-scores, axis=1, kind="stable")
        n_relevant = np.maximum(relevant.sum(axis=1, keepdims=True), 1)
        return cls(order, np.take_along_axis(relevant / n_relevant, order, axis=1))

    def objective(self, alpha: Floats64) -> tuple[float, Floats64]:
        """Relaxed precision at k of labels assigned to degree alpha, and its gradient (the paper's Eq. 8).

        A relevant label counts as far as fewer than k labels that score higher are assigned.
        """
        assigned = alpha[self.order]
        higher = np.cumsum(assigned, axis=1) - assigned
        misses = expit(higher - _K + 0.5)
        slopes = self.gains * assigned * misses * (1 - misses)
        behind = slopes.sum(axis=1, keepdims=True) - np.cumsum(slopes, axis=1)
        each = self.gains * (1 - misses) - behind
        gradient = np.asarray(np.bincount(self.order.ravel(), each.ravel(), minlength=len(alpha)), np.float64)
        return float((self.gains * assigned * (1 - misses)).sum()), gradient


def assign_labels(part: Part, n_candidates: int, n_assigned: int) -> npt.NDArray[np.intp]:
    """The candidates to assign, by projected gradient steps that never lower the relaxed precision."""
    n_assigned = min(n_assigned, n_candidates)
    alpha = np.full(n_candidates, n_assigned / n_candidates)
    value, gradient = part.objective(alpha)
    step = 1.0
    for _ in range(_STEPS):
        size = np.abs(gradient).max(initial=0)
        moved = with_sum(alpha + step * gradient / (size or 1.0), n_assigned)
        new_value, new_gradient = part.objective(moved)
        if new_value < value:
            step /= 2
            continue
        alpha, value, gradient = moved, new_value, new_gradient
    return np.sort(np.argsort(-alpha, kind="stable")[:n_assigned])


def with_sum(alpha: Floats64, total: int) -> Floats64:
    """The nearest vector with entries in [0, 1] and this sum."""
    low, high = alpha.min() - 1, alpha.max()
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if np.clip(alpha - middle, 0, 1).sum() > total else (low, middle)
    return np.asarray(np.clip(alpha - (low + high) / 2, 0, 1))


def assigned_labels(
    X: sparse.csr_matrix, Y: sparse.csr_matrix, W: sparse.csr_matrix, b: Floats32, rows: npt.NDArray[np.int32], n: int
) -> npt.NDArray[np.bool_]:
    """A task: which labels are assigned to the part of these rows."""
    relevant = Y[rows].toarray() > 0
    candidates = np.flatnonzero(relevant.any(axis=0))
    mask = np.zeros(Y.shape[1], np.bool_)
    if len(candidates):
        scores = (X[rows] @ W[:, candidates]).toarray() + b[candidates]
        mask[candidates[assign_labels(Part.of(scores, relevant[:, candidates]), len(candidates), n)]] = True
    return mask


@document_parameters
@dataclass(kw_only=True, eq=False, repr=False)
class LPSR(SparseLinear):
    """Label partitioning for sublinear ranking, over one-vs-all classifiers (Weston et al., 2013)."""

    loss: Annotated[str, OneOf(tuple(LOSSES)), "loss function of the classifiers"] = "squared_hinge"
    C: Annotated[float, Range(above=0), "inverse strength of their regularisation"] = 0.25
    positives: Annotated[str, OneOf(POSITIVES), "weight of their positives"] = "equal"
    max_part: Annotated[int, Range(low=2), "largest number of samples in a part"] = 1000
    n_assigned: Annotated[int, Range(low=1), "labels assigned to a part"] = 300

    centers_: Annotated[Floats32, Array("float32", ("n_parts", "n_features"), is_filled=True)] = field(init=False)
    assigned_: Annotated[npt.NDArray[np.bool_], Array("bool", ("n_parts", "n_labels"))] = field(init=False)

    def _fit(self, X: sparse.csr_matrix, Y: sparse.csr_matrix) -> None:
        options = ClassifierOptions(loss=self.loss, C=self.C, positives=self.positives)
        trained = train_classifiers(X, Y, options, self.random_state, self.n_jobs)
        self._keep(trained.weights, trained.intercepts)
        partition = bounded_clusters(X, self.max_part, self.random_state or 0)
        self.centers_ = partition.centers
        tasks = [{"rows": rows} for rows in partition.clusters]
        shared = {"X": X, "Y": positives(Y), "W": self.weights_, "b": self.intercepts_, "n": self.n_assigned}
        self.assigned_ = np.stack(run_tasks(assigned_labels, tasks, n_jobs=self.n_jobs, what="parts", **shared))

    def _rank(self, X: sparse.csr_matrix, k: int, allowed: Mask | None) -> Ranking:
        part = nearest_clusters(X, self.centers_, 1)[0][:, 0]
        labels, scores = np.full((X.shape[0], k), -1, np.int32), np.full((X.shape[0], k), -np.inf, np.float32)
        for each in np.unique(part):
            rows = np.flatnonzero(part == each)
            mask = self.assigned_[each] if allowed is None else self.assigned_[each] & allowed
            found = super()._rank(X[rows], k, mask)
            labels[rows], scores[rows] = found.labels, found.scores
        return Ranking(labels, scores)
