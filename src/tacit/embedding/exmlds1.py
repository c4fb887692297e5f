"""ExMLDS1: embed samples by factorising the SPPMI of their label co-occurrence (ExMLDS Algorithm 2)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from tacit.embedding.neighbors import distinct_label_sets
from tacit.embedding.pipeline import Embedded, EmbeddingModel
from tacit.embedding.sppmi import Eigenvalues, Shift, factorise, sample_counts, sppmi
from tacit.numerics.arrays import Floats
from tacit.parameters import document_parameters


def embed_by_sppmi(Y: sparse.csr_matrix, dimension: int, shift: float, eigenvalues: str, seed: int) -> Floats:
    """Factorise the SPPMI of M = YYᵀ; samples with the same label set get the same vector."""
    sets = distinct_label_sets(Y)
    weights = sets.counts.astype(np.float64)
    similarities = sppmi(sample_counts(sets.matrix), weights, shift)
    Z, _ = factorise(similarities, weights, dimension, seed=seed, positive=eigenvalues == "positive")
    return Z[sets.of_sample]


@document_parameters
@dataclass(kw_only=True, eq=False, repr=False)
class ExMLDS1(EmbeddingModel):
    """Labels voted by near samples, in a space learned from the label co-occurrence of samples."""

    shift: Shift = 1.0
    eigenvalues: Eigenvalues = "positive"

    def _embed(self, X: sparse.csr_matrix, Y: sparse.csr_matrix, seed: int, **data: Any) -> Embedded:  # noqa: ARG002
        return embed_by_sppmi(Y, self.dimension, self.shift, self.eigenvalues, seed), None
