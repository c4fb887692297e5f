"""ExMLDS1: embed samples by factorising the SPPMI of their label co-occurrence (ExMLDS Algorithm 2)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from scipy import sparse

from tacit.embedding.label_sets import distinct_label_sets
from tacit.embedding.pipeline import Embedded, EmbeddingModel
from tacit.embedding.sppmi import Counts, factorise, sample_counts, sppmi
from tacit.parameters import OneOf, Range, Tune, document_parameters

Eigenvalues = Annotated[
    str, OneOf(("positive", "all")), "which eigenpairs of the indefinite SPPMI matrix to keep ('all': the SVD)"
]


@dataclass(frozen=True)
class SppmiEmbedder:
    """SPPMI of M = YYᵀ within a cluster, factorised."""

    dimension: int
    shift: float
    eigenvalues: str

    def __call__(self, X: sparse.csr_matrix, Y: sparse.csr_matrix, seed: int) -> Embedded:  # noqa: ARG002
        """Embed the samples; those with the same label set get the same vector."""
        sets = distinct_label_sets(Y)
        counts = Counts(sample_counts(sets.matrix), sets.counts.astype(np.float64))
        options = {"seed": seed, "positive": self.eigenvalues == "positive"}
        Z, _ = factorise(sppmi(counts, self.shift), counts.weights, self.dimension, **options)
        return Embedded(Z[sets.of_sample])


@document_parameters
@dataclass(kw_only=True, eq=False, repr=False)
class ExMLDS1(EmbeddingModel):
    """Labels voted by near samples, in a space learned from the label co-occurrence of samples."""

    shift: Annotated[
        float, Range(above=0), Tune(0.3, 10), "number of negative samples the factorisation stands for"
    ] = 1.0
    eigenvalues: Eigenvalues = "positive"

    def _fit(self, X: sparse.csr_matrix, Y: sparse.csr_matrix) -> None:
        self._fit_pipeline(X, Y, SppmiEmbedder(self.dimension, self.shift, self.eigenvalues))
