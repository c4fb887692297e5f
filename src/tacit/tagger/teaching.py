"""The labels of a tagger by any of their names, and the methods by which people change and judge them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from scipy import sparse

from tacit.core.labels import Names, aligned
from tacit.data.vocabulary import Vocabulary
from tacit.errors import ParameterError, TacitError
from tacit.store.acts import Act, in_force, in_words
from tacit.tagger import acting
from tacit.tagger.acting import Preview
from tacit.tagger.changes import Changes
from tacit.tagger.state import State

if TYPE_CHECKING:
    from tacit.tagger.tagger import Tagger


class Teaching:
    """Labels by any of their names, and what a tagger is taught after its training.

    Each method of teaching is an act, recorded and undone like any other.
    """

    vocabulary_: Vocabulary | None

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

    @property
    def _tagger(self) -> Tagger:
        return self  # type: ignore[return-value]

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
        return label if column is None else str(self.classes_[column])

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
        act = acting.add(self._tagger, name, cooccurs, examples, description, parent)
        self._do(act)
        return str(act.content["name"])

    def preview_label(self, name: str, *, texts: Any, n: int = 10, **known_by: Any) -> list[Preview]:
        """Those of `texts` (or rows of features) with the highest score of a label, if it were added.

        The label is described as for `add_label`; nothing is changed.
        """
        return acting.preview(self._tagger, name, texts, n, known_by)

    def rename_label(self, label: str, name: str) -> None:
        """Rename a label; its former name is still accepted. A concept of the vocabulary keeps its id."""
        self._do(Act("rename", {"label": self._name_now(label), "name": acting.as_name(name)}))

    def merge_labels(self, labels: Sequence[str], into: str) -> None:
        """Merge labels into one, suggested wherever any of them would be. `into` is one of them, or a new name."""
        self._do(acting.merge(self._tagger, labels, into))

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
        self._do(acting.judge(self._tagger, judgements))

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

    def _name_now(self, label: str) -> str:
        return self._state.name(self._state.find(label))

    def _do(self, act: Act) -> None:
        """Apply an act, or raise the reason why it cannot be applied."""
        later, refused = self._changes.tried([act])
        if refused:
            raise refused[act.id]
        self._become(later)
