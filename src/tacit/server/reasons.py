"""The evidence for a label, as the service returns it: with the words of the text, and labels of similar samples."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tacit.tagger.suggest import DECIMALS

if TYPE_CHECKING:
    from tacit.tagger.tagger import Tagger

_WORD = re.compile(r"\w+")


def reasons(tagger: Tagger, text: str, label: str, n: int) -> dict[str, Any]:
    """What `Tagger.explain` finds, by the names of `ExplainAnswer`."""
    found = tagger.explain(text, label, n)
    words = _words(tagger, text, [feature for feature, _ in found.features])
    return {
        "label": found.label,
        "name": tagger.readable(found.label),
        "score": round(found.score, DECIMALS),
        "features": [
            {"feature": feature, "words": spelled, "loss": round(loss, DECIMALS)}
            for (feature, loss), spelled in zip(found.features, words, strict=True)
        ],
        "labels": [
            {"label": other, "name": tagger.readable(other), "score": round(score, DECIMALS), "share": share}
            for other, score, share in found.labels
        ],
        "samples": [
            {"text": sample, "similarity": near, "labels": _labels(tagger, row)} for row, sample, near in found.samples
        ],
        "acts": found.acts,
        "names": found.names,
        "names_in_part": found.names_in_part,
    }


def _words(tagger: Tagger, text: str, features: Sequence[str]) -> list[list[str]]:
    """The words of a text that each feature stands for: a stem has several forms, an n-gram is in several words."""
    vectorizer = tagger.vectorizer_
    words = list(dict.fromkeys(_WORD.findall(text)))
    if vectorizer is None or not words:
        return [[] for _ in features]
    columns = vectorizer.transform(words).tocsc()
    position = vectorizer.positions()
    return [[words[row] for row in sorted(columns[:, position[feature]].indices)] for feature in features]


def _labels(tagger: Tagger, row: int) -> list[str]:
    """The names of the labels that a training sample has."""
    if tagger.training_ is None:
        return []
    own = tagger.training_.labels[row]
    return [tagger.readable(str(tagger.classes_[column])) for column in own.indices[own.data > 0].tolist()]
