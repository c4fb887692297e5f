"""What the baselines with linear scores share: a low-rank map from features to labels."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field
from typing import Annotated, Any

import numpy as np
from scipy import sparse
from sklearn.base import clone

from tacit.arrays import Floats, Floats32, Mask
from tacit.core.base import Estimator, Normalize
from tacit.core.labels import positives
from tacit.core.ranking import Ranking
from tacit.kernels.dense import row_products
from tacit.kernels.score import top_k
from tacit.latent.label_vectors import LabelVectors
from tacit.runtime.tasks import run_tasks
from tacit.store.declared import Array

NO_MASK = np.empty(0, np.bool_)


@dataclass(frozen=True, eq=False)
class LowRankMap:
    """Scores ``X @ projection @ vectors.columns + vectors.intercepts``."""

    projection: Annotated[Floats32, Array("float32", ("n_features", "dimension"))]
    vectors: LabelVectors

    @classmethod
    def of(cls, projection: Floats, columns: Floats, intercepts: Floats) -> LowRankMap:
        """The map in the types that are stored."""
        parts = (np.ascontiguousarray(part, np.float32) for part in (projection, columns, intercepts))
        return cls(next(parts), LabelVectors(*parts))

    def scores(self, X: sparse.csr_matrix) -> Floats32:
        """Scores of all labels; those of a row are the same in any batch."""
        products = row_products(np.asarray(X @ self.projection), self.vectors.columns)
        return np.asarray(products + self.vectors.intercepts)


@dataclass(kw_only=True, eq=False, repr=False)
class LowRankModel(Estimator):
    """Models whose scores are a low-rank map of the features; each adds how it learns the map."""

    normalize: Normalize = True

    map_: LowRankMap = field(init=False)

    @abstractmethod
    def _learn(self, X: sparse.csr_matrix, Y: sparse.csr_matrix, **data: Any) -> LowRankMap:
        """Learn the map; Y holds only ones."""

    def _fit(self, X: sparse.csr_matrix, Y: sparse.csr_matrix, **data: Any) -> None:
        shared = {"model": clone(self), "X": X, "Y": positives(Y), **data}
        learned = run_tasks(learn, [{}], n_jobs=1, what="maps", **shared)[0]
        self.map_ = LowRankMap(learned.projection, learned.vectors.silenced(self.label_counts_ == 0))

    def _rank(self, X: sparse.csr_matrix, k: int, allowed: Mask | None) -> Ranking:
        return Ranking(*top_k(self.map_.scores(X), NO_MASK if allowed is None else allowed, k))


def learn(model: LowRankModel, X: sparse.csr_matrix, Y: sparse.csr_matrix, **data: Any) -> LowRankMap:
    """A task: the map of a model."""
    return model._learn(X, Y, **data)
