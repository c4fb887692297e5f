"""One linear classifier per label."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Annotated

import numpy as np
import numpy.typing as npt
from scipy import sparse

from tacit.base import Estimator, Link, Mask
from tacit.kernels.score import rank_linear
from tacit.numerics.classifiers import LOSSES, POSITIVES, ClassifierOptions, train_classifiers
from tacit.parameters import OneOf, Range, Tune, document_parameters
from tacit.ranking import Ranking
from tacit.store.declared import Array, Csr

_NO_MASK = np.empty(0, dtype=np.bool_)


@document_parameters
@dataclass(kw_only=True, eq=False, repr=False)
class OneVsAll(Estimator):
    """A linear classifier per label, trained by dual coordinate descent, with small weights pruned.

    The recipe of DiSMEC (Babbar and Schölkopf, 2017): an L2-regularised classifier for every label on its own,
    whose many weights near zero are dropped, so that models of large vocabularies stay small.
    """

    loss: Annotated[str, OneOf(tuple(LOSSES)), "what a wrong margin costs"] = ClassifierOptions.loss
    C: Annotated[
        float, Range(above=0), Tune(0.03, 3), "cost of the loss against the penalty; logistic wants 1 to 3"
    ] = ClassifierOptions.C
    positives: Annotated[
        str, OneOf(POSITIVES), "what positives count, as many are missing: 1/propensity, an unbiased estimate, or 1"
    ] = ClassifierOptions.positives
    A: Annotated[float, Range(low=0), "how fast propensity grows with a label's frequency"] = ClassifierOptions.A
    B: Annotated[float, Range(above=0), "shift of that growth"] = ClassifierOptions.B
    absent: Annotated[
        str, OneOf(("negative", "missing")), "what labels without an entry are: negatives, or left out"
    ] = ClassifierOptions.absent
    bias: Annotated[float, Range(low=0), "value of the constant feature; 0 for no intercept"] = ClassifierOptions.bias
    prune: Annotated[float, Range(low=0), "weights smaller than this are dropped"] = ClassifierOptions.prune
    tolerance: Annotated[float, Range(low=0), "training ends when no margin moves by more in a pass"] = (
        ClassifierOptions.tolerance
    )
    max_passes: Annotated[int, Range(low=1), "passes over the samples at most"] = ClassifierOptions.max_passes
    normalize: Annotated[bool, "scale samples to unit length"] = True

    weights_: Annotated[sparse.csr_matrix, Csr("float32", ("n_features", "n_labels"))] = field(init=False)
    intercepts_: Annotated[npt.NDArray[np.float32], Array("float32", ("n_labels",))] = field(init=False)

    def _fit(self, X: sparse.csr_matrix, Y: sparse.csr_matrix) -> None:
        parameters = {each.name: getattr(self, each.name) for each in fields(ClassifierOptions)}
        trained = train_classifiers(X, Y, ClassifierOptions(**parameters), self.random_state, self.n_jobs)
        self.weights_, self.intercepts_ = trained.weights, trained.intercepts
        self.intercepts_[self.label_counts_ == 0] = self.unranked_score  # rank last

    @property
    def _link(self) -> Link | None:
        # Positives that count more than negatives raise the odds.
        return "logistic" if self.loss == "logistic" and self.positives == "equal" else None

    def _rank(self, X: sparse.csr_matrix, k: int, allowed: Mask | None) -> Ranking:
        W = self.weights_
        mask = _NO_MASK if allowed is None else allowed
        return Ranking(
            *rank_linear(X.indptr, X.indices, X.data, W.indptr, W.indices, W.data, self.intercepts_, mask, k)
        )
