"""Texts whose words are synonyms: vectors tell what they mean, words alone hardly do."""

from __future__ import annotations

from functools import cache

import numpy as np

N_DIMENSIONS = 24
TOPICS = ["music", "law", "fishing", "weather", "cooking", "sailing", "mining", "painting", "farming", "trade"]
UNSEEN = ["astronomy", "medicine"]
_WORDS_PER_TOPIC = 800
_FILLER = ["the", "of", "and", "about", "with", "report"]


def words_of(topic: str) -> list[str]:
    """Invented words that mean a topic."""
    return [f"{topic[:3]}{number}ish" for number in range(_WORDS_PER_TOPIC)]


@cache
def word_vectors(seed: int = 0) -> dict[str, np.ndarray]:
    """Vectors in which words of a topic, and its name, are near each other; no other word has one."""
    rng = np.random.default_rng(seed)
    found = {}
    for topic in [*TOPICS, *UNSEEN]:
        centre = rng.normal(size=N_DIMENSIONS)
        for word in [topic, *words_of(topic)]:
            found[word] = (centre + 0.3 * rng.normal(size=N_DIMENSIONS)).astype(np.float32)
    return found


class WordVectors:
    """An encoder: the mean vector of the words of a text."""

    def __init__(self, seed: int = 0) -> None:
        self.words = word_vectors(seed)
        self.unknown = (1e-3 * np.random.default_rng(seed).normal(size=N_DIMENSIONS)).astype(np.float32)

    def encode(self, texts):
        """The vectors of texts."""
        split = [text.split() or [""] for text in texts]
        return np.stack([np.mean([self.words.get(word, self.unknown) for word in words], axis=0) for words in split])


def corpus(n, seed=0, topics=TOPICS, n_named=0):
    """Texts about two topics each; the first `n_named` name them, too."""
    rng = np.random.default_rng(seed)
    texts, tags = [], []
    for row in range(n):
        about = [str(topic) for topic in rng.choice(topics, 2, replace=False)]
        words = [word for topic in about for word in rng.choice(words_of(topic), 2)] + list(rng.choice(_FILLER, 3))
        texts.append(" ".join(rng.permutation(words + (about if row < n_named else []))))
        tags.append(about)
    return texts, tags
