"""Reading a large XMC text file: tacit's parser against scikit-learn's svmlight parser.

Usage: ``python benchmarks/parse.py [MEGABYTES]``
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from scipy import sparse

N_FEATURES, N_LABELS = 200_000, 20_000
FEATURES_PER_ROW, LABELS_PER_ROW = 60, 3


def write_synthetic(path: Path, size_mb: int, seed: int = 0) -> None:
    """An XMC file of at least `size_mb` megabytes, with labels in every row and ids that rise."""
    rng = np.random.default_rng(seed)
    rows_per_part, parts, size = 2_000, [], 0
    while size < size_mb << 20:
        ids = np.sort(rng.integers(0, N_FEATURES // FEATURES_PER_ROW, (rows_per_part, FEATURES_PER_ROW)), axis=1)
        ids = ids + np.arange(FEATURES_PER_ROW) * (N_FEATURES // FEATURES_PER_ROW)
        values = rng.random((rows_per_part, FEATURES_PER_ROW)).round(6)
        labels = np.sort(rng.integers(0, N_LABELS // LABELS_PER_ROW, (rows_per_part, LABELS_PER_ROW)), axis=1)
        labels = labels + np.arange(LABELS_PER_ROW) * (N_LABELS // LABELS_PER_ROW)
        row = ",".join(["%d"] * LABELS_PER_ROW) + " " + " ".join(["%d:%g"] * FEATURES_PER_ROW) + "\n"
        pairs = np.stack([ids, values], axis=2).reshape(rows_per_part, -1)
        table = np.concatenate([labels, pairs], axis=1)
        parts.append(((row * rows_per_part) % tuple(table.ravel().tolist())).encode())
        size += len(parts[-1])
    with path.open("wb") as file:
        file.write(b"%d %d %d\n" % (rows_per_part * len(parts), N_FEATURES, N_LABELS))
        file.writelines(parts)


def read_ours(path: Path) -> tuple[sparse.csr_matrix, sparse.csr_matrix]:
    """The file as tacit reads it."""
    from tacit.data.load import load_data

    data = load_data(path, format="xmc")
    assert data.X is not None
    return data.X, data.Y


def read_theirs(path: Path) -> tuple[sparse.csr_matrix, list[tuple[float, ...]]]:
    """The same rows as scikit-learn reads them; it takes the header for a row if it may see it."""
    from sklearn.datasets import load_svmlight_file

    with path.open("rb") as file:
        file.readline()
        return load_svmlight_file(file, multilabel=True, n_features=N_FEATURES, zero_based=True, dtype=np.float32)


def timed(read: Callable[[Path], object], path: Path) -> tuple[float, object]:
    """CPU seconds and the result."""
    start = time.process_time()
    result = read(path)
    return time.process_time() - start, result


def peak_growth(path: Path) -> float:
    """Growth of the resident peak while our parser reads, as a multiple of the arrays it returns.

    Runs in a process of its own, with the kernel warm, so that no earlier peak hides this one.
    """
    command = [sys.executable, __file__, "--memory", str(path)]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def _measure_memory(path: Path) -> float:
    with tempfile.TemporaryDirectory() as folder:
        small = Path(folder) / "small.txt"
        small.write_text("1 1 1\n0 0:1\n")
        read_ours(small)
    before = _peak_memory()
    matrices = read_ours(path)
    growth = _peak_memory() - before
    return growth / sum(part.nbytes for m in matrices for part in (m.data, m.indices, m.indptr))


def _peak_memory() -> int:
    """Largest resident size of this process so far, in bytes."""
    # getrusage would count the parent's size as well: Linux hands it down to a new process.
    status = Path("/proc/self/status").read_text()
    return next(int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith("VmHWM"))


def main(size_mb: int = 200) -> None:
    """Print the table."""
    with tempfile.TemporaryDirectory() as folder:
        small, path = Path(folder) / "small.txt", Path(folder) / "train.txt"
        small.write_text("1 1 1\n0 0:1\n")
        read_ours(small)
        write_synthetic(path, size_mb)
        megabytes = path.stat().st_size / 2**20
        seconds, (X, Y) = timed(read_ours, path)
        their_seconds, (their_X, their_Y) = timed(read_theirs, path)
        growth = peak_growth(path)
    same = (
        np.array_equal(X.data.view(np.uint32), their_X.data.view(np.uint32))
        and np.array_equal(X.indices, their_X.indices)
        and np.array_equal(X.indptr, their_X.indptr)
        and np.array_equal(Y.indices, np.concatenate(their_Y).astype(np.int32))
    )
    print(f"reading {megabytes:.0f} MB of XMC text, {X.shape[0]} rows, {X.nnz} features")
    print(f"  {'tacit':14s}{seconds:8.2f} s {megabytes / seconds:8.1f} MB/s")
    print(f"  {'scikit-learn':14s}{their_seconds:8.2f} s {megabytes / their_seconds:8.1f} MB/s")
    print(f"  {'ratio':14s}{their_seconds / seconds:8.1f} x")
    print(f"  peak memory growth {growth:.2f} x the arrays returned; equal bit for bit: {same}")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--memory"]:
        print(_measure_memory(Path(sys.argv[2])))
    else:
        main(*(int(argument) for argument in sys.argv[1:2]))
