"""Missing labels: (sample, label) pairs of a tagged corpus that are probably true but not recorded.

In cross-validation, models of the tagger's kind rank the labels of samples they were not trained on. Their scores are
combined with the co-occurrence of the label and the recorded labels of the sample. Everything is sparse: only the best
labels of each sample are considered.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.base import clone
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression

from tacit.base import Estimator
from tacit.checks import as_count
from tacit.errors import DataError, ParameterError
from tacit.labels import Labels, positives, read_labels
from tacit.progress import announce
from tacit.ranking import NO_LABEL
from tacit.tagger.explain import feature_name, occlusion
from tacit.tagger.samples import Inputs
from tacit.tagger.training import relations

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tacit.tagger.tagger import Tagger

Floats = npt.NDArray[np.float64]

_N_BINS = 40  # of scores, in which the share of recorded labels is measured
_CERTAIN_SHARE = 0.05  # number of pairs taken to be certain, as a share of the recorded labels
_MIN_CERTAIN = 200
_SAMPLES_UNSEEN = 3.0  # pseudo-count added to a label's count: a single co-occurrence is weak evidence
_MAX_FEATURES = 50  # of a sample that are left out in turn, to find evidence


class MissingLabel(NamedTuple):
    """A label that a sample probably should have.

    Attributes
    ----------
    row : int
        The sample, counted from 0 (in files of the command line from 1).
    label : str
        The label.
    probability : float
        Probability that it is true; the mean over a list is the expected precision of the list.
    evidence : str
        Labels of the sample with which it often co-occurs, and features that support it.
    """

    row: int
    label: str
    probability: float
    evidence: str


@dataclass(frozen=True, eq=False)
class _Candidates:
    """Highly ranked (sample, label) pairs, out of fold; each array has one entry per pair."""

    rows: npt.NDArray[np.intp]
    labels: npt.NDArray[np.intp]
    folds: npt.NDArray[np.intp]
    scores: Floats
    together: Floats  # evidence from the sample's other labels, by co-occurrence
    is_recorded: npt.NDArray[np.bool_]


def find_missing(
    tagger: Tagger,
    texts: Any,
    tags: Any,
    n: int = 100,
    *,
    folds: int = 3,
    missing: float | None = None,
    candidates: int = 20,
    label_names: Sequence[Any] | None = None,
    seed: int = 0,
) -> list[MissingLabel]:
    """The (sample, label) pairs that are most likely missing, most likely first.

    Parameters
    ----------
    tagger : Tagger
        Determines the kind of model; new ones are trained.
    texts, tags, label_names
        The corpus, as for ``Tagger.fit``.
    n : int
        Maximum number of pairs to return.
    folds : int
        Number of cross-validation folds.
    missing : float, optional
        The share of the true labels that is not recorded. By default it is estimated: the most certain pairs are
        assumed to be true, and the share of them that is not recorded is the estimate.
    candidates : int
        Number of labels considered per sample.
    seed : int
        Random seed of the folds.
    """
    n, folds, candidates = as_count(n, "n"), as_count(folds, "folds"), as_count(candidates, "candidates")
    if folds < 2:
        raise ParameterError("folds must be at least 2: no model may rank the samples it was trained on")
    if missing is not None and not 0 < missing < 1:
        raise ParameterError(f"missing must be a share between 0 and 1; got {missing}")
    labels = _labels(tagger, tags, label_names)
    samples, Y = tagger._samples(texts), positives(labels.matrix)
    X = tagger._changes.scores.features(samples)
    if X.shape[0] != Y.shape[0]:
        raise DataError(f"texts and tags must have one entry per sample; got {X.shape[0]} and {Y.shape[0]}")
    if X.shape[0] < 2 * folds:
        raise DataError(f"{folds} folds need at least {2 * folds} samples; got {X.shape[0]}")
    models, found = _out_of_fold(tagger._fitted_model(), X, Y, folds, candidates, seed)
    certainty = _certainty(found)
    left_out = _left_out(found, certainty, missing)
    order = np.lexsort((found.labels, found.rows, -certainty))
    best = order[~found.is_recorded[order]][:n]
    evidence = _Evidence(tagger, samples, Y, labels, models, relations(Y))
    return [
        MissingLabel(
            int(found.rows[pair]),
            str(labels.names[found.labels[pair]]),
            float(left_out[pair]),
            evidence.of(int(found.rows[pair]), int(found.labels[pair]), int(found.folds[pair])),
        )
        for pair in best
    ]


def _labels(tagger: Tagger, tags: Any, label_names: Sequence[Any] | None) -> Labels:
    labels = read_labels(tags, label_names)
    classes = tagger._fitted_model().classes_
    if labels.container != "lists" and label_names is None and len(classes) == labels.matrix.shape[1]:
        return Labels(labels.matrix, classes, labels.container)
    return labels


def _out_of_fold(
    model: Estimator, X: Any, Y: sparse.csr_matrix, folds: int, k: int, seed: int
) -> tuple[list[Estimator], _Candidates]:
    """The model of each fold, and the best labels of every sample by the model that was not trained on it."""
    fold_of = np.random.default_rng(seed).permutation(X.shape[0]) % folds
    models, parts = [], []
    for fold in range(folds):
        announce(f"fold {fold + 1} of {folds}: training on the others")
        train, rest = np.flatnonzero(fold_of != fold), np.flatnonzero(fold_of == fold)
        fresh = clone(model).fit(X[train], Y[train])
        ranking = fresh.rank(X[rest], min(k, Y.shape[1]))
        is_label = (ranking.labels != NO_LABEL) & (ranking.scores > fresh.unranked_score)
        rows = np.repeat(rest, is_label.sum(axis=1))
        labels = ranking.labels[is_label].astype(np.intp)
        calls = Y[rest] @ _calls(Y[train])  # noisy-or over the recorded labels
        local = np.repeat(np.arange(len(rest)), is_label.sum(axis=1))
        parts.append(
            _Candidates(
                rows,
                labels,
                np.full(len(rows), fold),
                ranking.scores[is_label].astype(np.float64),
                np.asarray(calls[local, labels], dtype=np.float64).ravel(),
                np.asarray(Y[rows, labels]).ravel() > 0,
            )
        )
        models.append(fresh)
    names = _Candidates.__dataclass_fields__
    return models, _Candidates(**{name: np.concatenate([getattr(part, name) for part in parts]) for name in names})


def _calls(Y: sparse.csr_matrix) -> sparse.csr_matrix:
    """−log(1 − P(column | row)) of co-occurring labels: summed over a sample's labels, it is a noisy-or."""
    counts = relations(Y).astype(np.float64).tocoo()
    own = np.asarray(Y.sum(axis=0), dtype=np.float64).ravel()
    other = counts.row != counts.col
    shares = counts.data[other] / (own[counts.row[other]] + _SAMPLES_UNSEEN)
    return sparse.csr_matrix((-np.log1p(-shares), (counts.row[other], counts.col[other])), shape=counts.shape)


