"""An index of names: which of them a text holds, however inflected and in whatever order their words come."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Annotated, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse

from tacit.arrays import Floats32, Ids, Ints32, Ints64
from tacit.core.parameters import OneOf
from tacit.kernels.name_matching import N_COLUMNS, match_names, name_cover, partly_named
from tacit.kernels.ragged import Lists
from tacit.numerics.rows import row_of_entry, sorted_set
from tacit.store.declared import Array, Items
from tacit.text.words import LANGUAGES, roots, stemmed, words_of

_OF_MATCHES = ("labels", "names", "first", "gap", "occurrences", "containing", "is_phrase")
_TEXTS_PER_BLOCK = 1024  # few, as all their words are in memory
_MOST_PARTLY_NAMED = 15  # names a text, those of which it has most
_QUALIFIER = re.compile(r"\s*\([^)]*\)")


class Name(NamedTuple):
    """What a label is called, and whether it is mainly called so."""

    label: int
    text: str
    is_preferred: bool = True


@dataclass(frozen=True, eq=False)
class Matches:
    """Labels whose names are in texts, in the order of the texts and at most once in each; the best match of each."""

    starts: Ints64  # where the matches of each text start
    n_words: Ints32  # of each text
    # The words of each text that names have, in the form that a name has them in, or else by their stem: a column for
    # each form, then one for each stem.
    words: sparse.csr_matrix
    labels: Ints32
    names: Ints32  # which name of the label it was
    first: Ints32  # place of the first word
    gap: Ints32  # words between those of the name
    occurrences: Ints32  # how often the name's words occur
    containing: Ints32  # longer matches that have all its words
    is_phrase: Ints32  # whether the words stand side by side and in order

    def __len__(self) -> int:
        return len(self.n_words)

    def rows(self, rows: npt.NDArray[np.integer] | slice) -> Matches:
        """The matches of some of the texts."""
        chosen = np.arange(len(self))[rows]
        sizes = np.diff(self.starts)[chosen]
        starts = np.concatenate([[0], np.cumsum(sizes)])
        entries = np.repeat(self.starts[chosen] - starts[:-1], sizes) + np.arange(starts[-1])
        columns = {name: getattr(self, name)[entries] for name in _OF_MATCHES}
        return Matches(starts, self.n_words[chosen], self.words[chosen], **columns)

    @staticmethod
    def concatenate(parts: Sequence[Matches]) -> Matches:
        """The matches of several lists of texts, one after the other."""
        if len(parts) == 1:
            return parts[0]
        sizes = np.concatenate([np.diff(part.starts) for part in parts])
        columns = {name: np.concatenate([getattr(part, name) for part in parts]) for name in ("n_words", *_OF_MATCHES)}
        words = sparse.vstack([part.words for part in parts], format="csr")
        return Matches(np.concatenate([[0], np.cumsum(sizes)]), words=words, **columns)

    @cached_property
    def row_of(self) -> npt.NDArray[np.intp]:
        """The text of each match."""
        return np.repeat(np.arange(len(self)), np.diff(self.starts))


@dataclass(frozen=True, eq=False)
class NameIndex:
    """Names by their stems."""

    language: Annotated[str | None, OneOf(tuple(LANGUAGES))]  # whose stemmer is used
    stems: Annotated[list[str], Items("n_stems")]  # of all names
    forms: Annotated[list[str], Items("n_forms")]  # all words of names, in lower case
    form_stems: Annotated[Ints32, Array("int32", ("n_forms",), below="n_stems")]  # the stem of each form
    # The words of each name, in order, and its label.
    name_starts: Annotated[Ints64, Array("int64", ("n_names+1",), starts="n_words", rises=True)]
    name_forms: Annotated[Ints32, Array("int32", ("n_words",), below="n_forms")]
    labels: Annotated[Ints32, Array("int32", ("n_names",), below="n_named")]
    is_preferred: Annotated[npt.NDArray[np.bool_], Array("bool", ("n_names",))]
    is_qualified: Annotated[npt.NDArray[np.bool_], Array("bool", ("n_names",))]  # has a qualifier in brackets
    by_root: bool = False  # whether stems are reduced further to roots, which more words share

    @staticmethod
    def of(names: Iterable[Name], language: str | None, *, by_root: bool = True) -> NameIndex:
        """An index of names; those without a word are left out."""
        stems: dict[str, int] = {}
        forms: dict[str, int] = {}
        kept: list[Name] = []
        words: list[list[int]] = []
        for name in names:
            found = _words(name.text)
            if found:
                kept.append(name)
                words.append([forms.setdefault(form, len(forms)) for form in found])
        form_stems = [stems.setdefault(stem, len(stems)) for stem in _stems(list(forms), language, by_root)]
        return NameIndex(
            language,
            list(stems),
            list(forms),
            np.array(form_stems, np.int32),
            np.cumsum([0, *(len(each) for each in words)], dtype=np.int64),
            np.array([form for each in words for form in each], np.int32),
            np.array([name.label for name in kept], np.int32),
            np.array([name.is_preferred for name in kept], np.bool_),
            np.array([bool(_QUALIFIER.search(name.text)) for name in kept], np.bool_),
            by_root,
        )

    @cached_property
    def name_stems(self) -> Ints32:
        """The stems of each name, in order."""
        return self.form_stems[self.name_forms]

    @cached_property
    def n_alike(self) -> Ints32:
        """How many labels share the stems of each name."""
        if not len(self.labels):
            return np.zeros(0, np.int32)
        keys = np.random.default_rng(0).integers(2**63, size=len(self.stems))[self.name_stems]
        _, group = np.unique(np.add.reduceat(keys, self.name_starts[:-1]), return_inverse=True)
        n_labels = int(self.labels.max()) + 1
        shared = np.bincount(sorted_set(group * n_labels + self.labels) // n_labels)
        return shared[group].astype(np.int32)

    @cached_property
    def _rarest(self) -> Ints32:
        """The stem of each name that the fewest names have, the first of these, under which it is listed."""
        if not len(self.labels):
            return np.zeros(0, np.int32)
        n_names, n_words = np.bincount(self.name_stems), len(self.name_stems)
        words = np.minimum.reduceat(n_names[self.name_stems] * n_words + np.arange(n_words), self.name_starts[:-1])
        rarest: Ints32 = self.name_stems[words % n_words]
        return rarest

    @cached_property
    def n_listed(self) -> Ints32:
        """How many names have the same rarest stem as each name."""
        return np.bincount(self._rarest)[self._rarest].astype(np.int32)

    @cached_property
    def _stems_of_names(self) -> tuple[Lists, Lists]:
        """The names that are looked at where a stem occurs, and the stems of each name."""
        listed = np.argsort(self._rarest, kind="stable").astype(np.int32)
        starts = np.searchsorted(self._rarest[listed], np.arange(len(self.stems) + 1)).astype(np.int64)
        return Lists(starts, listed), Lists(self.name_starts, self.name_stems)

    @cached_property
    def _places(self) -> tuple[dict[str, int], dict[str, int]]:
        """Forms and stems, by their columns in `Matches.words`."""
        forms = {form: place for place, form in enumerate(self.forms)}
        return forms, {stem: len(forms) + place for place, stem in enumerate(self.stems)}

    @cached_property
    def _stem_of_word(self) -> Ints32:
        """The stem of each column of `Matches.words`."""
        return np.concatenate([self.form_stems, np.arange(len(self.stems), dtype=np.int32)])

    @cached_property
    def _names_of_label(self) -> Lists:
        """The names of each label, preferred ones first."""
        order = np.lexsort((~self.is_preferred, self.labels)).astype(np.int32)
        ends = np.arange(int(self.labels.max(initial=-1)) + 2)
        return Lists(np.searchsorted(self.labels[order], ends).astype(np.int64), order)

    def stems_in(self, name: str) -> str:
        """The stems of a name by which it would be found, as a text."""
        return " ".join(_stems(_words(name), self.language, self.by_root))

    def stems_at(self, name: int) -> str:
        """The stems of a name, as a text."""
        stems = self.name_stems[self.name_starts[name] : self.name_starts[name + 1]]
        return " ".join(self.stems[stem] for stem in stems.tolist())

    def matches(self, texts: Sequence[str]) -> Matches:
        """The labels whose names are in each text."""
        blocks = range(0, max(len(texts), 1), _TEXTS_PER_BLOCK)
        return Matches.concatenate([self._matches(texts[first : first + _TEXTS_PER_BLOCK]) for first in blocks])

    def _matches(self, texts: Sequence[str]) -> Matches:
        forms, stems = self._places
        words = [words_of(text) for text in texts]
        n_words = np.array([len(each) for each in words], np.int32)
        starts = np.concatenate([[0], np.cumsum(n_words)]).astype(np.int64)
        distinct = list(set().union(*words))  # each is stemmed once
        stem_of = zip(distinct, _stems(distinct, self.language, self.by_root), strict=True)
        place = {word: forms[word] if word in forms else stems.get(stem, -1) for word, stem in stem_of}
        flat = np.fromiter(map(place.__getitem__, chain.from_iterable(words)), np.int32, starts[-1])
        tokens = np.full(len(flat), -1, np.int32)
        tokens[flat >= 0] = self._stem_of_word[flat[flat >= 0]]
        found = match_names(Lists(starts, tokens), *self._stems_of_names)
        return self._best(found, n_words, self._words(flat, starts))

    def _words(self, flat: Ints32, starts: Ints64) -> sparse.csr_matrix:
        """The words of texts that names have, each once."""
        is_known = flat >= 0
        known = flat[is_known], np.concatenate([[0], np.cumsum(is_known)])[starts]
        shape = len(starts) - 1, len(self.forms) + len(self.stems)
        words = sparse.csr_matrix((np.ones(len(known[0]), np.float32), *known), shape=shape)
        words.sum_duplicates()
        return words

    def texts_with(self, matches: Matches) -> Ints32:
        """In how many texts each stem is."""
        n_stems = len(self.stems)
        keys = row_of_entry(matches.words) * n_stems + self._stem_of_word[matches.words.indices]
        return np.bincount(sorted_set(keys) % n_stems, minlength=n_stems).astype(np.int32)

    def cover(self, rows: Ids, labels: Ids, matches: Matches, weights: Floats32) -> Floats32:
        """How well the words of texts cover the names of labels, for pairs of both sorted by text; stems have weights.

        Of the label's name that is covered best: the fraction of its weight that is in the text, the fraction of the
        weight of the text's words that it has, its lowest and highest weight, and the fraction of its words in the text
        as they are.
        """
        words = Lists(matches.words.indptr, matches.words.indices), self._stem_of_word, len(self.forms)
        names = self._names_of_label, Lists(self.name_starts, self.name_forms)
        return np.asarray(name_cover(rows, labels, *words, *names, weights))

    def partly_named(self, matches: Matches, weights: Floats32, least_share: float) -> tuple[Ids, Ids, Floats32]:
        """Names of which texts have the rarest word and a share of the weight of its stems, but not all of them.

        Returned are the texts; of the names of each label the one of which a text has the largest share of the words;
        and its words, those of them that are in the text, and how many names have the same rarest word.
        """
        words = Lists(matches.words.indptr, matches.words.indices), self._stem_of_word
        found = partly_named(*words, *self._stems_of_names, weights, least_share, _MOST_PARTLY_NAMED)
        row, name, n_inside, n_listed = found.T
        sizes = np.diff(self.name_starts)[name]
        keys = row.astype(np.int64) * (int(self.labels.max(initial=0)) + 1) + self.labels[name]
        order = np.lexsort((-n_inside / sizes, keys))
        order = order[np.diff(keys[order], prepend=-1) != 0]
        counts = np.stack([sizes, n_inside, n_listed], axis=1).astype(np.float32)
        return row[order].astype(np.intp), name[order].astype(np.intp), counts[order]

    def _best(self, found: Ints32, n_words: Ints32, words: sparse.csr_matrix) -> Matches:
        """For each label of a text its best match: most words, then the preferred name, then the earliest."""
        row, name, first, *_ = found.T if len(found) else np.empty((N_COLUMNS, 0), np.int32)
        labels, sizes = self.labels[name], np.diff(self.name_starts)[name]
        order = np.lexsort((first, ~self.is_preferred[name], -sizes, labels, row))
        is_first = np.ones(len(order), np.bool_)
        is_first[1:] = (np.diff(row[order]) != 0) | (np.diff(labels[order]) != 0)
        best = found[order[is_first]]
        starts = np.searchsorted(best[:, 0], np.arange(len(n_words) + 1)).astype(np.int64)
        columns = dict(zip(_OF_MATCHES[1:], np.ascontiguousarray(best.T)[1:], strict=True))
        return Matches(starts, n_words, words, self.labels[columns["names"]], **columns)


def _words(name: str) -> list[str]:
    """The words of a name without its qualifier, if it has anything else."""
    return words_of(_QUALIFIER.sub("", name)) or words_of(name)


def _stems(words: list[str], language: str | None, by_root: bool) -> list[str]:
    """The stem of each word, or its root."""
    stems = stemmed(words, language)
    return roots(stems, language) if by_root else stems


def extended(index: NameIndex, names: Sequence[Name]) -> NameIndex:
    """The index of all its names and of further ones; the preferred name of a label is its last."""
    new = NameIndex.of(names, index.language, by_root=index.by_root)
    stems, stem_of_new = _joined(index.stems, new.stems)
    forms, form_of_new = _joined(index.forms, new.forms)
    form_stems = np.pad(index.form_stems, (0, len(forms) - len(index.forms)))
    form_stems[form_of_new] = stem_of_new[new.form_stems]
    return NameIndex(
        index.language,
        stems,
        forms,
        form_stems,
        np.concatenate([index.name_starts, index.name_starts[-1] + new.name_starts[1:]]),
        np.concatenate([index.name_forms, form_of_new[new.name_forms]]),
        np.concatenate([index.labels, new.labels]),
        np.concatenate([index.is_preferred & ~np.isin(index.labels, new.labels[new.is_preferred]), new.is_preferred]),
        np.concatenate([index.is_qualified, new.is_qualified]),
        index.by_root,
    )


def _joined(known: Sequence[str], new: Sequence[str]) -> tuple[list[str], Ints32]:
    """Known and new words, and where the new ones are among them."""
    place = {word: number for number, word in enumerate(known)}
    places = np.array([place.setdefault(word, len(place)) for word in new], np.int32)
    return list(place), places
