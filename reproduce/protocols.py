"""How the papers measure: each protocol fits a model, ranks the test samples and returns metrics.

Shares are in percent; ``fit`` is the CPU time of training in seconds.
"""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse
from threadpoolctl import threadpool_limits

import tacit
from reproduce.cache import Metrics
from reproduce.recipes import HIDDEN
from reproduce.sets import Data
from tacit.data.split import hide_positives, hold_out_labels

KS = (1, 2, 3, 4, 5)
METRICS = ("P", "nDCG", "PSP")

Protocol = Callable[..., Metrics]


def standard(model: Any, data: Data, seed: int) -> Metrics:  # noqa: ARG001 - protocols are called alike
    """Train on the training set, rank the test set."""
    metrics, fitted = _fitted(model, data.X, data.Y)
    return metrics | _precisions(fitted, data.X_test, data.Y_test, data.Y)


def hidden(model: Any, data: Data, seed: int, share: float = HIDDEN, with_counts: bool = True) -> Metrics:
    """Hide a share of the training positives; models that can use it get the co-occurrence of the full labels."""
    left = hide_positives(data.Y, share, seed)
    metrics, fitted = _fitted(model, data.X, left, data.Y.T @ data.Y if with_counts else None)
    return metrics | _precisions(fitted, data.X_test, data.Y_test, left)


def unseen(model: Any, data: Data, seed: int, share: float = 0.5) -> Metrics:
    """Hold out a share of the labels; of these a model knows only how often they occur with the others."""
    held = hold_out_labels(data.Y, share, seed)
    metrics, fitted = _fitted(model, data.X, held.Y_seen, held.cooccurrence)
    truth, n_seen = data.Y_test[:, held.order], len(held.seen)
    groups = {"": None, "seen ": np.arange(n_seen), "unseen ": np.arange(n_seen, data.Y.shape[1])}
    for name, include in groups.items():
        found = tacit.evaluate(fitted.rank(data.X_test, include=include), truth)
        metrics |= {f"{name}P@{k}": 100 * found[f"P@{k}"] for k in (1, 3, 5)}
    return metrics


def all_seen(model: Any, data: Data, seed: int) -> Metrics:  # noqa: ARG001
    """All labels have samples, and the model is given their co-occurrence."""
    metrics, fitted = _fitted(model, data.X, data.Y, data.Y.T @ data.Y)
    return metrics | _precisions(fitted, data.X_test, data.Y_test, data.Y)


def _fitted(model: Any, X: Any, Y: sparse.csr_matrix, cooccurrence: Any = None) -> tuple[Metrics, Any]:
    takes_counts = "cooccurrence" in inspect.signature(model.fit).parameters
    extra = {"cooccurrence": cooccurrence} if takes_counts and cooccurrence is not None else {}
    with threadpool_limits(1):
        start = time.process_time()
        model.fit(X, Y, **extra)
        return {"fit": time.process_time() - start}, model


def _precisions(model: Any, X: Any, Y: sparse.csr_matrix, Y_train: sparse.csr_matrix) -> Metrics:
    found = tacit.evaluate(model.rank(X, k=max(KS)), Y, tacit.propensities(Y_train), ks=KS)
    return {f"{name}@{k}": 100 * found[f"{name}@{k}"] for name in METRICS for k in KS}


PROTOCOLS: dict[str, Protocol] = {function.__name__: function for function in (standard, hidden, unseen, all_seen)}
