"""Texts to features: tf-idf of words and optionally of character n-grams within words.

The fitted state is plain arrays and strings. Character n-grams are computed once per distinct word, not once per
occurrence.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from tacit.checks import as_features, check_unicode
from tacit.errors import DataError
from tacit.numerics.idf import inverse_document_frequencies
from tacit.numerics.rows import unit_rows
from tacit.parameters import OneOf
from tacit.store.declared import Array, Sizes
from tacit.words import LANGUAGES, stemmed

_MIN_TEXTS_TO_DROP_HAPAXES = 1000  # with fewer texts, words that occur in a single text are kept
_MIN_WORDS_TO_DROP_HAPAXES = 50  # distinct words per text; in shorter texts every word counts
_WORD = re.compile(r"(?u)\b\w\w+\b")
_GRAM = "~"  # before the name of an n-gram
_GRAM_SIZES = (3, 4, 5)
_TEXTS_PER_BLOCK = 10_000  # whose n-grams are counted at a time


@dataclass(eq=False)
class TextVectorizer:
    """Tf-idf vectors of unit length with logarithmic term counts, of words and optionally character n-grams.

    Attributes
    ----------
    characters : bool
        Add character n-grams, for inflected languages and misspelt words. Words and n-grams have the same total weight.
    language : str, optional
        Count stems of this language instead of words.
    feature_names_ : array of str
        The vocabulary in column order: words, then n-grams, which are prefixed with a tilde.
    idf_ : float array
        Inverse document frequency of each feature.
    """

    feature_names_: Annotated[npt.NDArray[Any], Array("object", ("n_features",))] = field(
        default_factory=lambda: np.empty(0, dtype=object)
    )
    idf_: Annotated[npt.NDArray[np.float32], Array("float32", ("n_features",))] = field(
        default_factory=lambda: np.empty(0, dtype=np.float32)
    )
    characters: bool = False
    language: Annotated[str | None, OneOf(tuple(LANGUAGES))] = None

    def what_is_wrong(self, sizes: Sizes) -> tuple[str, str] | None:
        """No two features have the same name, and n-grams come last, if there are any."""
        if len(self.positions()) != sizes["n_features"]:
            return "feature_names_", "must differ from each other"
        if self._n_words < sizes["n_features"]:
            if not self.characters:
                return "feature_names_", "must be words; got an n-gram"
            if any(name.startswith(_GRAM) for name in self.feature_names_[: self._n_words]):
                return "feature_names_", "must be words, then n-grams"
        return None

    def fit_transform(self, texts: Sequence[str]) -> sparse.csr_matrix:
        """Learn the vocabulary of `texts` and return their features."""
        counts, words = self._counted(texts)
        are_many = len(texts) >= _MIN_TEXTS_TO_DROP_HAPAXES and counts.nnz >= _MIN_WORDS_TO_DROP_HAPAXES * len(texts)
        min_texts = 2 if are_many else 1
        names, columns = _vocabulary(counts, words, min_texts)
        parts = [counts[:, columns]]
        if self.characters:
            grams, gram_names = _grams_of(words)
            columns = np.flatnonzero(_document_frequency(counts, grams) >= min_texts)
            columns = columns[np.argsort(np.array(gram_names, dtype=object)[columns])]
            names = [*names, *(gram_names[column] for column in columns)]
            parts.append(_product(counts, grams[:, columns]))
        if not names:
            raise DataError("the texts hold no words to learn from; a word has two letters or more")
        self.feature_names_ = np.array(names, dtype=object)
        vars(self).pop("_position", None)  # of an earlier vocabulary
        frequencies = np.concatenate([np.bincount(part.indices, minlength=part.shape[1]) for part in parts])
        self.idf_ = inverse_document_frequencies(frequencies, len(texts))
        return self._weighted(parts)

    def fit(self, texts: Sequence[str]) -> TextVectorizer:
        """Learn the vocabulary of `texts`."""
        self.fit_transform(texts)
        return self

    def transform(self, texts: Sequence[str]) -> sparse.csr_matrix:
        """Features of `texts`; words outside the vocabulary are ignored, except for their n-grams."""
        position = self.positions()
        counts, words = self._counted(texts)
        n_words = self._n_words
        parts = [_renamed(counts, [position.get(word, -1) for word in words], n_words)]
        if self.characters:
            grams, names = _grams_of(words)
            known = [position.get(name, -1) - n_words for name in names]
            parts.append(_product(counts, _renamed(grams, known, len(position) - n_words)))
        return self._weighted(parts)

    def _counted(self, texts: Sequence[str]) -> tuple[sparse.csr_matrix, list[str]]:
        """Counts of each distinct word, or stem, in each text."""
        counts, words = _count_words(texts)
        if self.language is None:
            return counts, words
        number: dict[str, int] = {}
        of_word = [number.setdefault(stem, len(number)) for stem in stemmed(words, self.language)]
        ones = np.ones(len(words), counts.dtype)
        merge = sparse.csr_matrix((ones, (np.arange(len(words)), of_word)), shape=(len(words), len(number)))
        return sparse.csr_matrix(counts @ merge), list(number)

    def positions(self) -> dict[str, int]:
        """Columns by the name of the feature."""
        if not hasattr(self, "_position"):
            self._n_words = sum(not name.startswith(_GRAM) for name in self.feature_names_)
            # Last, as other threads take it for a sign that both are there.
            self._position = {name: place for place, name in enumerate(self.feature_names_)}
        return self._position

    def _weighted(self, parts: list[sparse.csr_matrix]) -> sparse.csr_matrix:
        """Counts as tf-idf rows of unit length; words and n-grams have the same total weight."""
        first, weighted = 0, []
        for part in parts:
            idf = self.idf_[first : first + part.shape[1]]
            values = (1 + np.log(part.data)).astype(np.float32) * idf[part.indices]
            weighted.append(unit_rows(sparse.csr_matrix((values, part.indices, part.indptr), shape=part.shape)))
            first += part.shape[1]
        return weighted[0] if len(weighted) == 1 else unit_rows(sparse.hstack(weighted, format="csr"))


def are_texts(samples: Any) -> bool:
    """Whether all samples are texts; a list that mixes texts with other objects is an error."""
    if isinstance(samples, str):
        raise DataError("texts must be a list of texts; got a single one: wrap it in a list")
    if sparse.issparse(samples) or getattr(samples, "ndim", 1) == 2:
        return False
    for place, text in enumerate(samples):
        if not isinstance(text, str):
            if isinstance(text, list | tuple | np.ndarray):  # rows of features
                return False
            raise DataError(f"texts must be str; entry {place} is a {type(text).__name__}")
        check_unicode(text, place, "texts")
    return True


def features_of(samples: Any, vectorizer: TextVectorizer | None) -> sparse.csr_matrix:
    """Features of user input: texts if there is a vectoriser, otherwise a matrix."""
    if vectorizer is None:
        if are_texts(samples):
            raise DataError("this tagger was trained on features, not texts; give it a matrix of features")
        return as_features(samples)
    if not are_texts(samples):
        raise DataError("this tagger was trained on texts; give it a list of texts")
    return vectorizer.transform(samples)


def _count_words(texts: Iterable[str]) -> tuple[sparse.csr_matrix, list[str]]:
    """Counts of each distinct word in each text; words in the order of their first occurrence."""
    number: defaultdict[str, int] = defaultdict()
    number.default_factory = number.__len__
    ids: list[npt.NDArray[np.int32]] = []
    starts = [0]
    for text in texts:
        found = [number[word] for word in _WORD.findall(text.lower())]
        ids.append(np.array(found, np.int32))
        starts.append(starts[-1] + len(found))
    flat = np.concatenate(ids) if ids else np.empty(0, np.int32)
    counts = sparse.csr_matrix((np.ones(len(flat), np.float32), flat, starts), shape=(len(ids), len(number)))
    counts.sum_duplicates()
    return counts, list(number)


def _vocabulary(counts: sparse.csr_matrix, words: list[str], min_texts: int) -> tuple[list[str], npt.NDArray[np.intp]]:
    """The words that occur in enough texts, sorted, and their columns."""
    frequent = np.flatnonzero(np.bincount(counts.indices, minlength=len(words)) >= min_texts)
    columns = np.array(sorted(frequent, key=words.__getitem__), dtype=np.intp)
    return [words[column] for column in columns], columns


def _grams_of(words: list[str]) -> tuple[sparse.csr_matrix, list[str]]:
    """How often each n-gram occurs in each word, blanks at both ends counted as letters."""
    number: defaultdict[str, int] = defaultdict()
    number.default_factory = number.__len__
    ids: list[int] = []
    starts = [0]
    for word in words:
        padded = f" {word} "
        ids.extend(
            number[_GRAM + padded[start : start + size]]
            for size in _GRAM_SIZES
            for start in range(len(padded) - size + 1)
        )
        starts.append(len(ids))
    grams = sparse.csr_matrix((np.ones(len(ids), np.float32), ids, starts), shape=(len(words), len(number)))
    grams.sum_duplicates()
    return grams, list(number)


def _document_frequency(counts: sparse.csr_matrix, grams: sparse.csr_matrix) -> npt.NDArray[np.int64]:
    """In how many texts each n-gram occurs, in blocks of texts."""
    frequency = np.zeros(grams.shape[1], np.int64)
    for first in range(0, counts.shape[0], _TEXTS_PER_BLOCK):
        frequency += np.bincount((counts[first : first + _TEXTS_PER_BLOCK] @ grams).indices, minlength=grams.shape[1])
    return frequency


def _product(counts: sparse.csr_matrix, grams: sparse.csr_matrix) -> sparse.csr_matrix:
    product = sparse.csr_matrix(counts @ grams)
    product.sort_indices()
    return product


def _renamed(counts: sparse.csr_matrix, columns: list[int], n_columns: int) -> sparse.csr_matrix:
    """Counts with each column moved to its place in the vocabulary; columns below zero are left out."""
    places = np.array(columns, dtype=np.int64)[counts.indices] if len(columns) else np.empty(0, np.int64)
    kept = places >= 0
    starts = np.concatenate([[0], np.cumsum(kept)])[counts.indptr]
    moved = sparse.csr_matrix((counts.data[kept], places[kept], starts), shape=(counts.shape[0], n_columns))
    moved.sort_indices()
    return moved
