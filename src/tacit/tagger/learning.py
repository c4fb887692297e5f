"""A tagger's model: fitted on all samples, calibrated on samples that it has not seen, weighed against names."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone

from tacit.arrays import Ids
from tacit.core.base import Estimator
from tacit.core.labels import Labels, aligned, label_counts, positives
from tacit.core.ranking import Ranking
from tacit.data.repeats import one_of_each, unlike
from tacit.data.vocabulary import Vocabulary
from tacit.evaluation.metrics import evaluate
from tacit.names.evidence import NameCounts, NameEvidence
from tacit.names.index import Matches
from tacit.names.similar import SampleIndex
from tacit.numerics.rows import occurring, selected, widened
from tacit.progress import announce
from tacit.tagger.calibration import Calibration, calibrate, places_for
from tacit.tagger.inputs import Inputs
from tacit.tagger.naming import MIN_MATCHES, Naming, weigh
from tacit.tagger.vectors import Encoding, Vectors, best_fit, mixed
from tacit.text.vectorizer import TextVectorizer

_HELD_OUT_SHARE, _MAX_HELD_OUT = 0.1, 5000
_SHARE_FOR_NAMES, _MAX_FOR_NAMES = 0.2, 10_000  # where names of labels are weighed, which more samples teach better
_NEGLIGIBLE = 0.02  # share of held-out samples below which the model is not trained again on all samples
_ENOUGH = 150  # samples to calibrate on; of fewer, ...
_PARTS = 5  # ... so many parts at most are held out in turn


@dataclass(frozen=True, eq=False)
class Prepared:
    """Features, labels, an untrained model and the reason for its choice; for texts, the vectoriser and names.

    `cooccurrence` has a row and a column for each label, or is None where a model counts in the labels themselves.
    """

    X: sparse.csr_matrix
    labels: Labels
    model: Estimator
    reason: str
    vectorizer: TextVectorizer | None
    naming: Naming | None = None
    cooccurrence: sparse.csr_matrix | None = None
    vectors: Vectors | None = None
    vocabulary: Vocabulary | None = None

    def rows(self, rows: Ids) -> Prepared:
        """The same for some of the samples."""
        naming, vectors = self.naming and self.naming.rows(rows), self.vectors and self.vectors.rows(rows)
        return replace(self, X=selected(self.X, rows), labels=self.labels_of(rows), naming=naming, vectors=vectors)

    def labels_of(self, rows: Ids) -> Labels:
        """The labels of some of the samples."""
        return replace(self.labels, matrix=self.labels.matrix[rows])

    def held_out(self, rows: Ids, rest: Prepared) -> Inputs:
        """Some of the samples as they come when the model knows the `rest`: without words that only they have."""
        X = self.X[rows]
        if self.vectorizer is not None:
            X = self.vectorizer.restricted_to(X, occurring(rest.X))
        matches = None if self.naming is None else self.naming.matches.rows(rows)
        return Inputs(X, matches, None if self.vectors is None else self.vectors.of_texts[rows])

    def fitted(self, weight: float) -> Estimator:
        """The model, trained on all samples, with vectors at this weight."""
        Y, counts, given = self.labels.matrix, self.cooccurrence, {}
        if counts is not None:
            from tacit.latent.zero_shot import ZeroShot

            if isinstance(self.model, ZeroShot):  # its Y and the rows of its counts end with the last label of a sample
                n_seen = int(Y.indices.max(initial=0)) + 1
                Y, counts = Y[:, :n_seen], counts[:n_seen]
            given = {"cooccurrence": counts}
        X = mixed(self.X, None if self.vectors is None else self.vectors.of_texts, weight)
        fresh: Estimator = clone(self.model)
        return fresh.fit(X, Y, label_names=list(self.labels.names), **given)


@dataclass(frozen=True, eq=False)
class Fitted:
    """A fitted model, its calibration and its metrics on held-out samples; None where none were held out."""

    model: Estimator
    calibration: Calibration | None = None
    metrics: dict[str, float] | None = None
    names: NameEvidence | None = None
    encoding: Encoding | None = None


def learn(
    data: Prepared, validation: tuple[Inputs, Labels] | None, groups: Ids, *, seed: int, hold_out: bool
) -> Fitted:
    """Fit a model on all samples and calibrate it on samples that it has not seen.

    Without validation samples a part of the training samples is held out, and the model fitted again on all of them
    afterwards, unless the part is too small to matter. Of few samples several parts are held out in turn. Of each of
    the `groups` of samples that are alike one is held out at most, and the others left out.
    """
    if validation is not None:
        return _encoded(data, *_judged(data, data, validation, seed))
    # At random: a split that spares rare labels would have more of them held out than new samples bring.
    order = one_of_each(np.random.default_rng(seed).permutation(data.X.shape[0]), groups)
    sizes = _held_out_sizes(data, order) if hold_out else [0]
    parts = [np.sort(part) for part in np.split(order, np.cumsum(sizes))[:-1]]
    rest = unlike(parts[0], groups)
    if not sizes[0] or not positives(data.labels.matrix[rest]).nnz:
        weight = 0.0 if data.vectors is None else data.vectors.encoding.weight
        return _encoded(data, Fitted(data.fitted(weight)), weight)
    if len(sizes) > 1:
        return _encoded(data, *_cross_fitted(data, parts, groups, seed))
    announce(f"holding out {sizes[0]:,} samples to calibrate the scores")
    found, weight = _judged(data, data.rows(rest), parts[0], seed)
    if data.X.shape[0] - len(rest) > _NEGLIGIBLE * data.X.shape[0]:
        announce("training again on all samples")
        found = replace(found, model=data.model)  # frees memory that the second training needs
        found = replace(found, model=data.fitted(weight))
    if found.names is not None and data.naming is not None:
        Y, naming = positives(data.labels.matrix), data.naming
        counts = NameCounts.of(naming.index, naming.matches, widened(Y, found.names.n_labels))
        found = replace(found, names=replace(found.names, counts=counts, samples=SampleIndex.of(data.X, Y)))
    return _encoded(data, found, weight)


def _held_out_sizes(data: Prepared, order: Ids) -> list[int]:
    """How many samples are held out, of those in this order: one number, or several for parts in turn."""
    naming, n_samples = data.naming, len(order)
    share, most = (_HELD_OUT_SHARE, _MAX_HELD_OUT) if naming is None else (_SHARE_FOR_NAMES, _MAX_FOR_NAMES)
    n_out = min(most, int(share * n_samples))
    if naming is not None:
        Y = widened(positives(data.labels.matrix[order[:n_out]]), len(data.labels.names) + len(naming.others))
        found = NameCounts.of(naming.index, naming.matches.rows(order[:n_out]), Y).right.sum()
        if found >= MIN_MATCHES:
            return [n_out]
        if naming.others:  # of a vocabulary
            needed = f"at least {MIN_MATCHES} right ones in held-out texts are needed"
            announce(f"too few names of labels were found in the texts to learn what they say ({needed}); not used")
    if n_out >= _ENOUGH or n_samples < 2:
        return [n_out]
    sizes = [len(part) for part in np.array_split(np.arange(n_samples), min(_PARTS, n_samples))]
    return sizes[: int(np.searchsorted(np.cumsum(sizes), _ENOUGH)) + 1]


def _judged(data: Prepared, rest: Prepared, others: Ids | tuple[Inputs, Labels], seed: int) -> tuple[Fitted, float]:
    """A model of the `rest` of the samples, calibrated on others, with the best weight of vectors, and that weight."""
    held, labels = others if isinstance(others, tuple) else (data.held_out(others, rest), data.labels_of(others))
    model, weight = best_fit(rest, held, labels, seed)
    X = mixed(held.X, held.vectors, weight)
    if rest.naming is None or held.matches is None:
        return _calibrated(data, model, [(model, X)], labels), weight
    return _weighed(rest, rest.naming, held.matches, model, X, held, labels, seed), weight


def _cross_fitted(data: Prepared, parts: list[Ids], groups: Ids, seed: int) -> tuple[Fitted, float]:
    """A model of all samples, calibrated on parts of them by models that were trained without these."""
    weight = 0.0
    if data.vectors is not None:
        rest = data.rows(unlike(parts[0], groups))
        weight = best_fit(rest, data.held_out(parts[0], rest), data.labels_of(parts[0]), seed)[1]
    announce(f"holding out {len(parts)} parts of the samples in turn to calibrate the scores")
    models, rows = [], []
    for part in parts:
        rest = data.rows(unlike(part, groups))
        if positives(rest.labels.matrix).nnz:
            held = data.held_out(part, rest)
            models.append((rest.fitted(weight), mixed(held.X, held.vectors, weight)))
            rows.append(part)
    return _calibrated(data, data.fitted(weight), models, data.labels_of(np.concatenate(rows))), weight


def _calibrated(data: Prepared, whole: Estimator, models: list[tuple[Estimator, Any]], labels: Labels) -> Fitted:
    """`whole` with its calibration on samples with these labels, ranked by models that have not seen them.

    Whether a label without samples is right is not known, so it is not judged where co-occurrence brings it in; it gets
    the curve of rare labels.
    """
    truth = positives(aligned(labels.matrix, labels.names, whole.classes_))
    if not truth.nnz:
        return Fitted(whole)
    judged = None
    if data.cooccurrence is not None:
        judged = np.flatnonzero((label_counts(data.labels.matrix) > 0) | (label_counts(truth) > 0))
    k = min(places_for(truth), len(whole.classes_))
    ranking = Ranking.concatenate([model.rank(X, k, judged) for model, X in models])
    calibration = calibrate(ranking, truth, whole.label_counts_)
    metrics = evaluate(calibration.apply(ranking), truth, whole.propensities_for(truth.shape[1]))
    return Fitted(whole, calibration, metrics)


def _weighed(
    rest: Prepared,
    naming: Naming,
    matches: Matches,
    model: Estimator,
    X: Any,
    held: Inputs,
    labels: Labels,
    seed: int,
) -> Fitted:
    """`model`, trained on the `rest`, with names of labels where they help, both calibrated on held-out samples."""
    classes = np.concatenate([model.classes_.astype(object), np.array(naming.others, dtype=object)])
    truth = positives(aligned(labels.matrix, labels.names, classes))
    if not truth.nnz:
        return Fitted(model)
    samples = SampleIndex.of(rest.X, positives(rest.labels.matrix))
    n_places = min(places_for(truth), len(classes))
    evidence, ranking = weigh(naming, matches, model, X, held, truth, samples, n_places, seed)
    counts = np.pad(model.label_counts_, (0, 0 if evidence is None else len(naming.others)))
    truth = truth[:, : len(counts)] if evidence is None else truth
    calibration = calibrate(ranking, truth, counts)
    metrics = evaluate(calibration.apply(ranking), truth, model.propensities_for(truth.shape[1]))
    return Fitted(model, calibration, metrics, evidence)


def _encoded(data: Prepared, found: Fitted, weight: float) -> Fitted:
    """With what is kept of the encoder."""
    return found if data.vectors is None else replace(found, encoding=replace(data.vectors.encoding, weight=weight))
