"""Classifiers of the seen labels, each on its own."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from scipy import sparse

from tacit.labels import label_counts, positives
from tacit.latent.vectors import LabelVectors
from tacit.numerics.classifiers import ClassifierOptions, train_classifiers
from tacit.numerics.ridge import fit_regressor
from tacit.parameters import OneOf
from tacit.tasks import run_tasks

Classifier = Annotated[
    str,
    OneOf(("ridge", "one_vs_all")),
    "of seen labels: ridge regression, or OneVsAll where features and labels are many",
]


def fit_classifiers(
    X: sparse.csr_matrix, Y: sparse.csr_matrix, kind: str, ridge: float, seed: int | None, n_jobs: int | None
) -> LabelVectors:
    """Linear scores of the labels of Y."""
    if kind == "ridge":
        targets = {"X": X, "Y": positives(Y), "ridge": ridge}
        return run_tasks(_ridge, [{}], n_jobs=1, what="ridge regressions", **targets)[0]
    trained = train_classifiers(X, Y, ClassifierOptions(), seed, n_jobs)
    has_positives = label_counts(Y) > 0  # the others rank last
    return LabelVectors(trained.weights.toarray(), np.where(has_positives, trained.intercepts, np.float32(-1e3)))


def _ridge(X: sparse.csr_matrix, Y: sparse.csr_matrix, ridge: float) -> LabelVectors:
    return LabelVectors(fit_regressor(X, Y.toarray(), ridge), np.zeros(Y.shape[1], np.float32))
