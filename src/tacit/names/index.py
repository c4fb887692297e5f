"""An index of names: which of them a text holds, however inflected and in whatever order their words come."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, NamedTuple

import numpy as np
import numpy.typing as npt

from tacit.kernels.names import N_COLUMNS, match_names
from tacit.parameters import OneOf
from tacit.store.declared import Array, Items
from tacit.words import LANGUAGES, stems_of

Ids = npt.NDArray[np.int32]
Starts = npt.NDArray[np.int64]

_OF_MATCHES = ("labels", "names", "first", "gap", "occurrences", "containing", "is_phrase")
_QUALIFIER = re.compile(r"\s*\([^)]*\)")


class Name(NamedTuple):
    """What a label is called, and whether it is mainly called so."""

    label: int
    text: str
    is_preferred: bool = True


@dataclass(frozen=True, eq=False)
class Matches:
    """Labels whose names are in texts, in the order of the texts and at most once in each; the best match of each.

    Attributes
    ----------
    starts : int64 array
        Where the matches of each text start.
    n_words : int32 array
        Words of each text.
    labels, names : int32 arrays
        The label, and which of its names it was.
    first, gap, occurrences, containing, is_phrase : int32 arrays
        Place of the first word; words between those of the name; how often the name's words occur; longer matches
        that have all its words; whether the words stand side by side and in order.
    """

    starts: Starts
    n_words: Ids
    labels: Ids
    names: Ids
    first: Ids
    gap: Ids
    occurrences: Ids
    containing: Ids
    is_phrase: Ids

    def __len__(self) -> int:
        return len(self.n_words)

    def rows(self, rows: npt.NDArray[np.integer] | slice) -> Matches:
        """The matches of some of the texts."""
        chosen = np.arange(len(self))[rows]
        sizes = np.diff(self.starts)[chosen]
        starts = np.concatenate([[0], np.cumsum(sizes)])
        entries = np.repeat(self.starts[chosen] - starts[:-1], sizes) + np.arange(starts[-1])
        return self._entries(entries, starts, self.n_words[chosen])

    def only(self, wanted: npt.NDArray[np.bool_]) -> Matches:
        """Some of the matches (a mask)."""
        starts = np.concatenate([[0], np.cumsum(wanted)])[self.starts]
        return self._entries(np.flatnonzero(wanted), starts, self.n_words)

    def _entries(self, entries: npt.NDArray[np.intp], starts: Starts, n_words: Ids) -> Matches:
        kept = {name: getattr(self, name)[entries] for name in _OF_MATCHES}
        return Matches(starts, n_words, **kept)

    @staticmethod
    def none(n_texts: int) -> Matches:
        """Texts in which no name is found."""
        return Matches(np.zeros(n_texts + 1, np.int64), *[np.zeros(size, np.int32) for size in (n_texts, *[0] * 7)])

    @cached_property
    def row_of(self) -> npt.NDArray[np.intp]:
        """The text of each match."""
        return np.repeat(np.arange(len(self)), np.diff(self.starts))


@dataclass(frozen=True, eq=False)
class NameIndex:
    """Names by their stems.

    Attributes
    ----------
    language : str, optional
        Whose stemmer is used.
    stems : list of str
        All stems of names.
    name_starts, name_stems : arrays
        The stems of each name, in order.
    labels : int32 array
        The label of each name.
    is_preferred, is_qualified, n_alike : arrays
        Whether a name is the preferred one, whether it has a qualifier in brackets, how many labels share its stems.
    listed_starts, listed : arrays
        By stem, the names of which it is the rarest.
    """

    language: Annotated[str | None, OneOf(tuple(LANGUAGES))]
    stems: Annotated[list[str], Items("n_stems")]
    name_starts: Annotated[Starts, Array("int64", ("n_names+1",), starts="n_words", rises=True)]
    name_stems: Annotated[Ids, Array("int32", ("n_words",), below="n_stems")]
    labels: Annotated[Ids, Array("int32", ("n_names",), below="n_named")]
    is_preferred: Annotated[npt.NDArray[np.bool_], Array("bool", ("n_names",))]
    is_qualified: Annotated[npt.NDArray[np.bool_], Array("bool", ("n_names",))]
    n_alike: Annotated[Ids, Array("int32", ("n_names",))]
    listed_starts: Annotated[Starts, Array("int64", ("n_stems+1",), starts="n_names")]
    listed: Annotated[Ids, Array("int32", ("n_names",), below="n_names")]

    @staticmethod
    def of(names: Iterable[Name], language: str | None) -> NameIndex:
        """An index of names; those without a word are left out."""
        stems: dict[str, int] = {}
        kept: list[Name] = []
        words: list[list[int]] = []
        for name in names:
            found = _stems(name.text, language)
            if found:
                kept.append(name)
                words.append([stems.setdefault(stem, len(stems)) for stem in found])
        sizes = np.array([len(each) for each in words], np.int64)
        name_stems = np.array([stem for each in words for stem in each], np.int32)
        frequency = np.bincount(name_stems, minlength=len(stems))
        rarest = np.array([min(each, key=frequency.__getitem__) for each in words], np.int32)
        listed = np.argsort(rarest, kind="stable").astype(np.int32)
        labels = np.array([name.label for name in kept], np.int32)
        return NameIndex(
            language,
            list(stems),
            np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
            name_stems,
            labels,
            np.array([name.is_preferred for name in kept], np.bool_),
            np.array([bool(_QUALIFIER.search(name.text)) for name in kept], np.bool_),
            _n_alike(words, labels),
            np.searchsorted(rarest[listed], np.arange(len(stems) + 1)).astype(np.int64),
            listed,
        )

    @cached_property
    def _places(self) -> dict[str, int]:
        return {stem: place for place, stem in enumerate(self.stems)}

    def stems_in(self, name: str) -> str:
        """The stems of a name by which it would be found, as a text."""
        return " ".join(_stems(name, self.language))

    def stems_at(self, name: int) -> str:
        """The stems of a name, as a text."""
        stems = self.name_stems[self.name_starts[name] : self.name_starts[name + 1]]
        return " ".join(self.stems[stem] for stem in stems.tolist())

    def matches(self, texts: Sequence[str]) -> Matches:
        """The labels whose names are in each text."""
        place = self._places
        tokens = [[place.get(stem, -1) for stem in stems_of(text, self.language)] for text in texts]
        n_words = np.array([len(each) for each in tokens], np.int32)
        starts = np.concatenate([[0], np.cumsum(n_words)]).astype(np.int64)
        flat = np.array([stem for each in tokens for stem in each], np.int32)
        found = match_names(flat, starts, self.listed_starts, self.listed, self.name_starts, self.name_stems)
        return self._best(found, n_words)

    def _best(self, found: Ids, n_words: Ids) -> Matches:
        """For each label of a text its best match: most words, then the preferred name, then the earliest."""
        row, name, first, *_ = found.T if len(found) else np.empty((N_COLUMNS, 0), np.int32)
        labels, sizes = self.labels[name], np.diff(self.name_starts)[name]
        order = np.lexsort((first, ~self.is_preferred[name], -sizes, labels, row))
        is_first = np.ones(len(order), np.bool_)
        is_first[1:] = (np.diff(row[order]) != 0) | (np.diff(labels[order]) != 0)
        best = found[order[is_first]]
        starts = np.searchsorted(best[:, 0], np.arange(len(n_words) + 1)).astype(np.int64)
        columns = dict(zip(_OF_MATCHES[1:], np.ascontiguousarray(best.T)[1:], strict=True))
        return Matches(starts, n_words, self.labels[columns["names"]], **columns)


def _stems(name: str, language: str | None) -> list[str]:
    """The stems of a name without its qualifier, if it has anything else."""
    return stems_of(_QUALIFIER.sub("", name), language) or stems_of(name, language)


def _n_alike(words: Sequence[Sequence[int]], labels: Ids) -> Ids:
    """How many labels share the stems of each name."""
    of_stems: dict[tuple[int, ...], set[int]] = {}
    keys = [tuple(sorted(each)) for each in words]
    for key, label in zip(keys, labels.tolist(), strict=True):
        of_stems.setdefault(key, set()).add(label)
    return np.array([len(of_stems[key]) for key in keys], np.int32)
