"""Labels one by one: found or not, best and worst, and taken for one another."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse

from tacit.report.evaluation import SHOWN, Evaluation

_ENOUGH = (10, 5, 2, 1)  # positives, so that a score of one label is no accident, as far as the data allow


class LabelScore(NamedTuple):
    """How one label fared at the stored threshold."""

    label: int
    n_positives: int
    precision: float
    recall: float
    f1: float


@dataclass(frozen=True)
class Extremes:
    """The labels with the highest and lowest F1 among those with enough positives."""

    best: list[LabelScore]
    worst: list[LabelScore]
    n_positives: int
    n_labels: int


def extremes(evaluation: Evaluation, count: int = 10) -> Extremes:
    """Best and worst labels, none of them both; of equals, the more frequent first."""
    truth, suggested = evaluation.truth, evaluation.suggested
    n_labels = truth.shape[1]
    n_true, n_suggested, n_right = (
        np.bincount(matrix.indices, minlength=n_labels)
        for matrix in (truth, suggested, truth.multiply(suggested).tocsr())
    )
    enough = next((n for n in _ENOUGH if (n_true >= n).sum() >= 2 * count), 1)
    candidates = np.flatnonzero(n_true >= enough)
    f1 = 2 * n_right / np.maximum(n_true + n_suggested, 1)
    order = candidates[np.lexsort((-n_true[candidates], -f1[candidates]))]
    scores = [
        LabelScore(
            int(label),
            int(n_true[label]),
            float(n_right[label] / max(n_suggested[label], 1)),
            float(n_right[label] / n_true[label]),
            float(f1[label]),
        )
        for label in order
    ]
    n_best = min(count, -(-len(scores) // 2))
    n_worst = min(count, len(scores) - n_best)
    worst = sorted(scores[len(scores) - n_worst :], key=lambda score: (score.f1, -score.n_positives))
    return Extremes(scores[:n_best], worst, enough, len(candidates))


class Confusion(NamedTuple):
    """A label suggested wrongly where another was missed, in `n_samples` of the `n_missed` samples that missed it."""

    suggested: int
    missed: int
    n_samples: int
    n_missed: int


def confusions(evaluation: Evaluation, count: int = 12) -> list[Confusion]:
    """The most frequent pairs of a wrong suggestion that people see and a label that reached no suggestion."""
    truth = evaluation.truth
    missed = sparse.csr_matrix(truth - truth.multiply(evaluation.suggested))
    missed.eliminate_zeros()
    is_wrong = evaluation.is_suggested & ~evaluation.hits
    rows, places = np.nonzero(is_wrong[:, :SHOWN])
    labels = evaluation.ranking.labels[rows, places]
    wrong = sparse.csr_matrix((np.ones(len(rows), np.float32), (rows, labels)), shape=truth.shape)
    pairs = sparse.coo_matrix(wrong.T.tocsr() @ missed)
    order = np.lexsort((pairs.col, pairs.row, -pairs.data))[:count]
    n_missed = np.bincount(missed.indices, minlength=truth.shape[1])
    return [
        Confusion(int(pairs.row[i]), int(pairs.col[i]), round(float(pairs.data[i])), int(n_missed[pairs.col[i]]))
        for i in order
        if pairs.data[i] > 1 or len(order) < count  # a single case says something only where there are few
    ]


@dataclass(frozen=True, eq=False)
class Frequencies:
    """Labels from the most to the least frequent in training.

    Attributes
    ----------
    counts : int array
        Training samples.
    is_tested, is_found : bool arrays
        Whether a sample of the data has the label, and whether it is among the first suggestions of one that has it.
    """

    counts: npt.NDArray[np.int64]
    is_tested: npt.NDArray[np.bool_]
    is_found: npt.NDArray[np.bool_]


def frequencies(evaluation: Evaluation) -> Frequencies:
    """The frequency of every label in training, and whether it was found."""
    order = np.argsort(-evaluation.counts, kind="stable")
    is_found = np.zeros(len(order), np.bool_)
    is_found[evaluation.ranking.labels[:, :SHOWN][evaluation.hits[:, :SHOWN]]] = True
    return Frequencies(evaluation.counts[order], evaluation.is_tested[order], is_found[order])
