"""Texts to features: tf-idf of words and optionally of their prefixes or character n-grams.

Parts of words are computed once per distinct word, not once per occurrence.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Annotated, Any, TypeVar

import numpy as np
from scipy import sparse

from tacit.arrays import AnyArray, Floats32, Ints32, Ints64, Mask
from tacit.core.checks import as_features, check_unicode
from tacit.core.parameters import OneOf
from tacit.errors import DataError
from tacit.numerics.idf import inverse_document_frequencies
from tacit.numerics.rows import moved_to_disk, stacked, unit_rows, widened
from tacit.progress import stage
from tacit.runtime.tasks import stream_tasks
from tacit.store.declared import Array, Sizes
from tacit.text.words import LANGUAGES, Lexicon, count_words, stemmed

_MIN_TEXTS_TO_DROP_HAPAXES = 1000  # with fewer texts, words that occur in a single text are kept
_MIN_WORDS_TO_DROP_HAPAXES = 50  # distinct words per text; in shorter texts every word counts
_PART = "~"  # before the name of a feature that is not a word
_LETTERS = 4  # of prefixes and n-grams
_CHARACTERS_PER_BLOCK = 8_000_000  # of texts that are a task
_FEATURES_OF_PARTS = 10  # times as many features as of words alone, at most
#: What texts are known by, and the share of the squared length of a row that other features than words have.
FEATURES = {"words": 0.0, "words+prefixes": 0.25, "words+characters": 0.5}
TextFeatures = Annotated[str, OneOf(tuple(FEATURES)), "of texts: words, or also parts of words"]

Result = TypeVar("Result")


@dataclass(eq=False)
class TextVectorizer:
    """Tf-idf vectors of unit length with logarithmic term counts, of words, or of stems of a `language`.

    The vocabulary, `feature_names_`, has words first, then other features, whose names start with a tilde.
    """

    feature_names_: Annotated[AnyArray, Array("object", ("n_features",))] = field(
        default_factory=lambda: np.empty(0, dtype=object)
    )
    idf_: Annotated[Floats32, Array("float32", ("n_features",))] = field(
        default_factory=lambda: np.empty(0, dtype=np.float32)
    )
    features: TextFeatures = "words"
    language: Annotated[str | None, OneOf(tuple(LANGUAGES))] = None

    def problem(self, sizes: Sizes) -> tuple[str, str] | None:
        """No two features have the same name, and words come first."""
        if len(self.positions()) != sizes["n_features"]:
            return "feature_names_", "must differ from each other"
        if self._n_words < sizes["n_features"]:
            if self.features == "words":
                return "feature_names_", f"must be words; got one with {_PART}"
            if any(name.startswith(_PART) for name in self.feature_names_[: self._n_words]):
                return "feature_names_", "must be words, then other features"
        return None

    def fit_transform(self, texts: Sequence[str], n_jobs: int | None = None) -> sparse.csr_matrix:
        """Learn the vocabulary of `texts` and return their features."""
        blocks, words = self._counted(texts, n_jobs)
        n_with = _texts_with(blocks, len(words))
        are_many = len(texts) >= _MIN_TEXTS_TO_DROP_HAPAXES and n_with.sum() >= _MIN_WORDS_TO_DROP_HAPAXES * len(texts)
        min_texts = 2 if are_many else 1
        names, chosen = _vocabulary(words, n_with, min_texts)
        frequencies = n_with[chosen]
        column_of = np.full(len(words), -1, np.int32)
        column_of[chosen] = np.arange(len(chosen))
        parts = None
        if self.features != "words":
            parts, part_names = _decompose(words, self.features)
            n_with = _texts_with((counts @ parts for counts in blocks), len(part_names))
            found, chosen = _vocabulary(part_names, n_with, min_texts)
            parts = parts[:, chosen]
            names, frequencies = names + found, np.append(frequencies, n_with[chosen])
        if not names:
            raise DataError("the texts hold no words to learn from; a word has two letters or more")
        self.feature_names_ = np.array(names, dtype=object)
        vars(self).pop("_position", None)  # of an earlier vocabulary
        self.idf_ = inverse_document_frequencies(frequencies, len(texts))
        return self._weighted(blocks, column_of, parts, n_jobs)

    def transform(self, texts: Sequence[str], n_jobs: int | None = None) -> sparse.csr_matrix:
        """Features of `texts`; words outside the vocabulary are ignored, except for their parts."""
        position = self.positions()
        blocks, words = self._counted(texts, n_jobs)
        column_of = np.array([position.get(word, -1) for word in words], np.int32)
        parts = None
        if self.features != "words":
            parts, names = _decompose(words, self.features)
            known = np.array([position.get(name, -1) - self._n_words for name in names], np.int32)
            parts = _renamed(parts, known, len(position) - self._n_words)
        return self._weighted(blocks, column_of, parts, n_jobs)

    def restricted_to(self, X: sparse.csr_matrix, is_known: Mask) -> sparse.csr_matrix:
        """Features of texts as they would be if the vocabulary had only the features that `is_known` marks."""
        positions = self.positions()
        kept = _renamed(X, np.where(is_known, np.arange(len(positions)), -1), len(positions))
        if self._n_words == len(positions):
            return unit_rows(kept)
        return _joined(kept[:, : self._n_words], kept[:, self._n_words :], FEATURES[self.features])

    def _counted(self, texts: Sequence[str], n_jobs: int | None) -> tuple[list[sparse.csr_matrix], list[str]]:
        """Counts of each distinct word, or stem, in each text, by blocks of texts; words by their first occurrence."""
        tasks = [{"texts": texts[first:last]} for first, last in _blocks(texts, self.features != "words")]
        found = _run(count_words, iter(tasks), len(tasks), n_jobs, "blocks of words")
        if len(tasks) == 1 and self.language is None:
            counts, words = next(found)
            return [counts], words.names()
        lexicon, blocks = Lexicon(), []
        for counts, words in found:  # the words of a block are dropped before the next one comes
            blocks.append(moved_to_disk(_with_ids(counts, lexicon.number(words), len(lexicon))))
        names = lexicon.names()
        if self.language is not None:
            number = _numbering()
            ids = np.fromiter(map(number.__getitem__, stemmed(names, self.language)), np.int32, len(names))
            names = list(number)
            for block, counts in enumerate(blocks):
                stems = _with_ids(counts, ids, len(names))
                stems.sum_duplicates()
                blocks[block] = moved_to_disk(stems)
        return [widened(counts, len(names)) for counts in blocks], names

    def positions(self) -> dict[str, int]:
        """Columns by the name of the feature."""
        if not hasattr(self, "_position"):
            self._n_words = sum(not name.startswith(_PART) for name in self.feature_names_)
            # Last, as other threads take it for a sign that all are there.
            self._position = {name: column for column, name in enumerate(self.feature_names_)}
        return self._position

    def _weighted(
        self, blocks: list[sparse.csr_matrix], column_of: Ints32, parts: sparse.csr_matrix | None, n_jobs: int | None
    ) -> sparse.csr_matrix:
        """Features from the counts in `blocks`, which are taken out so that their memory is free for features."""
        blocks.reverse()
        n_tasks, tasks = len(blocks), ({"counts": blocks.pop()} for _ in range(len(blocks)))
        shared = {"column_of": column_of, "parts": parts, "share": FEATURES[self.features], "idf": self.idf_}
        return stacked(_run(_features, tasks, n_tasks, n_jobs, "blocks of features", **shared))


def are_texts(samples: Any) -> bool:
    """Whether all samples are texts; a list that mixes texts with other objects is an error."""
    if isinstance(samples, str):
        raise DataError("texts must be a list of texts; got a single one: wrap it in a list")
    if sparse.issparse(samples) or getattr(samples, "ndim", 1) == 2:
        return False
    for row, text in enumerate(samples):
        if not isinstance(text, str):
            if isinstance(text, list | tuple | np.ndarray):  # rows of features
                return False
            raise DataError(f"texts must be str; entry {row} is a {type(text).__name__}")
        check_unicode(text, row, "texts")
    return True


def features_of(samples: Any, vectorizer: TextVectorizer | None, n_jobs: int | None = None) -> sparse.csr_matrix:
    """Features of user input: texts if there is a vectoriser, otherwise a matrix."""
    if vectorizer is None:
        if are_texts(samples):
            raise DataError("this tagger was trained on features, not texts; give it a matrix of features")
        return as_features(samples)
    if not are_texts(samples):
        raise DataError("this tagger was trained on texts; give it a list of texts")
    return vectorizer.transform(samples, n_jobs)


def _blocks(texts: Sequence[str], with_parts: bool) -> list[tuple[int, int]]:
    """Where blocks of texts of about the same size start and stop; at least one."""
    sizes = np.cumsum([len(text) for text in texts], dtype=np.int64)
    most = _CHARACTERS_PER_BLOCK // _FEATURES_OF_PARTS if with_parts else _CHARACTERS_PER_BLOCK
    stops = np.flatnonzero(np.diff(sizes // most)) + 1
    return list(pairwise([0, *stops.tolist(), len(texts)]))


def _run(
    function: Callable[..., Result], tasks: Iterator[Any], n_tasks: int, n_jobs: int | None, what: str, **shared: Any
) -> Iterator[Result]:
    """Results of tasks in order, one at a time; a single one, as of a request, needs no workers."""
    if n_tasks == 1:
        yield function(**next(tasks), **shared)
        return
    with stage(what, n_tasks) as advance:
        for result in stream_tasks(function, tasks, n_jobs=n_jobs, is_near=True, **shared):
            yield result
            advance(1)


def _with_ids(counts: sparse.csr_matrix, ids: Ints32, n_columns: int) -> sparse.csr_matrix:
    shape = counts.shape[0], n_columns
    return sparse.csr_matrix((counts.data, ids[counts.indices], counts.indptr), shape=shape)


def _texts_with(blocks: Iterable[sparse.csr_matrix], n_columns: int) -> Ints64:
    """In how many texts each word or part occurs."""
    n_with = np.zeros(n_columns, np.int64)
    for counts in blocks:
        n_with += np.bincount(counts.indices, minlength=n_columns)
    return n_with


def _vocabulary(names: list[str], n_with: Ints64, min_texts: int) -> tuple[list[str], Ints32]:
    """The names that occur in enough texts, sorted, and their columns."""
    chosen = sorted(np.flatnonzero(n_with >= min_texts).tolist(), key=names.__getitem__)
    return [names[column] for column in chosen], np.array(chosen, np.int32)


def _features(
    counts: sparse.csr_matrix, column_of: Ints32, parts: sparse.csr_matrix | None, share: float, idf: Floats32
) -> sparse.csr_matrix:
    """Counts as tf-idf rows of unit length; `share` is that of the parts of words."""
    if parts is None:
        return _tf_idf(_renamed(counts, column_of, len(idf)), idf)
    n_words = len(idf) - parts.shape[1]
    of_parts = sparse.csr_matrix(counts @ parts)
    of_parts.sort_indices()
    words = _renamed(counts, column_of, n_words)
    return _joined(_tf_idf(words, idf[:n_words]), _tf_idf(of_parts, idf[n_words:]), share)


def _joined(words: sparse.csr_matrix, others: sparse.csr_matrix, share: float) -> sparse.csr_matrix:
    """Rows of unit length, in which other features than words have this share of the squared length."""
    parts = unit_rows(words), unit_rows(others)
    for part, weight in zip(parts, (1 - share, share), strict=True):
        part.data *= np.float32(np.sqrt(weight))
    return unit_rows(sparse.hstack(parts, format="csr"))


def _tf_idf(counts: sparse.csr_matrix, idf: Floats32) -> sparse.csr_matrix:
    values = (1 + np.log(counts.data)).astype(np.float32) * idf[counts.indices]
    return unit_rows(sparse.csr_matrix((values, counts.indices, counts.indptr), shape=counts.shape))


def _numbering() -> defaultdict[str, int]:
    """Numbers of names by their first occurrence."""
    number: defaultdict[str, int] = defaultdict()
    number.default_factory = number.__len__
    return number


def _decompose(words: list[str], features: str) -> tuple[sparse.csr_matrix, list[str]]:
    """How often each part occurs in each word; blanks at both ends count as letters of n-grams."""
    number = _numbering()
    ids: list[int] = []
    starts = [0]
    for word in words:
        if features == "words+characters":
            padded = f" {word} "
            found = [padded[start : start + _LETTERS] for start in range(len(padded) - _LETTERS + 1)]
        else:
            found = [word[:_LETTERS]] if len(word) > _LETTERS else []
        ids.extend(number[_PART + part] for part in found)
        starts.append(len(ids))
    parts = sparse.csr_matrix((np.ones(len(ids), np.float32), ids, starts), shape=(len(words), len(number)))
    parts.sum_duplicates()
    return parts, list(number)


def _renamed(counts: sparse.csr_matrix, column_of: Ints32, n_columns: int) -> sparse.csr_matrix:
    """Counts with each column moved to its column in the vocabulary; those with a column below zero are left out."""
    columns = column_of[counts.indices]
    kept = columns >= 0
    starts = np.concatenate([[0], np.cumsum(kept)])[counts.indptr]
    moved = sparse.csr_matrix((counts.data[kept], columns[kept], starts), shape=(counts.shape[0], n_columns))
    if moved.nnz > n_columns:
        return moved.tocsc().tocsr()  # sorts the indices, in half the time of `sort_indices`
    moved.sort_indices()
    return moved
