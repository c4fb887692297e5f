"""SLEEC: embed samples so that inner products with their nearest samples in label space are kept."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from scipy import sparse

from tacit.embedding.label_sets import distinct_label_sets
from tacit.embedding.neighbors import Neighbors, cosine_neighbors
from tacit.embedding.pipeline import Embedded, EmbeddingModel
from tacit.embedding.svp import singular_value_projection
from tacit.parameters import Range, document_parameters


@dataclass(frozen=True)
class SvpEmbedder:
    """Singular value projection on the entries of YYᵀ at nearest neighbours."""

    dimension: int
    n_context: int
    tolerance: float
    max_steps: int

    def __call__(self, X: sparse.csr_matrix, Y: sparse.csr_matrix, seed: int) -> Embedded:  # noqa: ARG002
        """Embed the samples; those with the same label set get the same vector."""
        sets = distinct_label_sets(Y)
        entries = neighbor_entries(cosine_neighbors(sets.matrix, self.n_context))
        found = singular_value_projection(
            entries, self.dimension, seed=seed, tolerance=self.tolerance, max_steps=self.max_steps
        )
        return Embedded(found.rows[sets.of_sample])


def neighbor_entries(near: Neighbors) -> sparse.csr_matrix:
    """Cosines of rows with themselves and their neighbours, at symmetric places."""
    n, k = near.samples.shape
    found = near.samples >= 0
    first = np.repeat(np.arange(n), k)[found.ravel()]
    second, products = near.samples[found], near.similarities[found]
    diagonal = np.arange(n)
    one_way = sparse.csr_matrix((products, (first, second)), shape=(n, n))
    entries = one_way.maximum(one_way.T) + sparse.csr_matrix((np.ones(n, np.float32), (diagonal, diagonal)), (n, n))
    entries.sort_indices()
    return sparse.csr_matrix(entries, dtype=np.float32)


@document_parameters
@dataclass(kw_only=True, eq=False, repr=False)
class SLEEC(EmbeddingModel):
    """Labels voted by near samples, in a space that keeps the inner products of nearest label vectors."""

    n_neighbors: Annotated[int, Range(low=1), "near samples that vote in each cluster"] = 20
    n_context: Annotated[int, Range(low=1), "nearest label sets whose inner products are kept"] = 100
    tolerance: Annotated[float, Range(above=0), "stop when a step lowers the error by less than this share"] = 0.001
    max_steps: Annotated[int, Range(low=1), "largest number of steps of singular value projection"] = 200

    def _fit(self, X: sparse.csr_matrix, Y: sparse.csr_matrix) -> None:
        self._fit_pipeline(X, Y, SvpEmbedder(self.dimension, self.n_context, self.tolerance, self.max_steps))
