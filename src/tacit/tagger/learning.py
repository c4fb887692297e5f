"""A tagger's model: fitted on all samples, calibrated on samples that it has not seen, weighed against names."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.base import clone

from tacit.arrays import Ids
from tacit.core.base import Estimator
from tacit.core.labels import Labels, aligned, label_counts, positives
from tacit.data.repeats import one_of_each, unlike
from tacit.evaluation.metrics import evaluate
from tacit.names.evidence import NameCounts, NameEvidence
from tacit.names.similar import SampleIndex
from tacit.numerics.rows import occurring, selected, widened
from tacit.progress import announce
from tacit.tagger.calibration import Calibration, calibrate, places_for
from tacit.tagger.cross_fit import calibrated_on, held_out_parts
from tacit.tagger.inputs import Inputs
from tacit.tagger.naming import Naming, weigh
from tacit.tagger.vectors import Encoding, Vectors, best_fit, mixed
from tacit.text.vectorizer import TextVectorizer

_HELD_OUT_SHARE, _MAX_HELD_OUT = 0.1, 5000
_SHARE_FOR_NAMES, _MAX_FOR_NAMES = 0.2, 10_000  # where names of labels are weighed, which more samples teach better
_NEGLIGIBLE = 0.02  # share of held-out samples below which the model is not trained again on all samples


@dataclass(frozen=True, eq=False)
class Fitted:
    """A fitted model, its calibration and its metrics on held-out samples; None where none were held out."""

    model: Estimator
    calibration: Calibration | None
    metrics: dict[str, float] | None
    names: NameEvidence | None = None
    encoding: Encoding | None = None


def n_held_out(n_samples: int, *, with_names: bool = False) -> int:
    """How many training samples are held out to calibrate, if they are enough."""
    share, most = (_SHARE_FOR_NAMES, _MAX_FOR_NAMES) if with_names else (_HELD_OUT_SHARE, _MAX_HELD_OUT)
    return min(most, int(share * n_samples))


def is_negligible(n_held_out: int, n_samples: int) -> bool:
    """Whether so few samples are held out that the model need not be trained again with them."""
    return n_held_out <= _NEGLIGIBLE * n_samples


def learn(
    untrained: Estimator,
    X: sparse.csr_matrix,
    labels: Labels,
    validation: tuple[Inputs, Labels] | None,
    groups: Ids,
    *,
    seed: int,
    hold_out: bool,
    again: bool = True,
    naming: Naming | None = None,
    cooccurrence: sparse.csr_matrix | None = None,
    vectors: Vectors | None = None,
    vectorizer: TextVectorizer | None = None,
) -> Fitted:
    """Fit a model on all samples and calibrate it on samples that it has not seen.

    Without validation samples a part of the training samples is held out, and the model fitted again on all of them
    afterwards, unless the part is too small to matter, or `again` is False. Of few samples several parts are held out
    in turn. Of each of the `groups` of samples that are alike one is held out at most, and the others left out.
    """
    # Whether a label without samples is right is not known, so it is not judged where co-occurrence brings it in.
    is_judged = None if cooccurrence is None else label_counts(labels.matrix) > 0
    of_texts = None if vectors is None else vectors.of_texts
    if validation is not None:
        held, own = validation
        model, weight = _best(untrained, X, labels, cooccurrence, vectors, held, own, seed)
        found = _calibrated(model, held, weight, own, _names_there(naming, held, X, labels), seed, is_judged)
        return _with_encoding(found, vectors, weight)
    # At random: a split that spares rare labels would have more of them held out than new samples bring.
    order = one_of_each(np.random.default_rng(seed).permutation(X.shape[0]), groups)
    n_out = n_held_out(len(order), with_names=naming is not None) if hold_out else 0
    sizes = [n_out]
    finds_enough = naming is not None and _finds_enough(naming, labels, order[:n_out])
    if hold_out and not finds_enough:
        sizes = held_out_parts(len(order), n_out)
        if naming is not None and naming.others:  # of a vocabulary
            needed = f"at least {naming.min_matches} right ones in held-out texts are needed"
            announce(f"too few names of labels were found in the texts to learn what they say ({needed}); not used")
    n_out = sizes[0]
    held_out = np.sort(order[:n_out])
    rest = unlike(held_out, groups)
    if not n_out or not positives(labels.matrix[rest]).nnz:
        weight = 0.0 if vectors is None else vectors.encoding.weight
        model = _fitted(untrained, mixed(X, of_texts, weight), labels, cooccurrence)
        return _with_encoding(Fitted(model, None, None), vectors, weight)
    own = replace(labels, matrix=labels.matrix[held_out])
    X_rest = selected(X, rest)
    held = Inputs(_as_new(X[held_out], X_rest, vectorizer), None, _rows(of_texts, held_out))
    others, theirs = replace(labels, matrix=labels.matrix[rest]), None if vectors is None else vectors.rows(rest)
    to_weigh = untrained, X_rest, others, cooccurrence, theirs, held, own, seed
    if len(sizes) > 1 and again:
        weight = 0.0 if vectors is None else _best(*to_weigh)[1]
        parts = [held_out, *(np.sort(each) for each in np.split(order, np.cumsum(sizes))[1:-1])]
        crossed = _cross_fitted(
            untrained, X, of_texts, weight, vectorizer, labels, parts, groups, cooccurrence, is_judged
        )
        return _with_encoding(crossed, vectors, weight)
    announce(f"holding out {n_out:,} samples to calibrate the scores")
    part, weight = _best(*to_weigh)
    names = None
    if naming is not None:
        names = naming.rows(rest), naming.rows(held_out), SampleIndex.of(X_rest, positives(labels.matrix[rest]))
    found = _with_encoding(_calibrated(part, held, weight, own, names, seed, is_judged), vectors, weight)
    if again and not is_negligible(X.shape[0] - len(rest), X.shape[0]):
        announce("training again on all samples")
        found = replace(found, model=untrained)
        del part, names, X_rest, to_weigh, theirs, held  # memory that the second training needs
        found = replace(found, model=_fitted(untrained, mixed(X, of_texts, weight), labels, cooccurrence))
    if found.names is None or naming is None:
        return found
    Y = positives(labels.matrix)
    counts = NameCounts.of(naming.index, naming.matches, widened(Y, found.names.n_labels))
    return replace(found, names=replace(found.names, counts=counts, samples=SampleIndex.of(X, Y)))


def _names_there(
    naming: Naming | None, held: Inputs, X: sparse.csr_matrix, labels: Labels
) -> tuple[Naming, Naming, SampleIndex] | None:
    """The names in training samples and in validation samples, and an index of the former."""
    if naming is None or held.matches is None:
        return None
    there = replace(naming, matches=held.matches, vectors=held.vectors)
    return naming, there, SampleIndex.of(X, positives(labels.matrix))


def _best(
    untrained: Estimator,
    X: sparse.csr_matrix,
    labels: Labels,
    cooccurrence: sparse.csr_matrix | None,
    vectors: Vectors | None,
    held: Inputs,
    held_labels: Labels,
    seed: int,
) -> tuple[Estimator, float]:
    """The fitted model, with the weight of vectors that is best on held-out samples."""

    def fit(features: Any, rows: npt.NDArray[np.intp] | None = None) -> Estimator:
        own = labels if rows is None else replace(labels, matrix=labels.matrix[rows])
        return _fitted(clone(untrained), features, own, cooccurrence)

    if vectors is None or held.vectors is None:
        return fit(X), 0.0
    return best_fit(fit, X, vectors, held.X, held.vectors, held_labels, seed)


def _with_encoding(found: Fitted, vectors: Vectors | None, weight: float) -> Fitted:
    """With what is kept of the encoder."""
    return found if vectors is None else replace(found, encoding=replace(vectors.encoding, weight=weight))


def _finds_enough(naming: Naming, labels: Labels, rows: Ids) -> bool:
    """Whether so many names are right in held-out samples that they teach something."""
    Y = widened(positives(labels.matrix[rows]), len(labels.names) + len(naming.others))
    return int(NameCounts.of(naming.index, naming.rows(rows).matches, Y).right.sum()) >= naming.min_matches


def _as_new(X: sparse.csr_matrix, rest: sparse.csr_matrix, vectorizer: TextVectorizer | None) -> sparse.csr_matrix:
    """Features X of held-out samples; of texts, without words that `rest` does not have: new texts lack these, too."""
    return X if vectorizer is None else vectorizer.restricted_to(X, occurring(rest))


def _cross_fitted(
    untrained: Estimator,
    X: sparse.csr_matrix,
    of_texts: Any,
    weight: float,
    vectorizer: TextVectorizer | None,
    labels: Labels,
    held_out: list[Ids],
    groups: Ids,
    cooccurrence: sparse.csr_matrix | None,
    is_judged: npt.NDArray[np.bool_] | None,
) -> Fitted:
    """A model of all samples, calibrated on parts of them by models that were trained without these."""
    announce(f"holding out {len(held_out)} parts of the samples in turn to calibrate the scores")
    models = []
    for part in held_out:
        rest = unlike(part, groups)
        if positives(labels.matrix[rest]).nnz:
            own, words = replace(labels, matrix=labels.matrix[rest]), selected(X, rest)
            model = _fitted(clone(untrained), mixed(words, _rows(of_texts, rest), weight), own, cooccurrence)
            models.append((model, mixed(_as_new(X[part], words, vectorizer), _rows(of_texts, part), weight), part))
    model = _fitted(untrained, mixed(X, of_texts, weight), labels, cooccurrence)
    found = calibrated_on(models, labels.matrix, model.propensities_for, is_judged) if models else None
    return Fitted(model, *(found or (None, None)))


def _rows(of_texts: Any, rows: Ids) -> Any:
    """Some of the vectors, if there are any."""
    return None if of_texts is None else of_texts[rows]


def _fitted(untrained: Estimator, X: Any, labels: Labels, cooccurrence: sparse.csr_matrix | None) -> Estimator:
    Y, given = labels.matrix, {}
    if cooccurrence is not None:
        from tacit.latent.zero_shot import ZeroShot

        if isinstance(untrained, ZeroShot):  # its Y and the rows of its counts end with the last label that has samples
            n_seen = int(Y.indices.max(initial=0)) + 1
            Y, cooccurrence = Y[:, :n_seen], cooccurrence[:n_seen]
        given = {"cooccurrence": cooccurrence}
    return untrained.fit(X, Y, label_names=list(labels.names), **given)


def _calibrated(
    model: Estimator,
    held: Inputs,
    weight: float,
    labels: Labels,
    names: tuple[Naming, Naming, SampleIndex] | None,
    seed: int,
    is_judged: npt.NDArray[np.bool_] | None,
) -> Fitted:
    """`model` with its calibration on `held`, which it has not seen, and the names of labels where they help.

    `names` are those in the samples that it has seen, those in the held-out ones, and an index of the former.
    Calibration is on the labels that these have and those that `is_judged` marks, by default all; the others get the
    curve of rare labels. Vectors count at `weight`.
    """
    X = mixed(held.X, held.vectors, weight)
    classes, counts = model.classes_, model.label_counts_
    if names is not None:
        classes = np.concatenate([classes.astype(object), np.array(names[0].others, dtype=object)])
        counts = np.pad(counts, (0, len(names[0].others)))
    truth = positives(aligned(labels.matrix, labels.names, classes))
    if not truth.nnz:
        return Fitted(model, None, None)
    n_places = min(places_for(truth), len(classes))
    evidence = None
    if names is not None:
        before, own, samples = names
        evidence, ranking = weigh(own, before, model, X, held.X, truth, samples, n_places, seed)
        if evidence is None:
            counts, truth = model.label_counts_, truth[:, : len(model.classes_)]
    if names is None or (evidence is None and is_judged is not None):
        judged = None
        if is_judged is not None:
            judged = np.flatnonzero(is_judged | (label_counts(truth)[: len(classes)] > 0))
        ranking = model.rank(X, min(n_places, len(model.classes_)), judged)
    calibration = calibrate(ranking, truth, counts)
    metrics = evaluate(calibration.apply(ranking), truth, model.propensities_for(truth.shape[1]))
    return Fitted(model, calibration, metrics, evidence)
