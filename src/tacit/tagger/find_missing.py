"""Missing labels: (sample, label) pairs of a tagged corpus that are probably true but not recorded.

In cross-validation, models of the tagger's kind rank the labels of samples they were not trained on. `pair_certainty`
combines their scores with the recorded labels of the sample, and tells how much more often rare labels are missing than
frequent ones. Only the best labels of each sample are considered.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.special import expit
from sklearn.base import clone
from threadpoolctl import threadpool_limits

from tacit.arrays import Floats64, Ids, Mask
from tacit.core.base import Estimator
from tacit.core.checks import as_count
from tacit.core.labels import Labels, label_counts, positives, read_labels
from tacit.data.repeats import folds_of, groups_of
from tacit.errors import DataError, ParameterError
from tacit.evaluation.propensity import values_at
from tacit.progress import announce
from tacit.tagger.explain import feature_name, occlusion
from tacit.tagger.inputs import Inputs
from tacit.tagger.pair_certainty import RankedPairs, certainty_of, omission_by_frequency, pairs_of
from tacit.tagger.training import relations

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tacit.tagger.tagger import Tagger


_PER_LABEL = 4  # candidates of a sample, times the mean number of recorded labels, if that is more than asked for
_MOST_CERTAIN = 0.97  # no pair is stated to be right with a higher probability
_MAX_FEATURES = 50  # of a sample that are left out in turn, to find evidence
_N_SHOWN = 3  # labels, and features, in the evidence


class MissingLabel(NamedTuple):
    """A label that a sample probably should have.

    Attributes
    ----------
    row : int
        The sample, counted from 0 (in files of the command line from 1).
    label : str
        The label.
    probability : float
        Probability that annotators of this corpus would have recorded it, if they recorded labels of any frequency
        equally often; given the fraction of labels that is missing, the probability that it is true.
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
        The fraction of the true labels that is not recorded, if you know it. It changes probabilities, not their order.
    candidates : int
        Number of labels considered per sample; more where samples have many labels.
    seed : int
        Random seed of the folds.
    untagged : "negative" or "skip"
        Whether samples without labels have lost theirs, or were never tagged. Nothing is learned from the latter.
    """
    n, folds, candidates = as_count(n, "n"), as_count(folds, "folds"), as_count(candidates, "candidates")
    if folds < 2:
        raise ParameterError("folds must be at least 2: no model may rank the samples it was trained on")
    if missing is not None and not 0 < missing < 1:
        raise ParameterError(f"missing must be a fraction between 0 and 1; got {missing}")
    labels = _labels(tagger, tags, label_names)
    samples, Y = tagger._samples(texts), positives(labels.matrix)
    X = tagger._changes.scores.features(samples)
    if X.shape[0] != Y.shape[0]:
        raise DataError(f"texts and tags must have one entry per sample; got {X.shape[0]} and {Y.shape[0]}")
    is_known = np.diff(Y.indptr) > 0 if untagged == "skip" else np.ones(Y.shape[0], np.bool_)
    groups = groups_of(samples.X)
    if (n_differing := len(np.unique(groups[is_known]))) < 2 * folds:
        raise DataError(f"{folds} folds need at least {2 * folds} differing samples; got {n_differing}")
    fold_of = folds_of(np.random.default_rng(seed).permutation(len(groups)), groups, folds)
    models, pairs = _out_of_fold(tagger._fitted_model(), X, Y, fold_of, is_known, candidates)
    with threadpool_limits(1):  # as in tasks: the same pairs on every machine, and threads would only wait here
        are_known = is_known[pairs.rows]
        certainty = certainty_of(pairs, are_known, groups, seed)
        certainty += omission_by_frequency(certainty, pairs, are_known, label_counts(Y))[pairs.labels]
    offered = np.flatnonzero(~pairs.is_recorded & ~_are_retired(tagger, labels)[pairs.labels])
    order = np.lexsort((pairs.labels[offered], pairs.rows[offered], -pairs.scores[offered], -certainty[offered]))
    best = offered[order[:n]]
    evidence = _evidence(tagger, samples, Y, labels, models, pairs, best)
    found = zip(pairs.rows[best], pairs.labels[best], _probabilities(certainty[best], missing), evidence, strict=True)
    return [MissingLabel(int(row), str(labels.names[label]), float(p), in_words) for row, label, p, in_words in found]


def _labels(tagger: Tagger, tags: Any, label_names: Sequence[Any] | None) -> Labels:
    labels = read_labels(tags, label_names)
    classes = tagger._fitted_model().classes_
    if labels.container != "lists" and label_names is None and len(classes) == labels.matrix.shape[1]:
        return Labels(labels.matrix, classes, labels.container)
    return labels


def _are_retired(tagger: Tagger, labels: Labels) -> Mask:
    """For each label of the corpus, whether it may not be suggested any more."""
    columns, state = [tagger.known(str(name)) for name in labels.names], tagger._changes.state
    return np.array([column is not None and not state.is_suggested[column] for column in columns], np.bool_)


def _out_of_fold(
    model: Estimator, X: Any, Y: sparse.csr_matrix, fold_of: Ids, is_known: Mask, candidates: int
) -> tuple[list[Estimator], RankedPairs]:
    """The model of each fold, and the best labels of every sample by the model that was not trained on it."""
    k = min(max(candidates, _PER_LABEL * Y.nnz // int(is_known.sum())), Y.shape[1])
    models, parts, folds = [], [], int(fold_of.max()) + 1
    for fold in range(folds):
        announce(f"fold {fold + 1} of {folds}: training on the others")
        train, rest = np.flatnonzero((fold_of != fold) & is_known), np.flatnonzero(fold_of == fold)
        fresh = clone(model)._fit_to_rank(X[train], Y[train])
        parts.append(pairs_of(fresh.rank(X[rest], k), fresh.unranked_score, rest, fold, Y[rest], Y[train]))
        models.append(fresh)
    return models, RankedPairs.concatenate(parts)


def _probabilities(certainty: Floats64, missing: float | None) -> Floats64:
    """Of a pair that is not recorded: how often labels as certain are recorded or, of those that are not, missing.

    If a fraction m of the true labels is missing, to each recorded one belong m / (1 - m) that are missing, on average;
    the certainty includes how many more if the label is rare.
    """
    if missing is None:
        return np.asarray(expit(certainty))
    return np.asarray(np.minimum(np.exp(certainty) * missing / (1 - missing), _MOST_CERTAIN))


def _evidence(
    tagger: Tagger, samples: Inputs, Y: sparse.csr_matrix, labels: Labels, models: list[Estimator],
    pairs: RankedPairs, chosen: Ids,
) -> list[str]:  # fmt: skip
    """For each of the chosen pairs, in words: recorded labels of the sample, then features."""
    counts = relations(Y)
    own, found = counts.diagonal(), []
    for row, label, fold in zip(pairs.rows[chosen], pairs.labels[chosen], pairs.folds[chosen], strict=True):
        others = Y[row].indices
        fractions = values_at(counts, others, np.full(len(others), label)) / np.maximum(own[others], 1)
        best = [place for place in np.argsort(-fractions, kind="stable")[:_N_SHOWN] if fractions[place] > 0]
        names = (tagger.readable(str(labels.names[others[place]])) for place in best)
        with_labels = ", ".join(f"{name} ({fractions[place]:.0%})" for name, place in zip(names, best, strict=True))
        features = ", ".join(_features_for(tagger, samples, int(row), int(label), models[fold]))
        found.append("; ".join(part for part in (with_labels and f"with {with_labels}", features) if part))
    return found


def _features_for(tagger: Tagger, samples: Inputs, row: int, label: int, model: Estimator) -> list[str]:
    """The features of a sample that support a label most."""
    x, scores = samples.X[row], tagger._changes.scores

    def score(variants: sparse.csr_matrix) -> Any:
        features = scores.features(samples.with_rows(variants, np.full(variants.shape[0], row)))
        return np.asarray(model.rank(features, 1, include=[label]).scores[:, 0])

    return [feature_name(tagger, int(x.indices[place])) for place in occlusion(score, x, _N_SHOWN, _MAX_FEATURES)]
