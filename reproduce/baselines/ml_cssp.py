"""ML-CSSP: a few labels, drawn by their leverage, are regressed; all labels are reconstructed from them.

Bi and Kwok, "Efficient multi-label classification with many labels", ICML 2013. Differs: ridge regression stands for
the classifiers of the chosen labels, and labels are ranked by the reconstructed values.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from scipy import linalg, sparse

from reproduce.baselines.low_rank import LowRankMap, LowRankModel
from tacit.arrays import Floats64, Ids
from tacit.core.parameters import Range, document_parameters
from tacit.numerics.ridge import fit_regressor


def leverage_scores(Y: sparse.csr_matrix, n_directions: int) -> Floats64:
    """Squared lengths of the labels in the space of the leading right singular vectors of Y; they sum to 1."""
    _, vectors = linalg.eigh((Y.T @ Y).toarray().astype(np.float64))
    leading = vectors[:, ::-1][:, :n_directions]
    return np.asarray((leading**2).sum(axis=1) / leading.shape[1])


def draw_labels(Y: sparse.csr_matrix, n_chosen: int, rng: np.random.Generator) -> Ids:
    """Distinct labels drawn by leverage (Algorithm 1), in rising order; never one without positives."""
    filled = np.flatnonzero(np.bincount(Y.indices, minlength=Y.shape[1]))
    n_chosen = min(n_chosen, len(filled))
    scores = np.maximum(leverage_scores(Y[:, filled], n_chosen), np.finfo(np.float64).tiny)
    return np.sort(rng.choice(filled, n_chosen, replace=False, p=scores / scores.sum()))


def reconstruction(Y: sparse.csr_matrix, chosen: Ids, jitter: float = 1e-6) -> Floats64:
    """``C⁺ Y`` for the columns C of Y: the weights (n_chosen, n_labels) that reconstruct all labels."""
    C = Y[:, chosen]
    gram = (C.T @ C).toarray().astype(np.float64)
    gram.flat[:: len(gram) + 1] += jitter  # chosen labels may depend on each other
    return np.asarray(linalg.solve(gram, (C.T @ Y).toarray(), assume_a="pos"))


@document_parameters
@dataclass(kw_only=True, eq=False, repr=False)
class MLCSSP(LowRankModel):
    """Multi-label classification by column subset selection (Bi and Kwok, 2013)."""

    n_chosen: Annotated[int, Range(low=1), "labels that are regressed"] = 100
    ridge: Annotated[float, Range(above=0), "penalty on the squared size of the regressors"] = 1.0

    def _learn(self, X: sparse.csr_matrix, Y: sparse.csr_matrix, **data: Any) -> LowRankMap:  # noqa: ARG002
        chosen = draw_labels(Y, self.n_chosen, np.random.default_rng(self.random_state))
        W = fit_regressor(X, Y[:, chosen].toarray(), self.ridge)
        return LowRankMap.of(W, reconstruction(Y, chosen), np.zeros(Y.shape[1]))
