"""What the labels of a tagger are called: after acts, in the vocabulary, and in other data."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

from scipy import sparse

from tacit.core.labels import Names, aligned
from tacit.data.vocabulary import Vocabulary
from tacit.errors import ParameterError
from tacit.tagger.state import State


class Called:
    """Labels by any of their names."""

    vocabulary_: Vocabulary | None

    @property
    @abstractmethod
    def _state(self) -> State:
        """The labels as they are now."""

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
