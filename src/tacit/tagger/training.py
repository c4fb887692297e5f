"""Training of a tagger: held-out samples, calibration, data that are kept, and the model card."""

from __future__ import annotations

import importlib.metadata
import inspect
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.base import clone

from tacit._version import __version__
from tacit.base import Estimator
from tacit.checks import as_counts, as_features
from tacit.errors import ParameterError
from tacit.labels import Labels, aligned, are_lists, as_names, label_counts, positives, read_labels
from tacit.metrics import evaluate
from tacit.names.evidence import NameCounts, NameEvidence
from tacit.names.similar import SampleIndex
from tacit.numerics.rows import largest_entries, selected, widened
from tacit.parameters import check_values
from tacit.phases import CALIBRATE, FIT, phase
from tacit.progress import announce, is_shown
from tacit.registry import MODELS, find_model
from tacit.store.declared import Csr, Sizes
from tacit.tagger import automatic, few_shot
from tacit.tagger.calibration import Calibration, calibrate, places_for
from tacit.tagger.naming import Naming, are_short, language_of, naming_of, weigh
from tacit.tagger.overlap import sketch
from tacit.tagger.samples import Inputs
from tacit.tasks import fingerprint
from tacit.vectorizer import TextVectorizer, are_texts, features_of

if TYPE_CHECKING:
    from tacit.estimate import Estimate
    from tacit.tagger.tagger import Tagger

_HELD_OUT_SHARE, _MAX_HELD_OUT = 0.1, 5000
_SHARE_FOR_NAMES, _MAX_FOR_NAMES = 0.2, 10_000  # where names of labels are weighed, which more samples teach better
_NEGLIGIBLE = 0.02  # share of held-out samples below which the model is not trained again on all samples
_MIN_TO_CALIBRATE = 50  # samples; with fewer, calibration would be too noisy
_RELATIONS_PER_LABEL = 50
_ROWS_PER_BLOCK = 4096

_LONG = 5e9  # non-zero features times labels; from here on, training is expected to take long
_SHORT = 5e7  # below, every model with its defaults takes less than a minute


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


def check_takes_cooccurrence(name: str) -> None:
    """Raise unless the model of this name learns from co-occurrence counts that it is given."""
    if name == "auto" or not _takes_cooccurrence(find_model(name)):
        able = [entry.name for entry in MODELS.values() if _takes_cooccurrence(entry.load())]
        raise ParameterError(
            f"model '{name}' takes no co-occurrence counts; models that do: {', '.join(able)} (see: tacit models)"
        )


def _takes_cooccurrence(cls: type[Any]) -> bool:
    return "cooccurrence" in inspect.signature(cls.fit).parameters


def _with_counted(
    tags: Any, label_names: Sequence[str] | None, cooccurrence: Any
) -> tuple[Labels, sparse.csr_matrix | None]:
    """The labels of samples, with columns for those that only have counts, and the counts of all of them."""
    if cooccurrence is None or label_names is None:
        labels = read_labels(tags, label_names)
    else:
        names = list(label_names)
        labels = read_labels(tags, _names_in(tags, names))
        labels = replace(labels, matrix=widened(labels.matrix, len(names)), names=as_names(names))
    if cooccurrence is None:
        return labels, None
    return labels, as_counts(cooccurrence, "cooccurrence", (len(labels.names),) * 2).astype(np.float32)


def _names_in(tags: Any, names: Any) -> Any:
    """The names that tags may have: a matrix may end with the last label that has samples."""
    return names if are_lists(tags) else names[: np.shape(tags)[1]]


def prepare(
    tagger: Tagger, texts: Any, tags: Any, label_names: Sequence[str] | None, cooccurrence: Any = None
) -> Prepared:
    """Turn texts into features, read the labels and choose the model."""
    if cooccurrence is not None:
        check_takes_cooccurrence(tagger.model)
    labels, counts = _with_counted(tags, label_names, cooccurrence)
    vectorizer = language = None
    if are_texts(texts):
        language = language_of(texts, tagger.language)
        vectorizer = TextVectorizer(characters=tagger.characters, language=language if are_short(texts) else None)
    X = as_features(texts) if vectorizer is None else vectorizer.fit_transform(texts, tagger.n_jobs)
    name, reason = tagger.model, "named by the user"
    uses_names = vectorizer is not None and tagger.names and tagger.calibrate
    if name == "auto":
        with_names = uses_names and tagger.vocabulary is not None
        name, reason = automatic.choose(X, labels.matrix, with_names=with_names)
        announce(f"model 'auto': {name}; {reason}")
    cls = find_model(name)
    check_values([cls], tagger.model_params)
    model = cls(random_state=tagger.random_state, n_jobs=tagger.n_jobs, **tagger.model_params)
    naming = None
    if uses_names and counts is not None and not label_counts(labels.matrix).all():
        # Held-out samples never have a label without samples: they would teach that counts say nothing of it.
        announce("labels without samples are known by their counts; names of labels are not looked for in texts")
    elif uses_names:
        naming = naming_of(labels.names, tagger.read_vocabulary(), texts, language)
    return Prepared(X, labels, model, reason, vectorizer, naming, counts)


