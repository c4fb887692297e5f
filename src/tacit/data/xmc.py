"""XMC text; ids count from 0.

In one file: a header ``N D L``, then one row ``l1,l2 f:v f:v …`` per sample; blank lines are samples without labels and
features. As a pair: ``*_X_Xf.txt`` has a header ``N D`` and rows ``f:v f:v …``; ``*_X_Y.txt`` a header ``N L`` and rows
``l:1 l:1 …``, where a label with the value 0 is a known negative.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from scipy import sparse

from tacit.data.dataset import Dataset, features_of
from tacit.data.files import Staging, first_lines
from tacit.data.formats import Source, Target
from tacit.data.label_names import find_pair, numeric_dataset, write_companions
from tacit.data.limits import LARGEST_DIMENSION, FileLimits
from tacit.data.numeric import RowLayout, feature_matrix, label_matrix, read_rows, write_rows
from tacit.errors import FileError, ParameterError

_FEATURES, _LABELS = "_X_Xf", "_X_Y"


def read(source: Source, *, pair: bool = False) -> Dataset:
    """Read an XMC file, or a pair of files given by either of them."""
    path, limits = source.path, source.limits
    if pair:
        X_path, Y_path = find_pair(source, (_FEATURES, _LABELS))
        X, Y = _read_matrix(X_path, "feature", limits), _read_matrix(Y_path, "label", limits)
        return numeric_dataset(X_path, X, Y, limits, Y_path=Y_path)
    n_rows, n_features, n_labels = _read_header(path, ("samples", "features", "labels"), limits)
    features, labels = read_rows(path, RowLayout(n_features, n_labels), limits, skip_lines=1, n_rows=n_rows)
    X, Y = feature_matrix(path, features, n_features), label_matrix(labels, n_labels)
    return numeric_dataset(path, X, Y, limits, source.labels_path)


def write(dataset: Dataset, target: Target, staging: Staging, *, pair: bool = False) -> None:
    """Write an XMC file or a pair of files and, beside them, the names of the columns.

    A single file leaves out known negatives (stored zeros of Y).
    """
    path, X, Y = target.path, features_of(dataset), dataset.Y
    labels_path = target.labels_path or path.with_name(path.name.replace(_FEATURES, _LABELS))
    if pair and labels_path == path:
        message = f"must contain '{_FEATURES}', as in trn_X_Xf.txt, or labels_path must be given"
        raise ParameterError(f"the name of the features of an XMC pair {message}; got '{path.name}'")
    with staging.open(path) as file:
        file.write(f"{X.shape[0]} {X.shape[1]}{'' if pair else f' {Y.shape[1]}'}\n".encode())
        write_rows(file, X, None if pair else Y)
    if pair:
        with staging.open(labels_path) as file:
            file.write(f"{Y.shape[0]} {Y.shape[1]}\n".encode())
            write_rows(file, Y, None)
    write_companions(staging, Target(path) if pair else target, dataset)


def _read_header(path: Path, counts: tuple[str, ...], limits: FileLimits) -> list[int]:
    """Read the positive whole numbers of the first line."""
    fields = next(first_lines(path), "").split()
    expected = f"the first line must be the numbers of {', '.join(counts[:-1])} and {counts[-1]}"
    if len(fields) != len(counts) or not all(text.isascii() and text.isdecimal() for text in fields):
        raise FileError(path, f"{expected}; got {' '.join(fields)[:40]!r}; add the header or name the format", line=1)
    for text, what in zip(fields, counts, strict=True):
        if len(text) > 10 or not 0 < int(text) <= LARGEST_DIMENSION:
            message = f"the number of {what} must be in 1 … {LARGEST_DIMENSION}; got {text[:20]}"
            raise FileError(path, message, line=1)
        if what != "samples":
            limits.check_columns(path, int(text), what.removesuffix("s"), line=1)
    return [int(text) for text in fields]


def _read_matrix(path: Path, column: str, limits: FileLimits) -> sparse.csr_matrix:
    n_rows, n_columns = _read_header(path, ("samples", f"{column}s"), limits)
    layout = RowLayout(n_features=n_columns, with_labels=False, column=column)
    rows, _ = read_rows(path, layout, limits, skip_lines=1, n_rows=n_rows)
    if column == "feature":
        return feature_matrix(path, rows, n_columns)
    wrong = np.flatnonzero(~np.isin(rows.values[: rows.n_entries], (0, 1)))
    if len(wrong):
        line = int(np.searchsorted(rows.ends, wrong[0], side="right")) + 1
        message = f"a label must have the value 1 (or 0: known not to apply); got {rows.values[wrong[0]]:g}"
        raise FileError(path, f"{message}; correct the row", line=line)
    return label_matrix(rows, n_columns)
