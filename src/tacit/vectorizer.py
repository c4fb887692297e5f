"""Texts to features: tf-idf of words and optionally of character n-grams within words.

The fitted state is plain arrays and strings. Character n-grams are computed once per distinct word, not once per
occurrence.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Annotated, Any, TypeVar

import numpy as np
import numpy.typing as npt
from scipy import sparse

from tacit.checks import as_features, check_unicode
from tacit.errors import DataError
from tacit.numerics.idf import inverse_document_frequencies
from tacit.numerics.rows import moved_to_disk, stacked, unit_rows, widened
from tacit.parameters import OneOf
from tacit.progress import stage
from tacit.store.declared import Array, Sizes
from tacit.tasks import stream_tasks
from tacit.words import LANGUAGES, count_words, stemmed

_MIN_TEXTS_TO_DROP_HAPAXES = 1000  # with fewer texts, words that occur in a single text are kept
_MIN_WORDS_TO_DROP_HAPAXES = 50  # distinct words per text; in shorter texts every word counts
_GRAM = "~"  # before the name of an n-gram
_GRAM_SIZES = (3, 4, 5)
_CHARACTERS_PER_BLOCK = 4_000_000  # of texts that are a task
_FEATURES_OF_GRAMS = 10  # times as many features as without n-grams

Result = TypeVar("Result")
Ids = npt.NDArray[np.int32]


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

    def fit_transform(self, texts: Sequence[str], n_jobs: int | None = None) -> sparse.csr_matrix:
        """Learn the vocabulary of `texts` and return their features."""
        blocks, words = self._counted(texts, n_jobs)
        n_counts = sum(counts.nnz for counts in blocks)
        are_many = len(texts) >= _MIN_TEXTS_TO_DROP_HAPAXES and n_counts >= _MIN_WORDS_TO_DROP_HAPAXES * len(texts)
        min_texts = 2 if are_many else 1
        names, chosen, frequencies = _vocabulary(words, blocks, min_texts)
        places = np.full(len(words), -1, np.int32)
        places[chosen] = np.arange(len(chosen))
        grams = None
        if self.characters:
            grams, gram_names = _grams_of(words)
            found, chosen, n_with = _vocabulary(gram_names, (counts @ grams for counts in blocks), min_texts)
            grams = grams[:, chosen]
            names, frequencies = names + found, np.append(frequencies, n_with)
        if not names:
            raise DataError("the texts hold no words to learn from; a word has two letters or more")
        self.feature_names_ = np.array(names, dtype=object)
        vars(self).pop("_position", None)  # of an earlier vocabulary
        self.idf_ = inverse_document_frequencies(frequencies, len(texts))
        return self._weighted(blocks, places, grams, n_jobs)

    def fit(self, texts: Sequence[str], n_jobs: int | None = None) -> TextVectorizer:
        """Learn the vocabulary of `texts`."""
        self.fit_transform(texts, n_jobs)
        return self

    def transform(self, texts: Sequence[str], n_jobs: int | None = None) -> sparse.csr_matrix:
        """Features of `texts`; words outside the vocabulary are ignored, except for their n-grams."""
        position = self.positions()
        blocks, words = self._counted(texts, n_jobs)
        places = np.array([position.get(word, -1) for word in words], np.int32)
        grams = None
        if self.characters:
            grams, names = _grams_of(words)
            known = np.array([position.get(name, -1) - self._n_words for name in names], np.int32)
            grams = _renamed(grams, known, len(position) - self._n_words)
        return self._weighted(blocks, places, grams, n_jobs)

    def as_new(self, X: sparse.csr_matrix, is_known: npt.NDArray[np.bool_]) -> sparse.csr_matrix:
        """Features of texts as they would be if the vocabulary had only the features that `is_known` marks."""
        positions = self.positions()
        entries = is_known[X.indices]
        starts = np.concatenate([[0], np.cumsum(entries)])[X.indptr]
        kept = sparse.csr_matrix((X.data[entries], X.indices[entries], starts), shape=X.shape)
        if self._n_words == len(positions):
            return unit_rows(kept)
        parts = unit_rows(kept[:, : self._n_words]), unit_rows(kept[:, self._n_words :])
        return unit_rows(sparse.hstack(parts, format="csr"))

    def _counted(self, texts: Sequence[str], n_jobs: int | None) -> tuple[list[sparse.csr_matrix], list[str]]:
        """Counts of each distinct word, or stem, in each text, by blocks of texts; words by their first occurrence."""
        tasks = [{"texts": texts[first:last]} for first, last in _blocks(texts, self.characters)]
        found = _run(count_words, tasks, n_jobs, "blocks of words")
        if len(tasks) == 1 and self.language is None:
            counts, names = next(found)
            return [counts], names
        number: defaultdict[str, int] = defaultdict()
        number.default_factory = number.__len__
        blocks = []
        for counts, words in found:  # the words of a block are dropped before the next one comes
            ids = np.array([number[word] for word in words], np.int32)
            blocks.append(moved_to_disk(_with_ids(counts, ids, len(number))))
        names = list(number)
        if self.language is not None:
            number.clear()
            ids = np.array([number[stem] for stem in stemmed(names, self.language)], np.int32)
            names = list(number)
            for place, counts in enumerate(blocks):
                stems = _with_ids(counts, ids, len(names))
                stems.sum_duplicates()
                blocks[place] = moved_to_disk(stems)
        return [widened(counts, len(names)) for counts in blocks], names

    def positions(self) -> dict[str, int]:
        """Columns by the name of the feature."""
        if not hasattr(self, "_position"):
            self._n_words = sum(not name.startswith(_GRAM) for name in self.feature_names_)
            # Last, as other threads take it for a sign that both are there.
            self._position = {name: place for place, name in enumerate(self.feature_names_)}
        return self._position

    def _weighted(
        self,
        blocks: list[sparse.csr_matrix],
        places: Ids,
        grams: sparse.csr_matrix | None,
        n_jobs: int | None,
    ) -> sparse.csr_matrix:
        """Features from counts, given the column of each word and the n-grams of each word by column."""
        tasks = [{"counts": counts} for counts in blocks]
        return stacked(_run(_features, tasks, n_jobs, "blocks of features", places=places, grams=grams, idf=self.idf_))


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


def features_of(samples: Any, vectorizer: TextVectorizer | None, n_jobs: int | None = None) -> sparse.csr_matrix:
    """Features of user input: texts if there is a vectoriser, otherwise a matrix."""
    if vectorizer is None:
        if are_texts(samples):
            raise DataError("this tagger was trained on features, not texts; give it a matrix of features")
        return as_features(samples)
    if not are_texts(samples):
        raise DataError("this tagger was trained on texts; give it a list of texts")
    return vectorizer.transform(samples, n_jobs)


def _blocks(texts: Sequence[str], with_grams: bool) -> list[tuple[int, int]]:
    """Where blocks of texts of about the same size start and stop; at least one."""
    sizes = np.cumsum([len(text) for text in texts], dtype=np.int64)
    most = _CHARACTERS_PER_BLOCK // _FEATURES_OF_GRAMS if with_grams else _CHARACTERS_PER_BLOCK
    stops = np.flatnonzero(np.diff(sizes // most)) + 1
    return list(pairwise([0, *stops.tolist(), len(texts)]))


def _run(
    function: Callable[..., Result], tasks: list[dict[str, Any]], n_jobs: int | None, what: str, **shared: Any
) -> Iterator[Result]:
    """Results of tasks in order, one at a time; a single one, as of a request, needs no workers."""
    if len(tasks) == 1:
        yield function(**tasks[0], **shared)
        return
    with stage(what, len(tasks)) as advance:
        for result in stream_tasks(function, tasks, n_jobs=n_jobs, is_near=True, **shared):
            yield result
            advance(1)


def _with_ids(counts: sparse.csr_matrix, ids: Ids, n_columns: int) -> sparse.csr_matrix:
    shape = counts.shape[0], n_columns
    return sparse.csr_matrix((counts.data, ids[counts.indices], counts.indptr), shape=shape)


def _vocabulary(
    names: list[str], blocks: Iterable[sparse.csr_matrix], min_texts: int
) -> tuple[list[str], Ids, npt.NDArray[np.int64]]:
    """The names that occur in enough texts, sorted; their columns in `blocks`, and in how many texts they occur."""
    n_with = np.zeros(len(names), np.int64)
    for counts in blocks:
        n_with += np.bincount(counts.indices, minlength=len(names))
    chosen = sorted(np.flatnonzero(n_with >= min_texts).tolist(), key=names.__getitem__)
    columns = np.array(chosen, np.int32)
    return [names[column] for column in chosen], columns, n_with[columns]


def _features(
    counts: sparse.csr_matrix, places: Ids, grams: sparse.csr_matrix | None, idf: npt.NDArray[np.float32]
) -> sparse.csr_matrix:
    """Counts as tf-idf rows of unit length; words and n-grams have the same total weight."""
    if grams is None:
        return _tf_idf(_renamed(counts, places, len(idf)), idf)
    n_words = len(idf) - grams.shape[1]
    of_grams = sparse.csr_matrix(counts @ grams)
    of_grams.sort_indices()
    parts = _tf_idf(_renamed(counts, places, n_words), idf[:n_words]), _tf_idf(of_grams, idf[n_words:])
    return unit_rows(sparse.hstack(parts, format="csr"))


def _tf_idf(counts: sparse.csr_matrix, idf: npt.NDArray[np.float32]) -> sparse.csr_matrix:
    values = (1 + np.log(counts.data)).astype(np.float32) * idf[counts.indices]
    return unit_rows(sparse.csr_matrix((values, counts.indices, counts.indptr), shape=counts.shape))


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


def _renamed(counts: sparse.csr_matrix, places: Ids, n_columns: int) -> sparse.csr_matrix:
    """Counts with each column moved to its place in the vocabulary; those with a place below zero are left out."""
    columns = places[counts.indices]
    kept = columns >= 0
    starts = np.concatenate([[0], np.cumsum(kept)])[counts.indptr]
    moved = sparse.csr_matrix((counts.data[kept], columns[kept], starts), shape=(counts.shape[0], n_columns))
    if moved.nnz > n_columns:
        return moved.tocsc().tocsr()  # sorts the indices, in half the time of `sort_indices`
    moved.sort_indices()
    return moved
