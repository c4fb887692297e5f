"""Missing labels: (sample, label) pairs of a tagged corpus that are probably true but not recorded.

In cross-validation, models of the tagger's kind rank the labels of samples they were not trained on. `pair_certainty`
combines their scores with the recorded labels of the sample; `missing_share` tells how many labels are missing, and
how many of them are at a given certainty. Everything is sparse: only the best labels of each sample are considered.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.special import expit
from sklearn.base import clone
from threadpoolctl import threadpool_limits

from tacit.arrays import Floats64, Ids
from tacit.core.base import Estimator
from tacit.core.checks import as_count
from tacit.core.labels import Labels, label_counts, positives, read_labels
from tacit.data.repeats import folds_of, groups_of
from tacit.errors import DataError, ParameterError
from tacit.progress import announce
from tacit.tagger.explain import feature_name, occlusions
from tacit.tagger.inputs import Inputs
from tacit.tagger.missing_share import (
    MOST_CERTAIN,
    Omission,
    are_dropped,
    estimate_omission,
    missing_probabilities,
    most_missing,
)
from tacit.tagger.pair_certainty import RankedPairs, certainty_of, log_odds_by_score, pairs_of
from tacit.tagger.training import relations

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tacit.tagger.tagger import Tagger


_PER_LABEL = 4  # candidates of a sample, times the mean number of recorded labels, if that is more than asked for
_LEAST_RECORDED = 30  # pairs of samples with other labels, if only these are counted
_MAX_FEATURES = 50  # of a sample that are left out in turn, to find evidence
_PAIRS_AT_ONCE = 64  # whose features are left out in one call


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
    untagged: str = "negative",
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
    untagged : "negative" or "skip"
        Whether samples without labels have lost theirs, or were never tagged. Nothing is learned from the latter; their
        labels are ranked by the score alone.
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
    is_known = np.diff(Y.indptr) > 0 if untagged == "skip" else np.ones(Y.shape[0], np.bool_)
    rows = np.flatnonzero(is_known)
    X_known, Y_known, X_words = (X, Y, samples.X) if is_known.all() else (X[rows], Y[rows], samples.X[rows])
    groups = groups_of(X_words)
    if (n_differing := len(np.unique(groups))) < 2 * folds:
        raise DataError(f"{folds} folds need at least {2 * folds} differing samples; got {n_differing}")
    fold_of = folds_of(np.random.default_rng(seed).permutation(len(rows)), groups, folds)
    models, found = _out_of_fold(tagger._fitted_model(), X_known, Y_known, fold_of, candidates)
    found = _free_pairs(found, Y_known)
    with threadpool_limits(1):  # as in tasks: the same pairs on every machine, and threads would only wait here
        certainty = certainty_of(replace(found, rows=groups[found.rows]), seed)
        omission = _omission(found, certainty, Y_known, missing)
    odds = omission.odds(label_counts(Y))
    probabilities = missing_probabilities(certainty, found.is_recorded, found.labels, odds[found.labels], found.folds)
    found = replace(found, rows=rows[found.rows])
    if not is_known.all():
        more = _pairs_of_untagged(models[0], X, Y, np.flatnonzero(~is_known), candidates)
        log_odds = log_odds_by_score(found.scores, found.is_recorded)(more.scores)
        probabilities = np.append(probabilities, np.minimum(expit(log_odds) * (1 + odds[more.labels]), MOST_CERTAIN))
        certainty, found = np.append(certainty, log_odds), RankedPairs.concatenate([found, more])
    offered = np.flatnonzero(~found.is_recorded & ~_are_retired(tagger, labels)[found.labels])
    least = np.sort(probabilities[offered])[-n:][:1]  # to sort few of them by everything
    offered = offered[probabilities[offered] >= least]
    keys = (found.labels, found.rows, -certainty, -probabilities)
    best = offered[np.lexsort([key[offered] for key in keys])][:n]
    evidence = _Evidence(tagger, samples, Y, labels, models, relations(Y)).of(found, best)
    return [
        MissingLabel(int(found.rows[pair]), str(labels.names[found.labels[pair]]), float(probabilities[pair]), in_words)
        for pair, in_words in zip(best, evidence, strict=True)
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
    model: Estimator, X: Any, Y: sparse.csr_matrix, fold_of: Ids, candidates: int
) -> tuple[list[Estimator], RankedPairs]:
    """The model of each fold, and the best labels of every sample by the model that was not trained on it."""
    k = min(max(candidates, _PER_LABEL * Y.nnz // Y.shape[0]), Y.shape[1])
    models, parts, folds = [], [], int(fold_of.max()) + 1
    for fold in range(folds):
        announce(f"fold {fold + 1} of {folds}: training on the others")
        train, rest = np.flatnonzero(fold_of != fold), np.flatnonzero(fold_of == fold)
        fresh = clone(model).fit(X[train], Y[train])
        parts.append(pairs_of(fresh.rank(X[rest], k), fresh.unranked_score, rest, fold, Y[rest], Y[train]))
        models.append(fresh)
    return models, RankedPairs.concatenate(parts)


def _pairs_of_untagged(model: Estimator, X: Any, Y: sparse.csr_matrix, rows: Ids, candidates: int) -> RankedPairs:
    """The best labels of samples that no model has learned from."""
    ranking = model.rank(X[rows], min(candidates, Y.shape[1]))
    return pairs_of(ranking, model.unranked_score, rows, 0, Y[rows], Y)


def _free_pairs(found: RankedPairs, Y: sparse.csr_matrix) -> RankedPairs:
    """The pairs that could be recorded or not, if samples without labels were left out of the corpus.

    There the only label of a sample is always recorded, or the sample would not be there. Such labels seem to be
    certain, and never missing; they say nothing of the labels of samples that have others.
    """
    has_others = found.others > 0
    if not are_dropped(np.diff(Y.indptr)) or found.is_recorded[has_others].sum() < _LEAST_RECORDED:
        return found
    return found.where(has_others)


def _omission(found: RankedPairs, certainty: Floats64, Y: sparse.csr_matrix, missing: float | None) -> Omission:
    """How labels are missing, with the share that the user knows or that samples without labels allow."""
    counts = label_counts(Y)
    omission = estimate_omission(certainty, found.is_recorded, found.labels, counts)
    if missing is not None:
        return omission.with_share(missing, counts)
    sizes = np.diff(Y.indptr)
    omission = omission.at_most(most_missing(sizes), counts)
    # Only samples without labels tell missing labels from doubtful ones.
    doubt = (
        ", perhaps far fewer: no sample is known to have no labels, so nothing bounds the share"
        if are_dropped(sizes)
        else ""
    )
    announce(f"about {omission.share(counts):.0%} of the true labels seem to be missing{doubt}")
    return omission


@dataclass(frozen=True, eq=False)
class _Evidence:
    """Evidence for pairs, in words."""

    tagger: Tagger
    samples: Inputs
    Y: sparse.csr_matrix
    labels: Labels
    models: list[Estimator]
    counts: sparse.csr_matrix

    def of(self, found: RankedPairs, pairs: Ids) -> list[str]:
        """For each of some pairs: labels, then features."""
        rows, labels = found.rows[pairs], found.labels[pairs]
        parts = zip(self._labels(rows, labels), self._features(rows, labels, found.folds[pairs]), strict=True)
        return ["; ".join(part for part in both if part) for both in parts]

    def _labels(self, rows: Ids, labels: Ids) -> list[str]:
        own, recorded = self.counts.diagonal(), self.Y[rows]
        others, sizes = recorded.indices, np.diff(recorded.indptr)
        together = np.asarray(self.counts[others, np.repeat(labels, sizes)]).ravel()
        shares = np.split(together / np.maximum(own[others], 1), recorded.indptr[1:-1])
        return [
            "with " + ", ".join(self._shares(each, of_each)) if of_each.any() else ""
            for each, of_each in zip(np.split(others, recorded.indptr[1:-1]), shares, strict=True)
        ]

    def _shares(self, labels: Ids, shares: Floats64) -> list[str]:
        best = [place for place in np.argsort(-shares, kind="stable")[:3] if shares[place] > 0]
        names = (self.tagger.readable(str(self.labels.names[labels[place]])) for place in best)
        return [f"{name} ({shares[place]:.0%})" for name, place in zip(names, best, strict=True)]

    def _features(self, rows: Ids, labels: Ids, folds: Ids) -> list[str]:
        """Pairs of a label are looked at together, because models have to be called for each label alone."""
        found = np.full(len(rows), "", object)
        order = np.lexsort((labels, folds))
        starts = np.flatnonzero(np.diff(labels[order], prepend=-1) | np.diff(folds[order], prepend=-1))
        for same in np.split(order, starts[1:]):
            for some in np.array_split(same, -(-len(same) // _PAIRS_AT_ONCE)):
                found[some] = self._features_for(rows[some], int(labels[some[0]]), self.models[folds[some[0]]])
        return found.tolist()

    def _features_for(self, rows: Ids, label: int, model: Estimator) -> list[str]:
        X, scores = self.samples.X[rows], self.tagger._changes.scores

        def score(variants: sparse.csr_matrix, of: Ids) -> npt.NDArray[np.float32]:
            features = scores.features(self.samples.with_rows(variants, rows[of]))
            return np.asarray(model.rank(features, 1, include=[label]).scores[:, 0])

        starts = zip(X.indptr, occlusions(score, X, 3, _MAX_FEATURES), strict=False)
        best = [X.indices[start + places] for start, places in starts]
        return [", ".join(feature_name(self.tagger, int(feature)) for feature in each) for each in best]
