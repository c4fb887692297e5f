"""One linear classifier per label."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Annotated, ClassVar

import numpy as np
from scipy import sparse

from tacit.arrays import Floats32, Mask
from tacit.core.base import Estimator, Idf, Link, Normalize
from tacit.core.features import FeatureMatrix, dense_part, sparse_part
from tacit.core.parameters import OneOf, Range, Tune, document_parameters
from tacit.core.ranking import Ranking
from tacit.kernels.dense import Rows
from tacit.kernels.score import rank_linear
from tacit.numerics.classifiers import LOSSES, POSITIVES, ClassifierOptions, train_classifiers
from tacit.store.declared import Array, Csr, Sizes, Sometimes

_NO_MASK = np.empty(0, dtype=np.bool_)


@document_parameters
@dataclass(kw_only=True, eq=False, repr=False)
class OneVsAll(Estimator):
    """A linear classifier per label, trained by dual coordinate descent, with small weights pruned.

    The method of DiSMEC (Babbar and Schölkopf, 2017): an independent L2-regularised classifier per label. Weights near
    zero are dropped, so that models of large vocabularies stay small.
    """

    loss: Annotated[str, OneOf(tuple(LOSSES)), "loss function of the classifiers"] = ClassifierOptions.loss
    C: Annotated[
        float, Range(above=0), Tune(0.03, 3), "inverse strength of the regularisation; logistic needs 1 to 3"
    ] = ClassifierOptions.C
    positives: Annotated[
        str, OneOf(POSITIVES), "weight of positives, for missing labels: 1/propensity, unbiased loss estimate, or 1"
    ] = ClassifierOptions.positives
    A: Annotated[float, Range(low=0), "propensity: how fast it rises with a label's count"] = ClassifierOptions.A
    B: Annotated[float, Range(above=0), "propensity: added to a label's count"] = ClassifierOptions.B
    absent: Annotated[str, OneOf(("negative", "missing")), "absent entries of Y are negatives, or ignored"] = (
        ClassifierOptions.absent
    )
    bias: Annotated[float, Range(low=0), "value of the constant feature; 0 for no intercept"] = ClassifierOptions.bias
    prune: Annotated[float, Range(low=0), "weights smaller than this are dropped"] = ClassifierOptions.prune
    tolerance: Annotated[float, Range(low=0), "training stops when no margin changes by more in a pass"] = (
        ClassifierOptions.tolerance
    )
    max_passes: Annotated[int, Range(low=1), "maximum number of passes over samples"] = ClassifierOptions.max_passes
    idf: Idf = None
    normalize: Normalize = True

    takes_dense: ClassVar[bool] = True

    weights_: Annotated[sparse.csr_matrix, Csr("float32", ("n_features", "n_labels"))] = field(init=False)
    intercepts_: Annotated[Floats32, Array("float32", ("n_labels",))] = field(init=False)
    dense_weights_: Annotated[  # of dense features, whose rows in `weights_` are empty
        Floats32, Array("float32", ("n_dense", "n_labels")), Sometimes()
    ] = field(init=False)

    def problem(self, sizes: Sizes) -> tuple[str, str] | None:
        """Whether dense features have no weights."""
        if hasattr(self, "dense_weights_") == hasattr(self, "n_dense_in_"):
            return None
        return "dense_weights_", f"must hold the weights of {sizes.get('n_dense', 0)} dense features"

    def _fit(self, X: FeatureMatrix, Y: sparse.csr_matrix) -> None:
        parameters = {each.name: getattr(self, each.name) for each in fields(ClassifierOptions)}
        trained = train_classifiers(X, Y, ClassifierOptions(**parameters), self.random_state, self.n_jobs)
        self.weights_, self.intercepts_ = trained.weights, trained.intercepts
        self._keep_if(dense_weights_=trained.dense if len(trained.dense) else None)
        self.intercepts_[self.label_counts_ == 0] = self.unranked_score  # rank last

    @property
    def _link(self) -> Link | None:
        # Other weights of positives inflate the odds, so that scores are no log-odds.
        return "logistic" if self.loss == "logistic" and self.positives == "equal" else None

    def _rank(self, X: FeatureMatrix, k: int, allowed: Mask | None) -> Ranking:
        W, words = self.weights_, sparse_part(X)
        mask = _NO_MASK if allowed is None else allowed
        dense = getattr(self, "dense_weights_", None)
        samples = Rows.of(words), dense_part(X)
        return Ranking(*rank_linear(*samples, Rows.of(W), dense, self.intercepts_, mask, k))
