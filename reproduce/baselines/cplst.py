"""CPLST: labels compressed to the directions that features predict best, and principal at once.

Chen and Lin, "Feature-aware label space dimension reduction for multi-label classification", NIPS 2012. Differs: labels
are ranked by the decoded values, which the paper rounds to 0 and 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from scipy import linalg, sparse

from reproduce.baselines.low_rank import LowRankMap, LowRankModel
from tacit.arrays import Floats
from tacit.core.parameters import Range, document_parameters
from tacit.numerics.ridge import fit_regressor


def conditional_directions(X: sparse.csr_matrix, Z: Floats, regressed: Floats, dimension: int) -> Floats:
    """The leading eigenvectors of ZᵀHZ, H the hat matrix of ridge regression: columns, largest first (Eq. 11)."""
    explained = Z.T @ np.asarray(X @ regressed)
    _, vectors = linalg.eigh((explained + explained.T) / 2)
    return np.asarray(vectors[:, ::-1][:, :dimension])


@document_parameters
@dataclass(kw_only=True, eq=False, repr=False)
class CPLST(LowRankModel):
    """Conditional principal label space transformation (Chen and Lin, 2012)."""

    dimension: Annotated[int, Range(low=1), "length of the compressed label vectors"] = 100
    ridge: Annotated[float, Range(above=0), "penalty on the squared size of the regressors"] = 1.0

    def _learn(self, X: sparse.csr_matrix, Y: sparse.csr_matrix, **data: Any) -> LowRankMap:  # noqa: ARG002
        means = np.asarray(Y.mean(axis=0), np.float64).ravel()
        Z = Y.toarray() - means
        regressed = fit_regressor(X, Z, self.ridge)
        V = conditional_directions(X, Z, regressed, self.dimension)
        return LowRankMap.of(regressed @ V, V.T, means)  # regression is linear in its targets: that of ZV
