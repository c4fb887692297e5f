"""Label trees on dense vectors, beside PECOS on the same matrix.

Usage: ``TACIT_DATA=… python -m benchmarks.dense TRAIN.npy TEST.npy [N]``

The files hold a vector for each sample of EURLEX57K, in its order. Systems take turns, `N` times (default 3), with one
thread each; the figures are medians. Vectors are scaled to unit length for all of them. Memory is what training needs
above the process with its libraries and the matrix.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections import defaultdict
from pathlib import Path
from statistics import median

import numpy as np
from scipy import sparse

import tacit
from benchmarks.peers.systems import SYSTEMS, Result, measure
from benchmarks.peers.tables import as_text

COMPARED = ("pecos", "LabelTree", "LabelTree-1")
METRICS = ("P@1", "P@3", "P@5", "PSP@1", "PSP@3", "PSP@5")


def write_vectors(source: Path, target: Path) -> float:
    """Copy vectors of unit length as float32; returns their megabytes."""
    vectors = np.load(source).astype(np.float32)
    vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), np.finfo(np.float32).tiny)
    np.save(target, vectors)
    return vectors.nbytes / 1e6


HEADINGS = ("system", "training CPU s", "memory MB", "model MB", "rows/s", "P@1/3/5", "PSP@1/3/5")


def row_of(name: str, runs: list[Result], Y: sparse.csr_matrix, truth: sparse.csr_matrix) -> tuple[str, ...]:
    """The medians of the runs of a system."""
    found = tacit.evaluate(runs[0]["ranking"], truth, tacit.propensities(Y))
    cpu, memory, model, rows = (
        median(run[key] for run in runs) for key in ("train_cpu", "train_mb", "model_mb", "rows_per_second")
    )
    metrics = (" ".join(f"{100 * found[metric]:.1f}" for metric in part) for part in (METRICS[:3], METRICS[3:]))
    return SYSTEMS[name].title, f"{cpu:.1f}", f"{memory:.0f}", f"{model:.1f}", f"{rows:,.0f}", *metrics


def main(train: str = "", test: str = "", n_times: str = "3") -> None:
    """Measure and print a table."""
    if not test:
        sys.exit("two .npy files are needed: the vectors of the training and of the test samples")
    labels = Path(os.environ["TACIT_DATA"], "eurlex57k", "tfidf")
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        megabytes = write_vectors(Path(train), folder / "X.trn.npy")
        write_vectors(Path(test), folder / "X.tst.npy")
        shutil.copy(labels / "Y.trn.npz", folder)
        runs = defaultdict(list)
        for _ in range(int(n_times)):
            for name in COMPARED:
                runs[name].append(measure(name, folder, clock="CPU"))
    Y, truth = (sparse.load_npz(labels / f"Y.{part}.npz").astype(np.float32).tocsr() for part in ("trn", "tst"))
    print(f"The matrix takes {megabytes:.0f} MB.")
    print(as_text([HEADINGS, *(row_of(name, runs[name], Y, truth) for name in COMPARED)]))


if __name__ == "__main__":
    main(*sys.argv[1:])
