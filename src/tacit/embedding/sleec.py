"""SLEEC: embed samples so that inner products with their nearest samples in label space are kept."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from scipy import sparse

from tacit.embedding.label_sets import distinct_label_sets
from tacit.embedding.neighbors import ContextSpace, Neighbors, cosine_neighbors
from tacit.embedding.pipeline import Embedded, EmbeddingModel
from tacit.embedding.svp import singular_value_projection
from tacit.numerics.rows import unit_rows
from tacit.parameters import Range, Tune, document_parameters


@dataclass(frozen=True)
class SvpEmbedder:
    """Singular value projection on the entries of YYᵀ at nearest neighbours."""

    dimension: int
    n_context: int
    context_space: str
    tolerance: float
    max_steps: int

    def __call__(self, X: sparse.csr_matrix, Y: sparse.csr_matrix, seed: int) -> Embedded:
        """Embed the samples; those with the same label set get the same vector."""
        sets = distinct_label_sets(Y)
        rows = sets.matrix if self.context_space == "labels" else sets.means(X)
        entries = label_cosines(sets.matrix, cosine_neighbors(rows, self.n_context))
        found = singular_value_projection(
            entries, self.dimension, seed=seed, tolerance=self.tolerance, max_steps=self.max_steps
        )
        return Embedded(found.rows[sets.of_sample])


def label_cosines(sets: sparse.csr_matrix, near: Neighbors) -> sparse.csr_matrix:
    """Cosines of label sets with themselves and with their neighbours, at symmetric places; zeros are stored."""
    n_sets = sets.shape[0]
    first, second, _ = near.pairs()
    places = np.unique(np.concatenate([first * np.int64(n_sets) + second, second * np.int64(n_sets) + first]))
    places = np.union1d(places, np.arange(n_sets, dtype=np.int64) * (n_sets + 1))
    rows, columns = np.divmod(places, n_sets)
    unit = unit_rows(sets)
    cosines = np.asarray(unit[rows].multiply(unit[columns]).sum(axis=1), np.float32).ravel()
    indptr = np.searchsorted(rows, np.arange(n_sets + 1))
    return sparse.csr_matrix((cosines, columns.astype(np.int32), indptr), shape=(n_sets, n_sets))


@document_parameters
@dataclass(kw_only=True, eq=False, repr=False)
class SLEEC(EmbeddingModel):
    """Labels voted by near samples, in a space that keeps the inner products of nearest label vectors."""

    n_neighbors: Annotated[int, Range(low=1), Tune(5, 100), "near samples that vote in each cluster"] = 20
    n_context: Annotated[int, Range(low=1), Tune(20, 200), "nearest label sets whose inner products are kept"] = 100
    context_space: ContextSpace = "labels"
    tolerance: Annotated[float, Range(above=0), "stop when a step lowers the error by less than this share"] = 0.001
    max_steps: Annotated[int, Range(low=1), "largest number of steps of singular value projection"] = 200

    def _fit(self, X: sparse.csr_matrix, Y: sparse.csr_matrix) -> None:
        options = (self.n_context, self.context_space, self.tolerance, self.max_steps)
        self._fit_pipeline(X, Y, SvpEmbedder(self.dimension, *options))
