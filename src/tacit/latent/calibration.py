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

N_FOLDS = 5
_MAX_ENTRIES = 2**22
_NEWTON_STEPS = 25
_RIDGE = 1e-3  # keeps the curve finite where a score separates perfectly


@dataclass(frozen=True)
class Curve:
    """Log-odds of a score: slope · score + intercept."""

    slope: float
    intercept: float

    def applied(self, vectors: LabelVectors) -> LabelVectors:
        """Label vectors whose scores are log-odds."""
        return vectors.scaled(self.slope, self.intercept)


def fit_curve(scores: npt.NDArray[np.floating], truth: npt.NDArray[np.floating]) -> Curve:
    """The most likely logistic curve, by Newton steps; a slope is never negative."""
    flat, y = scores.ravel().astype(np.float64), truth.ravel().astype(np.float64)
    if len(flat) > _MAX_ENTRIES:
        chosen = np.linspace(0, len(flat) - 1, _MAX_ENTRIES).astype(np.intp)
        flat, y = flat[chosen], y[chosen]
    share = np.clip(y.mean(), 0.5 / len(y), 1 - 0.5 / len(y))
    center, spread = flat.mean(), flat.std() or 1.0
    design = np.stack([(flat - center) / spread, np.ones_like(flat)], axis=1)
    w = np.array([0.0, np.log(share / (1 - share))])
    for _ in range(_NEWTON_STEPS):
        p = 0.5 * np.tanh(design @ w / 2) + 0.5
        hessian = (design * (p * (1 - p))[:, None]).T @ design + _RIDGE * np.eye(2)
        step = np.linalg.solve(hessian, design.T @ (y - p) - _RIDGE * np.array([w[0], 0.0]))
        w = w + step / max(1.0, float(np.abs(step).max()))
        if np.abs(step).max() < 1e-8:
            break
    slope = max(w[0], 0.0) / spread
    return Curve(float(slope), float(w[1] - slope * center))


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
