"""What adapters share; imported by their own interpreters, so it needs nothing but NumPy and SciPy.

Adapters are called with the folder of the matrices, a folder for what they write, the name of their package, the
number of threads, and options in JSON.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import time
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

K = 5
N_THREADS = int(sys.argv[4])
OPTIONS = json.loads(sys.argv[5])


def run(
    train: Callable[..., Any],
    save: Callable[[Any, Path], None],
    rank: Callable[..., Any],
    prepare: Callable[..., Any] = lambda X, Y, scratch: (X, Y),  # noqa: ARG005
) -> None:
    """Measure a peer.

    Parameters
    ----------
    train : callable
        Of what `prepare` returns, ``(X, Y)`` unless told: the model.
    save : callable
        ``(model, folder)`` writes the model into the folder.
    rank : callable
        ``(model, X) -> (labels, scores)``, arrays of K columns.
    prepare : callable
        ``(X, Y, scratch)``: the data in the form that `train` takes; not measured.
    """
    folder, scratch = Path(sys.argv[1]), Path(sys.argv[2])
    X, Y, X_test = (_load(folder / f"{name}.npz") for name in ("X.trn", "Y.trn", "X.tst"))
    prepared = prepare(X, Y, scratch)
    wall, before = time.perf_counter(), os.times()
    model = train(*prepared)
    wall, after = time.perf_counter() - wall, os.times()
    save(model, scratch / "model")
    files = [file for file in (scratch / "model").rglob("*") if file.is_file()]
    rank(model, X_test[:10])
    start = time.process_time()
    labels, scores = rank(model, X_test)
    seconds = time.process_time() - start
    np.savez(scratch / "ranking.npz", labels=labels, scores=scores)
    print(
        json.dumps(
            {
                "version": metadata.version(sys.argv[3]),
                "train_cpu": after.user + after.system - before.user - before.system,
                "train_wall": wall,
                "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
                "model_mb": sum(file.stat().st_size for file in files) / 1e6,
                "rows_per_second": X_test.shape[0] / seconds,
                "row_ms": _single_row(lambda x: rank(model, x), X_test),
            }
        )
    )


def top(scores: sparse.csr_matrix) -> tuple[np.ndarray, np.ndarray]:
    """The K best entries of each row of a sparse matrix."""
    labels, best = np.full((scores.shape[0], K), -1), np.full((scores.shape[0], K), -np.inf)
    for row in range(scores.shape[0]):
        part = slice(scores.indptr[row], scores.indptr[row + 1])
        order = np.argsort(-scores.data[part], kind="stable")[:K]
        labels[row, : len(order)], best[row, : len(order)] = scores.indices[part][order], scores.data[part][order]
    return labels, best


def padded(rows: list[list[tuple[int, float]]]) -> tuple[np.ndarray, np.ndarray]:
    """Lists of (label, score) as arrays of K columns."""
    labels, scores = np.full((len(rows), K), -1), np.full((len(rows), K), -np.inf)
    for row, found in enumerate(rows):
        for place, (label, score) in enumerate(found[:K]):
            labels[row, place], scores[row, place] = label, score
    return labels, scores


def _load(path: Path) -> sparse.csr_matrix:
    return sparse.csr_matrix(sparse.load_npz(path), dtype=np.float32)


def _single_row(rank: Callable[[sparse.csr_matrix], Any], X: sparse.csr_matrix) -> float:
    times = []
    for row in range(50):
        x = X[row]
        start = time.perf_counter()
        rank(x)
        times.append(time.perf_counter() - start)
    return 1000 * float(np.median(times))
