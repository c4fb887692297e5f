"""Texts about a few topics, whose right tags are known."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

TOPICS = {
    "fruit": "apple pear plum fig grape",
    "cars": "engine wheel brake road tyre",
    "music": "song chord tune choir drum",
    "weather": "rain wind storm cloud snow",
}


class Articles(NamedTuple):
    texts: list[str]
    tags: list[list[str]]


def articles(n: int = 160, seed: int = 0) -> Articles:
    """Texts of one or two topics, three words of each, and a word that says nothing."""
    rng = np.random.default_rng(seed)
    texts, tags = [], []
    for _ in range(n):
        topics = [str(topic) for topic in rng.choice(list(TOPICS), size=rng.integers(1, 3), replace=False)]
        words = [word for topic in topics for word in rng.choice(TOPICS[topic].split(), size=3)]
        texts.append(" ".join([*words, f"filler{rng.integers(9)}"]))
        tags.append(topics)
    return Articles(texts, tags)
