"""Small data whose right answer is known: every label has a feature of its own."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import sparse

import tacit
from tacit.core.base import Estimator
from tacit.data.synthetic import SyntheticData

N_LABELS = 12
N_FEATURES = 20


class Planted(NamedTuple):
    X: sparse.csr_matrix
    Y: sparse.csr_matrix


def planted(n_samples: int = 240, seed: int = 0) -> Planted:
    """Samples of one to three labels; column l of X is on exactly where label l is, the rest is noise."""
    rng = np.random.default_rng(seed)
    Y = np.zeros((n_samples, N_LABELS), dtype=np.float32)
    for row in Y:
        row[rng.choice(N_LABELS, size=rng.integers(1, 4), replace=False)] = 1
    noise = rng.random((n_samples, N_FEATURES - N_LABELS)) * (rng.random((n_samples, N_FEATURES - N_LABELS)) < 0.3)
    X = np.hstack([Y, 0.3 * noise]).astype(np.float32)
    return Planted(sparse.csr_matrix(X), sparse.csr_matrix(Y))


def metrics_of(model: Estimator, made: SyntheticData) -> dict[str, float]:
    """Metrics on the complete test labels of a model trained on the incomplete ones."""
    train, test = made.dataset(made.train), made.dataset(made.test, complete=True)
    return tacit.evaluate(model.fit(train.X, train.Y).rank(test.X), test.Y, tacit.propensities(train.Y))
