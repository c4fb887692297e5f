"""What models of seen and unseen labels share: co-occurrence counts, linear scores, labels added and removed.

Seen and unseen labels are put on one scale by an experiment within the training data. A part of the samples is held
out, and seen labels are hidden in turn. Scores of kept and of hidden labels on held-out samples are compared with the
truth, and a logistic curve for either group turns scores into log-odds.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.base import clone

from tacit.arrays import Floats32, Ids, Mask
from tacit.core.base import Estimator, Link
from tacit.core.labels import Names, as_names, label_counts, label_mask, positives
from tacit.core.parameters import Range
from tacit.core.ranking import Ranking
from tacit.data.repeats import groups_of, one_of_each, unlike
from tacit.errors import DataError
from tacit.kernels.dense import row_products
from tacit.kernels.score import top_k
from tacit.latent.counts import Cooccurrence, read_cooccurrence
from tacit.latent.label_vectors import LabelVectors
from tacit.numerics.logistic import fit_logistic
from tacit.runtime.tasks import one_blas_thread
from tacit.store.declared import NAMES, Array

if TYPE_CHECKING:
    from typing_extensions import Self

CalibrationFolds = Annotated[int, Range(low=0, high=5), "trials with hidden labels, to scale scores of unseen ones"]

_NO_MASK = np.empty(0, dtype=np.bool_)
_N_FOLDS = 5
_MAX_ENTRIES = 2**22  # that a logistic curve is fitted to
_MIN_ROWS = 20  # needed to learn the scale of scores


@dataclass(frozen=True)
class ScoreScale:
    """The log-odds of a score: slope · score + intercept."""

    slope: float = 1.0
    intercept: float = 0.0

    @classmethod
    def fitted(cls, trials: Sequence[tuple[Floats32, Floats32]]) -> ScoreScale:
        """The most likely logistic curve of the scores and truth of all trials, or of a part where they are many.

        Scores stay as they are where there are none: no hidden label occurs with a kept one.
        """
        scores, truth = map(np.concatenate, zip(*trials, strict=True))
        if not len(scores):
            return cls()
        if len(scores) > _MAX_ENTRIES:
            chosen = np.linspace(0, len(scores) - 1, _MAX_ENTRIES).astype(np.intp)
            scores, truth = scores[chosen], truth[chosen]
        return cls(*fit_logistic(scores, truth))

    def applied(self, vectors: LabelVectors) -> LabelVectors:
        """Label vectors whose scores are log-odds."""
        return vectors.scaled(self.slope, self.intercept)


_UNSCALED = ScoreScale()


def label_folds(Y: sparse.csr_matrix, n_folds: int, seed: int | None) -> Iterator[tuple[Ids, Ids]]:
    """For each fold a fifth of the labels with positives, to be hidden, and the others; none where labels are few."""
    labels = np.random.default_rng(seed).permutation(np.flatnonzero(label_counts(Y)))
    for fold in range(n_folds):
        is_hidden = np.arange(len(labels)) % _N_FOLDS == fold
        if is_hidden.any() and not is_hidden.all():
            yield np.sort(labels[is_hidden]), np.sort(labels[~is_hidden])


@dataclass(kw_only=True, eq=False, repr=False)
class ZeroShot(Estimator):
    """Base of models that rank labels without a training example beside those with some."""

    calibration_folds: CalibrationFolds = 5

    takes_dense: ClassVar[bool] = True

    seen_names_: Annotated[Names, Array(NAMES, ("n_seen",), differ=True)] = field(init=False)
    projection_: Annotated[
        Floats32 | None, Array("float32", ("n_features", "dimension"), if_none=("dimension", "n_features"))
    ] = field(init=False)
    vectors_: LabelVectors = field(init=False)
    seen_curve_: ScoreScale = field(init=False)
    unseen_curve_: ScoreScale = field(init=False)

    @abstractmethod
    def _learn(self, X: sparse.csr_matrix, Y: sparse.csr_matrix, cooccurrence: Cooccurrence) -> LabelVectors:
        """Set `projection_` and the model's own attributes, and return the vectors of the labels of Y."""

    @abstractmethod
    def _unseen_vectors(self, cooccurrence: Cooccurrence) -> LabelVectors:
        """Vectors of labels of which only the counts with the labels of Y are known."""

    def fit(self, X: Any, Y: Any, *, label_names: Sequence[Any] | None = None, cooccurrence: Any = None) -> Self:
        """Learn from samples, the labels seen in them, and the co-occurrence of these with all labels.

        Parameters
        ----------
        X : CSR, CSC or dense matrix of shape (n_samples, n_features), or `tacit.Features`
            Features.
        Y : list of lists of labels, sparse matrix or array of shape (n_samples, n_seen)
            Labels that have examples.
        label_names : sequence of str or int, optional
            Names of all labels, seen ones first in column order; they become `classes_`.
        cooccurrence : dense or sparse matrix of shape (n_seen, n_labels), optional
            How often each seen label occurs with every label, from any source, seen labels first. NaN is unobserved.
            By default the counts in Y, and all labels are seen.
        """
        seen, unseen = split_names(label_names, cooccurrence)
        return self._fit_checked(X, Y, seen, cooccurrence=cooccurrence, unseen_names=unseen)

    def _fit(
        self, X: sparse.csr_matrix, Y: sparse.csr_matrix, cooccurrence: Any = None, unseen_names: Any = None
    ) -> None:
        ones = positives(Y)
        counts = read_cooccurrence(ones.T @ ones if cooccurrence is None else cooccurrence, Y.shape[1])
        self.seen_names_ = self.classes_
        self.classes_ = all_names(self.classes_, unseen_names, counts.n_labels)
        self.label_counts_ = self.counts_for(counts.n_labels)
        with one_blas_thread():
            self.seen_curve_, self.unseen_curve_ = self._curves(X, Y, counts)
            self._fit_vectors(X, Y, counts)

    def _fit_vectors(self, X: sparse.csr_matrix, Y: sparse.csr_matrix, counts: Cooccurrence) -> None:
        """Set the vectors of all labels; a label of Y without a positive is unseen too."""
        self._join_vectors(self._learn(X, Y, counts), label_counts(Y), counts)

    def _join_vectors(self, learned: LabelVectors, n_positives: npt.NDArray[np.int64], counts: Cooccurrence) -> None:
        """Set `vectors_`: those learned for the labels of Y, and those from counts for labels without a positive."""
        calibrated = self.seen_curve_.applied(learned)
        n_seen = len(n_positives)
        is_seen = np.pad(n_positives > 0, (0, counts.n_labels - n_seen))
        unseen = self._scored(counts.columns(np.flatnonzero(~is_seen)))
        order = np.argsort(np.concatenate([np.flatnonzero(is_seen), np.flatnonzero(~is_seen)]))
        self.vectors_ = calibrated.chosen(np.flatnonzero(is_seen[:n_seen])).joined(unseen).chosen(order)

    def _curves(
        self, X: sparse.csr_matrix, Y: sparse.csr_matrix, counts: Cooccurrence
    ) -> tuple[ScoreScale, ScoreScale]:
        """What turns scores of seen and unseen labels into log-odds, from trials in which seen labels are hidden."""
        trials, groups = list(label_folds(Y, self.calibration_folds, self.random_state)), groups_of(X)
        order = one_of_each(np.random.default_rng(self.random_state).permutation(X.shape[0]), groups)
        if not trials or len(order) < _MIN_ROWS:
            return _UNSCALED, _UNSCALED
        tried = np.sort(order[: max(1, len(order) // 5)])
        rows = tried, unlike(tried, groups)
        seen, hidden = zip(*(self._trial(X, Y, counts, rows, *fold) for fold in trials), strict=True)
        return ScoreScale.fitted(seen), ScoreScale.fitted(hidden)

    def _trial(
        self,
        X: sparse.csr_matrix,
        Y: sparse.csr_matrix,
        counts: Cooccurrence,
        rows: tuple[Ids, Ids],
        hidden: Ids,
        kept: Ids,
    ) -> list[tuple[Floats32, Floats32]]:
        """Scores and truth of kept and of hidden labels on the rows tried, by a model of the others."""
        tried, learned = rows
        model = clone(self).set_params(calibration_folds=0)
        model.n_features_in_, model.seen_curve_, model.unseen_curve_ = X.shape[1], _UNSCALED, _UNSCALED
        model._fit_vectors(X[learned], Y[learned][:, kept], counts.rows(kept).columns(np.concatenate([kept, hidden])))
        is_scored = model.vectors_.intercepts > self.unranked_score
        scores = model._scores(X[tried])
        truth = Y[tried][:, np.concatenate([kept, hidden])].toarray()
        is_hidden = np.arange(len(is_scored)) >= len(kept)
        groups = (is_scored & ~is_hidden, is_scored & is_hidden)
        return [(scores[:, group].ravel(), truth[:, group].ravel()) for group in groups]

    @property
    def _link(self) -> Link | None:
        """Scores are log-odds, unless there were too few samples or labels to learn the scales."""
        is_calibrated = self.calibration_folds > 0 and getattr(self, "seen_curve_", None) != _UNSCALED
        return "logistic" if is_calibrated else None

    def _rank(self, X: sparse.csr_matrix, k: int, allowed: Mask | None) -> Ranking:
        return Ranking(*top_k(self._scores(X), _NO_MASK if allowed is None else allowed, k))

    def _scores(self, X: sparse.csr_matrix) -> Floats32:
        """Scores of all labels; each row is computed on its own, so its scores are the same in any batch."""
        vectors = self.vectors_
        if self.projection_ is None:
            return np.asarray(X @ vectors.columns + vectors.intercepts, dtype=np.float32)
        return np.asarray(row_products(X @ self.projection_, vectors.columns) + vectors.intercepts)

    # -- labels that come and go ----------------------------------------------------------------------------

    def add_labels(self, columns: Any, names: Sequence[Any] | None = None) -> Self:
        """Add labels known by their co-occurrence with the seen labels, without training again.

        Parameters
        ----------
        columns : dense or sparse matrix of shape (n_seen, n_new)
            How often each label of `seen_names_` occurs with each new label.
        names : sequence, optional
            Names of the new labels; required where the model's labels have names.
        """
        self._check_fitted()
        if not sparse.issparse(columns):
            columns = np.asarray(columns)
            columns = columns[:, None] if columns.ndim == 1 else columns
        counts = read_cooccurrence(columns, len(self.seen_names_), "columns")
        n_labels = len(self.classes_) + counts.n_labels
        classes = all_names(self.classes_, names, n_labels)
        with one_blas_thread():
            self.vectors_ = self.vectors_.joined(self._scored(counts))
        self.classes_ = classes
        self.label_counts_ = self.counts_for(n_labels)
        return self

    def remove_labels(self, ids: Any) -> Self:
        """Remove labels, by column number or name; later columns move up.

        A seen label that is removed is no longer ranked, but new labels still need a count with it.
        """
        self._check_fitted()
        kept = label_mask(self.classes_, None, ids)
        if kept is None or not kept.any():
            raise DataError("a model must keep at least one label; remove fewer")
        self.classes_ = self.classes_[kept]
        self.label_counts_ = self.label_counts_[kept]
        self.vectors_ = self.vectors_.chosen(kept)
        return self

    def _scored(self, counts: Cooccurrence) -> LabelVectors:
        """Vectors of unseen labels; those that occur with no seen label rank last."""
        if counts.n_labels == 0:
            nothing = np.empty((self._dimension(), 0), np.float32)
            return LabelVectors(nothing, np.empty(0, np.float32), nothing)
        return self.unseen_curve_.applied(self._unseen_vectors(counts)).silenced(~counts.is_counted())

    def _dimension(self) -> int:
        return self.n_features_in_ if self.projection_ is None else int(self.projection_.shape[1])


def split_names(names: Sequence[Any] | None, cooccurrence: Any) -> tuple[list[Any] | None, list[Any] | None]:
    """The names of labels that have a row of counts, which may be in any form, and those of the others."""
    if names is None:
        return None, None
    names = list(names)
    n_seen = len(names) if cooccurrence is None else (*np.shape(cooccurrence), 0)[0]
    return names[:n_seen], names[n_seen:]


def all_names(names: Names, more: Sequence[Any] | None, n_labels: int) -> Names:
    """Names of all labels, from the names of the first ones and, where given, those of the rest."""
    n_new = n_labels - len(names)
    if n_new < 0:
        raise DataError(f"cooccurrence must have a column for each of the {len(names)} labels of Y; got {n_labels}")
    if more is None:
        if n_new and names.dtype.kind not in "iu":
            raise DataError(f"{n_new} labels without a name: give names for all {n_labels} labels")
        more = range(int(names.max(initial=-1)) + 1, int(names.max(initial=-1)) + 1 + n_new) if n_new else ()
    if len(more) != n_new:
        raise DataError(f"names must be given for all labels: {n_new} labels are new, {len(more)} names came")
    if any(not str(name).strip() for name in more):
        raise DataError(f"a label needs a name; got a blank one among {list(more)!r}")
    return as_names([*names.tolist(), *more])
