"""MomentMatching: unseen labels predicted so that they occur with the seen ones as often as the counts say."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated

import numpy as np
import numpy.typing as npt
from scipy import sparse

from tacit.labels import positives
from tacit.latent.classifiers import Classifier, fit_classifiers
from tacit.latent.counts import Cooccurrence
from tacit.latent.matching import Samples, chosen_rows, matched_vectors, sample_scales
from tacit.latent.vectors import LabelVectors
from tacit.latent.zero_shot import ZeroShot
from tacit.parameters import OneOf, Range, Tune, document_parameters
from tacit.store.declared import Array, Inside


@document_parameters
@dataclass(kw_only=True, eq=False, repr=False)
class MomentMatching(ZeroShot):
    """Seen labels by their own classifiers, unseen ones by matching their co-occurrence with the seen.

    The weights w of an unseen label are chosen such that σ(Xw + b), summed over the samples of every seen label,
    gives the number of times both labels occur together.
    """

    link: Annotated[str, OneOf(("logistic", "linear")), "σ(Xw + b), or Xw in closed form"] = "logistic"
    matching_ridge: Annotated[
        float, Range(above=0), Tune(0.0003, 0.03), "penalty on the weights of unseen labels (logistic)"
    ] = 0.003
    linear_ridge: Annotated[float, Range(above=0), "penalty on the weights of unseen labels (linear)"] = 1.0
    n_steps: Annotated[int, Range(low=1), "steps of the solver (logistic); stopping early regularises"] = 40
    max_samples: Annotated[int, Range(low=1), "training samples at most on which moments are matched, and kept"] = 20000
    classifier: Classifier = "ridge"
    ridge: Annotated[float, Range(above=0), Tune(0.05, 20), "penalty on the weights of seen labels"] = 1.0
    normalize: Annotated[bool, "scale samples to unit length"] = True

    samples_: Annotated[Samples, Inside(("n_inputs", "n_features"))] = field(init=False)
    scales_: Annotated[npt.NDArray[np.float64], Array("float64", ("n_seen",))] = field(init=False)

    def _learn(self, X: sparse.csr_matrix, Y: sparse.csr_matrix, cooccurrence: Cooccurrence) -> LabelVectors:
        self.projection_ = None
        rows = chosen_rows(X.shape[0], self.max_samples, self.random_state)
        self.samples_ = Samples(X[rows], positives(Y[rows]))
        self.scales_ = sample_scales(self.samples_, cooccurrence)
        return fit_classifiers(X, Y, self.classifier, self.ridge, self.random_state, self.n_jobs)

    def _unseen_vectors(self, cooccurrence: Cooccurrence) -> LabelVectors:
        ridge = self.matching_ridge if self.link == "logistic" else self.linear_ridge
        return matched_vectors(self.samples_, self.scales_, cooccurrence, self.link, ridge, self.n_steps, self.n_jobs)
