"""What every model has: checked input, ranking, label sets, and saving."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, get_type_hints

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError as SklearnNotFittedError
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, validate_data

from tacit.checks import as_count, as_features, unit_rows
from tacit.errors import DataError, TacitError
from tacit.kernels.fill import fill_open_places
from tacit.labels import Names, label_counts, label_mask, label_sets, positives, read_labels
from tacit.parameters import Range, check_parameters
from tacit.propensity import propensities_from_counts
from tacit.ranking import NO_LABEL, NO_SCORE, Ranking
from tacit.store import folder
from tacit.store.state import Stored
from tacit.tasks import fitting, row_blocks, run_tasks

if TYPE_CHECKING:
    from typing_extensions import Self

Mask = npt.NDArray[np.bool_]

_ROWS_PER_TASK = 1024  # of a ranking
_THRESHOLD_SAMPLE = 2000  # training rows that set the threshold


class NotFittedError(TacitError, SklearnNotFittedError):  # type: ignore[misc]
    """A model is asked for predictions before it was fitted or loaded."""


@dataclass(kw_only=True, eq=False, repr=False)
class Estimator(Stored, BaseEstimator):  # type: ignore[misc]
    """Base of all models.

    A model is a dataclass: parameters are its fields with defaults, fitted attributes its fields with
    ``init=False``. It implements `_fit` and `_rank`; everything else is here.
    """

    random_state: Annotated[int | None, Range(low=0), "seed; the same seed gives the same model"] = 0
    n_jobs: Annotated[int | None, "tasks at a time (-1: all cores); never changes the model"] = None

    classes_: Names = field(init=False)
    n_features_in_: int = field(init=False)
    label_counts_: npt.NDArray[np.int64] = field(init=False)
    n_samples_: int = field(init=False)
    threshold_: float = field(init=False)
    container_: str = field(init=False)

    unranked_score: ClassVar[float] = float(np.finfo(np.float32).min)

    # -- what a model implements ------------------------------------------------------------------------

    @abstractmethod
    def _fit(self, X: sparse.csr_matrix, Y: sparse.csr_matrix) -> None:
        """Set the model's own fitted attributes from checked features and labels."""

    @abstractmethod
    def _rank(self, X: sparse.csr_matrix, k: int, allowed: Mask | None) -> Ranking:
        """Rank `k` allowed labels (there are at least `k`) for checked features.

        Places left open with -1 are filled with the most frequent other labels, at `unranked_score`.
        """

    # -- fit ----------------------------------------------------------------------------------------------

    def fit(self, X: Any, Y: Any, *, label_names: Sequence[Any] | None = None) -> Self:
        """Learn from samples and their labels.

        Parameters
        ----------
        X : CSR, CSC or dense matrix of shape (n_samples, n_features)
            Features.
        Y : list of lists of labels, sparse matrix or array of shape (n_samples, n_labels)
            Labels. In a sparse matrix a stored 1 is a positive, a stored 0 a known negative and an absent
            entry unknown; a dense array has NaN for unknown.
        label_names : sequence of str or int, optional
            Names in column order; they become `classes_`.

        Returns
        -------
        self
        """
        return self._fit_checked(X, Y, label_names)

    def _fit_checked(self, X: Any, Y: Any, label_names: Sequence[Any] | None, **data: Any) -> Self:
        """Check everything, then `_fit` with the `data` that some models take beside X and Y."""
        check_parameters(self)
        labels = read_labels(Y, label_names, known_negatives=getattr(self, "absent", "") == "missing")
        checked = self._checked(X, is_fit=True)
        counts = _check_training_data(checked, labels.matrix)
        features = self._scaled(checked, is_fit=True)
        self.classes_ = labels.names
        self.container_ = labels.container
        self.label_counts_ = counts
        self.n_samples_ = int(features.shape[0])
        with fitting(type(self).__name__, self.stored_parameters(), features, labels.matrix, data):
            self._fit(features, labels.matrix, **data)
        self.threshold_ = self._matching_threshold(features, positives(labels.matrix))
        return self

    def _features(self, X: Any) -> sparse.csr_matrix:
        """Features as the model wants them, from what a user passes to a fitted model."""
        return self._scaled(self._checked(X))

    def _checked(self, X: Any, *, is_fit: bool = False) -> sparse.csr_matrix:
        features = as_features(X)
        nameless = sparse.issparse(X) and not hasattr(self, "feature_names_in_")
        if is_fit or not nameless or features.shape[1] != self.n_features_in_:  # else there is nothing to check
            try:
                validate_data(self, X, reset=is_fit, skip_check_array=True)
            except ValueError as error:
                raise DataError(str(error)) from error
        return features

    def _scaled(self, X: sparse.csr_matrix, *, is_fit: bool = False) -> sparse.csr_matrix:
        weighted = self._weighted(X, is_fit=is_fit)
        return unit_rows(weighted) if getattr(self, "normalize", False) else weighted.astype(np.float32, copy=False)

    def _weighted(self, X: sparse.csr_matrix, *, is_fit: bool) -> sparse.csr_matrix:  # noqa: ARG002
        """X with the weights that a model gives to features, before rows are scaled; by default X itself."""
        return X

    def _matching_threshold(self, X: sparse.csr_matrix, Y: sparse.csr_matrix) -> float:
        """The score above which a sample of the training rows gets as many labels as it has."""
        sample = np.unique(np.linspace(0, X.shape[0] - 1, _THRESHOLD_SAMPLE).astype(np.intp))
        X, Y = X[sample], Y[sample]
        per_row = np.diff(Y.indptr)
        k = int(min(Y.shape[1], 2 * per_row.max() + 10))
        learned = None if Y.shape[1] == len(self.classes_) else np.arange(len(self.classes_)) < Y.shape[1]
        scores = self._ranked(X, k, learned).scores
        ordered = np.sort(scores[np.isfinite(scores)])[::-1]
        if not len(ordered):
            return np.inf
        n_labels = min(int(per_row.sum()), len(ordered) - 1)
        between = ordered[[max(n_labels - 1, 0), n_labels]].mean(dtype=np.float64)
        return float(np.float32(between))

    # -- predictions --------------------------------------------------------------------------------------

    def rank(self, X: Any, k: int = 5, include: Any = None, exclude: Any = None) -> Ranking:
        """The `k` best labels of each sample.

        Parameters
        ----------
        X : CSR, CSC or dense matrix of shape (n_samples, n_features)
            Features.
        k : int
            Labels per sample; places beyond the labels available hold -1 and -inf.
        include, exclude : sequences of label names or column numbers, optional
            Rank only these labels; rank none of these.
        """
        self._check_fitted()
        k = as_count(k, "k")
        features = self._features(X)
        allowed = label_mask(self.classes_, include, exclude)
        available = len(self.classes_) if allowed is None else int(allowed.sum())
        ranking = self._ranked(features, min(k, available), allowed)
        return ranking if ranking.k == k else ranking.padded(k)

    def _ranked(self, X: sparse.csr_matrix, k: int, allowed: Mask | None) -> Ranking:
        if k == 0 or X.shape[0] == 0:
            return Ranking(np.empty((X.shape[0], k), np.int32), np.empty((X.shape[0], k), np.float32))
        if X.shape[0] <= _ROWS_PER_TASK:
            return self._rank_filled(X, k, allowed)
        blocks = [{"rows": slice(*block)} for block in row_blocks(X.shape[0], _ROWS_PER_TASK)]
        parts = run_tasks(_rank_rows, blocks, n_jobs=self.n_jobs, what="rows", model=self, X=X, k=k, allowed=allowed)
        return Ranking.concatenate(parts)

    def _rank_filled(self, X: sparse.csr_matrix, k: int, allowed: Mask | None) -> Ranking:
        ranking = self._rank(X, k, allowed)
        if (ranking.labels[:, -1] == NO_LABEL).any():
            order = np.argsort(-self.label_counts_, kind="stable").astype(np.int32)
            others = order if allowed is None else order[allowed[order]]
            fill_open_places(ranking.labels, ranking.scores, others, self.unranked_score)
        return ranking

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

    # -- saving -------------------------------------------------------------------------------------------

    def save(self, path: str | Path) -> None:
        """Write the model to the folder `path`; read it back with `tacit.load_model`."""
        self._check_fitted()
        folder.save(self, path)

    def stored_parameters(self) -> dict[str, Any]:
        """Parameters that define the model."""
        parameters: dict[str, Any] = self.get_params(deep=False)
        del parameters["n_jobs"]
        return parameters

    def stored_state(self) -> dict[str, Any]:
        """Fitted attributes by name."""
        return {name: getattr(self, name) for name in self.state_types() if hasattr(self, name)}

    @classmethod
    def restored(cls, parameters: Mapping[str, Any], state: Mapping[str, Any]) -> Estimator:
        """A fitted model from its parameters and fitted attributes."""
        model = cls(**parameters)
        for name, value in state.items():
            setattr(model, name, value)
        return model

    @classmethod
    def state_types(cls) -> dict[str, Any]:
        """The declared type of each fitted attribute."""
        hints = get_type_hints(cls)
        return {item.name: hints[item.name] for item in fields(cls) if not item.init}

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        tags.target_tags.two_d_labels = True
        tags.target_tags.multi_output = True
        tags.target_tags.single_output = False
        return tags


def _rank_rows(model: Estimator, X: sparse.csr_matrix, rows: slice, k: int, allowed: Mask | None) -> Ranking:
    return model._rank_filled(X[rows], k, allowed)


def _check_training_data(X: sparse.csr_matrix, Y: sparse.csr_matrix) -> npt.NDArray[np.int64]:
    """The number of positives of each label, once everything is there to learn from."""
    if X.shape[0] != Y.shape[0]:
        raise DataError(
            f"X and Y must have one row per sample: inconsistent numbers of samples, {X.shape[0]} in X and "
            f"{Y.shape[0]} in Y"
        )
    if X.shape[0] == 0 or X.shape[1] == 0:
        what = "sample(s)" if X.shape[0] == 0 else "feature(s)"
        raise DataError(f"Found array with 0 {what} (shape={X.shape}) while a minimum of 1 is required.")
    counts = label_counts(Y)
    if not counts.any():
        raise DataError("Y has no positive label anywhere; there is nothing to learn")
    return counts
