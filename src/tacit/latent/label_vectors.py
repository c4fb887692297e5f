"""Linear scores of labels, and the classifiers of seen labels that give them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from scipy import sparse

from tacit.arrays import Floats32, Mask
from tacit.core.base import Estimator
from tacit.core.labels import label_counts, positives
from tacit.core.parameters import OneOf
from tacit.numerics.classifiers import ClassifierOptions, train_classifiers
from tacit.numerics.ridge import fit_regressor
from tacit.runtime.tasks import run_tasks
from tacit.store.declared import Array

Classifier = Annotated[str, OneOf(("ridge", "one_vs_all")), "of seen labels: the second for many features and labels"]


@dataclass(frozen=True, eq=False)
class LabelVectors:
    """Linear scores of labels: a vector and an intercept for each, and in some models posterior variances."""

    columns: Annotated[Floats32, Array("float32", ("dimension", "n_labels"))]
    intercepts: Annotated[Floats32, Array("float32", ("n_labels",))]
    variances: Annotated[Floats32 | None, Array("float32", ("dimension", "n_labels"))] = None

    @classmethod
    def of_factors(cls, W: Floats32, V: Floats32, variances: Floats32 | None = None) -> LabelVectors:
        """Scores xᵀWv of labels; the weights of the constant feature become intercepts."""
        return cls(np.ascontiguousarray(V.T), V @ W[-1], variances)

    def joined(self, other: LabelVectors) -> LabelVectors:
        """These labels, then the others."""
        both = self.variances is not None and other.variances is not None
        return LabelVectors(
            np.hstack([self.columns, other.columns]),
            np.concatenate([self.intercepts, other.intercepts]),
            np.hstack([self.variances, other.variances]) if both else None,  # type: ignore[list-item]
        )

    def chosen(self, labels: Any) -> LabelVectors:
        """Some of the labels, in the order given."""
        variances = None if self.variances is None else np.ascontiguousarray(self.variances[:, labels])
        return LabelVectors(np.ascontiguousarray(self.columns[:, labels]), self.intercepts[labels], variances)

    def silenced(self, labels: Mask) -> LabelVectors:
        """The same vectors, but the marked labels rank last for every sample."""
        columns = np.where(labels, np.float32(0), self.columns)
        intercepts = np.where(labels, np.float32(Estimator.unranked_score), self.intercepts)
        return LabelVectors(columns, intercepts, self.variances)

    def scaled(self, slope: float, intercept: float) -> LabelVectors:
        """Vectors whose scores are slope · score + intercept."""
        by, add = np.float32(slope), np.float32(intercept)
        variances = None if self.variances is None else by * by * self.variances
        return LabelVectors(by * self.columns, by * self.intercepts + add, variances)

    def mixed(self, other: LabelVectors, shares: Floats32) -> LabelVectors:
        """A weighted mean with other vectors, whose weights `shares` differ by label; variances stay."""
        columns = (1 - shares) * self.columns + shares * other.columns
        return LabelVectors(columns, (1 - shares) * self.intercepts + shares * other.intercepts, self.variances)


def fit_classifiers(
    X: sparse.csr_matrix, Y: sparse.csr_matrix, kind: str, ridge: float, seed: int | None, n_jobs: int | None
) -> LabelVectors:
    """Independent linear classifiers of the labels of Y."""
    if kind == "ridge":
        targets = {"X": X, "Y": positives(Y), "ridge": ridge}
        return run_tasks(_ridge, [{}], n_jobs=1, what="ridge regressions", **targets)[0]
    trained = train_classifiers(X, Y, ClassifierOptions(), seed, n_jobs)
    columns = trained.weights.toarray()
    columns[len(columns) - len(trained.dense) :] = trained.dense
    has_positives = label_counts(Y) > 0  # labels without positives rank last
    return LabelVectors(columns, np.where(has_positives, trained.intercepts, np.float32(-1e3)))


def _ridge(X: sparse.csr_matrix, Y: sparse.csr_matrix, ridge: float) -> LabelVectors:
    return LabelVectors(fit_regressor(X, Y.toarray(), ridge), np.zeros(Y.shape[1], np.float32))
