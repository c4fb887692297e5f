"""Synthetic data with known truth: complete labels, observed labels and the probability of observation.

Labels belong to topics and have power-law frequencies. A sample draws a first label, takes most further ones
from the same topic, and emits words of its labels, of its topic, and noise. Rows are made in chunks of a fixed size
with a seed each.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from tacit.arrays import AnyArray, Floats64, Ints64, Mask
from tacit.data.dataset import Dataset
from tacit.data.split import keep_entries
from tacit.errors import ParameterError
from tacit.evaluation.propensity import propensities_from_counts
from tacit.numerics.rows import unit_rows

CHUNK_ROWS = 4096
HEAD_OFFSET = 2  # flattens the most frequent ranks, as real label frequencies do
COHERENCE = 0.8  # share of further labels taken from the topic of the first
LABEL_WORDS = 6  # words that a label can emit, half of them words of its topic
LABEL_EMISSIONS = 2  # words that each label of a sample adds
TOPIC_WORDS = 20  # words that a topic can emit
TOPIC_EMISSIONS = 4  # words of the topic in each sample


class Block(NamedTuple):
    """Consecutive rows."""

    X: sparse.csr_matrix  # unit rows of tf-idf
    Y: sparse.csr_matrix  # observed labels
    Y_complete: sparse.csr_matrix
    counts: sparse.csr_matrix  # of words


@dataclass(frozen=True, eq=False)
class SyntheticData:
    """A whole synthetic data set."""

    X: sparse.csr_matrix
    Y: sparse.csr_matrix  # observed labels
    Y_complete: sparse.csr_matrix
    propensities: Floats64  # probability that a positive is observed, but in training rows 0 for unseen labels
    unseen: Ints64  # labels that are never observed in training rows
    train: Ints64  # row numbers
    test: Ints64
    label_names: list[str]
    feature_names: list[str]
    texts: list[str] | None  # with ``as_text=True``

    def dataset(self, rows: Ints64, *, complete: bool = False) -> Dataset:
        """Some rows with their observed or complete labels, such as ``data.dataset(data.train)``."""
        labels = self.Y_complete if complete else self.Y
        return Dataset(self.X, labels, self.label_names, self.texts, self.feature_names).rows(rows)


def make_dataset(
    n_samples: int = 5_000, n_features: int = 3_000, n_labels: int = 500, *, as_text: bool = False, **options: Any
) -> SyntheticData:
    """A synthetic data set in memory; `options` are the other fields of `Recipe`, such as ``seed=1``."""
    recipe = Recipe(n_samples=n_samples, n_features=n_features, n_labels=n_labels, **options)
    words = feature_names(range(n_features))
    X, Y, Y_complete, counts = (sparse.vstack(parts, format="csr") for parts in zip(*recipe.blocks(), strict=True))
    return SyntheticData(
        X=X,
        Y=Y,
        Y_complete=Y_complete,
        propensities=recipe.propensities,
        unseen=np.flatnonzero(recipe.is_unseen),
        train=np.arange(recipe.n_train),
        test=np.arange(recipe.n_train, n_samples),
        label_names=[label_name(*divmod(label, recipe.topic_size), recipe.topic_size) for label in range(n_labels)],
        feature_names=words,
        texts=texts_of_counts(counts, words) if as_text else None,
    )


@dataclass(kw_only=True)
class Recipe:
    """The parameters of a synthetic data set, and what all rows share: distributions of labels and words.

    Labels of one topic have consecutive numbers.
    """

    n_samples: int  # the test rows included
    n_features: int
    n_labels: int
    labels_per_sample: float = 4.0  # on average
    exponent: float = 1.0  # of the power law of label frequency over rank
    topic_size: int = 20  # labels in a topic
    noise_words: int = 15  # words without meaning in each sample
    hide: bool = True  # hide positives by the propensities
    unseen_share: float = 0.04  # share of labels never observed in train
    test_share: float = 0.2  # share of rows, the last ones, for test
    seed: int = 0  # the same seed gives the same data

    def __post_init__(self) -> None:
        if self.n_samples < 2 or self.n_features < 1 or self.n_labels < 1:
            raise ParameterError("synthetic data need at least two samples, a feature and a label")
        self.n_train = self.n_samples - round(self.test_share * self.n_samples)
        rng = self.generator(0)
        rank = rng.permutation(self.n_labels)
        mass = np.asarray(rank + 1 + HEAD_OFFSET, dtype=np.float64) ** -self.exponent
        mass /= mass.sum()
        self.edges = np.cumsum(mass)  # label l is drawn by numbers from edges[l - 1] to edges[l]
        starts = np.arange(0, self.n_labels, self.topic_size)
        self.topic_floor = np.concatenate([[0.0], self.edges])[starts]
        self.topic_mass = np.add.reduceat(mass, starts)
        self.topic_words = rng.integers(self.n_features, size=(len(starts), TOPIC_WORDS), dtype=np.int32)
        # Half of the words of a label are words of its topic, so that unseen labels can be predicted.
        topics, half = np.arange(self.n_labels)[:, None] // self.topic_size, LABEL_WORDS // 2
        shared = self.topic_words[topics, rng.integers(TOPIC_WORDS, size=(self.n_labels, half))]
        own = rng.integers(self.n_features, size=(self.n_labels, LABEL_WORDS - half), dtype=np.int32)
        self.label_words = np.hstack([own, shared])
        self.noise_word = rng.permutation(self.n_features).astype(np.int32)
        self.inverse_frequency = self._inverse_frequency(mass)
        expected = self.labels_per_sample * mass
        hidden = propensities_from_counts(self.n_train * expected, max(self.n_train, 1))
        self.propensities = hidden if self.hide else np.ones(self.n_labels)
        n_test = self.n_samples - self.n_train
        self.is_unseen = self._choose_unseen(np.argsort(rank), n_test * expected, rng)

    def generator(self, *key: int) -> np.random.Generator:
        """An independent random generator for each `key`."""
        return np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=key))

    def _inverse_frequency(self, mass: Floats64) -> Floats64:
        """Inverse document frequencies, expected instead of counted, so that they are known before the first row."""
        n_words = self.n_features
        picks = np.diff(np.sqrt(np.linspace(0, 1, LABEL_WORDS + 1)))  # _pick_words prefers the first ones
        emitted = self.labels_per_sample * LABEL_EMISSIONS * mass[:, None] * picks
        per_sample = np.bincount(self.label_words.ravel(), emitted.ravel(), minlength=n_words)
        by_topic = np.repeat(self.topic_mass * TOPIC_EMISSIONS / TOPIC_WORDS, TOPIC_WORDS)
        per_sample += np.bincount(self.topic_words.ravel(), by_topic, minlength=n_words)
        steps = np.diff(np.log(np.arange(1, n_words + 2))) / np.log(n_words + 1)
        per_sample[self.noise_word] += self.noise_words * steps
        samples_with = self.n_samples * -np.expm1(-per_sample)
        return np.asarray(1 + np.log((1 + self.n_samples) / (1 + samples_with)))

    def _choose_unseen(self, by_frequency: Ints64, n_test_positives: Floats64, rng: np.random.Generator) -> Mask:
        """Choose unseen labels among those frequent enough to occur in test, except the most frequent tenth."""
        n_unseen = round(self.unseen_share * self.n_labels)
        candidates = by_frequency[len(by_frequency) // 10 :]
        enough = max(int(np.sum(n_test_positives[candidates] >= 8)), 2 * n_unseen)
        is_unseen = np.zeros(self.n_labels, np.bool_)
        is_unseen[rng.permutation(candidates[:enough])[:n_unseen]] = True
        return is_unseen

    def blocks(self) -> Iterator[Block]:
        """The rows of `make_dataset` in blocks of `CHUNK_ROWS`, one in memory at a time."""
        return map(self._block, range(-(-self.n_samples // CHUNK_ROWS)))

    def _block(self, index: int) -> Block:
        first_row = index * CHUNK_ROWS
        n_rows = min(CHUNK_ROWS, self.n_samples - first_row)
        rng = self.generator(1, index)
        complete, topics = self._draw_labels(n_rows, rng)
        counts = self._draw_words(complete, topics, rng)
        observed = rng.random(complete.nnz) < self.propensities[complete.indices]
        n_train_rows = min(max(self.n_train - first_row, 0), n_rows)
        trained = slice(0, complete.indptr[n_train_rows])
        observed[trained] &= ~self.is_unseen[complete.indices[trained]]
        weights = (1 + np.log(counts.data)) * self.inverse_frequency[counts.indices]
        X = unit_rows(sparse.csr_matrix((weights, counts.indices, counts.indptr), shape=counts.shape))
        return Block(X, keep_entries(complete, observed), complete, counts)

    def _draw_labels(self, n_rows: int, rng: np.random.Generator) -> tuple[sparse.csr_matrix, Ints64]:
        first = self._labels_at(rng.random(n_rows))
        topics = first // self.topic_size
        further = np.repeat(np.arange(n_rows), rng.poisson(self.labels_per_sample - 1, n_rows))
        at = rng.random(len(further))
        stays = rng.random(len(further)) < COHERENCE
        topic = topics[further[stays]]
        at[stays] = self.topic_floor[topic] + at[stays] * self.topic_mass[topic]
        rows = np.concatenate([np.arange(n_rows), further])
        labels = np.concatenate([first, self._labels_at(at)])
        complete = _count(rows, labels, (n_rows, self.n_labels))
        complete.data[:] = 1  # a label drawn twice is there once
        return complete, topics

    def _labels_at(self, positions: Floats64) -> Ints64:
        found = np.searchsorted(self.edges, positions, side="right")
        return np.minimum(found, self.n_labels - 1)

    def _draw_words(self, complete: sparse.csr_matrix, topics: Ints64, rng: np.random.Generator) -> sparse.csr_matrix:
        n_rows = len(topics)
        rows = np.arange(n_rows)
        label_rows = np.repeat(rows, np.diff(complete.indptr))
        picks = (rng.random((complete.nnz, LABEL_EMISSIONS)) ** 2 * LABEL_WORDS).astype(np.int64)
        of_labels = self.label_words[complete.indices[:, None], picks]
        picks = rng.integers(TOPIC_WORDS, size=(n_rows, TOPIC_EMISSIONS))
        of_topic = self.topic_words[topics[:, None], picks]
        ranks = (self.n_features + 1) ** rng.random((n_rows, self.noise_words)) - 1  # Zipf's law
        noise = self.noise_word[np.minimum(ranks.astype(np.int64), self.n_features - 1)]
        parts = ((label_rows, of_labels), (rows, of_topic), (rows, noise))
        word_rows = np.concatenate([np.repeat(owners, words.shape[1]) for owners, words in parts])
        words = np.concatenate([words.ravel() for _, words in parts])
        return _count(word_rows, words, (n_rows, self.n_features))


def _count(rows: Ints64, columns: AnyArray, shape: tuple[int, int]) -> sparse.csr_matrix:
    """Count how often each (row, column) occurs."""
    return sparse.csr_matrix((np.ones(len(rows), np.float32), (rows, columns)), shape=shape)


def texts_of_counts(counts: sparse.csr_matrix, words: list[str]) -> list[str]:
    """Texts with these counts of words."""
    tokens = [words[column] for column in np.repeat(counts.indices, counts.data.astype(np.int64))]
    ends = np.concatenate([[0], np.cumsum(counts.data, dtype=np.int64)])[counts.indptr].tolist()
    return [" ".join(tokens[start:end]) for start, end in itertools.pairwise(ends)]


# -- names: readable, all different, and a function of their number alone --------------------------------

FIELDS = (  # noqa: SIM905 - a list literal takes a line per word
    "archaeology astronomy ballet beekeeping botany canals ceramics chess climatology coins composting costume "
    "cycling dialects falconry ferries fisheries folklore forestry fossils gardens geology glaciers harbours maps"
).split()
QUALITIES = (  # noqa: SIM905
    "abandoned alpine amateur ancient applied arctic autumn baltic baroque celtic civic coastal colonial "
    "communal comparative contemporary courtly domestic eastern endangered everyday experimental extinct"
).split()
SYLLABLES = [consonant + vowel for consonant in "bdfghjklmnprstvz" for vowel in "aeiou"]


def label_name(topic: int, position: int, topic_size: int) -> str:
    """Name a label by qualities and a field, such as ``coastal maps``; labels of one topic share the field."""
    round_, field = divmod(topic, len(FIELDS))
    return " ".join([*_spell(round_ * topic_size + position, QUALITIES), FIELDS[field]])


def feature_names(ids: Iterable[int]) -> list[str]:
    """Name features by pronounceable words of at least three syllables, such as ``bakelo``."""
    shortest = len(SYLLABLES) + len(SYLLABLES) ** 2  # the number of words that have one or two syllables
    group = len(SYLLABLES) ** 3  # in which numbers are permuted, so that names of neighbours are not similar
    scattered = (number - number % group + number % group * 104_729 % group for number in ids)  # by a prime
    return ["".join(_spell(shortest + number, SYLLABLES)) for number in scattered]


def _spell(number: int, parts: list[str]) -> list[str]:
    """The digits of `number` in bijective base `len(parts)`, which makes names unique."""
    digits = []
    number += 1
    while number:
        number, digit = divmod(number - 1, len(parts))
        digits.append(parts[digit])
    return digits[::-1]
