"""Acts as tacit 0.1 stored them, inside the base: features instead of texts, and no ids."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from tacit.store.acts import Act
from tacit.tagger.samples import named_values
from tacit.tagger.vectorizer import TextVectorizer


@dataclass(frozen=True, eq=False)
class Evidence:
    """What an added label was known by."""

    cooccurs: dict[str, float] = field(default_factory=dict)
    examples: sparse.csr_matrix | None = None
    description: sparse.csr_matrix | None = None
    parent: str = ""


@dataclass(frozen=True, eq=False)
class Judgements:
    """Suggestions that people judged; `log_odds` is what the tagger said."""

    features: sparse.csr_matrix
    labels: list[str]
    accepted: npt.NDArray[np.bool_]
    log_odds: npt.NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Amendment:
    """An act: "add", "rename", "merge", "retire" or "learn"."""

    act: str
    labels: list[str] = field(default_factory=list)
    name: str = ""
    evidence: Evidence | None = None
    judgements: Judgements | None = None


def as_acts(amendments: Sequence[Amendment], base: str, vectorizer: TextVectorizer | None) -> list[Act]:
    """The same as acts; their ids are made of the base and their place in it."""
    found = []
    for place, old in enumerate(amendments):
        contents = [{"label": label} for label in old.labels] if old.act == "retire" else [_content(old, vectorizer)]
        kind = "judge" if old.act == "learn" else old.act
        found += [Act(kind, content, f"{base[:16]}:{place}.{i}", "") for i, content in enumerate(contents)]
    return found


def learned_of_log(card: dict[str, Any], origin: str) -> int:
    """The number of the last act of a feedback log of tacit 0.1 that a tagger learned; 0 if none."""
    return int(card.get("feedback", {}).get(origin.removeprefix("log:"), 0))


def _content(old: Amendment, vectorizer: TextVectorizer | None) -> dict[str, Any]:
    def rows(matrix: sparse.csr_matrix) -> list[dict[str, float]]:
        return [named_values(matrix[row], vectorizer) for row in range(matrix.shape[0])]

    if old.act == "rename":
        return {"label": old.labels[0], "name": old.name}
    if old.act == "merge":
        return {"labels": list(old.labels), "into": old.name}
    if old.judgements is not None:
        judged = zip(
            rows(old.judgements.features), old.judgements.labels, old.judgements.accepted.tolist(), strict=True
        )
        return {"judgements": [{"features": row, "label": label, "accepted": yes} for row, label, yes in judged]}
    evidence = old.evidence or Evidence()
    content: dict[str, Any] = {"name": old.name}
    if evidence.cooccurs:
        content["cooccurs"] = dict(evidence.cooccurs)
    if evidence.examples is not None:
        content["examples"] = [{"features": row} for row in rows(evidence.examples)]
    if evidence.description is not None:
        content["about"] = [{"features": row} for row in rows(evidence.description)]
    if evidence.parent:
        content["parent"] = evidence.parent
    return content
