"""Seen and unseen labels on one scale, learned by an experiment within the training data.

A part of the samples is held out, and seen labels are hidden in turn: what a model says of a hidden label on held-out
samples can be compared with the truth. A logistic curve for either group turns scores into log-odds.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import sparse

from tacit.labels import label_counts
from tacit.latent.vectors import LabelVectors
from tacit.numerics.logistic import fit_logistic

N_FOLDS = 5
_MAX_ENTRIES = 2**22


@dataclass(frozen=True)
class Curve:
    """Log-odds of a score: slope · score + intercept."""

    slope: float
    intercept: float

    def applied(self, vectors: LabelVectors) -> LabelVectors:
        """Label vectors whose scores are log-odds."""
        return vectors.scaled(self.slope, self.intercept)


def fit_curve(scores: npt.NDArray[np.floating], truth: npt.NDArray[np.floating]) -> Curve:
    """The most likely logistic curve; where scores are very many, of some of them."""
    scores, truth = scores.ravel(), truth.ravel()
    if len(scores) > _MAX_ENTRIES:
        chosen = np.linspace(0, len(scores) - 1, _MAX_ENTRIES).astype(np.intp)
        scores, truth = scores[chosen], truth[chosen]
    return Curve(*fit_logistic(scores, truth))


def label_folds(
    Y: sparse.csr_matrix, n_folds: int, seed: int | None
) -> Iterator[tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]]:
    """For each fold a fifth of the labels with positives, to hide, and those that stay; none where there are few."""
    labels = np.random.default_rng(seed).permutation(np.flatnonzero(label_counts(Y)))
    for fold in range(n_folds):
        is_hidden = np.arange(len(labels)) % N_FOLDS == fold
        if is_hidden.any() and not is_hidden.all():
            yield np.sort(labels[is_hidden]), np.sort(labels[~is_hidden])


def held_out_rows(n_rows: int, seed: int | None) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Rows to learn from and a fifth to try on, both in rising order."""
    order = np.random.default_rng(seed).permutation(n_rows)
    n_tried = max(1, n_rows // 5)
    return np.sort(order[n_tried:]), np.sort(order[:n_tried])
