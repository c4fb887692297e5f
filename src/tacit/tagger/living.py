"""What a tagger can do after training: its labels change, it learns from judgements, it says why.

All of it takes milliseconds and needs no training data, but for `update`, which says what it did.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np
from scipy import sparse

from tacit.base import Estimator
from tacit.checks import unit_rows
from tacit.data.vocabulary import Vocabulary
from tacit.errors import DataError, ParameterError
from tacit.ranking import Ranking
from tacit.tagger.amendments import Amended, Amendment, Evidence
from tacit.tagger.calibration import Calibration
from tacit.tagger.few_shot import FewShot, without_background
from tacit.tagger.scorers import Corrected, Judgements
from tacit.tagger.training import Training
from tacit.tagger.vectorizer import TextVectorizer

if TYPE_CHECKING:
    from tacit.tagger.explain import Explanation
    from tacit.tagger.find_missing import MissingLabel
    from tacit.tagger.tagger import Tagger


class Preview(NamedTuple):
    """A sample that a label would tag: its row, its text (empty for features) and its score."""

    row: int
    text: str
    score: float


class LivingVocabulary(ABC):
    """Methods of a tagger; `amended()` is derived from `amendments_`, the acts since training."""

    vectorizer_: TextVectorizer | None
    model_: Estimator | None
    calibration_: Calibration | None
    relations_: sparse.csr_matrix
    training_: Training | None
    vocabulary_: Vocabulary | None
    amendments_: list[Amendment]
    few_shot_: FewShot | None = None
    _replayed: tuple[Any, list[Amendment], Amended] | None = None

    @property
    @abstractmethod
    def threshold_(self) -> float:
        """The least score of a suggestion, as stored in the model."""

    @abstractmethod
    def probabilities(self, X: sparse.csr_matrix, k: int, include: Any = None) -> Ranking:
        """The labels that the model learned in training, with what their scores mean where that is known."""

    @abstractmethod
    def _features(self, texts: Any) -> sparse.csr_matrix:
        """Features of texts, or of samples that are features already."""

    @abstractmethod
    def _fitted_model(self) -> Estimator:
        """The model, or an error if there is none yet."""

    # -- labels that change -------------------------------------------------------------------------------

    def add_label(
        self,
        name: str,
        *,
        cooccurs: Mapping[str, float] | None = None,
        examples: Any = None,
        description: str | None = None,
        parent: str | None = None,
    ) -> None:
        """Add a label without training, by any of these; by its name alone if none is given.

        Parameters
        ----------
        name : str
            What it is called. If the tagger has a vocabulary that knows the name, texts and parent come from there.
        cooccurs : mapping of str to number, optional
            Labels that it occurs with, and in how many samples.
        examples : list of texts or matrix of features, optional
            Samples that have it; three are much better than one.
        description : str, optional
            A text about it.
        parent : str, optional
            The label above it.
        """
        evidence = _evidence(self, name, cooccurs, examples, description, parent)
        self._record(Amendment("add", name=name, evidence=evidence))

    def preview_label(self, name: str, *, texts: Any = None, n: int = 10, **known_by: Any) -> list[Preview]:
        """The `n` samples that a label would tag first if it were added; nothing is changed.

        Parameters
        ----------
        name, **known_by
            As for `add_label`.
        texts : list of texts or matrix of features, optional
            Where to look; by default the training samples, if the tagger keeps them.
        """
        evidence = {key: known_by.pop(key, None) for key in ("cooccurs", "examples", "description", "parent")}
        if known_by:
            raise ParameterError(f"preview_label has no parameter '{min(known_by)}'")
        amended = self.amended().after(Amendment("add", name=name, evidence=_evidence(self, name, **evidence)))
        if texts is not None:
            X, shown = self._features(texts), list(texts) if self.vectorizer_ is not None else []
        elif self.training_ is not None:
            X, shown = self.training_.features, self.training_.texts
        else:
            raise ParameterError("a preview needs texts: this tagger keeps none; give some or train with keep_texts")
        scores = amended.scores(self, X, [len(amended.names) - 1])[:, 0]
        best = np.argsort(-scores, kind="stable")[:n]
        return [Preview(int(row), shown[row] if shown else "", float(scores[row])) for row in best]

    def rename_label(self, label: str, name: str) -> None:
        """Call a label something else; its former name is still understood."""
        self._record(Amendment("rename", [self.spelled(label)], str(name)))

    def merge_labels(self, labels: Sequence[str], into: str) -> None:
        """Make several labels one: it is suggested where any of them was. `into` is one of them, or a new name."""
        if isinstance(labels, str):
            raise ParameterError(f"labels must be a list of labels; got the single text '{labels}'")
        self._record(Amendment("merge", [self.spelled(label) for label in labels], self.spelled(into)))

    def retire_label(self, label: str) -> None:
        """Never suggest a label again."""
        self._record(Amendment("retire", [self.spelled(label)]))

    def learn(self, judgements: Iterable[tuple[Any, str, bool]]) -> None:
        """Learn from suggestions that people accepted or rejected.

        Parameters
        ----------
        judgements : iterable of (text, label, accepted)
            Instead of a text there may be a row of features, where the tagger was trained on features.
        """
        judged = list(judgements)
        if not judged:
            raise DataError("there are no judgements to learn from; give at least one")
        amended = self.amended()
        columns = np.array([amended.find(self.spelled(label)) for _, label, _ in judged])
        X = (
            self._features([sample for sample, _, _ in judged])
            if self.vectorizer_ is not None
            else _stacked(self, judged)
        )
        said = said_before(self, amended, X, columns)
        names = [str(amended.names[column]) for column in columns]
        accepted = np.array([bool(verdict) for _, _, verdict in judged])
        record = Judgements(unit_rows(X), names, accepted, said)
        self._record(Amendment("learn", list(dict.fromkeys(names)), judgements=record))

    def undo(self) -> str:
        """Take the last act back; says which that was."""
        if not self.amendments_:
            raise ParameterError("there is nothing to undo; nothing was changed since the training")
        *before, last = self.amendments_
        self.amendments_ = before
        return str(last)

    def history(self) -> list[str]:
        """What was changed since the training, oldest first."""
        return [str(act) for act in self.amendments_]

    def spelled(self, label: str) -> str:
        """The name that a label has here, by any name that the vocabulary has for it."""
        label, amended = str(label), self.amended()
        if self.vocabulary_ is None or amended.is_known(label) or label not in self.vocabulary_:
            return label
        return next((name for name in self.vocabulary_.names_of(label) if amended.is_known(name)), label)

    def readable(self, label: str) -> str:
        """The preferred name of a label in the vocabulary, or the label itself."""
        vocabulary = self.vocabulary_
        return label if vocabulary is None or label not in vocabulary else vocabulary.name_of(label)

    def amended(self) -> Amended:
        """The labels as they are now."""
        model, acts = self._fitted_model(), self.amendments_
        known = self._replayed
        if known is None or known[0] is not model or not _starts_with(acts, known[1]):
            few_shot = self.few_shot_ or without_background(model.n_features_in_)
            known = (model, [], Amended(model.classes_, model.label_counts_, few_shot))
        amended = known[2]
        for act in acts[len(known[1]) :]:
            amended = amended.after(act)
        self._replayed = (model, acts, amended)
        return amended

    def _record(self, act: Amendment) -> None:
        """Add an act, if it can be; the list is replaced, so that whoever holds the old one keeps it."""
        amended = self.amended().after(act)
        self.amendments_ = [*self.amendments_, act]
        self._replayed = (self.model_, self.amendments_, amended)

    # -- new samples --------------------------------------------------------------------------------------

    def update(self, texts: Any, tags: Any, *, label_names: Sequence[str] | None = None) -> str:
        """Learn from new samples; says what was done.

        Exact where the model can count on, or learn on; otherwise the model is trained again on the training data,
        which the tagger must have kept (``keep_texts=True``), and the new samples together.
        """
        from tacit.tagger.update import update

        return update(cast("Tagger", self), texts, tags, label_names)

    # -- why, and what is missing -------------------------------------------------------------------------

    def explain(self, text: Any, label: str, n: int = 10) -> Explanation:
        """What stands behind a suggestion: features, labels it occurs with, training samples, later acts."""
        from tacit.tagger.explain import explain

        return explain(self, text, label, n)

    def find_missing(self, texts: Any, tags: Any, n: int = 100, **options: Any) -> list[MissingLabel]:
        """The (sample, label) pairs of a tagged corpus that were most likely left out; see `find_missing`."""
        from tacit.tagger.find_missing import find_missing

        return find_missing(self, texts, tags, n, **options)


def said_before(tagger: LivingVocabulary, amended: Amended, X: sparse.csr_matrix, columns: Any) -> Any:
    """Log-odds of a label for each row, before any judgement; `columns` names the label of each."""
    said = np.empty(len(columns), np.float32)
    for column in np.unique(columns):
        rows = np.flatnonzero(columns == column)
        part = amended.part(int(column))
        inner = part.inner if isinstance(part, Corrected) else part
        said[rows] = amended.log_odds(tagger, X[rows], [inner])[:, 0]
    return said


def _starts_with(acts: list[Amendment], first: list[Amendment]) -> bool:
    return len(first) <= len(acts) and (not first or acts[len(first) - 1] is first[-1])


def _stacked(tagger: LivingVocabulary, judged: Sequence[tuple[Any, str, bool]]) -> sparse.csr_matrix:
    rows = [sparse.csr_matrix(np.atleast_2d(row) if not sparse.issparse(row) else row) for row, _, _ in judged]
    return tagger._features(sparse.vstack(rows, format="csr"))


def _evidence(
    tagger: LivingVocabulary,
    name: str,
    cooccurs: Mapping[str, float] | None,
    examples: Any,
    description: str | None,
    parent: str | None,
) -> Evidence:
    """What a label is to be known by, checked; from the vocabulary or the name where nothing is given."""
    if not isinstance(name, str):
        raise ParameterError(f"the name of a label must be a text; got {name!r}")
    tagger.amended().check_name(name)
    if cooccurs is None and examples is None and description is None:
        description, parent = _from_vocabulary(tagger, name, parent)
    _check_counts(cooccurs or {})
    rows = None if examples is None else _example_features(tagger, examples)
    about = None
    if description is not None and tagger.vectorizer_ is not None:
        about = unit_rows(tagger._features([description]))
        about = about if about.nnz else None
    if rows is None and about is None and not cooccurs and not parent:
        raise ParameterError(
            f"nothing is known of '{name}': no word of its name or description occurs in the training texts; give "
            "examples, labels that it occurs with, or its parent"
        )
    counts = {tagger.spelled(label): float(count) for label, count in (cooccurs or {}).items()}
    return Evidence(counts, rows, about, tagger.spelled(parent) if parent else "")


def _from_vocabulary(tagger: LivingVocabulary, name: str, parent: str | None) -> tuple[str, str | None]:
    """A text about a label and a label above it, as far as the vocabulary knows."""
    vocabulary = tagger.vocabulary_
    if vocabulary is None or name not in vocabulary:
        return name, parent
    amended = tagger.amended()
    above = (tagger.spelled(concept) for concept in vocabulary.parents_of(name))
    known = (label for label in above if amended.is_known(label) and not amended.is_retired(label))
    return vocabulary.text_of(name), parent or next(known, None)


def _check_counts(cooccurs: Mapping[str, float]) -> None:
    for label, count in cooccurs.items():
        if isinstance(count, bool) or not isinstance(count, int | float | np.number) or not 0 <= count < np.inf:
            raise ParameterError(f"cooccurs must give a count of at least 0 for each label; '{label}' has {count!r}")
    if cooccurs and not any(cooccurs.values()):
        raise ParameterError("cooccurs must have a count above 0; a label that occurs with no other needs examples")


def _example_features(tagger: LivingVocabulary, examples: Any) -> sparse.csr_matrix:
    rows = tagger._features(examples)
    if not rows.nnz:
        raise ParameterError("the examples have no word or feature that the training samples have; give other examples")
    return unit_rows(rows[np.flatnonzero(np.diff(rows.indptr))])
