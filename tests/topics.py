"""Small data with unseen labels whose right answer is known: labels of a topic occur together."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from scipy import sparse

import tacit
from tacit.data.split import hold_out_labels


def related(n_samples: int = 400, seed: int = 0) -> tuple[sparse.csr_matrix, sparse.csr_matrix]:
    """Samples of three topics, each with eight labels of its own that are drawn often, and a feature per topic."""
    rng = np.random.default_rng(seed)
    topics = rng.integers(0, 3, n_samples)
    Y = np.zeros((n_samples, 24), np.float32)
    for row, topic in enumerate(topics):
        Y[row, 8 * topic + rng.choice(8, 4, replace=False)] = 1
    X = np.zeros((n_samples, 8), np.float32)
    X[np.arange(n_samples), topics] = 1
    X[:, 3:] = 0.3 * rng.random((n_samples, 5))
    return sparse.csr_matrix(X), sparse.csr_matrix(Y)


X, Y = related()
HELD = hold_out_labels(Y, 0.5, seed=1)
N_SEEN = len(HELD.seen)
TRUTH = Y[:, HELD.order].tocsr()


@cache
def fitted(cls: type[Any], **parameters: Any) -> Any:
    """A model that several tests read; copy it before you change it."""
    return cls(**parameters).fit(X, HELD.Y_seen, cooccurrence=HELD.cooccurrence)


def unseen_precision(model: Any) -> float:
    """P@1 among the unseen labels."""
    ranking = model.rank(X, k=2, include=np.arange(N_SEEN, 24))
    return tacit.evaluate(ranking, TRUTH, ks=(1,))["P@1"]
