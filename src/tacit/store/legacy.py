"""Acts as tacit 0.1 stored them, inside the base: features instead of texts, and no ids."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from tacit.store.acts import Act
from tacit.store.declared import Array, Csr, Items

Names = Sequence[str] | npt.NDArray[Any] | None


@dataclass(frozen=True, eq=False)
class Evidence:
    """The evidence from which a label was added."""

    cooccurs: dict[str, float] = field(default_factory=dict)
    examples: Annotated[sparse.csr_matrix | None, Csr("float32 float64", ("", "n_features"))] = None
    description: Annotated[sparse.csr_matrix | None, Csr("float32 float64", ("", "n_features"))] = None
    parent: str = ""


@dataclass(frozen=True, eq=False)
class Judgements:
    """Suggestions that users judged; `log_odds` are the scores of the tagger."""

    features: Annotated[sparse.csr_matrix, Csr("float32 float64", ("n_judged", "n_features"))]
    labels: Annotated[list[str], Items("n_judged")]
    accepted: Annotated[npt.NDArray[np.bool_], Array("bool", ("n_judged",))]
    log_odds: Annotated[npt.NDArray[np.float32], Array("float32 float64", ("n_judged",))]


@dataclass(frozen=True, eq=False)
class Amendment:
    """An act: "add", "rename", "merge", "retire" or "learn"."""

    act: str
    labels: list[str] = field(default_factory=list)
    name: str = ""
    evidence: Evidence | None = None
    judgements: Judgements | None = None


def as_acts(amendments: Sequence[Amendment], base: str, features: Names, weights: npt.NDArray[Any] | None) -> list[Act]:
    """Convert amendments to acts, with ids made of the base and their position; weights of words are divided out."""

    def rows(matrix: sparse.csr_matrix) -> list[dict[str, float]]:
        return [named_values(matrix[row], features, weights) for row in range(matrix.shape[0])]

    found = []
    for place, old in enumerate(amendments):
        contents = [{"label": label} for label in old.labels] if old.act == "retire" else [_content(old, rows)]
        kind = "judge" if old.act == "learn" else old.act
        found += [Act(kind, content, f"{base[:16]}:{place}.{i}", "") for i, content in enumerate(contents)]
    return found


def update_manifest(manifest: dict[str, Any]) -> None:
    """Make a tagger of tacit 0.1 one of today: `characters` became `features`."""
    for part in (manifest["parameters"], manifest["state"]["map"].get("vectorizer_")):
        if part is not None and "characters" in part["map"]:
            part["map"]["features"] = "words+characters" if part["map"].pop("characters") else "words"


def learned_logs(card: dict[str, Any]) -> dict[str, Any]:
    """The entries about feedback logs in a tagger's card, to be copied to the card of its replacement."""
    return {"feedback": card["feedback"]} if "feedback" in card else {}


def learned_of_log(card: dict[str, Any], origin: str) -> int:
    """The number of the last act that a tagger learned from a feedback log of tacit 0.1; 0 if none."""
    return int(card.get("feedback", {}).get(origin.removeprefix("log:"), 0))


def named_values(row: sparse.csr_matrix, features: Names = None, weights: Any = None) -> dict[str, float]:
    """Map the features of a row to values: by number, or by name and divided by their weights if they have names."""
    columns, values = row.indices.tolist(), row.data.tolist()
    if features is None:
        return {str(column): value for column, value in zip(columns, values, strict=True)}
    return {str(features[i]): float(value / weights[i]) for i, value in zip(columns, values, strict=True)}


def _content(old: Amendment, rows: Callable[[sparse.csr_matrix], list[dict[str, float]]]) -> dict[str, Any]:
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
