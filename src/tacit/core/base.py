"""The base class of all models: checked input, ranking, label sets, and saving."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, TypeAlias, get_args

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.special import expit
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError as SklearnNotFittedError
from sklearn.utils import Tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from tacit.arrays import Floats32, Mask
from tacit.core.checks import as_count
from tacit.core.features import FeatureMatrix, Features, read_features, sparse_part
from tacit.core.labels import (
    Container,
    Names,
    label_counts,
    label_mask,
    label_sets,
    labels_in_order,
    positives,
    read_labels,
)
from tacit.core.parameters import OneOf, Range, check_parameters
from tacit.core.ranking import NO_LABEL, NO_SCORE, Ranking
from tacit.errors import DataError, ParameterError, TacitError
from tacit.evaluation.metrics import SCORE_METRIC, evaluate
from tacit.evaluation.propensity import propensities_from_counts
from tacit.kernels.score import fill_open_places
from tacit.numerics.idf import holds_counts, inverse_document_frequencies, samples_with, weighted_columns
from tacit.numerics.rows import unit_rows
from tacit.runtime.tasks import fitting, row_blocks, run_tasks
from tacit.store import folder
from tacit.store.declared import NAMES, Array, Size, Sometimes
from tacit.store.packing import Stored

if TYPE_CHECKING:
    from typing_extensions import Self

Link: TypeAlias = Literal["identity", "logistic"]
Normalize = Annotated[bool, "scale samples to unit length"]
Idf = Annotated[
    bool | None,
    "weight features by inverse document frequency; None: if training values are counts or, in trees, flags",
]

_ROWS_PER_TASK = 1024  # of a ranking
_THRESHOLD_SAMPLE = 2000  # training rows that set the threshold
_DENSE_AT_A_TIME = 1 << 23  # scores that are put into columns together


@contextmanager
def within_range() -> Iterator[None]:
    """Report sums that overflowed, which linear algebra cannot solve, as an error of the data."""
    try:
        yield
    except np.linalg.LinAlgError as error:
        raise DataError(
            "training needs numbers that can be squared and summed; features or parameters are too large: set "
            f"normalize=True, or scale the features to about 1 ({error})"
        ) from error


class NotFittedError(TacitError, SklearnNotFittedError):  # type: ignore[misc]
    """A model was used for predictions before it was fitted or loaded."""


@dataclass(kw_only=True, eq=False, repr=False)
class Estimator(Stored, BaseEstimator):  # type: ignore[misc]
    """Base of all models.

    A model is a dataclass: parameters are its fields with defaults, fitted attributes its fields with
    ``init=False``. It implements `_fit` and `_rank`; everything else is here.
    """

    random_state: Annotated[int | None, Range(low=0), "seed; the same seed gives the same model"] = 0
    n_jobs: Annotated[
        int | None, Range(other_than=0), "number of parallel tasks (-1: all cores); never changes the model"
    ] = None

    classes_: Annotated[Names, Array(NAMES, ("n_labels",), is_filled=True, differ=True)] = field(init=False)
    n_features_in_: Annotated[int, Range(low=1), Size("n_features")] = field(init=False)
    label_counts_: Annotated[npt.NDArray[np.int64], Array("int64", ("n_labels",), low="0")] = field(init=False)
    n_samples_: Annotated[int, Range(low=1), Size("n_samples")] = field(init=False)
    threshold_: float = field(init=False)
    container_: Annotated[str, OneOf(get_args(Container))] = field(init=False)
    n_dense_in_: Annotated[int, Range(low=1), Size("n_dense"), Sometimes()] = field(init=False)
    dense_weight_: Annotated[float, Range(low=0), Sometimes()] = field(init=False)
    idf_: Annotated[Floats32 | None, Array("float32", ("n_features",))] = field(init=False, default=None)

    weights_flags: ClassVar[bool] = False  # whether ``idf=None`` weights features that are only 0 and 1
    takes_dense: ClassVar[bool] = False  # whether `_fit` and `_rank` take `Features`; otherwise they get a CSR matrix
    unranked_score: ClassVar[float] = float(np.finfo(np.float32).min)
    PAPER: ClassVar[Mapping[str, Any]] = {}  # parameters of the method as its paper prints it
    _only_ranks = False  # whether no threshold is needed

    @classmethod
    def paper(cls, **overrides: Any) -> Self:
        """The model as its paper prints it, with the parameters `PAPER`; `overrides` take precedence."""
        if not cls.PAPER:
            raise ParameterError(f"{cls.__name__} has no settings of a paper; use {cls.__name__}(...)")
        return cls(**{**cls.PAPER, **overrides})

    @abstractmethod
    def _fit(self, X: FeatureMatrix, Y: sparse.csr_matrix) -> None:
        """Set the model's own fitted attributes from checked features and labels."""

    @abstractmethod
    def _rank(self, X: FeatureMatrix, k: int, allowed: Mask | None) -> Ranking:
        """Rank `k` allowed labels (there are at least `k`) for checked features.

        Places left open with -1 are filled with the most frequent other labels, at `unranked_score`.
        """

    @property
    def _link(self) -> Link | None:
        """The map from scores to probabilities: identity, the logistic function, or None if there is none."""
        return None

    def fit(self, X: Any, Y: Any, *, label_names: Sequence[Any] | None = None) -> Self:
        """Learn from samples and their labels; returns the model itself.

        Parameters
        ----------
        X : CSR, CSC or dense matrix of shape (n_samples, n_features), or `tacit.Features`
            Features.
        Y : list of lists of labels, sparse matrix or array of shape (n_samples, n_labels)
            Labels. In a sparse matrix a stored 1 is a positive, a stored 0 a known negative and an absent
            entry unknown; a dense array has NaN for unknown.
        label_names : sequence of str or int, optional
            Names in column order; they become `classes_`.
        """
        return self._fit_checked(X, Y, label_names)

    def _fit_to_rank(self, X: Any, Y: Any) -> Self:
        """`fit` for a model that only ranks, as in cross-validation: without a threshold, which takes time to find."""
        self._only_ranks = True
        try:
            return self.fit(X, Y)
        finally:
            del self._only_ranks

    def _fit_checked(self, X: Any, Y: Any, label_names: Sequence[Any] | None, **data: Any) -> Self:
        """Check everything, then `_fit` with the `data` that some models take in addition to X and Y."""
        check_parameters(self)
        labels = read_labels(Y, label_names, known_negatives=getattr(self, "absent", "negative") == "missing")
        checked = self._checked(X, is_fit=True)
        check_samples(checked, labels.matrix)
        counts = label_counts(labels.matrix)
        if not counts.any():
            raise DataError("Y has no positive label anywhere; there is nothing to learn")
        features = self._scaled(checked, is_fit=True)
        self.classes_ = labels.names
        self.container_ = labels.container
        self.label_counts_ = counts
        self.n_samples_ = int(features.shape[0])
        with within_range(), fitting(type(self).__name__, self.stored_parameters(), features, labels.matrix, data):
            self._fit(features, labels.matrix, **data)
        self.threshold_ = np.nan if self._only_ranks else self._matching_threshold(features, positives(labels.matrix))
        return self

    def _features(self, X: Any) -> FeatureMatrix:
        return self._scaled(self._checked(X))

    def _checked(self, X: Any, *, is_fit: bool = False) -> FeatureMatrix:
        n_dense = 0 if is_fit else getattr(self, "n_dense_in_", 0)
        features = read_features(X, None if is_fit else 0 < n_dense == self.n_features_in_)
        if not is_fit and (isinstance(X, Features) or 0 < n_dense < self.n_features_in_):
            self._check_parts(features)
        nameless = isinstance(X, Features | sparse.csr_matrix) and not hasattr(self, "feature_names_in_")
        if is_fit or not nameless or features.shape[1] != self.n_features_in_:  # it costs as much as ranking a row
            try:
                validate_data(self, X, reset=is_fit, skip_check_array=True)
            except ValueError as error:
                raise DataError(str(error)) from error
        if is_fit:
            dense, weight = (features.dense.shape[1], features.weight) if isinstance(features, Features) else (0, 0.0)
            self._keep_if(n_dense_in_=dense or None, dense_weight_=weight if dense else None)
        if self.takes_dense or not isinstance(features, Features):
            return features
        return (features.balanced() if self._normalizes() else features).tocsr()

    def _normalizes(self) -> bool:
        return bool(getattr(self, "normalize", False))

    def _check_parts(self, X: FeatureMatrix) -> None:
        trained = (self.n_features_in_, getattr(self, "n_dense_in_", 0), getattr(self, "dense_weight_", 0.0))
        given = (X.shape[1], X.dense.shape[1], X.weight) if isinstance(X, Features) else (X.shape[1], 0, 0.0)
        if given != trained:
            raise DataError(
                "X must have {} features, {} of them dense with the weight {:g}, as in training; got {}, {} and {:g}; "
                "pass tacit.Features(sparse, dense, weight) with the same parts".format(*trained, *given)
            )

    def _keep_if(self, **values: Any) -> None:
        for name, value in values.items():
            if value is not None:
                setattr(self, name, value)
            else:
                self.__dict__.pop(name, None)

    def _scaled(self, X: FeatureMatrix, *, is_fit: bool = False) -> FeatureMatrix:
        if is_fit:
            self.idf_ = self._weights(X)
        words = sparse_part(X)
        if self.idf_ is not None:
            words = weighted_columns(words, self.idf_)
        if not isinstance(X, Features):
            return unit_rows(words) if self._normalizes() else words.astype(np.float32, copy=False)
        weighted = replace(X, sparse=words)
        return weighted.balanced() if self._normalizes() else weighted

    def _weights(self, X: FeatureMatrix) -> Floats32 | None:
        """Weights of the features, 1 for dense ones; None where `idf`, or without it the rule, asks for none."""
        asked = getattr(self, "idf", False)
        words = sparse_part(X)
        if asked is None:
            asked = words.nnz > 0 and holds_counts(words) and (self.weights_flags or words.data.max() > 1)
        if not asked:
            return None
        weights = inverse_document_frequencies(samples_with(words), X.shape[0])
        return np.pad(weights, (0, X.shape[1] - len(weights)), constant_values=1)

    def _matching_threshold(self, X: FeatureMatrix, Y: sparse.csr_matrix) -> float:
        """The threshold at which a sample of the training rows gets as many labels as it has in truth."""
        sample = np.unique(np.linspace(0, X.shape[0] - 1, _THRESHOLD_SAMPLE).astype(np.intp))
        X, Y = X[sample], Y[sample]
        per_row = np.diff(Y.indptr)
        k = int(min(Y.shape[1], 2 * per_row.max() + 10))
        learned = None if Y.shape[1] == len(self.classes_) else np.arange(len(self.classes_)) < Y.shape[1]
        scores = self._ranked(X, k, learned, is_near=True).scores
        ordered = np.sort(scores[np.isfinite(scores)])[::-1]
        if not len(ordered):
            return np.inf
        n_labels = min(int(per_row.sum()), len(ordered) - 1)
        between = ordered[[max(n_labels - 1, 0), n_labels]].mean(dtype=np.float64)
        return float(np.float32(between))

    def rank(self, X: Any, k: int = 5, include: Any = None, exclude: Any = None) -> Ranking:
        """The `k` best labels of each sample; places beyond the labels available hold -1 and -inf.

        `include` and `exclude` are label names or column numbers: rank only these labels, rank none of these.
        """
        self._check_fitted()
        k = as_count(k, "k")
        features = self._features(X)
        allowed = label_mask(self.classes_, include, exclude)
        available = len(self.classes_) if allowed is None else int(allowed.sum())
        return self._ranked(features, min(k, available), allowed).resized(k)

    def _ranked(self, X: FeatureMatrix, k: int, allowed: Mask | None, *, is_near: bool = False) -> Ranking:
        """Rank in tasks; `is_near`: so few rows that they are not worth sending the model to a cluster."""
        if k == 0 or X.shape[0] == 0:
            return Ranking(np.empty((X.shape[0], k), np.int32), np.empty((X.shape[0], k), np.float32))
        if X.shape[0] <= _ROWS_PER_TASK:
            return self._rank_filled(X, k, allowed)
        blocks = [{"rows": slice(*block)} for block in row_blocks(X.shape[0], _ROWS_PER_TASK)]
        shared = {"model": self, "X": X, "k": k, "allowed": allowed}
        parts = run_tasks(_rank_rows, blocks, n_jobs=self.n_jobs, what="rows", keep=not is_near, **shared)
        return Ranking.concatenate(parts)

    def _rank_filled(self, X: FeatureMatrix, k: int, allowed: Mask | None) -> Ranking:
        ranking = self._rank(X, k, allowed)
        if (ranking.labels[:, -1] == NO_LABEL).any():
            order = np.argsort(-self.label_counts_, kind="stable").astype(np.int32)  # the most frequent first
            others = order if allowed is None else order[allowed[order]]
            fill_open_places(ranking.labels, ranking.scores, others, self.unranked_score)
        return ranking

    def decision_function(self, X: Any) -> npt.NDArray[np.float32]:
        """Dense float32 scores of all labels, in the order of `classes_`, for tools that need them."""
        self._check_fitted()
        features, n_labels = self._features(X), len(self.classes_)
        scores = np.empty((features.shape[0], n_labels), np.float32)
        for start, stop in row_blocks(len(scores), max(1, _DENSE_AT_A_TIME // n_labels)):
            scores[start:stop] = self._ranked(features[start:stop], n_labels, None).to_dense()
        return scores

    def _has_probabilities(self) -> bool:
        if self._link is None:
            raise ParameterError(
                f"the scores of {type(self).__name__} with these parameters are not probabilities; see "
                "docs/metrics.md, or let a Tagger calibrate them"
            )
        return True

    @available_if(_has_probabilities)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any, k: int | None = None) -> sparse.csr_matrix:
        """Probabilities of the `k` most probable labels of each sample; by default of all.

        Only models whose scores are probabilities or log-odds have this method; docs/metrics.md lists them. Returns a
        CSR matrix with columns in the order of `classes_`, which stores the labels of ``rank(X, k)``.
        """
        self._check_fitted()
        features, n_labels = self._features(X), len(self.classes_)
        n_places = n_labels if k is None else min(as_count(k, "k"), n_labels)
        ranking = self._ranked(features, n_places, None)
        probable = expit(ranking.scores) if self._link == "logistic" else np.clip(ranking.scores, 0, 1)
        return Ranking(ranking.labels, probable).to_csr(n_labels)

    def score(self, X: Any, Y: Any) -> float:
        """nDCG@5 of the ranking of some samples, which scikit-learn's searches maximise unless given `scoring`.

        Lists and data frames are matched with `classes_` by name, other Y by column. A name in a list that the model
        does not know counts as a label not found.
        """
        self._check_fitted()
        features = self._features(X)
        truth = labels_in_order(Y, self.classes_, getattr(self, "seen_names_", self.classes_))
        check_samples(features, truth)
        k = int(SCORE_METRIC.partition("@")[2])
        return evaluate(self._ranked(features, min(k, len(self.classes_)), None), truth, ks=(k,))[SCORE_METRIC]

    def predict(self, X: Any) -> Any:
        """Label sets: the labels that score above `threshold_`, in the form the training labels had."""
        self._check_fitted()
        features = self._features(X)
        n_labels = len(self.classes_)
        k = min(n_labels, 64)
        ranking = self._ranked(features, k, None)
        while k < n_labels and len(ranking) and (ranking.scores[:, -1] > self.threshold_).any():
            k = min(n_labels, 4 * k)
            ranking = self._ranked(features, k, None)
        is_label = ranking.scores > self.threshold_
        chosen = Ranking(np.where(is_label, ranking.labels, NO_LABEL), np.where(is_label, 1, NO_SCORE))
        return label_sets(chosen.to_csr(n_labels), self.classes_, self.container_)  # type: ignore[arg-type]

    def propensities_for(self, n_labels: int) -> npt.NDArray[np.float64]:
        """Propensities from the training counts; labels beyond the model's own have count 0."""
        return propensities_from_counts(self.counts_for(n_labels), self.n_samples_)

    def counts_for(self, n_labels: int) -> npt.NDArray[np.int64]:
        """Training positives of each label; labels beyond the model's own have none."""
        return np.pad(self.label_counts_, (0, n_labels - len(self.label_counts_)))

    def _check_fitted(self) -> None:
        try:
            check_is_fitted(self)
        except SklearnNotFittedError:
            raise NotFittedError(f"this {type(self).__name__} is not fitted; call fit or load a model") from None

    def save(self, path: str | Path) -> None:
        """Write the model to the folder `path`; read it back with `tacit.load_model`."""
        self._check_fitted()
        folder.save(self, path)

    def stored_parameters(self) -> dict[str, Any]:
        """Parameters that define the model."""
        parameters: dict[str, Any] = self.get_params(deep=False)
        del parameters["n_jobs"]
        return parameters

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        tags.target_tags.two_d_labels = True
        tags.target_tags.multi_output = True
        tags.target_tags.single_output = False
        return tags


def _rank_rows(model: Estimator, X: FeatureMatrix, rows: slice, k: int, allowed: Mask | None) -> Ranking:
    return model._rank_filled(X[rows], k, allowed)


def check_samples(X: FeatureMatrix, Y: sparse.csr_matrix) -> None:
    """Raise unless X and Y have the same number of samples, and at least one, and X a feature."""
    if X.shape[0] != Y.shape[0]:
        numbers = f"{X.shape[0]} in X and {Y.shape[0]} in Y"
        raise DataError(f"X and Y must have one row per sample: inconsistent numbers of samples, {numbers}")
    if 0 in X.shape:
        what = "feature(s)" if X.shape[0] else "sample(s)"
        raise DataError(f"Found array with 0 {what} (shape={X.shape}) while a minimum of 1 is required.")
