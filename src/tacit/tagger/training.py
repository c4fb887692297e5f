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

from tacit._version import __version__
from tacit.core.checks import as_counts, as_features
from tacit.core.labels import Labels, are_lists, as_names, label_counts, positives, read_labels
from tacit.core.parameters import check_values
from tacit.data.repeats import groups_of, n_repeated
from tacit.data.vocabulary import Vocabulary, load_vocabulary
from tacit.errors import DataError, ParameterError
from tacit.numerics.rows import largest_entries, widened
from tacit.progress import announce
from tacit.registry import MODELS, find_model
from tacit.runtime.checkpoint import fingerprint
from tacit.store.declared import Array, Csr, Sizes
from tacit.tagger import automatic, few_shot
from tacit.tagger.inputs import Inputs
from tacit.tagger.learning import Fitted, Prepared, learn
from tacit.tagger.naming import are_short, language_of, naming_of, without_deprecated
from tacit.tagger.overlap import hashes_of
from tacit.tagger.vectors import split_texts, vectors_of
from tacit.text.vectorizer import TextVectorizer, are_texts, features_of

if TYPE_CHECKING:
    from tacit.tagger.tagger import Tagger

_RELATIONS_PER_LABEL = 50
_ROWS_PER_BLOCK = 4096


def check_takes_cooccurrence(name: str | type[Any]) -> None:
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
    vocabulary = tagger.vocabulary
    if vocabulary is not None and not isinstance(vocabulary, Vocabulary):
        vocabulary = load_vocabulary(vocabulary)
    if counts is None:
        labels = without_deprecated(labels, vocabulary)
    names = [str(name) for name in labels.names]
    if vocabulary is not None and names and not any(name in vocabulary for name in names):
        announce(f"none of the labels, such as '{names[0]}', is in the vocabulary, by id or by name")
    vectorizer = language = vectors = None
    texts, given = split_texts(texts)
    if are_texts(texts):
        language = language_of(texts, tagger.language)
        vectorizer = TextVectorizer(features=tagger.features, language=language if are_short(texts) else None)
        vectors = vectors_of(tagger, texts, given)
    elif tagger.encoder is not None:
        raise ParameterError("an encoder takes texts, but these samples are features; leave it out")
    X = as_features(texts) if vectorizer is None else vectorizer.fit_transform(texts, tagger.n_jobs)
    if X.shape[0] != labels.matrix.shape[0]:
        raise DataError(
            f"texts and tags must have one entry per sample; got {X.shape[0]:,} texts and {labels.matrix.shape[0]:,} "
            "tags"
        )
    name, reason = tagger.model, "named by the user"
    uses_names = vectorizer is not None and tagger.names and tagger.calibrate
    if name == "auto":
        with_names = uses_names and tagger.vocabulary is not None
        n_dimensions = 0 if vectors is None else vectors.of_texts.shape[1]
        size = automatic.DataSize.of(X, labels.matrix, n_dimensions)
        name, reason = automatic.choose(size, with_names=with_names)
        announce(f"model 'auto': {name}; {reason}")
    cls = find_model(name)
    check_values([cls], tagger.model_params)
    model = cls(random_state=tagger.random_state, n_jobs=tagger.n_jobs, **tagger.model_params)
    naming = None
    if uses_names and counts is not None and not label_counts(labels.matrix).all():
        # Held-out samples never have a label without samples: they would teach that counts say nothing of it.
        announce("labels without samples are known by their counts; names of labels are not looked for in texts")
    elif uses_names:
        naming = naming_of(labels.names, vocabulary, texts, language, vectors)
    return Prepared(X, labels, model, reason, vectorizer, naming, counts, vectors, vocabulary)


def train(
    tagger: Tagger,
    texts: Any,
    tags: Any,
    label_names: Sequence[str] | None,
    validation: tuple[Any, Any] | None,
    cooccurrence: Any = None,
) -> dict[str, Any]:
    """The fitted attributes of a tagger."""
    prepared = prepare(tagger, texts, tags, label_names, cooccurrence)
    X, labels, vectorizer = prepared.X, prepared.labels, prepared.vectorizer
    held_out = None if validation is None else _validation_of(prepared, *validation)
    seed, groups = tagger.random_state or 0, groups_of(X)
    if n_like_others := n_repeated(groups):
        announce(f"{n_like_others:,} of {X.shape[0]:,} samples repeat others; repeats are held out together")
    learned = learn(prepared, held_out, groups, seed=seed, hold_out=tagger.calibrate)
    learned.model.container_ = labels.container  # label sets come out in the form in which tags came in
    kept = None
    texts, given = split_texts(texts)
    if tagger.keep_texts:
        kept = Training(X, labels.matrix, list(texts) if vectorizer is not None else [], prepared.cooccurrence, given)
    return {
        "vectorizer_": vectorizer,
        "model_": learned.model,
        "calibration_": learned.calibration,
        "names_": learned.names,
        "encoding_": learned.encoding,
        "n_words_": X.shape[1] if learned.encoding is not None and learned.encoding.weight else None,
        "relations_": relations(labels.matrix),
        "training_": kept,
        "card_": card(X, labels, learned, seed=tagger.random_state, reason=prepared.reason),
        "known_samples_": hashes_of(X if vectorizer is None else texts, labels.matrix, labels.names),
        "few_shot_": few_shot.measure(X, labels, vectorizer, seed),
        "vocabulary_": prepared.vocabulary,
    }


def _validation_of(prepared: Prepared, texts: Any, tags: Any) -> tuple[Inputs, Labels]:
    """The validation samples of the user, and their labels."""
    names = None if are_lists(tags) else prepared.labels.names
    if prepared.cooccurrence is not None and names is not None:
        names = _names_in(tags, names)
    texts, given = split_texts(texts)
    X, naming, vectors = features_of(texts, prepared.vectorizer), prepared.naming, prepared.vectors
    matches = None if naming is None else naming.index.matches(texts)
    labels = without_deprecated(read_labels(tags, names), prepared.vocabulary)
    return Inputs(X, matches, None if vectors is None else vectors.of(texts, given)), labels


@dataclass(eq=False)
class Training:
    """The training data, kept with the model if the user asks for it."""

    features: Annotated[sparse.csr_matrix, Csr("float32", ("n_kept", "n_features"))]
    labels: Annotated[sparse.csr_matrix, Csr("float32", ("n_kept", "n_labels"))]
    texts: list[str]
    cooccurrence: Annotated[sparse.csr_matrix | None, Csr("float32", ("n_labels", "n_labels"))] = None
    vectors: Annotated[npt.NDArray[np.float32] | None, Array("float32", ("n_kept", ""), up_to=1e30)] = None

    def problem(self, sizes: Sizes) -> tuple[str, str] | None:
        """There are as many texts as samples, or none."""
        is_right = len(self.texts) in (0, sizes["n_kept"])
        return None if is_right else ("texts", f"must hold {sizes['n_kept']} texts, or none; got {len(self.texts)}")


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
        "calibration_samples": None if learned.calibration is None else learned.calibration.trade.n_samples,
        "calibration_spread": None if learned.calibration is None else learned.calibration.spread,
    }
