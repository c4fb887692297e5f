"""Label trees on dense vectors, beside PECOS on the same matrix.

Usage: ``TACIT_DATA=… python -m benchmarks.dense [TRAIN.npy TEST.npy] [--runs N]``

The files hold a vector for each sample of EURLEX57K, in its order; without files, the vectors are those of
`benchmarks.vectors`. Systems take turns, with one thread each; the figures are medians. Vectors are scaled to unit
length for all of them. Memory is what training needs above the process with its libraries and the matrix;
`LabelTree`'s includes compiled kernels, so that it is also measured without them.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
from collections import defaultdict
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from scipy import sparse

import tacit
from benchmarks.peers.environments import CACHE, digest
from benchmarks.peers.kept import written
from benchmarks.peers.systems import SYSTEMS, Result, measure
from benchmarks.peers.tables import as_text
from benchmarks.vectors import PACKAGE, TokenVectors, eurlex, fetch_encoder
from tacit.data.dataset import texts_of
from tacit.runtime.memory import forget_peak, peak_bytes, resident_bytes
from tacit.text.encoders import TextEncoder

COMPARED = ("pecos", "LabelTree")
N_FIRST = 500  # samples of a training that loads kernels
METRICS = ("P@1", "P@3", "P@5", "PSP@1", "PSP@3", "PSP@5")


def read_vectors(files: Sequence[Path]) -> tuple[Any, Any]:
    """Vectors of the training and of the test samples, from files or from the encoder of `benchmarks.vectors`."""
    if files:
        return np.load(files[0]), np.load(files[1])
    encoder = TextEncoder.of(TokenVectors(written(CACHE / "vectors" / digest([PACKAGE]), fetch_encoder)))
    train, test, _ = eurlex(Path(os.environ["TACIT_DATA"]), None, is_dev=False)
    return encoder.encode(texts_of(train)), encoder.encode(texts_of(test))


def write_vectors(vectors: Any, target: Path) -> float:
    """Write vectors of unit length as float32; returns their megabytes."""
    vectors = np.asarray(vectors, np.float32)
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    np.save(target, vectors / np.maximum(lengths, np.finfo(np.float32).tiny))
    return float(vectors.nbytes / 1e6)


def training_memory(folder: Path) -> float:
    """Megabytes that `LabelTree` needs for training above the matrices, once its kernels are loaded."""
    X, Y = np.load(folder / "X.trn.npy"), sparse.load_npz(folder / "Y.trn.npz").tocsr()
    model = tacit.LabelTree(n_jobs=1).fit(X[:N_FIRST], Y[:N_FIRST])
    forget_peak()
    before = resident_bytes()
    model.fit(X, Y)
    return (peak_bytes() - before) / 1e6


HEADINGS = ("system", "training CPU s", "memory MB", "model MB", "rows/s", "P@1/3/5", "PSP@1/3/5")


def row_of(name: str, runs: list[Result], Y: sparse.csr_matrix, truth: sparse.csr_matrix) -> tuple[str, ...]:
    """The medians of the runs of a system."""
    found = tacit.evaluate(runs[0]["ranking"], truth, tacit.propensities(Y))
    cpu, memory, model, rows = (
        median(run[key] for run in runs) for key in ("train_cpu", "train_mb", "model_mb", "rows_per_second")
    )
    metrics = (" ".join(f"{100 * found[metric]:.1f}" for metric in part) for part in (METRICS[:3], METRICS[3:]))
    return SYSTEMS[name].title, f"{cpu:.1f}", f"{memory:.0f}", f"{model:.1f}", f"{rows:,.0f}", *metrics


def main(*arguments: str) -> None:
    """Measure and print a table."""
    options = argparse.ArgumentParser("python -m benchmarks.dense", description=str(__doc__).partition("\n")[0])
    options.add_argument("files", nargs="*", type=Path, help="TRAIN.npy and TEST.npy")
    options.add_argument("--runs", type=int, default=3, help="(%(default)s)")
    chosen = options.parse_args(arguments)
    if len(chosen.files) not in (0, 2):
        options.error("two .npy files are needed: the vectors of the training and of the test samples")
    if "TACIT_DATA" not in os.environ:
        print("set TACIT_DATA to the folder with the public benchmark sets to run this benchmark")
        return
    labels = Path(os.environ["TACIT_DATA"], "eurlex57k", "tfidf")
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        train, test = read_vectors(chosen.files)
        megabytes = write_vectors(train, folder / "X.trn.npy")
        write_vectors(test, folder / "X.tst.npy")
        shutil.copy(labels / "Y.trn.npz", folder)
        runs = defaultdict(list)
        for _ in range(chosen.runs):
            for name in COMPARED:
                runs[name].append(measure(name, folder, clock="CPU"))
        with ProcessPoolExecutor(1, get_context("spawn")) as other:
            extra = other.submit(training_memory, folder).result()
    Y, truth = (sparse.load_npz(labels / f"Y.{part}.npz").astype(np.float32).tocsr() for part in ("trn", "tst"))
    print(f"The matrix takes {megabytes:.0f} MB.")
    print(as_text([HEADINGS, *(row_of(name, runs[name], Y, truth) for name in COMPARED)]))
    print(f"LabelTree needs {extra:.0f} MB of memory, {extra / megabytes:.2f} times the matrix, beside its kernels.")


if __name__ == "__main__":
    main(*sys.argv[1:])
