"""ExMLDS1: embed samples by factorising the SPPMI of their label co-occurrence (ExMLDS Algorithm 2)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from tacit.arrays import Floats
from tacit.core.features import FeatureMatrix
from tacit.core.parameters import document_parameters
from tacit.embedding.neighbors import distinct_label_sets
from tacit.embedding.pipeline import PRINTED, Embedded, EmbeddingModel
from tacit.embedding.sppmi import Eigenvalues, Shift, factorise, sample_counts, sppmi


def embed_by_sppmi(Y: sparse.csr_matrix, dimension: int, shift: float, eigenvalues: str, seed: int) -> Floats:
    """Factorise the SPPMI of M = YYᵀ; samples with the same label set get the same vector."""
    sets = distinct_label_sets(Y)
    weights = sets.counts.astype(np.float64)
    similarities = sppmi(sample_counts(sets.matrix), weights, shift)
    return factorise(similarities, weights, dimension, seed=seed, positive=eigenvalues == "positive")[sets.of_sample]


@document_parameters
@dataclass(kw_only=True, eq=False, repr=False)
class ExMLDS1(EmbeddingModel):
    """Labels voted by near samples, in a space learned from the label co-occurrence of samples.

    Differs from the paper: positive eigenvalues only, ridge instead of ADMM, and votes by similarity in two clusters.
    `ExMLDS1.paper()` is Algorithms 1 and 2: the SVD, ADMM, and equal votes in the nearest cluster.
    """

    shift: Shift = 1.0
    eigenvalues: Eigenvalues = "positive"

    PAPER: ClassVar[Mapping[str, Any]] = {**PRINTED, "eigenvalues": "all"}

    def _embed(self, X: FeatureMatrix, Y: sparse.csr_matrix, seed: int, **data: Any) -> Embedded:  # noqa: ARG002
        return embed_by_sppmi(Y, self.dimension, self.shift, self.eigenvalues, seed), None
