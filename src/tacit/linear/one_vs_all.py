"""One linear classifier per label."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated

import numpy as np
import numpy.typing as npt
from scipy import sparse

from tacit.base import Estimator, Link, Mask
from tacit.kernels.dual import label_signs, prune, train_block
from tacit.kernels.score import rank_linear
from tacit.linear.objective import LOSSES, POSITIVES, Objective, objective_of
from tacit.parameters import OneOf, Range, Tune, document_parameters
from tacit.propensity import propensities_from_counts
from tacit.ranking import Ranking
from tacit.store.declared import Array, Csr
from tacit.tasks import run_tasks, task_seeds

LABELS_PER_TASK = 64  # side by side in memory: one walk over a sample's features serves them all

_NO_MASK = np.empty(0, dtype=np.bool_)


@document_parameters
@dataclass(kw_only=True, eq=False, repr=False)
class OneVsAll(Estimator):
    """A linear classifier per label, trained by dual coordinate descent, with small weights pruned.

    The recipe of DiSMEC (Babbar and Schölkopf, 2017): an L2-regularised classifier for every label on its own,
    whose many weights near zero are dropped, so that models of large vocabularies stay small.
    """

    loss: Annotated[str, OneOf(tuple(LOSSES)), "what a wrong margin costs"] = "squared_hinge"
    C: Annotated[
        float, Range(above=0), Tune(0.03, 3), "cost of the loss against the penalty; logistic wants 1 to 3"
    ] = 0.25
    positives: Annotated[
        str, OneOf(POSITIVES), "what positives count, as many are missing: 1/propensity, an unbiased estimate, or 1"
    ] = "propensity"
    A: Annotated[float, Range(low=0), "how fast propensity grows with a label's frequency"] = 0.55
    B: Annotated[float, Range(above=0), "shift of that growth"] = 1.5
    absent: Annotated[
        str, OneOf(("negative", "missing")), "what labels without an entry are: negatives, or left out"
    ] = "negative"
    bias: Annotated[float, Range(low=0), "value of the constant feature; 0 for no intercept"] = 1.0
    prune: Annotated[float, Range(low=0), "weights smaller than this are dropped"] = 0.01
    tolerance: Annotated[float, Range(low=0), "training ends when no margin moves by more in a pass"] = 0.03
    max_passes: Annotated[int, Range(low=1), "passes over the samples at most"] = 50
    normalize: Annotated[bool, "scale samples to unit length"] = True

    weights_: Annotated[sparse.csr_matrix, Csr("float32", ("n_features", "n_labels"))] = field(init=False)
    intercepts_: Annotated[npt.NDArray[np.float32], Array("float32", ("n_labels",))] = field(init=False)

    def _fit(self, X: sparse.csr_matrix, Y: sparse.csr_matrix) -> None:
        by_label = Y.tocsc()
        blocks = [
            {"labels": np.arange(start, min(start + LABELS_PER_TASK, Y.shape[1])), "seed": seed}
            for start, seed in zip(
                range(0, Y.shape[1], LABELS_PER_TASK), task_seeds(self.random_state, Y.shape[1]), strict=False
            )
        ]
        trained = run_tasks(
            _train_labels,
            blocks,
            n_jobs=self.n_jobs,
            what="blocks of labels",
            X=X,
            Y=by_label,
            objective=objective_of(
                self.loss,
                self.positives,
                self.C,
                propensities_from_counts(self.label_counts_, self.n_samples_, self.A, self.B),
            ),
            options=_Options(self.absent == "missing", self.bias, self.prune, self.tolerance, self.max_passes),
        )
        self.weights_ = sparse.hstack([block.weights for block in trained], format="csr")
        self.intercepts_ = np.concatenate([block.intercepts for block in trained])
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


@dataclass(frozen=True)
class _Options:
    """What all blocks share."""

    leaves_absent_out: bool
    bias: float
    prune: float
    tolerance: float
    max_passes: int


@dataclass(frozen=True)
class LabelBlock:
    """Classifiers of some consecutive labels: weights (features × labels) and intercepts."""

    weights: sparse.csr_matrix
    intercepts: npt.NDArray[np.float32]


def _train_labels(
    X: sparse.csr_matrix,
    Y: sparse.csc_matrix,
    labels: npt.NDArray[np.int64],
    objective: Objective,
    options: _Options,
    seed: int,
) -> LabelBlock:
    absent = 0 if options.leaves_absent_out else -1
    signs = label_signs(Y.indptr, Y.indices, Y.data, labels, X.shape[0], absent)
    weights, *_ = train_block(
        X.indptr,
        X.indices,
        X.data,
        X.shape[1],
        signs,
        objective.positive_costs[labels],
        objective.positive_targets[labels],
        objective.negative_cost,
        options.bias,
        objective.loss,
        options.tolerance,
        options.max_passes,
        seed,
    )
    indptr, indices, data = prune(weights, options.prune)
    kept = sparse.csr_matrix((data, indices, indptr), shape=(X.shape[1], len(labels)))
    return LabelBlock(kept, np.float32(options.bias) * weights[-1])