def train(
    tagger: Tagger,
    texts: Any,
    tags: Any,
    label_names: Sequence[str] | None,
    validation: tuple[Any, Any] | None,
    max_memory: int | None,
    cooccurrence: Any = None,
) -> dict[str, Any]:
    """The fitted attributes of a tagger."""
    prepared = prepare(tagger, texts, tags, label_names, cooccurrence)
    held_out = validation_of(prepared, validation)
    prepared = replace(prepared, model=planned(tagger, prepared, held_out, texts, max_memory))
    return trained(tagger, prepared, held_out, texts)


def validation_of(prepared: Prepared, validation: tuple[Any, Any] | None) -> tuple[Inputs, Labels] | None:
    """The validation samples of the user and their labels, if there are any."""
    if validation is None:
        return None
    names = None if are_lists(validation[1]) else prepared.labels.names
    if prepared.cooccurrence is not None and names is not None:
        names = _names_in(validation[1], names)
    X, naming = features_of(validation[0], prepared.vectorizer), prepared.naming
    return Inputs(X, None if naming is None else naming.index.matches(validation[0])), read_labels(validation[1], names)


def trained(
    tagger: Tagger, prepared: Prepared, held_out: tuple[Inputs, Labels] | None, texts: Any, *, again: bool = True
) -> dict[str, Any]:
    """The fitted attributes of a tagger with these parameters; for `again` see `learn`."""
    X, labels, vectorizer = prepared.X, prepared.labels, prepared.vectorizer
    seed = tagger.random_state or 0
    learned = learn(
        prepared.model, X, labels, held_out, seed=seed, hold_out=tagger.calibrate, again=again, naming=prepared.naming,
        cooccurrence=prepared.cooccurrence,
    )  # fmt: skip
    learned.model.container_ = labels.container  # label sets come out in the form in which tags came in
    kept = None
    if tagger.keep_texts:
        kept = Training(X, labels.matrix, list(texts) if vectorizer is not None else [], prepared.cooccurrence)
    return {
        "vectorizer_": vectorizer,
        "model_": learned.model,
        "calibration_": learned.calibration,
        "names_": learned.names,
        "relations_": relations(labels.matrix),
        "training_": kept,
        "card_": card(X, labels, learned, seed=tagger.random_state, reason=prepared.reason)
        | {"sketch": sketch(X if vectorizer is None else texts)},
        "few_shot_": few_shot.measure(X, labels, vectorizer, seed),
    }


def planned(
    tagger: Tagger, prepared: Prepared, held_out: tuple[Inputs, Labels] | None, texts: Any, max_memory: int | None
) -> Estimator:
    """The model, or a smaller one that stays within `max_memory` bytes; its estimate is announced first."""
    from tacit.estimate import within_memory

    model = prepared.model
    if not is_announced(prepared, max_memory):
        if _size(prepared) < _SHORT:
            announce(f"{type(model).__name__} is expected to take less than a minute, the compilation of kernels aside")
        return model
    expected = estimate_of(tagger, prepared, held_out, texts)
    announce(f"{type(model).__name__} is expected to take {expected}")
    if max_memory is None:
        return model
    return within_memory(
        model,
        prepared.X,
        prepared.labels.matrix,
        max_memory,
        expected,
        estimated=lambda other: estimate_of(tagger, replace(prepared, model=other), held_out, texts),
    )


def is_announced(prepared: Prepared, max_memory: int | None) -> bool:
    """Whether a training is estimated before it starts: memory is limited, or it may be long and somebody waits."""
    return max_memory is not None or _size(prepared) >= (_SHORT if is_shown() else _LONG)


def _size(prepared: Prepared) -> int:
    return int(prepared.X.nnz) * int(prepared.labels.matrix.shape[1])


