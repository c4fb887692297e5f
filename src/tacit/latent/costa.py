"""COSTA: an unseen label is the mean of the seen ones, weighted by how often they occur together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar

import numpy as np
from scipy import sparse

from tacit.arrays import Floats64
from tacit.core.labels import label_counts
from tacit.core.parameters import OneOf, Range, Tune, document_parameters
from tacit.latent.counts import Cooccurrence, row_scales
from tacit.latent.label_vectors import Classifier, LabelVectors, fit_classifiers
from tacit.latent.lfm import FACTORS_AS_PRINTED, FactorModel
from tacit.latent.zero_shot import CalibrationFolds
from tacit.store.declared import Array, Inside


@document_parameters
@dataclass(kw_only=True, eq=False, repr=False)
class COSTA(FactorModel):
    """Vectors of unseen labels as weighted means of the vectors of seen ones (Mensink et al., 2014).

    With `base="latent"` these are the label factors of `LFM`, as in the ML-LCS paper; with `base="classifiers"` the
    weights of independent classifiers, as in the original.
    """

    base: Annotated[str, OneOf(("latent", "classifiers")), "what the means are taken of"] = "latent"
    classifier: Classifier = "ridge"
    ridge: Annotated[float, Range(above=0), Tune(0.05, 20), "penalty on the weights of ridge classifiers"] = 1.0
    calibration_folds: CalibrationFolds = 2

    PAPER: ClassVar[Mapping[str, Any]] = {**FACTORS_AS_PRINTED, "base": "latent"}

    seen_vectors_: Annotated[LabelVectors, Inside(("n_labels", "n_seen"))] = field(init=False)
    scales_: Annotated[Floats64, Array("float64", ("n_seen",))] = field(init=False)

    def _learn(self, X: sparse.csr_matrix, Y: sparse.csr_matrix, cooccurrence: Cooccurrence) -> LabelVectors:
        counts = label_counts(Y).astype(np.float64)
        self.scales_ = row_scales(cooccurrence, counts) * (counts > 0)
        if self.base == "latent":
            factors = self._train(self._problem(X, Y, None), cooccurrence.n_labels).factors
            self.seen_vectors_ = LabelVectors.of_factors(factors.W, factors.V)
        else:
            self.projection_ = None
            options = (self.classifier, self.ridge, self.random_state, self.n_jobs)
            self.seen_vectors_ = fit_classifiers(X, Y, *options)
        return self.seen_vectors_

    def _unseen_vectors(self, cooccurrence: Cooccurrence) -> LabelVectors:
        shares = cooccurrence.scaled(self.scales_).counts.toarray()
        totals = shares.sum(axis=0)
        shares /= np.where(totals > 0, totals, 1)
        seen = self.seen_vectors_
        return LabelVectors((seen.columns @ shares).astype(np.float32), (seen.intercepts @ shares).astype(np.float32))
