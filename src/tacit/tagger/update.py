"""Updating a tagger with new samples: incrementally if the model supports it, otherwise by training again.

Training data keep the label names of the training; the acts are replayed on the new base.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from tacit.arrays import UInts64
from tacit.core.labels import Names, label_counts, positives, read_labels
from tacit.errors import DataError, ParameterError
from tacit.linear.popularity import Popularity
from tacit.numerics.rows import row_of_entry, widened
from tacit.tagger.changes import without_acts
from tacit.tagger.naming import counted_on, moved, without_deprecated
from tacit.tagger.overlap import are_known, hashes_of
from tacit.tagger.training import Training, relations
from tacit.tagger.vectors import split_texts
from tacit.text.encoders import Encoded
from tacit.text.vectorizer import features_of

if TYPE_CHECKING:
    from tacit.tagger.tagger import Tagger


@dataclass(frozen=True, eq=False)
class _NewSamples:
    """New samples, as given and as features, and their labels by the names used in training."""

    samples: Any  # texts, or X
    X: sparse.csr_matrix
    Y: sparse.csr_matrix
    names: list[str]
    hashes: UInts64
    vectors: npt.NDArray[np.float32] | None = None  # made elsewhere

    def rows(self, rows: npt.NDArray[np.intp]) -> _NewSamples:
        """Some of the samples."""
        samples = [self.samples[row] for row in rows] if self.samples is not self.X else self.X[rows]
        vectors = None if self.vectors is None else self.vectors[rows]
        return _NewSamples(samples, self.X[rows], self.Y[rows], self.names, self.hashes[rows], vectors)

    @property
    def inputs(self) -> Any:
        """Texts, with their vectors if there are any, or features."""
        return self.samples if self.vectors is None else Encoded(self.samples, self.vectors)


def update(tagger: Tagger, samples: Any, tags: Any, label_names: Sequence[str] | None = None) -> str:
    """Train a tagger, in place, on those new samples that it does not have with the same labels; return a summary."""
    model, changes = tagger._fitted_model(), tagger._changes
    before = changes.state.ground.classes
    new = _new_samples(tagger, samples, tags, label_names)
    is_known, is_left_out = are_known(tagger, new.hashes).T
    n_left_out, n_relabelled = int(is_left_out.sum()), int((is_known & ~is_left_out).sum())
    if is_left_out.all():
        return f"the model has all {n_left_out:,} samples with the same labels; nothing is new"
    new = new.rows(np.flatnonzero(~is_left_out)) if n_left_out else new
    earlier = tagger.card_.get("updates", [])
    n_known = len(model.classes_)
    n_seen = len(getattr(model, "seen_names_", model.classes_))  # the others are known by their counts
    if isinstance(model, Popularity) and tagger.training_ is None:
        done = _counted_on(tagger, model, before, new)
    elif hasattr(model, "partial_fit") and len(new.names) == n_known and not new.Y[:, n_seen:].nnz:
        tagger.model_ = copy.copy(model)
        tagger.model_.partial_fit(changes.scores.features(changes.scores.inputs(new.X, new.inputs)), new.Y[:, :n_seen])
        _keep(tagger, before, new)
        done = f"trained {type(model).__name__} on {new.X.shape[0]:,} new samples; its calibration is unchanged"
    elif tagger.training_ is not None:
        done = _trained_again(tagger, tagger.training_, new)
    else:
        what = "labels that are new to it" if hasattr(model, "partial_fit") else "new samples"
        raise ParameterError(
            f"{type(model).__name__} cannot learn {what} without the training data, which this tagger did not keep; "
            "train it again on all samples, with keep_texts=True (--keep-texts) to update it later"
        )
    n_new = len(new.names) - n_known
    done += f"; {n_new:,} {'label is' if n_new == 1 else 'labels are'} new" if n_new else ""
    done += f"; left out {n_left_out:,} that the model has with the same labels" if n_left_out else ""
    done += f"; {n_relabelled:,} that it has with other labels count besides" if n_relabelled else ""
    tagger.card_ = {**tagger.card_, "updates": [*earlier, done]}
    tagger._become(without_acts(tagger).plus(changes.acts))
    lost = tagger.left_out_.keys() - changes.left_out.keys()
    learned = set(new.names[n_known:])  # added labels that have samples now
    acts = [str(act) for act in tagger.acts_ if act.id in lost and act.content.get("name") not in learned]
    return done + (f"; no longer applies: {'; '.join(acts)}" if acts else "")


def needs_training_data(tagger: Tagger) -> str:
    """What a tagger cannot do because it kept no training data, in words; empty if it kept them."""
    if tagger.training_ is not None:
        return ""
    model, kind = tagger._fitted_model(), "texts" if tagger.takes_texts else "samples"
    what = "learn new labels" if hasattr(model, "partial_fit") else "be trained on new samples"
    update = "" if isinstance(model, Popularity) else f"{what} (tacit update) or "
    return f"the training {kind} are not kept in the model, so it cannot {update}show similar {kind} as evidence (Why?)"


def _new_samples(tagger: Tagger, samples: Any, tags: Any, label_names: Sequence[str] | None) -> _NewSamples:
    state, (texts, given) = tagger._changes.state, split_texts(samples)
    X, labels = features_of(texts, tagger.vectorizer_, tagger.n_jobs), read_labels(tags, label_names)
    if labels.container != "lists" and label_names is None and labels.matrix.shape[1] == len(state):
        labels = read_labels(tags, state.names)
    labels = without_deprecated(labels, state.ground.vocabulary)
    matrix = positives(labels.matrix)
    if X.shape[0] != matrix.shape[0]:
        raise DataError(f"texts and tags must have one entry per sample; got {X.shape[0]} and {matrix.shape[0]}")
    if not matrix.nnz:
        raise DataError("the new samples have no labels; there is nothing to learn")
    known = [str(name) for name in state.ground.classes[: state.ground.n_trained].tolist()]
    tagged = {column: str(labels.names[column]) for column in np.unique(matrix.indices).tolist()}
    called = {column: state.name_in_training(name) or name for column, name in tagged.items()}
    more = sorted(set(called.values()) - set(known))
    names = [*known, *more]
    place = {name: column for column, name in enumerate(names)}
    columns = np.array([place[called[column]] for column in matrix.indices.tolist()], np.int64)
    entries = np.ones(matrix.nnz, np.float32), (row_of_entry(matrix), columns)
    Y = sparse.csr_matrix(entries, shape=(matrix.shape[0], len(names)))
    Y.data[:] = 1  # labels that are the same by now count once
    samples = texts if tagger.takes_texts else X
    return _NewSamples(samples, X, Y, names, hashes_of(samples, Y, names), given)


# -- incremental training ---------------------------------------------------------------------------------


def _counted_on(tagger: Tagger, model: Popularity, before: Names, new: _NewSamples) -> str:
    """Add the new samples to the counts; labels without a column get one."""
    n_more = len(new.names) - len(model.classes_)
    counts = np.pad(model.label_counts_, (0, n_more)) + label_counts(new.Y)
    n_samples = model.n_samples_ + new.X.shape[0]
    names = model.classes_ if not n_more else np.array(new.names, dtype=object)
    shares = (counts / n_samples).astype(np.float32)
    counted = {"label_counts_": counts, "n_samples_": n_samples, "classes_": names, "shares_": shares}
    tagger.model_ = Popularity.restored(model.get_params(), model.stored_state() | counted)
    _keep(tagger, before, new)
    return f"counted {new.X.shape[0]:,} new samples, exactly"


def _keep(tagger: Tagger, before: Names, new: _NewSamples) -> None:
    """Add new samples to all that a tagger keeps beside its model; its labels had the names `before` until now."""
    n_labels, labels = len(new.names), tagger._fitted_model().classes_
    if tagger.relations_ is not None:
        tagger.relations_ = widened(tagger.relations_, n_labels, n_labels) + relations(new.Y)
    n_samples = tagger.card_.get("samples", 0) + new.X.shape[0]
    tagger.card_ = {**tagger.card_, "samples": n_samples, "labels": n_labels}
    if tagger.known_samples_ is not None:
        tagger.known_samples_ = np.concatenate([tagger.known_samples_, new.hashes])
    if (kept := tagger.training_) is not None:
        Y = sparse.vstack([widened(kept.labels, n_labels), new.Y], format="csr")
        texts = [*kept.texts, *new.samples] if kept.texts else []
        X = sparse.vstack([kept.features, new.X], format="csr")
        tagger.training_ = Training(X, Y, texts, kept.cooccurrence, _joined(kept.vectors, new.vectors))
    if tagger.names_ is not None:
        tagger.names_ = counted_on(tagger.names_, before, labels, tagger.vocabulary_, new.samples, new.X, new.Y)
        labels = np.concatenate([labels.astype(object), np.array(tagger.names_.others, dtype=object)])
    if tagger.calibration_ is not None:
        curves = moved(tagger.calibration_.curve_of_label, before, labels)  # new labels use the curve of rare labels
        tagger.calibration_ = replace(tagger.calibration_, curve_of_label=curves)


def _joined(*vectors: npt.NDArray[np.float32] | None) -> Any:
    """Kept and new vectors; an error if only some samples have them."""
    given = [each for each in vectors if each is not None]
    if len(given) == 1:
        raise DataError("old and new samples must have vectors of one encoder, or none of them; give both or neither")
    if given and given[0].shape[1] != given[1].shape[1]:
        raise DataError(f"vectors must have {given[0].shape[1]} dimensions, as in training; got {given[1].shape[1]}")
    return np.concatenate(given) if given else None


# -- training again ---------------------------------------------------------------------------------------


def _trained_again(tagger: Tagger, kept: Training, new: _NewSamples) -> str:
    old = widened(kept.labels, len(new.names))
    Y = sparse.vstack([old, new.Y], format="csr")
    known = new.names[: kept.labels.shape[1]]
    # In the order that a fit on all samples would use, so that the model is the same.
    order = np.argsort(np.array(new.names, dtype=object), kind="stable") if known == sorted(known) else slice(None)
    names = np.array(new.names, dtype=object)[order]
    samples: Any = [*kept.texts, *new.samples] if kept.texts else sparse.vstack([kept.features, new.X], format="csr")
    if (vectors := _joined(kept.vectors, new.vectors)) is not None:
        samples = Encoded(samples, vectors)
    fresh = type(tagger)(**tagger.get_params())
    fresh.vocabulary = tagger.vocabulary_
    if fresh.encoder is None and tagger.encoding_ is not None:
        fresh.encoder = tagger.encoding_.name
    counts = kept.cooccurrence
    if counts is not None:  # a label that is new has none
        counts = widened(counts, len(names), len(names))[order][:, order]
    fresh.fit(samples, Y[:, order], label_names=list(names), cooccurrence=counts)
    fresh.model_.container_ = tagger._fitted_model().container_  # type: ignore[union-attr]
    fresh.vocabulary_ = tagger.vocabulary_
    for name, value in fresh.stored_state().items():
        setattr(tagger, name, value)
    return (
        f"trained {type(tagger.model_).__name__} again on {Y.shape[0]:,} samples, "
        f"{kept.labels.shape[0]:,} kept and {new.X.shape[0]:,} new"
    )
