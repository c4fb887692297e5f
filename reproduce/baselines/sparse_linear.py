"""What the baselines with sparse linear classifiers share."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated

import numpy as np
from scipy import sparse

from reproduce.baselines.low_rank import NO_MASK
from tacit.arrays import Floats32, Mask
from tacit.core.base import Estimator, Normalize
from tacit.core.ranking import Ranking
from tacit.kernels.dense import Rows
from tacit.kernels.score import rank_linear
from tacit.store.declared import Array, Csr


@dataclass(kw_only=True, eq=False, repr=False)
class SparseLinear(Estimator):
    """Models with a weight vector and an intercept for each label."""

    normalize: Normalize = True

    weights_: Annotated[sparse.csr_matrix, Csr("float32", ("n_features", "n_labels"))] = field(init=False)
    intercepts_: Annotated[Floats32, Array("float32", ("n_labels",))] = field(init=False)

    def _keep(self, weights: sparse.csr_matrix, intercepts: Floats32) -> None:
        """Store classifiers; labels without positives rank last."""
        self.weights_ = weights
        self.intercepts_ = np.where(self.label_counts_ > 0, intercepts, np.float32(self.unranked_score))

    def _rank(self, X: sparse.csr_matrix, k: int, allowed: Mask | None) -> Ranking:
        mask = NO_MASK if allowed is None else allowed
        return Ranking(*rank_linear(Rows.of(X), None, Rows.of(self.weights_), None, self.intercepts_, mask, k))
