"""XMC as a pair of files, ids from 0.

``*_X_Xf.txt`` has a header ``N D`` and rows ``f:v f:v …``; ``*_X_Y.txt`` has a header ``N L`` and rows ``l:1 l:1 …``,
where a label with the value 0 is a known negative.
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
from scipy import sparse

from tacit.data.dataset import Dataset, features_of
from tacit.data.files import Staging, first_line, sibling
from tacit.data.formats import Source, Target
from tacit.data.limits import Limits
from tacit.data.names import feature_names, label_names, write_companions
from tacit.data.numeric import RowLayout, read_rows
from tacit.data.rows import write_rows
from tacit.data.xmc import check_finite, read_header
from tacit.errors import FileError, ParameterError

_FEATURES, _LABELS = "_X_Xf", "_X_Y"


def read(source: Source) -> Dataset:
    """Read a pair of files, given either."""
    X_path, Y_path, names_path = find_pair(source)
    X, Y = _read_matrix(X_path, "feature", source.limits), _read_matrix(Y_path, "label", source.limits)
    if X.shape[0] != Y.shape[0]:
        message = f"has {Y.shape[0]} samples, but {X_path.name} has {X.shape[0]}; they must agree"
        raise FileError(Y_path, message, line=1)
    names = label_names(Y_path, Y.shape[1], names_path, source.limits)
    return Dataset(X, Y, names, feature_names=feature_names(X_path, X.shape[1], source.limits))


def find_pair(source: Source) -> tuple[Path, Path, Path | None]:
    """Where the features, the labels and (if given) the label names are."""
    path, other = source.path, source.labels_path
    if other is not None and re.fullmatch(rb"\s*\d+\s+\d+\s*", first_line(other)):
        return path, other, None
    if _LABELS in path.name:
        return _other_half(path, _LABELS, _FEATURES), path, other
    return path, _other_half(path, _FEATURES, _LABELS), other


def _other_half(path: Path, here: str, there: str) -> Path:
    name = path.name.replace(here, there).removesuffix(".gz")
    found = sibling(path, name) if name != path.name.removesuffix(".gz") else None
    if found is None:
        message = f"is half of a pair; the other half should be {there[1:]} beside it"
        raise FileError(path, f"{message}; give both: the features as path, the labels as labels_path")
    return found


def _read_matrix(path: Path, column: str, limits: Limits) -> sparse.csr_matrix:
    n_rows, n_columns = read_header(path, ("samples", f"{column}s"), limits)
    layout = RowLayout(n_features=n_columns, with_labels=False, column=column)
    rows, _ = read_rows(path, layout, limits, skip_lines=1, n_rows=n_rows)
    if column == "label":
        wrong = np.flatnonzero((rows.used_values != 0) & (rows.used_values != 1))
        if len(wrong):
            line = int(np.searchsorted(rows.ends, wrong[0], side="right")) + 1
            message = f"a label must have the value 1 (or 0: known not to apply); got {rows.values[wrong[0]]:g}"
            raise FileError(path, f"{message}; correct the row", line=line)
    matrix = rows.to_csr(n_columns, n_rows=n_rows)
    if column == "label":
        np.minimum(matrix.data, 1.0, out=matrix.data)
    elif not rows.rising:
        check_finite(path, matrix)
    return matrix


def write(dataset: Dataset, target: Target, staging: Staging) -> None:
    """Write the pair of files and, beside them, the names there are."""
    path, labels_path = target.path, target.labels_path
    if labels_path is None:
        if _FEATURES not in path.name:
            message = f"must contain '{_FEATURES}', as in trn_X_Xf.txt, or labels_path must be given"
            raise ParameterError(f"the name of the features of an XMC pair {message}; got '{path.name}'")
        labels_path = path.with_name(path.name.replace(_FEATURES, _LABELS))
    for file_path, matrix in ((path, features_of(dataset)), (labels_path, dataset.Y)):
        with staging.open(file_path) as file:
            file.write(f"{matrix.shape[0]} {matrix.shape[1]}\n".encode())
            write_rows(file, matrix, None)
    write_companions(staging, Target(path), dataset)
