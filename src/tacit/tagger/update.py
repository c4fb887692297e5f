"""New samples for a tagger: exact where the model can go on from what it is, trained again where it cannot.

Acts since training stay in force. Trained again, a tagger has its renamed, merged and retired labels in the training
data themselves, and labels that were added are learned from their samples, if there are any now.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from tacit.checks import unit_rows
from tacit.errors import DataError, ParameterError
from tacit.labels import Names, label_counts, positives, read_labels
from tacit.linear.popularity import Popularity
from tacit.tagger.amendments import Amended, Amendment, Evidence
from tacit.tagger.living import said_before
from tacit.tagger.training import Training, relations
from tacit.tagger.vectorizer import TextVectorizer

if TYPE_CHECKING:
    from tacit.tagger.tagger import Tagger


@dataclass(frozen=True, eq=False)
class _NewSamples:
    """Samples to learn from; labels are columns of the tagger's labels as they are now, then unknown ones.

    Attributes
    ----------
    samples : list of str or matrix
        As they came.
    Y : csr_matrix
        Their labels; columns of labels that are gone are empty.
    names : list of str
        All names in column order.
    n_retired : int
        Tags left out, as their labels were retired.
    """

    samples: Any
    Y: sparse.csr_matrix
    names: list[str]
    n_retired: int


def update(tagger: Tagger, samples: Any, tags: Any, label_names: Sequence[str] | None = None) -> str:
    """Learn from new samples in place, and say what was done.

    Raises
    ------
    ParameterError
        If the model cannot go on and the tagger kept no training data.
    """
    model = tagger._fitted_model()
    new = _new_samples(tagger.amended(), samples, tags, label_names)
    X = tagger._features(samples)
    if X.shape[0] != new.Y.shape[0]:
        raise DataError(f"texts and tags must have one entry per sample; got {X.shape[0]} and {new.Y.shape[0]}")
    if not new.Y.nnz:
        raise DataError("the new samples have no labels; there is nothing to learn")
    earlier = tagger.card_.get("updates", [])
    n_learned = len(model.classes_)
    knows_all = new.Y.indices.max() < n_learned
    if isinstance(model, Popularity):
        done = _counted_on(tagger, model, X, new)
    elif hasattr(model, "partial_fit") and knows_all:
        model.partial_fit(X, new.Y[:, :n_learned])
        _keep(tagger, X, new, new.Y[:, :n_learned])
        done = f"{type(model).__name__} learned on from {X.shape[0]:,} new samples; its calibration is the old one"
    elif tagger.training_ is not None:
        done = _trained_again(tagger, tagger.training_, X, new)
    else:
        what = "labels that are new to it" if hasattr(model, "partial_fit") else "new samples"
        raise ParameterError(
            f"{type(model).__name__} cannot learn {what} without the training data, which this tagger did not keep; "
            "train it again on all samples, with keep_texts=True (--keep-texts) to update it later"
        )
    done += f"; tags of retired labels left out: {new.n_retired:,}" if new.n_retired else ""
    tagger.card_ = {**tagger.card_, "updates": [*earlier, done]}
    tagger._replayed = None
    return done


def _new_samples(amended: Amended, samples: Any, tags: Any, label_names: Sequence[str] | None) -> _NewSamples:
    labels = read_labels(tags, label_names)
    if labels.container != "lists" and label_names is None and labels.matrix.shape[1] == len(amended.names):
        labels = read_labels(tags, amended.names)
    matrix = positives(labels.matrix)
    names = [str(name) for name in amended.names]
    columns = []
    for name in map(str, labels.names):
        if amended.is_retired(name):
            columns.append(-1)
        elif amended.is_known(name):
            columns.append(amended.find(name))
        else:
            columns.append(len(names))
            names.append(name)
    moved = np.array(columns, dtype=np.int64)[matrix.indices]
    rows = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    kept = moved >= 0
    Y = _ones(rows[kept], moved[kept], (matrix.shape[0], len(names)))
    return _NewSamples(samples, Y, names, int((~kept).sum()))


def _ones(rows: npt.NDArray[Any], columns: npt.NDArray[Any], shape: tuple[int, int]) -> sparse.csr_matrix:
    """A matrix with a 1 at each of these places, however often they are named."""
    matrix = sparse.csr_matrix((np.ones(len(rows), np.float32), (rows, columns)), shape=shape)
    matrix.data[:] = 1
    return matrix


# -- models that go on ------------------------------------------------------------------------------------


def _counted_on(tagger: Tagger, model: Popularity, X: sparse.csr_matrix, new: _NewSamples) -> str:
    """Add the new samples to the counts; labels without a column get one, but those added since training stay so."""
    n_learned, n_known = len(model.classes_), len(tagger.amended().names)
    columns = np.concatenate([np.arange(n_learned), np.arange(n_known, len(new.names))])
    Y = new.Y[:, columns]
    more = new.names[n_known:]
    counts = np.pad(model.label_counts_, (0, len(more))) + label_counts(Y)
    n_samples = model.n_samples_ + X.shape[0]
    names: Names = model.classes_ if not more else np.array([*map(str, model.classes_), *more], dtype=object)
    counted = {"label_counts_": counts, "n_samples_": n_samples, "classes_": names}
    shares = (counts / n_samples).astype(np.float32)
    state = model.stored_state() | counted | {"shares_": shares}
    tagger.model_ = Popularity.restored(model.get_params(), state)
    if tagger.calibration_ is not None and more:
        curves = np.pad(tagger.calibration_.curve_of_label, (0, len(more)))  # new ones go by the curve of rare labels
        tagger.calibration_ = replace(tagger.calibration_, curve_of_label=curves)
    _keep(tagger, X, new, Y)
    return f"counted {X.shape[0]:,} new samples, exactly" + _new_labels(len(more))


def _new_labels(n: int) -> str:
    return "" if n == 0 else "; 1 label is new" if n == 1 else f"; {n:,} labels are new"


def _keep(tagger: Tagger, X: sparse.csr_matrix, new: _NewSamples, Y: sparse.csr_matrix) -> None:
    """Write new samples down where the tagger keeps what it learned from."""
    tagger.relations_ = _widened(tagger.relations_, Y.shape[1], Y.shape[1]) + relations(Y)
    tagger.card_ = {**tagger.card_, "samples": tagger.card_.get("samples", 0) + X.shape[0], "labels": Y.shape[1]}
    kept = tagger.training_
    if kept is not None:
        labels = _widened(kept.labels, kept.labels.shape[0], Y.shape[1])
        texts = kept.texts + list(new.samples) if kept.texts else []
        tagger.training_ = Training(
            sparse.vstack([kept.features, X], format="csr"), sparse.vstack([labels, Y], format="csr"), texts
        )


def _widened(matrix: sparse.csr_matrix, n_rows: int, n_columns: int) -> sparse.csr_matrix:
    wider = matrix.copy()
    wider.resize(n_rows, n_columns)
    return wider


# -- models that are trained again ------------------------------------------------------------------------


def _trained_again(tagger: Tagger, kept: Training, X: sparse.csr_matrix, new: _NewSamples) -> str:
    amended = tagger.amended()
    n_before = len(amended.names)
    old = _as_now(amended, positives(kept.labels), len(new.names))
    Y = sparse.vstack([old, new.Y], format="csr")
    in_data = np.diff(Y.tocsc().indptr) > 0
    learned = [column for column in range(len(new.names)) if amended.is_column(column) or column >= n_before]
    learned = [column for column in learned if column < kept.labels.shape[1] or in_data[column]]
    samples: Any = [*kept.texts, *new.samples] if kept.texts else sparse.vstack([kept.features, X], format="csr")
    fresh = type(tagger)(**tagger.stored_parameters(), n_jobs=tagger.n_jobs)
    fresh.fit(samples, Y[:, learned], label_names=[new.names[column] for column in learned])
    fresh.vocabulary_ = tagger.vocabulary_
    _carry_over(tagger, fresh, amended, {new.names[column] for column in learned})
    for name in (*tagger.state_types(), "few_shot_"):
        setattr(tagger, name, getattr(fresh, name))
    n_new = sum(column >= n_before for column in learned)
    model = type(tagger.model_).__name__
    return (
        f"trained {model} again on {Y.shape[0]:,} samples, {len(old.indptr) - 1:,} kept and {X.shape[0]:,} new"
        + _new_labels(n_new)
    )


def _as_now(amended: Amended, Y: sparse.csr_matrix, n_labels: int) -> sparse.csr_matrix:
    """Training labels as they are called and merged now; retired ones are left out."""
    column_now = np.array([amended.column_now(column) for column in range(Y.shape[1])], dtype=np.int64)
    moved = column_now[Y.indices]
    rows = np.repeat(np.arange(Y.shape[0]), np.diff(Y.indptr))
    return _ones(rows[moved >= 0], moved[moved >= 0], (Y.shape[0], n_labels))


def _carry_over(tagger: Tagger, fresh: Tagger, amended: Amended, learned: set[str]) -> None:
    """Give a newly trained tagger the acts that its training data do not cover: labels without samples, judgements."""

    def now(name: str) -> str | None:
        return (
            str(amended.names[amended.find(name)]) if amended.is_known(name) and not amended.is_retired(name) else None
        )

    def moved(rows: sparse.csr_matrix | None) -> sparse.csr_matrix | None:
        if rows is None or tagger.vectorizer_ is None or fresh.vectorizer_ is None:
            return rows
        return _in_other_words(rows, tagger.vectorizer_, fresh.vectorizer_)

    for act in tagger.amendments_:
        name = now(act.name) if act.act == "add" else None
        if act.evidence is None or name is None or name in learned:
            continue
        counts = {now(label): count for label, count in act.evidence.cooccurs.items()}
        evidence = Evidence(
            {label: count for label, count in counts.items() if label is not None},
            moved(act.evidence.examples),
            moved(act.evidence.description),
            now(act.evidence.parent) or "",
        )
        fresh._record(Amendment("add", name=name, evidence=evidence))
    for act in tagger.amendments_:
        if act.judgements is None:
            continue
        names = [now(label) for label in act.judgements.labels]
        still = np.array([place for place, name in enumerate(names) if name is not None], dtype=np.intp)
        if len(still):
            judged = act.judgements.rows(still)
            labels = [name for name in names if name is not None]
            features = moved(judged.features)
            columns = np.array([fresh.amended().find(label) for label in labels])
            said = said_before(fresh, fresh.amended(), features, columns)
            judged = replace(judged, features=features, labels=labels, log_odds=said)
            fresh._record(Amendment("learn", list(dict.fromkeys(labels)), judgements=judged))


def _in_other_words(rows: sparse.csr_matrix, old: TextVectorizer, new: TextVectorizer) -> sparse.csr_matrix:
    """Features of one vectoriser as another has them: the same words, weighted by its frequencies."""
    place = {name: column for column, name in enumerate(new.feature_names_)}
    columns = np.array([place.get(name, -1) for name in old.feature_names_], dtype=np.int64)[rows.indices]
    row = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))
    known = columns >= 0
    values = rows.data[known] / old.idf_[rows.indices[known]] * new.idf_[columns[known]]
    return unit_rows(sparse.csr_matrix((values, (row[known], columns[known])), shape=(rows.shape[0], len(place))))
