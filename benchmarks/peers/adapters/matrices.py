"""What adapters that learn from matrices share; imported by their own interpreters: it needs only NumPy and SciPy.

Adapters are called with a step, a folder for what they write and options in JSON; the last line that a step prints is
what it measured, in JSON. ``train`` reads ``X.trn.npz`` and ``Y.trn.npz`` from the folder that the options name, trains
and saves. ``rank``, in another process, loads what was saved and ranks the rows of ``X.tst.npz``.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
from measures import Memory, cpu_seconds, files_in, megabytes_of
from scipy import sparse

K = 5
N_WARM = 1_000  # rows that are ranked before the clock starts
N_SINGLE = 1_000  # rows that are ranked one at a time
MIN_SECONDS = 1.0  # of ranking all rows
STEP, HOME, OPTIONS = sys.argv[1], Path(sys.argv[2]), json.loads(sys.argv[3])
N_THREADS = OPTIONS["n_threads"]
CLOCK = {"wall": time.perf_counter, "CPU": time.process_time}[OPTIONS["clock"]]  # of ranking

Arrays = tuple[np.ndarray, np.ndarray]


def run(
    train: Callable[..., Any],
    save: Callable[[Any, Path], None],
    load: Callable[[Path], Any],
    rank: Callable[[Any, sparse.csr_matrix], Any],
    arrays: Callable[[Any], Arrays] = lambda found: found,
    prepare: Callable[..., Any] = lambda X, Y: (X, Y),
    version: str = "",
) -> None:
    """Run one step of a system and print what was measured.

    Parameters
    ----------
    train : callable
        Of what `prepare` returns, ``(X, Y)`` unless told: the model.
    save : callable
        ``(model, folder)`` writes the model into the folder.
    load : callable
        ``(folder)``: the model for ranking.
    rank : callable
        ``(model, X)``: the K best labels in the form that the system has.
    arrays : callable
        Labels and scores, arrays of K columns, from what `rank` returns; not measured.
    prepare : callable
        ``(X, Y)``: the data in the form that `train` takes; not measured.
    version : str
        That of the system, unless its package tells it.
    """
    measured = _train(train, save, prepare) if STEP == "train" else _rank(load, rank, arrays)
    print(json.dumps({"version": version or metadata.version(OPTIONS["package"]), **measured}))


def read(name: str) -> Any:
    """One of the matrices: CSR, or dense if it is an ``.npy`` file."""
    path = Path(OPTIONS["matrices"], f"{name}.npz")
    if (dense := path.with_suffix(".npy")).exists():
        return np.load(dense)
    return sparse.csr_matrix(sparse.load_npz(path), dtype=np.float32)


def _train(train: Callable[..., Any], save: Callable[[Any, Path], None], prepare: Callable[..., Any]) -> dict[str, Any]:
    """From data in memory to a model on disk."""
    prepared = prepare(read("X.trn"), read("Y.trn"))
    memory, wall, cpu = Memory(), time.perf_counter(), cpu_seconds()
    save(train(*prepared), HOME / "model")
    return {
        "train_cpu": cpu_seconds() - cpu,
        "train_wall": time.perf_counter() - wall,
        "train_mb": memory.peak(),
        "model_mb": megabytes_of(files_in(HOME / "model")),
    }


def _rank(load: Callable[[Path], Any], rank: Callable[..., Any], arrays: Callable[[Any], Arrays]) -> dict[str, Any]:
    """One row at a time is measured with one thread alone."""
    X = read("X.tst")
    singles = [X[row : row + 1] for row in range(min(N_SINGLE, X.shape[0]))]
    memory, start = Memory(), CLOCK()
    model = load(HOME / "model")
    rank(model, singles[0])
    first = CLOCK() - start
    rank(model, X[:N_WARM])
    found, rows_per_second = _passes(lambda: rank(model, X), X.shape[0])
    measured = {"first_row_s": first, "rows_per_second": rows_per_second, "rank_mb": memory.peak()}
    labels, scores = arrays(found)
    np.savez(HOME / "ranking.npz", labels=labels, scores=scores)
    if N_THREADS == 1:
        milliseconds = [1000 * _seconds(rank, model, row) for row in singles]
        measured |= {"row_ms": float(np.median(milliseconds)), "row_p95_ms": float(np.quantile(milliseconds, 0.95))}
    return measured


def _passes(rank: Callable[[], Any], n_rows: int) -> tuple[Any, float]:
    """What ranking all rows returns, and how many are ranked in a second, measured for a second at least."""
    n_passes, start = 0, CLOCK()
    while n_passes == 0 or CLOCK() - start < MIN_SECONDS:
        found = rank()
        n_passes += 1
    return found, n_passes * n_rows / (CLOCK() - start)


def _seconds(rank: Callable[..., Any], model: Any, x: sparse.csr_matrix) -> float:
    start = CLOCK()
    rank(model, x)
    return CLOCK() - start


def top_of_sparse(scores: sparse.csr_matrix) -> Arrays:
    """The K best entries of each row of a sparse matrix."""
    labels, best = np.full((scores.shape[0], K), -1), np.full((scores.shape[0], K), -np.inf)
    for row in range(scores.shape[0]):
        part = slice(scores.indptr[row], scores.indptr[row + 1])
        order = np.argsort(-scores.data[part], kind="stable")[:K]
        labels[row, : len(order)], best[row, : len(order)] = scores.indices[part][order], scores.data[part][order]
    return labels, best


def top_of_lists(rows: list[list[tuple[int, float]]]) -> Arrays:
    """Lists of (label, score), best first, as arrays of K columns."""
    labels, scores = np.full((len(rows), K), -1), np.full((len(rows), K), -np.inf)
    for row, found in enumerate(rows):
        for place, (label, score) in enumerate(found[:K]):
            labels[row, place], scores[row, place] = label, score
    return labels, scores


def top_of_blocks(values: Callable[[sparse.csr_matrix], np.ndarray], X: sparse.csr_matrix, n_rows: int) -> Arrays:
    """The K largest of the values that a function has for all labels, for some rows at a time."""
    parts = [_largest(values(X[start : start + n_rows])) for start in range(0, X.shape[0], n_rows)]
    labels, scores = zip(*parts, strict=True)
    return np.vstack(labels), np.vstack(scores)


def _largest(values: np.ndarray) -> Arrays:
    labels = np.argpartition(-values, min(K, values.shape[1] - 1), axis=1)[:, :K]
    scores = np.take_along_axis(values, labels, axis=1)
    order = np.argsort(-scores, axis=1, kind="stable")
    return np.take_along_axis(labels, order, axis=1), np.take_along_axis(scores, order, axis=1)
