"""MomentMatching: unseen labels predicted so that they occur with the seen ones as often as the counts say.

The weights w of an unseen label are chosen such that σ(Xw + b), summed over the samples of every seen label, gives the
number of times both labels occur together.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Any, NamedTuple

import numpy as np
from scipy import sparse

from tacit.arrays import Floats, Floats32, Floats64, Ids
from tacit.core.base import Idf, Normalize
from tacit.core.features import Features, stack_rows
from tacit.core.labels import label_counts, positives
from tacit.core.parameters import Range, Tune, document_parameters
from tacit.latent.counts import Cooccurrence, row_scales
from tacit.latent.label_vectors import Classifier, LabelVectors, fit_classifiers
from tacit.latent.zero_shot import ZeroShot
from tacit.numerics.lbfgs import minimize_columns
from tacit.numerics.logistic import sigmoid
from tacit.numerics.rows import widened
from tacit.runtime.tasks import row_blocks, run_tasks
from tacit.store.declared import Array, Csr

_LABELS_PER_TASK = 64
_INTERCEPT = 3.0  # value of the constant feature: the penalty on an intercept is 1/9 of that on a weight


@dataclass(frozen=True, eq=False)
class Samples:
    """Training samples on which moments are matched: features and seen labels."""

    X: Annotated[Any, Csr("float32", ("n_rows", "n_features"))]  # in memory, latent features are an array
    Y: Annotated[sparse.csr_matrix, Csr("float32", ("n_rows", "n_seen"))]
    dense: Annotated[Floats32 | None, Array("float32", ("n_rows", "n_kept_dense"))] = None  # features absent from X

    def __post_init__(self) -> None:
        if isinstance(self.X, Features):
            object.__setattr__(self, "dense", self.X.rows32())
            object.__setattr__(self, "X", widened(self.X.sparse, self.X.shape[1]))

    @property
    def features(self) -> Any:
        """Both parts of the features."""
        if self.dense is None:
            return self.X
        words = sparse.csr_matrix(self.X[:, : self.X.shape[1] - self.dense.shape[1]])
        return Features(words, self.dense, 1.0, np.ones(len(self.dense), np.float32))


class Moments(NamedTuple):
    """Target counts on the scale of the samples, and the weight of each squared difference."""

    targets: Floats32
    weights: Floats32


def moments_of(samples: Samples, scales: Floats64, cooccurrence: Cooccurrence) -> Moments:
    """Targets from counts, each weighted by the inverse number of positives of its seen label."""
    counts = label_counts(samples.Y).astype(np.float64)
    targets, observed = cooccurrence.scaled(scales).dense()
    inverse = np.divide(1, counts, out=np.zeros_like(counts), where=counts > 0).astype(np.float32)
    return Moments(targets, inverse[:, None] * observed)


def match_logistic(samples: Samples, moments: Moments, ridge: float, n_steps: int) -> Floats32:
    """Min ½ Σ weight (Y_sᵀσ(Xw + b) − m)² + ½ ridge ‖w‖² by L-BFGS; the last row of the result is b."""
    X, Y = samples.features, samples.Y
    X_by_feature = X.T.tocsr() if sparse.issparse(X) else X.T
    Y_by_label = Y.T.tocsr()
    targets, weights = moments.targets, moments.weights
    constant, penalty = np.float32(_INTERCEPT), np.float32(ridge)

    def objective(point: Floats, columns: Ids) -> tuple[Floats, Floats]:
        predicted = sigmoid(X @ point[:-1] + constant * point[-1])
        off = Y_by_label @ predicted - targets[:, columns]
        weighted = weights[:, columns] * off
        value = 0.5 * (np.einsum("ij,ij->j", weighted, off) + penalty * np.einsum("ij,ij->j", point, point))
        slope = (Y @ weighted) * predicted * (1 - predicted)
        gradient = np.vstack([X_by_feature @ slope, constant * slope.sum(axis=0, keepdims=True)])
        return value.astype(np.float64), gradient + penalty * point

    start = np.zeros((X.shape[1] + 1, targets.shape[1]), np.float32)
    rates = np.maximum(targets.sum(axis=0), 0.5) / (label_counts(samples.Y).sum() + 1)
    start[-1] = np.log(rates) / constant
    point = minimize_columns(objective, start, n_steps).astype(np.float32)
    point[-1] *= constant
    return point


def matched_vectors(
    samples: Samples, scales: Floats64, cooccurrence: Cooccurrence, ridge: float, n_steps: int, n_jobs: int | None
) -> LabelVectors:
    """Vectors of labels from their counts, in blocks of labels."""
    blocks = [
        {"moments": moments_of(samples, scales, cooccurrence.columns(slice(*block)))}
        for block in row_blocks(cooccurrence.n_labels, _LABELS_PER_TASK)
    ]
    options: dict[str, Any] = {"n_steps": n_steps, "samples": samples, "ridge": ridge}
    parts = run_tasks(match_labels, blocks, n_jobs=n_jobs, what="blocks of labels", **options)
    return LabelVectors(
        np.hstack([part.columns for part in parts]), np.concatenate([part.intercepts for part in parts])
    )


def match_labels(samples: Samples, moments: Moments, ridge: float, n_steps: int) -> LabelVectors:
    """A task: vectors of some labels."""
    point = match_logistic(samples, moments, ridge, n_steps)
    return LabelVectors(np.ascontiguousarray(point[:-1]), point[-1].copy())  # as a checkpoint returns them


def sample_scales(samples: Samples, cooccurrence: Cooccurrence) -> Floats64:
    """Factors that bring the rows of the counts to the scale of the samples."""
    return row_scales(cooccurrence, label_counts(samples.Y).astype(np.float64))


def joined_samples(kept: Samples | None, new: Samples, n_before: int, at_most: int, seed: int | None) -> Samples:
    """A uniform random sample of all samples so far: `new` ones and `n_before` earlier ones, which `kept` samples."""
    if kept is None:
        return _drawn(new, at_most, np.random.default_rng(seed))
    if kept.X.shape[0] + new.X.shape[0] > at_most:
        rng = np.random.default_rng(None if seed is None else [seed, n_before])
        n_new = int(rng.hypergeometric(new.X.shape[0], n_before, min(at_most, n_before + new.X.shape[0])))
        kept, new = _drawn(kept, at_most - n_new, rng), _drawn(new, n_new, rng)
    return Samples(stack_rows([kept.features, new.features]), sparse.vstack([kept.Y, new.Y], format="csr"))


def _drawn(samples: Samples, at_most: int, rng: np.random.Generator) -> Samples:
    if samples.X.shape[0] <= at_most:
        return samples
    rows = np.sort(rng.permutation(samples.X.shape[0])[:at_most])
    return Samples(samples.features[rows], samples.Y[rows])


@document_parameters
@dataclass(kw_only=True, eq=False, repr=False)
class MomentMatching(ZeroShot):
    """Seen labels by their own classifiers, unseen ones by matching their co-occurrence with the seen ones."""

    matching_ridge: Annotated[float, Range(above=0), Tune(0.0003, 0.03), "penalty on weights of unseen labels"] = 0.003
    n_steps: Annotated[int, Range(low=1), "steps of the solver; stopping early regularises"] = 40
    max_samples: Annotated[int, Range(low=1), "largest number of samples for matching, which are kept"] = 20000
    classifier: Classifier = "ridge"
    ridge: Annotated[float, Range(above=0), Tune(0.05, 20), "penalty on the weights of seen labels"] = 1.0
    idf: Idf = None
    normalize: Normalize = True

    samples_: Samples = field(init=False)
    scales_: Annotated[Floats64, Array("float64", ("n_seen",))] = field(init=False)

    def _learn(self, X: sparse.csr_matrix, Y: sparse.csr_matrix, cooccurrence: Cooccurrence) -> LabelVectors:
        self.projection_ = None
        self.samples_ = joined_samples(None, Samples(X, positives(Y)), 0, self.max_samples, self.random_state)
        self.scales_ = sample_scales(self.samples_, cooccurrence)
        return fit_classifiers(X, Y, self.classifier, self.ridge, self.random_state, self.n_jobs)

    def _unseen_vectors(self, cooccurrence: Cooccurrence) -> LabelVectors:
        options = (self.matching_ridge, self.n_steps, self.n_jobs)
        return matched_vectors(self.samples_, self.scales_, cooccurrence, *options)
