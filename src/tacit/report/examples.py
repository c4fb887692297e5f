"""Samples to look at: some at random, rare labels that were found, and mistakes that the model was sure of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tacit.report.evaluation import SHOWN, Evaluation

_N_FEATURES = 8


class Suggested(NamedTuple):
    """A label suggested for a sample."""

    label: int
    score: float
    is_right: bool


@dataclass(frozen=True)
class Example:
    """A sample with what was suggested for it, and the labels that were not."""

    row: int
    text: str
    suggested: list[Suggested]
    missed: list[int]


@dataclass(frozen=True)
class Examples:
    """Samples of three kinds, none of them twice."""

    at_random: list[Example]
    rare: list[Example]
    mistaken: list[Example]


def examples(evaluation: Evaluation, n_random: int = 6, n_each: int = 4) -> Examples:
    """Samples that show what the model does well and badly."""
    is_labelled = np.diff(evaluation.truth.indptr) > 0
    order = np.random.default_rng(evaluation.seed).permutation(np.flatnonzero(is_labelled))
    chosen = [[int(row) for row in order[:n_random]], [], []]
    used = set(chosen[0])
    for rows, ranked in zip(chosen[1:], (_rare_found(evaluation), _surely_wrong(evaluation)), strict=True):
        labels: set[int] = set()
        for row, label in ranked:
            if len(rows) < n_each and row not in used and label not in labels:
                rows.append(row)
                used.add(row)
                labels.add(label)
    return Examples(*([_example(evaluation, row) for row in rows] for rows in chosen))


def _rare_found(evaluation: Evaluation) -> list[tuple[int, int]]:
    """Samples and the labels rightly suggested for them, the rarest in training first."""
    rows, places = np.nonzero(evaluation.hits[:, :SHOWN])
    return _ranked(evaluation, rows, places, evaluation.counts[evaluation.ranking.labels[rows, places]])


def _surely_wrong(evaluation: Evaluation) -> list[tuple[int, int]]:
    """Samples whose first suggestion is wrong, the highest score first."""
    rows = np.flatnonzero(evaluation.is_label[:, 0] & ~evaluation.hits[:, 0])
    return _ranked(evaluation, rows, np.zeros_like(rows), -evaluation.ranking.scores[rows, 0])


def _ranked(
    evaluation: Evaluation, rows: npt.NDArray[np.intp], places: npt.NDArray[np.intp], keys: npt.NDArray[np.generic]
) -> list[tuple[int, int]]:
    order = np.argsort(keys, kind="stable")
    rows, places = rows[order], places[order]
    return list(zip(rows.tolist(), evaluation.ranking.labels[rows, places].tolist(), strict=True))


def _example(evaluation: Evaluation, row: int) -> Example:
    ranking, truth = evaluation.ranking, evaluation.truth
    suggested = [
        Suggested(int(label), float(score), bool(hit))
        for label, score, hit, there in zip(
            ranking.labels[row, :SHOWN], ranking.scores[row, :SHOWN], evaluation.hits[row], evaluation.is_label[row],
            strict=False,
        )
        if there
    ]  # fmt: skip
    found = {suggestion.label for suggestion in suggested}
    true = truth.indices[truth.indptr[row] : truth.indptr[row + 1]].tolist()
    return Example(row, _text(evaluation, row), suggested, [label for label in true if label not in found])


def _text(evaluation: Evaluation, row: int) -> str:
    """The text of a sample, or the names of the features that stand out; empty where it has neither."""
    dataset = evaluation.dataset
    if dataset.texts is not None:
        return dataset.texts[row]
    if dataset.X is None or dataset.feature_names is None:
        return ""
    features = dataset.X[row]
    weights = features.data / evaluation.feature_sums[features.indices]  # a feature of all samples tells nothing of one
    largest = np.argsort(-weights, kind="stable")[:_N_FEATURES]
    return ", ".join(dataset.feature_names[column] for column in features.indices[largest])
