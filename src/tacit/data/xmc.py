"""XMC text: a header ``N D L``, then one row ``l1,l2 f:v f:v …`` per sample, ids from 0.

A row without labels opens with a blank (or with a feature). Features may come in any order, duplicates are
summed. Blank lines are samples without labels and features; behind the last row they are ignored.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from scipy import sparse

from tacit.data.dataset import Dataset, features_of
from tacit.data.files import Staging, first_line
from tacit.data.formats import Source, Target
from tacit.data.limits import LARGEST_DIMENSION, Limits
from tacit.data.names import feature_names, label_names, write_companions
from tacit.data.numeric import RowLayout, read_rows
from tacit.data.rows import write_rows
from tacit.errors import FileError


def read(source: Source) -> Dataset:
    """Read an XMC file."""
    path = source.path
    n_rows, n_features, n_labels = read_header(path, ("samples", "features", "labels"), source.limits)
    features, labels = read_rows(path, RowLayout(n_features, n_labels), source.limits, skip_lines=1, n_rows=n_rows)
    X = features.to_csr(n_features, n_rows=n_rows)
    if not features.rising:
        check_finite(path, X)
    Y = positives(labels.to_csr(n_labels, n_rows=n_rows))
    names = label_names(path, n_labels, source.labels_path, source.limits)
    return Dataset(X, Y, names, feature_names=feature_names(path, n_features, source.limits))


def write(dataset: Dataset, target: Target, staging: Staging) -> None:
    """Write an XMC file and, beside it, the names there are. Known negatives (stored zeros) are left out."""
    X, Y = features_of(dataset), dataset.Y
    with staging.open(target.path) as file:
        file.write(f"{X.shape[0]} {X.shape[1]} {Y.shape[1]}\n".encode())
        write_rows(file, X, Y)
    write_companions(staging, target, dataset)


def read_header(path: Path, counts: tuple[str, ...], limits: Limits) -> list[int]:
    """The positive whole numbers of the first line."""
    fields = first_line(path).split()
    expected = f"the first line must be the numbers of {', '.join(counts[:-1])} and {counts[-1]}"
    if len(fields) != len(counts) or not all(text.isdigit() for text in fields):
        got = b" ".join(fields)[:40].decode("utf-8", errors="backslashreplace")
        raise FileError(path, f"{expected}; got {got!r}; add the header or name the format", line=1)
    for text, what in zip(fields, counts, strict=True):
        if len(text) > 10 or not 0 < int(text) <= LARGEST_DIMENSION:
            got = text[:20].decode()
            raise FileError(path, f"the number of {what} must be in 1 … {LARGEST_DIMENSION}; got {got}", line=1)
        if what != "samples":
            limits.check_columns(path, int(text), what.removesuffix("s"), line=1)
    return [int(text) for text in fields]


def check_finite(path: Path, X: sparse.csr_matrix) -> None:
    """Sums of duplicate features may overflow although each value is finite."""
    if not np.isfinite(X.data).all():
        row = int(np.searchsorted(X.indptr, np.flatnonzero(~np.isfinite(X.data))[0], side="right")) - 1
        raise FileError(path, f"the values of one feature sum to infinity in sample {row}; correct the row")


def positives(Y: sparse.csr_matrix) -> sparse.csr_matrix:
    """Labels named more than once count once."""
    Y.data[:] = 1.0
    return Y
