"""The labels of a tagger by any of their names, and the methods by which people change and judge them."""

from __future__ import annotations

import json
from abc import abstractmethod
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from scipy import sparse

from tacit.core.labels import Names, aligned
from tacit.data.vocabulary import Vocabulary
from tacit.errors import ActError, DataError, ParameterError, TacitError, brief
from tacit.store.acts import Act, are_counts, in_force, in_words
from tacit.tagger.changes import Changes
from tacit.tagger.inputs import as_samples
from tacit.tagger.state import State
from tacit.text.vectorizer import TextVectorizer, features_of


class Teaching:
    """Labels by any of their names, and what a tagger is taught after its training.

    Each method of teaching is an act, recorded and undone like any other.
    """

    vocabulary_: Vocabulary | None
    vectorizer_: TextVectorizer | None

    @property
    @abstractmethod
    def n_features_in_(self) -> int:
        """Number of features."""

    @property
    @abstractmethod
    def _changes(self) -> Changes:
        """The acts, applied to the trained tagger."""

    @abstractmethod
    def _become(self, changes: Changes) -> None:
        """Adopt other acts."""

    @property
    def _state(self) -> State:
        """The labels as they are now."""
        return self._changes.state

    # -- names --------------------------------------------------------------------------------------------

    @property
    def classes_(self) -> Names:
        """Label names in column order: those of the training data, then those added later."""
        return self._state.names

    @property
    def n_suggested_(self) -> int:
        """Number of labels that may be suggested: those of `classes_` that were neither retired nor merged."""
        return int(self._state.is_suggested.sum())

    def column(self, label: str) -> int:
        """The column of a label, given any of its names: current, former, or alternative in the vocabulary."""
        return self._state.find(label)

    def known(self, label: str) -> int | None:
        """The column of a label, given any of its names, retired or not; None if it is unknown."""
        return self._state.known(label)

    def current_name(self, label: str) -> str:
        """What a label is called in `classes_`, given any of its names; what is unknown keeps its name."""
        column = self.known(label)
        return label if column is None else self._state.name(column)

    def truth(self, Y: sparse.csr_matrix, names: Sequence[Any]) -> sparse.csr_matrix:
        """Labels of samples, whose columns have these names, as columns of `classes_`; unknown ones follow."""
        return aligned(Y, [self.current_name(str(name)) for name in names], self.classes_)

    def readable(self, label: str, language: str | None = None) -> str:
        """The preferred name of a label in the vocabulary, in a language if it has one there, or the label itself.

        A concept that was renamed has its new name, except in other languages.
        """
        vocabulary = self.vocabulary_
        if vocabulary is None or label not in vocabulary:
            return label
        name, title = vocabulary.name_of(label, language), self._state.title(label)
        return name if title is None or name != vocabulary.name_of(label) else title

    def check_language(self, language: str | None) -> None:
        """Raise unless the vocabulary has names in this language; None stands for its usual one."""
        if language is not None:
            if self.vocabulary_ is None:
                raise ParameterError(f"language '{language}': the model has no vocabulary with names of its labels")
            self.vocabulary_.translated(language)

    def _name_now(self, label: str, field: str = "") -> str:
        return self._state.name(self._state.find(label, field))

    # -- acts ---------------------------------------------------------------------------------------------

    def add_label(
        self,
        name: str,
        *,
        cooccurs: Mapping[str, float] | None = None,
        examples: Any = None,
        description: str | None = None,
        parent: str | None = None,
    ) -> str:
        """Add a label without training, from any of this evidence or from its name alone; returns its name.

        Parameters
        ----------
        name : str
            Its name. For a concept of the vocabulary any of its names; the label gets its id or its preferred name.
        cooccurs : mapping of str to number, optional
            Labels that it co-occurs with, each with the number of samples that have both.
        examples : list of texts or matrix of features, optional
            Samples that have it; three are much better than one.
        description : str, optional
            A text that describes it; each line is used as a separate text.
        parent : str, optional
            A broader label.
        """
        act = self._addition(name, cooccurs, examples, description, parent)
        self._do(act)
        return str(act.content["name"])

    def _addition(
        self, name: str, cooccurs: Any = None, examples: Any = None, description: Any = None, parent: Any = None
    ) -> Act:
        """The act that adds a label; missing evidence is taken from the vocabulary, if that has the label."""
        state, vocabulary, called = self._state, self.vocabulary_, _as_name(name)
        if cooccurs is not None and not are_counts(cooccurs):
            raise ActError(f"cooccurs must hold counts of at least 0 by label; got {brief(str(cooccurs))}", "cooccurs")
        if vocabulary is not None and name in vocabulary:
            called = self._concept(vocabulary, name)
            if cooccurs is None and examples is None and description is None:
                description = vocabulary.text_of(name)
                parent = parent or self._parent(vocabulary, name)
        state.check_name(called, is_added=True)
        content: dict[str, Any] = {"name": called}
        if cooccurs:
            columns = {state.find(label, f"cooccurs.{label}"): float(count) for label, count in cooccurs.items()}
            content["cooccurs"] = {state.name(column): count for column, count in columns.items()}
        if examples is not None:
            samples = as_samples(examples, self.vectorizer_)
            content["examples"] = [each if isinstance(each, str) else {"features": each} for each in samples]
        if description is not None and self.vectorizer_ is not None:
            content["description"] = as_samples([description], self.vectorizer_)[0]
        if parent:
            content["parent"] = self._name_now(parent, "parent")
        return Act("add", content)

    def _concept(self, vocabulary: Vocabulary, name: str) -> str:
        """What a concept of the vocabulary is called as a label; an error if there is one already."""
        known = self.known(name)
        if known is None or self._state.is_known_by_name(label := self._state.name(known)):
            place, labels = vocabulary.find(name), self._state.ground.index
            by_id, by_name = (sum(each in labels for each in names) for names in (vocabulary.ids, vocabulary.names))
            return vocabulary.ids[place] if by_id > by_name else vocabulary.names[place]
        also = "" if label == name else f" is the label '{brief(label)}', which"
        raise ActError(f"'{brief(name)}'{also} exists already; to improve it, accept or reject its suggestions", "name")

    def _parent(self, vocabulary: Vocabulary, name: str) -> str | None:
        """The first parent concept that is a label."""
        known = (column for column in map(self.known, vocabulary.parents_of(name)) if column is not None)
        return next((self._state.name(column) for column in known if self._state.is_suggested[column]), None)

    def rename_label(self, label: str, name: str) -> None:
        """Rename a label; its former name is still accepted. A concept of the vocabulary keeps its id."""
        self._do(Act("rename", {"label": self._name_now(label), "name": _as_name(name)}))

    def merge_labels(self, labels: Sequence[str], into: str) -> None:
        """Merge labels into one, suggested wherever any of them would be. `into` is one of them, or a new name."""
        if isinstance(labels, str):
            raise ParameterError(f"labels must be a list of labels; got the single text '{labels}'")
        target = _as_name(into) if self.known(into) is None else self._name_now(into)
        self._do(Act("merge", {"labels": [self._name_now(label) for label in labels], "into": target}))

    def retire_label(self, label: str) -> None:
        """Never suggest a label again."""
        self._do(Act("retire", {"label": self._name_now(label)}))

    def learn(self, judgements: Iterable[tuple[Any, str, bool]]) -> None:
        """Learn from suggestions that people accepted or rejected.

        Parameters
        ----------
        judgements : iterable of (text, label, accepted)
            A tagger that was trained on features takes a row of features instead of the text.
        """
        self._do(Act("judge", {"judgements": self._as_judgements(judgements)}))

    def learn_once(self, judgements: Iterable[tuple[Any, str, bool]]) -> int:
        """Learn those judgements that were not learned as often before; returns their number."""

        def key(judgement: Mapping[str, Any]) -> str:
            column = self.known(judgement["label"])  # it may have been renamed
            return json.dumps({**judgement, "label": judgement["label"] if column is None else column}, sort_keys=True)

        known = Counter(key(each) for act in in_force(self.acts_) for each in act.content.get("judgements", ()))
        new = []
        for judgement in self._as_judgements(judgements):
            known[key(judgement)] -= 1
            if known[key(judgement)] < 0:
                new.append(judgement)
        if new:
            self._do(Act("judge", {"judgements": new}))
        return len(new)

    def _as_judgements(self, judgements: Iterable[tuple[Any, str, bool]]) -> list[dict[str, Any]]:
        judged: list[Any] = list(judgements)
        if not judged:
            raise DataError("there are no judgements to learn from; give at least one")
        for place, each in enumerate(judged):
            if not isinstance(each, tuple | list) or len(each) != 3:
                must = "a judgement must be a tuple of a sample, a label and a verdict (true or false)"
                raise DataError(f"{must}; entry {place} is not")
        names = [self._name_now(label, f"judgements[{i}].label") for i, (_, label, _) in enumerate(judged)]
        given: Any = [sample for sample, _, _ in judged]
        if self.vectorizer_ is None:
            rows = [features_of(row if sparse.issparse(row) else np.atleast_2d(row), None) for row in given]
            if {row.shape for row in rows} != {(1, self.n_features_in_)}:
                raise DataError(f"each sample judged must be one row of {self.n_features_in_} features")
            given = sparse.vstack(rows, format="csr")
        kind = "features" if self.vectorizer_ is None else "text"
        parts = zip(as_samples(given, self.vectorizer_), names, judged, strict=True)
        return [{kind: sample, "label": name, "accepted": bool(verdict)} for sample, name, (_, _, verdict) in parts]

    def undo(self, act: str | None = None) -> str:
        """Undo an act, by its id, or the last one; returns in words what was done, and which acts no longer apply."""
        before = self.left_out_
        if act is None:
            current = [done for done in in_force(self.acts_) if done.id not in before]
            if not current:
                raise ParameterError("there is nothing to undo; nothing was changed since the training")
            act = current[-1].id
        undo = Act("undo", {"of": act})
        self._do(undo)
        misfits = [done for done in in_force(self.acts_) if done.id in self.left_out_.keys() - before.keys()]
        return "; no longer applies: ".join([in_words([undo], self.acts_)[0], *(done.described() for done in misfits)])

    @property
    def acts_(self) -> list[Act]:
        """All acts since the training, in the order in which they were done."""
        return list(self._changes.acts)

    @property
    def left_out_(self) -> Mapping[str, TacitError]:
        """Acts in force that do not apply to the current labels: the reasons, by id."""
        return self._changes.left_out

    def history(self) -> list[str]:
        """Descriptions of the acts since training that were not undone, oldest first."""
        return [act.described() for act in in_force(self.acts_)]

    def _do(self, act: Act) -> None:
        """Apply an act, or raise the reason why it cannot be applied."""
        later, refused = self._changes.tried([act])
        if refused:
            raise refused[act.id]
        self._become(later)


def _as_name(name: Any) -> str:
    if not isinstance(name, str):
        raise ParameterError(f"the name of a label must be a text; got {name!r}")
    if not name.strip():
        raise ActError("a label needs a name; got a blank one", "name")
    return name