def estimate_of(tagger: Tagger, prepared: Prepared, held_out: tuple[Inputs, Labels] | None, texts: Any) -> Estimate:
    """The estimate for `trained` and for saving the tagger."""
    from tacit.estimate import estimate_task
    from tacit.probe import Task

    kept = texts if tagger.keep_texts and prepared.vectorizer is not None else ()
    task = Task(
        prepared.model, prepared.X, prepared.labels, tagger, prepared.vectorizer, kept, held_out, prepared.naming
    )
    n_validation = None if held_out is None else held_out[0].shape[0]
    with_names = prepared.naming is not None
    phases = schedule(prepared.X.shape[0], n_validation, hold_out=tagger.calibrate, with_names=with_names)
    return estimate_task(task, phases)


def schedule(
    n_samples: int, n_validation: int | None, *, hold_out: bool, with_names: bool = False
) -> list[tuple[str, int]]:
    """The phases of `learn`, and the number of samples of each."""
    if n_validation is not None:
        return [(FIT, n_samples), (CALIBRATE, n_validation)]
    n_out = n_held_out(n_samples, with_names=with_names) if hold_out else 0
    if not n_out:
        return [(FIT, n_samples)]
    fits = [n_samples - n_out] if is_negligible(n_out, n_samples) else [n_samples - n_out, n_samples]
    return [*((FIT, n) for n in fits), (CALIBRATE, n_out)]


@dataclass(eq=False)
class Training:
    """The training data, kept with the model if the user asks for it."""

    features: Annotated[sparse.csr_matrix, Csr("float32", ("n_kept", "n_features"))]
    labels: Annotated[sparse.csr_matrix, Csr("float32", ("n_kept", "n_labels"))]
    texts: list[str]
    cooccurrence: Annotated[sparse.csr_matrix | None, Csr("float32", ("n_labels", "n_labels"))] = None

    def what_is_wrong(self, sizes: Sizes) -> tuple[str, str] | None:
        """There are as many texts as samples, or none."""
        is_right = len(self.texts) in (0, sizes["n_kept"])
        return None if is_right else ("texts", f"must hold {sizes['n_kept']} texts, or none; got {len(self.texts)}")


@dataclass(frozen=True, eq=False)
class Fitted:
    """A fitted model, its calibration and its metrics on held-out samples; None where none were held out."""

    model: Estimator
    calibration: Calibration | None
    metrics: dict[str, float] | None
    names: NameEvidence | None = None


def n_held_out(n_samples: int, *, with_names: bool = False) -> int:
    """How many training samples are held out to calibrate; with few samples none, as their scores would say little."""
    share, most = (_SHARE_FOR_NAMES, _MAX_FOR_NAMES) if with_names else (_HELD_OUT_SHARE, _MAX_HELD_OUT)
    return min(most, int(share * n_samples)) if n_samples >= _MIN_TO_CALIBRATE else 0


def is_negligible(n_held_out: int, n_samples: int) -> bool:
    """Whether so few samples are held out that the model need not be trained again with them."""
    return n_held_out <= _NEGLIGIBLE * n_samples


def learn(
    untrained: Estimator,
    X: sparse.csr_matrix,
    labels: Labels,
    validation: tuple[Inputs, Labels] | None,
    *,
    seed: int,
    hold_out: bool,
    again: bool = True,
    naming: Naming | None = None,
    cooccurrence: sparse.csr_matrix | None = None,
) -> Fitted:
    """Fit a model on all samples and calibrate it on samples that it has not seen.

    Without validation samples a part of the training samples is held out, and the model fitted again on all of them
    afterwards, unless the part is too small to matter, or `again` is False.
    """
    # Whether a label without samples is right is not known, so it is not judged where co-occurrence brings it in.
    is_judged = None if cooccurrence is None else label_counts(labels.matrix) > 0
    if validation is not None:
        model = _fitted(untrained, X, labels, cooccurrence)
        held, names = validation[0], None
        if naming is not None and held.matches is not None:
            names = naming, replace(naming, matches=held.matches), SampleIndex.of(X, positives(labels.matrix))
        return _calibrated(model, model, held.X, validation[1], names, seed, is_judged)
    n_out = n_held_out(X.shape[0], with_names=naming is not None) if hold_out else 0
    # At random: a split that spares rare labels would have more of them held out than new samples bring.
    order = np.random.default_rng(seed).permutation(X.shape[0])
    held_out, rest = np.sort(order[:n_out]), np.sort(order[n_out:])
    if not n_out or not positives(labels.matrix[rest]).nnz:
        return Fitted(_fitted(untrained, X, labels, cooccurrence), None, None)
    announce(f"holding out {n_out:,} samples to calibrate the scores")
    X_rest = selected(X, rest)
    part = model = _fitted(clone(untrained), X_rest, replace(labels, matrix=labels.matrix[rest]), cooccurrence)
    if again and not is_negligible(n_out, X.shape[0]):
        announce("training again on all samples")
        model = _fitted(untrained, X, labels, cooccurrence)
    names = None
    if naming is not None:
        names = naming.rows(rest), naming.rows(held_out), SampleIndex.of(X_rest, positives(labels.matrix[rest]))
    own = replace(labels, matrix=labels.matrix[held_out])
    found = _calibrated(model, part, X[held_out], own, names, seed, is_judged)
    if found.names is None or naming is None:
        return found
    Y = positives(labels.matrix)
    counts = NameCounts.of(naming.index, naming.matches, widened(Y, found.names.n_labels))
    return replace(found, names=replace(found.names, counts=counts, samples=SampleIndex.of(X, Y)))


