"""Training one linear classifier per label: tacit's `OneVsAll` against scikit-learn's one-vs-rest `LinearSVC`.

Usage: ``TACIT_DATA=… python benchmarks/one_vs_all.py [SET…]``, where SET is bibtex or delicious. Both train on
unit rows, with their defaults, in one process; memory is measured in a fresh process for each.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.multiclass import OneVsRestClassifier
from sklearn.preprocessing import normalize
from sklearn.svm import LinearSVC

import tacit
from tacit.kernels.score import top_k

SETS = ("bibtex", "delicious")
METRICS = ("P@1", "P@3", "P@5", "PSP@1", "PSP@3", "PSP@5")


def load(name: str, part: str) -> tuple[sparse.csr_matrix, sparse.csr_matrix]:
    """Unit rows and labels of one part of a set."""
    data = tacit.load_data(Path(os.environ["TACIT_DATA"]) / name / f"{part}.txt")
    assert data.X is not None
    X = normalize(data.X)
    # scikit-learn's liblinear takes 32-bit row pointers only
    X.indptr, X.indices = X.indptr.astype(np.int32), X.indices.astype(np.int32)
    return X, data.Y


def fit_ours(X: sparse.csr_matrix, Y: sparse.csr_matrix) -> tacit.OneVsAll:
    """`OneVsAll` with its defaults."""
    return tacit.OneVsAll().fit(X, Y)


def fit_theirs(X: sparse.csr_matrix, Y: sparse.csr_matrix) -> OneVsRestClassifier:
    """scikit-learn's one-vs-rest with its defaults."""
    return OneVsRestClassifier(LinearSVC()).fit(X, Y.astype(np.int64))


def rank_theirs(model: OneVsRestClassifier, X: sparse.csr_matrix, k: int) -> tacit.Ranking:
    """The best labels by scikit-learn's decision function."""
    scores = model.decision_function(X).astype(np.float32)
    return tacit.Ranking(*top_k(scores, np.empty(0, dtype=np.bool_), k))


FITS: dict[str, Callable[..., Any]] = {"tacit": fit_ours, "scikit-learn": fit_theirs}


def warm_up(fit: Callable[..., Any]) -> None:
    """Compile or load everything once, on data too small to grow the process."""
    X = sparse.csr_matrix(np.eye(8, dtype=np.float32))
    Y = sparse.csr_matrix((np.arange(8)[:, None] % 4 == np.arange(4)).astype(np.float32))
    fit(X, Y)


def cpu_seconds(fit: Callable[..., Any], X: sparse.csr_matrix, Y: sparse.csr_matrix) -> tuple[float, Any]:
    """User and system time of the fit, child processes included, and the model."""

    def so_far() -> float:
        usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
        return sum(usage.ru_utime + usage.ru_stime for usage in usages)

    start = so_far()
    model = fit(X, Y)
    return so_far() - start, model


def memory_growth(name: str, side: str) -> float:
    """Megabytes by which the resident size rises at most during the fit, in a process of its own."""
    command = [sys.executable, __file__, "--memory", name, side]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def _measure_memory(name: str, side: str) -> float:
    fit = FITS[side]
    X, Y = load(name, "train")
    warm_up(fit)
    Path("/proc/self/clear_refs").write_text("5")  # forget the peak so far
    before = _status_megabytes("VmRSS")
    fit(X, Y)
    return _status_megabytes("VmHWM") - before


def _status_megabytes(field: str) -> float:
    status = Path("/proc/self/status").read_text()
    return next(int(line.split()[1]) / 1024 for line in status.splitlines() if line.startswith(field))


def compare(name: str) -> None:
    """Print the table of one set."""
    X, Y = load(name, "train")
    X_test, Y_test = load(name, "test")
    propensities = tacit.propensities(Y)
    print(f"{name}: {X.shape[0]} samples, {X.shape[1]} features, {Y.shape[1]} labels")
    print(f"  {'':14s}{'CPU':>9s}{'memory':>10s}" + "".join(f"{metric:>8s}" for metric in METRICS))
    seconds = {}
    for side, fit in FITS.items():
        seconds[side], model = cpu_seconds(fit, X, Y)
        ranking = model.rank(X_test, k=5) if side == "tacit" else rank_theirs(model, X_test, 5)
        results = tacit.evaluate(ranking, Y_test, propensities=propensities)
        figures = "".join(f"{100 * results[metric]:8.2f}" for metric in METRICS)
        print(f"  {side:14s}{seconds[side]:7.2f} s{memory_growth(name, side):7.0f} MB{figures}", flush=True)
    print(f"  {'ratio':14s}{seconds['tacit'] / seconds['scikit-learn']:9.3f}")


def main(*names: str) -> None:
    """Print the tables of the named sets, or of both."""
    if "TACIT_DATA" not in os.environ:
        print("set TACIT_DATA to the folder with the public benchmark sets to run this benchmark")
        return
    for fit in FITS.values():
        warm_up(fit)
    for name in names or SETS:
        compare(name)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--memory"]:
        print(_measure_memory(*sys.argv[2:4]))
    else:
        main(*sys.argv[1:])
