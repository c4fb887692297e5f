"""Classifiers of the seen labels, each on its own."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from scipy import sparse

from tacit.embedding.regressors import fit_regressor
from tacit.labels import positives
from tacit.latent.vectors import LabelVectors
from tacit.linear.one_vs_all import OneVsAll
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
    model = OneVsAll(random_state=seed, n_jobs=n_jobs, normalize=False).fit(X, Y)
    return LabelVectors(model.weights_.toarray(), np.maximum(model.intercepts_, -1e3).astype(np.float32))


def _ridge(X: sparse.csr_matrix, Y: sparse.csr_matrix, ridge: float) -> LabelVectors:
    return LabelVectors(fit_regressor(X, Y.toarray(), ridge), np.zeros(Y.shape[1], np.float32))