def _fitted(
    untrained: Estimator, X: sparse.csr_matrix, labels: Labels, cooccurrence: sparse.csr_matrix | None
) -> Estimator:
    Y, given = labels.matrix, {}
    if cooccurrence is not None:
        from tacit.latent.zero_shot import ZeroShot

        if isinstance(untrained, ZeroShot):  # its Y and the rows of its counts end with the last label that has samples
            n_seen = int(Y.indices.max(initial=0)) + 1
            Y, cooccurrence = Y[:, :n_seen], cooccurrence[:n_seen]
        given = {"cooccurrence": cooccurrence}
    with phase(FIT, X.shape[0]):
        return untrained.fit(X, Y, label_names=list(labels.names), **given)


def _calibrated(
    model: Estimator,
    part: Estimator,
    X: sparse.csr_matrix,
    labels: Labels,
    names: tuple[Naming, Naming, SampleIndex] | None,
    seed: int,
    is_judged: npt.NDArray[np.bool_] | None,
) -> Fitted:
    """`model` with the calibration of `part`, which has not seen X, and the names of labels where they help.

    `names` are those in the samples that `part` has seen, those in X, and an index of the former. Calibration is
    on the labels that X has and those that `is_judged` marks, by default all; the others get the curve of rare labels.
    """
    with phase(CALIBRATE, X.shape[0]):
        classes, counts = part.classes_, part.label_counts_
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
            evidence, ranking = weigh(own, before, part, X, truth, samples, n_places, seed)
            if evidence is None:
                counts, truth = part.label_counts_, truth[:, : len(part.classes_)]
        if names is None or (evidence is None and is_judged is not None):
            judged = None
            if is_judged is not None:
                judged = np.flatnonzero(is_judged | (label_counts(truth)[: len(classes)] > 0))
            ranking = part.rank(X, min(n_places, len(part.classes_)), judged)
        calibration = calibrate(ranking, truth, counts)
        metrics = evaluate(calibration.apply(ranking), truth, part.propensities_for(truth.shape[1]))
        return Fitted(model, calibration, metrics, evidence)


def relations(Y: sparse.csr_matrix) -> sparse.csr_matrix:
    """In how many samples labels occur together: the largest counts of each label, its own on the diagonal."""
    by_label = positives(Y).T.tocsr().astype(np.float32)
    by_sample = by_label.T.tocsr()
    blocks = [
        largest_entries((by_label[first : first + _ROWS_PER_BLOCK] @ by_sample).sorted_indices(), _RELATIONS_PER_LABEL)
        for first in range(0, by_label.shape[0], _ROWS_PER_BLOCK)
    ]
    return sparse.vstack(blocks, format="csr")


def card(X: sparse.csr_matrix, labels: Labels, learned: Fitted, *, seed: int | None, reason: str) -> dict[str, Any]:
    """The model card: fingerprint and sizes of the data, seed, versions and held-out metrics."""
    return {
        "model": type(learned.model).__name__,
        "reason": reason,
        "fingerprint": fingerprint(X, labels.matrix),
        "samples": int(X.shape[0]),
        "features": int(X.shape[1]),
        "labels": int(labels.matrix.shape[1]),
        "positives": int(positives(labels.matrix).nnz),
        "seed": seed,
        "versions": {"tacit": __version__}
        | {name: importlib.metadata.version(name) for name in ("numpy", "scipy", "scikit-learn", "numba")},
        "held_out_metrics": learned.metrics or {},
        "calibration_error": None if learned.calibration is None else learned.calibration.error,
    }
