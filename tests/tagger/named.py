"""Texts that name their labels."""

from __future__ import annotations

import numpy as np

from tacit.data.vocabulary import Vocabulary

TOPICS = ["apple", "river", "engine", "choir", "castle", "harbour", "winter", "pencil", "mirror", "garden"]
RARE = [
    f"{first} {second}" for first in ("solar", "tidal", "rural") for second in ("energy", "museum", "poetry", "mining")
]
FILLER = ["the", "of", "and", "in", "on", "about", "with", "history", "study", "new", "work", "case", "a", "report"]


def corpus(seed, n):
    """Texts that name their labels, in other forms; each rare label is in a handful of them, some in none."""
    rng = np.random.default_rng(seed)
    texts, tags = [], []
    for number in range(n):
        labels = list(rng.choice(TOPICS, 2, replace=False))
        if number % 4 == 0:
            labels.append(RARE[rng.integers(len(RARE) - 2)])
        said = [label + "s" if rng.random() < 0.5 else label for label in labels]
        named = [word for label in said for word in label.split()] + list(rng.choice(FILLER, 6))
        texts.append(" ".join(rng.permutation(named)) if rng.random() < 0.3 else " ".join(named))
        tags.append(labels)
    return texts, tags


def thesaurus():
    """A vocabulary of all labels."""
    names = [*TOPICS, *RARE]
    return Vocabulary(
        [f"c{place}" for place in range(len(names))],
        names,
        [["power of the sun"] if name == "solar energy" else [] for name in names],
    )
