"""Missing labels: (sample, label) pairs of a tagged corpus that are probably true but not recorded.

In cross-validation, models of the tagger's kind rank the labels of samples they were not trained on. `pair_certainty`
combines their scores with the recorded labels of the sample; `missing_share` tells how many labels are missing, and
how many of them are at a given certainty. Everything is sparse: only the best labels of each sample are considered.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.base import clone
from threadpoolctl import threadpool_limits

from tacit.base import Estimator
from tacit.checks import as_count
from tacit.errors import DataError, ParameterError
from tacit.labels import Labels, label_counts, positives, read_labels
from tacit.progress import announce
from tacit.tagger.explain import feature_name, occlusion
from tacit.tagger.missing_share import Omission, are_dropped, estimate_omission, missing_probabilities, most_missing
from tacit.tagger.pair_certainty import RankedPairs, certainty_of, pairs_of
from tacit.tagger.samples import Inputs
from tacit.tagger.training import relations

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tacit.tagger.tagger import Tagger

Floats = npt.NDArray[np.float64]

_PER_LABEL = 4  # candidates of a sample, times the mean number of recorded labels, if that is more than asked for
_LEAST_RECORDED = 30  # pairs of samples with other labels, if only these are counted
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
        Probability that it is true; the mean over a list is the expected precision of the list. It may be far too
        high if every sample of the corpus has a label, because nothing bounds the share of missing labels then.
    evidence : str
        Labels of the sample with which it often co-occurs, and features that support it.
    """

    row: int
    label: str
    probability: float
    evidence: str


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
        assumed to be true, so that those of them which are not recorded are missing.
    candidates : int
        Number of labels considered per sample; more where samples have many labels.
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
    found = _free_pairs(found, Y)
    with threadpool_limits(1):  # as in tasks: the same pairs on every machine, and threads would only wait here
        certainty = certainty_of(found, seed)
        omission = _omission(found, certainty, Y, missing)
    odds = omission.odds(label_counts(Y))[found.labels]
    probabilities = missing_probabilities(certainty, found.is_recorded, found.labels, odds)
    order = np.lexsort((found.labels, found.rows, -certainty, -probabilities))
    is_offered = ~found.is_recorded & ~_are_retired(tagger, labels)[found.labels]
    best = order[is_offered[order]][:n]
    evidence = _Evidence(tagger, samples, Y, labels, models, relations(Y))
    return [
        MissingLabel(
            int(found.rows[pair]),
            str(labels.names[found.labels[pair]]),
            float(probabilities[pair]),
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


def _are_retired(tagger: Tagger, labels: Labels) -> npt.NDArray[np.bool_]:
    """For each label of the corpus, whether it may not be suggested any more."""
    columns, state = [tagger.known(str(name)) for name in labels.names], tagger._changes.state
    return np.array([column is not None and not state.is_suggested[column] for column in columns], np.bool_)


def _out_of_fold(
    model: Estimator, X: Any, Y: sparse.csr_matrix, folds: int, candidates: int, seed: int
) -> tuple[list[Estimator], RankedPairs]:
    """The model of each fold, and the best labels of every sample by the model that was not trained on it."""
    k = min(max(candidates, _PER_LABEL * Y.nnz // Y.shape[0]), Y.shape[1])
    fold_of = np.random.default_rng(seed).permutation(X.shape[0]) % folds
    models, parts = [], []
    for fold in range(folds):
        announce(f"fold {fold + 1} of {folds}: training on the others")
        train, rest = np.flatnonzero(fold_of != fold), np.flatnonzero(fold_of == fold)
        fresh = clone(model).fit(X[train], Y[train])
        parts.append(pairs_of(fresh.rank(X[rest], k), fresh.unranked_score, rest, fold, Y[rest], Y[train]))
        models.append(fresh)
    return models, RankedPairs.concatenate(parts)


def _free_pairs(found: RankedPairs, Y: sparse.csr_matrix) -> RankedPairs:
    """The pairs that could be recorded or not, if samples without labels were left out of the corpus.

    There the only label of a sample is always recorded, or the sample would not be there. Such labels seem to be
    certain, and never missing; they say nothing of the labels of samples that have others.
    """
    has_others = found.others > 0
    if not are_dropped(np.diff(Y.indptr)) or found.is_recorded[has_others].sum() < _LEAST_RECORDED:
        return found
    return found.where(has_others)


def _omission(found: RankedPairs, certainty: Floats, Y: sparse.csr_matrix, missing: float | None) -> Omission:
    """How labels are missing, with the share that the user knows or that samples without labels allow."""
    counts = label_counts(Y)
    omission = estimate_omission(certainty, found.is_recorded, found.labels, counts)
    if missing is not None:
        return omission.with_share(missing, counts)
    sizes = np.diff(Y.indptr)
    omission = omission.at_most(most_missing(sizes), counts)
    # Only samples without labels tell missing labels from doubtful ones.
    doubt = ", perhaps far fewer: every sample has a label, so nothing bounds the share" if are_dropped(sizes) else ""
    announce(f"about {omission.share(counts):.0%} of the true labels seem to be missing{doubt}")
    return omission


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