def _certainty(found: _Candidates) -> Floats:
    """Log-odds that a pair is recorded, from the model's score and the sample's other labels."""
    recorded = found.is_recorded
    if not 0 < recorded.sum() < len(recorded):
        raise DataError(
            "some of the highly ranked labels must be recorded and some not, to estimate what is missing; give more "
            "samples, or another model"
        )
    by_score = _log_odds_by_score(found.scores, recorded)
    features = np.stack([by_score, found.together], axis=1)
    spread = features.std(axis=0)
    features = (features - features.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    regression = LogisticRegression(C=100.0).fit(features, recorded)
    return np.asarray(regression.decision_function(features))


def _log_odds_by_score(scores: Floats, recorded: npt.NDArray[np.bool_]) -> Floats:
    """Log-odds that a label with a given score is recorded, increasing in the score."""
    bins = [part for part in np.array_split(np.argsort(scores, kind="stable"), _N_BINS) if len(part)]
    centers = np.array([scores[part].mean() for part in bins])
    shares = np.array([(recorded[part].sum() + 0.5) / (len(part) + 1) for part in bins])
    log_odds = np.maximum.accumulate(np.log(shares / (1 - shares)))
    log_odds += 1e-3 * np.arange(len(bins))  # strictly increasing, to keep the order of scores
    beyond = np.maximum(scores - centers[-1], 0) / max(float(scores.max() - centers[-1]), 1e-12)
    return np.asarray(np.interp(scores, centers, log_odds) + beyond)


def _left_out(found: _Candidates, certainty: Floats, missing: float | None) -> Floats:
    """Probability that a pair which is not recorded is true.

    A true label is recorded with probability 1 − m, independently of the sample. If a pair is recorded with probability
    p, it is true with probability p / (1 − m), and true given that it is not recorded with p·m / ((1 − m)(1 − p)).
    """
    p = IsotonicRegression().fit_transform(certainty, found.is_recorded.astype(np.float64))
    if missing is None:
        n_recorded = int(found.is_recorded.sum())
        n_certain = max(min(_MIN_CERTAIN, n_recorded // 2), round(_CERTAIN_SHARE * n_recorded), 1)
        certain = np.argsort(-certainty, kind="stable")[:n_certain]
        missing = 1 - (found.is_recorded[certain].sum() + 1) / (len(certain) + 2)
        announce(f"about {missing:.0%} of the true labels seem to be missing")
    with np.errstate(divide="ignore"):
        return np.asarray(np.minimum(p * missing / ((1 - missing) * (1 - p)), 1.0))


@dataclass(frozen=True, eq=False)
class _Evidence:
    """Evidence for a pair, in words."""

    tagger: Tagger
    samples: Inputs
    Y: sparse.csr_matrix
    labels: Labels
    models: list[Estimator]
    counts: sparse.csr_matrix

    def of(self, row: int, label: int, fold: int) -> str:
        """Labels, then features."""
        labels, features = self._labels(row, label), self._features(row, label, fold)
        return "; ".join(part for part in ("with " + ", ".join(labels) if labels else "", ", ".join(features)) if part)

    def _labels(self, row: int, label: int) -> list[str]:
        others = self.Y.indices[self.Y.indptr[row] : self.Y.indptr[row + 1]]
        own = self.counts.diagonal()
        shares = {int(other): float(self.counts[other, label] / max(own[other], 1)) for other in others}
        best = sorted((other for other in shares if shares[other] > 0), key=lambda other: -shares[other])[:3]
        names = (self.tagger.readable(str(self.labels.names[other])) for other in best)
        return [f"{name} ({shares[other]:.0%})" for name, other in zip(names, best, strict=True)]

    def _features(self, row: int, label: int, fold: int) -> list[str]:
        model, scores = self.models[fold], self.tagger._changes.scores

        def score(rows: sparse.csr_matrix) -> npt.NDArray[np.float32]:
            variants = self.samples.with_rows(rows, np.full(rows.shape[0], row))
            return np.asarray(model.rank(scores.features(variants), 1, include=[label]).scores[:, 0])

        x = self.samples.X[row]
        return [feature_name(self.tagger, int(x.indices[place])) for place in occlusion(score, x, 3, _MAX_FEATURES)]
