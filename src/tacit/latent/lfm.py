"""LFM: the latent factor model of labels without co-occurrence (LFM-SL in the ML-LCS paper)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
from scipy import sparse

from tacit.core.base import Idf, Link, Normalize
from tacit.core.parameters import OneOf, Range, Tune, document_parameters
from tacit.latent.counts import Cooccurrence
from tacit.latent.em import EMProblem, Trained, train
from tacit.latent.label_vectors import LabelVectors
from tacit.latent.model import Counts, Priors, with_constant
from tacit.latent.zero_shot import ZeroShot
from tacit.numerics.ridge import improving_solver

_REGRESSION_STEPS = 5  # of conjugate gradients from the last weights, where an exact solution is too costly

#: ML-LCS section 6: all precisions 1, K 80 % of all labels, 500 iterations. Scores are not calibrated.
_PRECISIONS = {"lambda_u": 1.0, "lambda_v": 1.0, "lambda_w": 1.0}
FACTORS_AS_PRINTED = {**_PRECISIONS, "n_factors": 0.8, "n_sweeps": 500, "calibration_folds": 0, "idf": False}


@dataclass(kw_only=True, eq=False, repr=False)
class FactorModel(ZeroShot):
    """Base of the models whose samples and labels have latent factors."""

    n_factors: Annotated[int | float, Range(above=0), Tune(30, 300), "K, or below 1 a fraction of all labels"] = 100
    n_sweeps: Annotated[int, Range(low=1), "sweeps of EM"] = 40
    lambda_u: Annotated[float, Range(above=0), Tune(0.1, 10), "precision of sample factors around Wᵀx"] = 1.0
    lambda_v: Annotated[float, Range(above=0), Tune(0.1, 10), "precision of the factors of seen labels"] = 1.0
    lambda_w: Annotated[float, Range(above=0), Tune(0.1, 10), "precision of the regression weights"] = 1.0
    absent: Annotated[str, OneOf(("negative", "missing")), "absent entries are negatives, or left out"] = "negative"
    idf: Idf = None
    normalize: Normalize = True

    def _priors(self) -> Priors:
        return Priors(self.lambda_u, self.lambda_v, 1.0, self.lambda_w)

    def _problem(self, X: sparse.csr_matrix, Y: sparse.csr_matrix, counts: Counts | None) -> EMProblem:
        X = with_constant(X)
        priors = self._priors()
        # Differs from the paper: Eq. 19 minimises Eq. 15 only for λ_u = 1.
        regress = improving_solver(X, priors.w / priors.u, _REGRESSION_STEPS)
        return EMProblem(X, Y, counts, priors, regress, self.absent, n_jobs=self.n_jobs)

    def _length(self, n_seen: int, n_labels: int) -> int:
        """K: at most the number of seen labels, beyond which factors are not identifiable, or a fraction of all."""
        if self.n_factors < 1:
            return max(1, round(self.n_factors * n_labels))
        return min(round(self.n_factors), max(2, n_seen))

    def _train(self, problem: EMProblem, n_labels: int, variational: bool = False) -> Trained:
        """Run EM, and set `projection_`; `n_labels` are seen or not."""
        K = self._length(problem.Y.shape[1], n_labels)
        trained = train(problem, K, self.n_sweeps, self.random_state, variational)
        self.projection_ = trained.factors.W[:-1].copy()
        return trained


@document_parameters
@dataclass(kw_only=True, eq=False, repr=False)
class LFM(FactorModel):
    """Logistic latent factors of samples and seen labels; takes co-occurrence and ignores it.

    Labels without a training example cannot be scored and rank last.
    """

    calibration_folds: Annotated[int, Range(low=0, high=0), "no unseen label has a score"] = 0

    PAPER: ClassVar[Mapping[str, Any]] = FACTORS_AS_PRINTED

    @property
    def _link(self) -> Link:
        return "logistic"

    def _learn(self, X: sparse.csr_matrix, Y: sparse.csr_matrix, cooccurrence: Cooccurrence) -> LabelVectors:
        factors = self._train(self._problem(X, Y, None), cooccurrence.n_labels).factors
        return LabelVectors.of_factors(factors.W, factors.V)

    def _unseen_vectors(self, cooccurrence: Cooccurrence) -> LabelVectors:
        n_labels = cooccurrence.n_labels
        columns = np.zeros((self._dimension(), n_labels), np.float32)
        return LabelVectors(columns, np.zeros(n_labels, np.float32)).silenced(np.ones(n_labels, np.bool_))
