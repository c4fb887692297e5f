"""CS: random projections of the label vectors are regressed, and decoded by orthogonal matching pursuit.

Hsu, Kakade, Langford and Zhang, "Multi-label prediction via compressed sensing", NIPS 2009. Differs: only positive
correlations select labels, and the labels not selected follow by their correlation with what is left unexplained.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated

import numpy as np
from numba import njit
from scipy import sparse

from reproduce.baselines.low_rank import NO_MASK
from tacit.arrays import Floats32, Floats64, Mask
from tacit.core.base import Estimator, Normalize
from tacit.core.labels import positives
from tacit.core.parameters import Range, document_parameters
from tacit.core.ranking import Ranking
from tacit.kernels.dense import row_products
from tacit.kernels.score import top_k
from tacit.numerics.ridge import fit_regressor
from tacit.runtime.tasks import run_tasks
from tacit.store.declared import Array

_RIDGE = 1e-6  # atoms may be equal


@njit(nogil=True, cache=True)
def pursuit_scores(correlations: Floats64, gram: Floats64, n_selected: int) -> Floats64:
    """Orthogonal matching pursuit of one target; returns scores of all labels.

    `correlations` are the inner products of the target with the atoms, which are unit vectors, and `gram` those of the
    atoms. A selected label scores what it was selected by, and never more than one selected before it.
    """
    scores = np.empty_like(correlations)
    is_free = np.ones(len(correlations), np.bool_)
    selected = np.empty(n_selected, np.int64)
    left = correlations.copy()
    least = np.inf
    for size in range(1, n_selected + 1):
        best = np.where(is_free, left, -np.inf).argmax()
        least = min(least, left[best])
        scores[best], is_free[best], selected[size - 1] = least, False, best
        block, right = np.empty((size, size)), np.empty(size)
        for i in range(size):
            right[i] = correlations[selected[i]]
            for j in range(size):
                block[i, j] = gram[selected[i], selected[j]]
            block[i, i] += _RIDGE
        coefficients = np.linalg.solve(block, right)
        left[:] = correlations
        for i in range(size):
            left -= coefficients[i] * gram[selected[i]]
    for label in range(len(scores)):
        if is_free[label]:
            scores[label] = min(least, left[label])
    return scores


@njit(nogil=True, cache=True)
def decode(correlations: Floats32, gram: Floats32, n_selected: int) -> Floats32:
    """`pursuit_scores` of every row."""
    scores = np.empty_like(correlations)
    exact = gram.astype(np.float64)
    for row in range(len(correlations)):
        scores[row] = pursuit_scores(correlations[row].astype(np.float64), exact, n_selected)
    return scores


def compress_and_regress(X: sparse.csr_matrix, Y: sparse.csr_matrix, atoms: Floats32, ridge: float) -> Floats32:
    """A task: the map (n_features, dimension) from features to compressed label vectors."""
    return fit_regressor(X, np.asarray(Y @ atoms.T), ridge)


@document_parameters
@dataclass(kw_only=True, eq=False, repr=False)
class CS(Estimator):
    """Multi-label prediction via compressed sensing (Hsu et al., 2009)."""

    dimension: Annotated[int, Range(low=1), "length of the compressed label vectors"] = 100
    n_selected: Annotated[int, Range(low=1), "labels that the pursuit selects for a sample"] = 5
    ridge: Annotated[float, Range(above=0), "penalty on the squared size of the regressors"] = 1.0
    normalize: Normalize = True

    projection_: Annotated[Floats32, Array("float32", ("n_features", "n_rows"))] = field(init=False)
    atoms_: Annotated[Floats32, Array("float32", ("n_rows", "n_labels"))] = field(init=False)
    gram_: Annotated[Floats32, Array("float32", ("n_labels", "n_labels"))] = field(init=False)

    def _fit(self, X: sparse.csr_matrix, Y: sparse.csr_matrix) -> None:
        rng = np.random.default_rng(self.random_state)
        atoms = rng.standard_normal((self.dimension, Y.shape[1]), np.float32)
        self.atoms_ = atoms / np.linalg.norm(atoms, axis=0)
        self.gram_ = row_products(np.ascontiguousarray(self.atoms_.T), self.atoms_)
        shared = {"X": X, "Y": positives(Y), "atoms": self.atoms_, "ridge": self.ridge}
        self.projection_ = run_tasks(compress_and_regress, [{}], n_jobs=1, what="maps", **shared)[0]

    def _rank(self, X: sparse.csr_matrix, k: int, allowed: Mask | None) -> Ranking:
        correlations = row_products(np.asarray(X @ self.projection_), self.atoms_)
        scores = decode(correlations, self.gram_, min(self.n_selected, correlations.shape[1]))
        scores[:, self.label_counts_ == 0] = self.unranked_score
        return Ranking(*top_k(scores, NO_MASK if allowed is None else allowed, k))
