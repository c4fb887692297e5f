"""The baseline that every model must beat: the most frequent labels, for every sample."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, ClassVar

import numpy as np
from scipy import sparse

from tacit.arrays import Floats32, Mask
from tacit.core.base import Estimator, Link
from tacit.core.parameters import document_parameters
from tacit.core.ranking import Ranking
from tacit.store.declared import Array


@document_parameters
@dataclass(kw_only=True, eq=False, repr=False)
class Popularity(Estimator):
    """Rank labels by their frequency in the training samples."""

    takes_dense: ClassVar[bool] = True

    shares_: Annotated[Floats32, Array("float32", ("n_labels",))] = field(init=False)

    def _fit(self, X: sparse.csr_matrix, Y: sparse.csr_matrix) -> None:  # noqa: ARG002
        self.shares_ = (self.label_counts_ / X.shape[0]).astype(np.float32)

    @property
    def _link(self) -> Link:
        return "identity"

    def _rank(self, X: sparse.csr_matrix, k: int, allowed: Mask | None) -> Ranking:
        order = np.argsort(-self.shares_, kind="stable")
        best = (order if allowed is None else order[allowed[order]])[:k]
        rows = (X.shape[0], len(best))
        return Ranking(np.broadcast_to(best, rows).astype(np.int32), np.broadcast_to(self.shares_[best], rows))
