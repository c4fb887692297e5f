"""ExMLDS1: embed samples by factorising the SPPMI of their label co-occurrence (ExMLDS Algorithm 2)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
from scipy import sparse

from tacit.arrays import Floats
from tacit.core.features import FeatureMatrix
from tacit.core.parameters import OneOf, document_parameters
from tacit.embedding.neighbors import distinct_label_sets
from tacit.embedding.pipeline import PRINTED, Embedded, EmbeddingModel
from tacit.embedding.sppmi import Eigenvalues, Shift, factorise, factorise_unsymmetric, sample_counts, sppmi
from tacit.errors import ParameterError


def embed_by_sppmi(
    Y: sparse.csr_matrix, dimension: int, shift: float, eigenvalues: str, seed: int, objective: str = "sgns"
) -> Floats:
    """Factorise the SPPMI of M = YYᵀ; samples with the same label set get the same vector.

    With `objective` "nce", log(#(i, j)/#(j)) − log shift is factorised, the optimum of noise-contrastive estimation
    (ExMLDS, appendix A2).
    """
    sets = distinct_label_sets(Y)
    weights = sets.counts.astype(np.float64)
    similarities = sppmi(sample_counts(sets.matrix), weights, shift, objective)
    if objective == "nce":
        return factorise_unsymmetric(similarities, weights, dimension, seed=seed)[sets.of_sample]
    Z = factorise(similarities, weights, dimension, seed=seed, positive=eigenvalues == "positive")
    return Z[sets.of_sample]


@document_parameters
@dataclass(kw_only=True, eq=False, repr=False)
class ExMLDS1(EmbeddingModel):
    """Labels voted by near samples, in a space learned from the label co-occurrence of samples.

    Differs from the paper: positive eigenvalues only, ridge instead of ADMM, and votes by similarity in two clusters.
    `ExMLDS1.paper()` is Algorithms 1 and 2: the SVD, ADMM, and equal votes in the nearest cluster.
    """

    shift: Shift = 1.0
    eigenvalues: Eigenvalues = "positive"
    objective: Annotated[
        str, OneOf(("sgns", "nce")), "factorise PMI, or log-conditional probabilities (these need a shift below 1)"
    ] = "sgns"

    PAPER: ClassVar[Mapping[str, Any]] = {**PRINTED, "eigenvalues": "all"}

    def _fit(self, X: FeatureMatrix, Y: sparse.csr_matrix, **data: Any) -> None:
        if self.objective == "nce" and self.shift >= 1:
            raise ParameterError(
                "objective 'nce' needs a shift below 1, such as 0.001: logarithms of probabilities are at most 0, and "
                f"what is not above log(shift) is cut off; got {self.shift:g}"
            )
        super()._fit(X, Y, **data)

    def _embed(self, X: FeatureMatrix, Y: sparse.csr_matrix, seed: int, **data: Any) -> Embedded:  # noqa: ARG002
        return embed_by_sppmi(Y, self.dimension, self.shift, self.eigenvalues, seed, self.objective), None
