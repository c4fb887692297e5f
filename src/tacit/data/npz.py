"""NPZ pairs: ``X.trn.npz`` and ``Y.trn.npz``, each a SciPy sparse matrix (CSR or CSC) or one dense array.

Stored zeros of a sparse Y are known negatives. If a dense Y has any NaN, which means unknown, so are its zeros.
"""

from __future__ import annotations

import io
import warnings
import zipfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from tacit.core.checks import as_features, check_indices
from tacit.core.labels import read_labels
from tacit.data.dataset import Dataset, features_of
from tacit.data.files import Staging, is_gzip, read_bytes
from tacit.data.formats import Source, Target
from tacit.data.label_names import find_pair, numeric_dataset, other_half, write_companions
from tacit.data.limits import FileLimits
from tacit.errors import DataError, FileError, ParameterError

_PACKINGS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)  # what NumPy writes; other methods unpack without bound
_FREE_BYTES = 1 << 26  # up to this size, a matrix may have any ratio to its file
_ENTRY_BYTES = 8  # an entry of a CSR matrix
_WORD = r"(?<![A-Za-z0-9]){}(?![A-Za-z0-9])"


def read(source: Source) -> Dataset:
    """Read a pair of NPZ files, given either of them."""
    X_path, Y_path = find_pair(source, ("X", "Y"), _WORD)
    features, labels = _read_matrix(X_path, "feature", source.limits), _read_matrix(Y_path, "label", source.limits)
    has_unknown = isinstance(labels, np.ndarray) and bool(np.isnan(labels).any())
    X = _converted(X_path, as_features, features)
    Y = _converted(Y_path, partial(read_labels, known_negatives=has_unknown), labels).matrix
    return numeric_dataset(X_path, X, Y, source.limits, Y_path=Y_path)


def _converted(path: Path, convert: Callable[[Any], Any], matrix: Any) -> Any:
    try:
        return convert(matrix)
    except DataError as error:
        raise FileError(path, str(error)) from error


def _read_matrix(path: Path, column: str, limits: FileLimits) -> Any:
    """Read and check the matrix in a file; nothing in it is unpickled."""
    content = read_bytes(path, limits)
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as packed:
            members = packed.infolist()
        if any(member.compress_type not in _PACKINGS for member in members):
            raise ValueError("it is packed in another way than NumPy does")
        unpacked = sum(member.file_size for member in members)
        limits.check_expansion(path, path.stat().st_size, unpacked, _FREE_BYTES)
        matrix = _matrix(content)
        n_rows, n_columns = matrix.shape
        if matrix.dtype.kind not in "fiub" or not n_rows * n_columns:
            raise ValueError(f"it has {matrix.dtype} in the shape {matrix.shape}")
    except FileError:
        raise
    except Exception as error:  # zipfile, NumPy and SciPy let through whatever parsers and codecs raise
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        message = "must hold one matrix of numbers, dense or CSR or CSC as scipy saves it"
        raise FileError(path, f"{message} ({reason}); save it again") from error
    limits.check_columns(path, n_columns, column)
    # Of a CSC matrix, rows cost nothing yet; an entry of a CSR matrix takes as much as those of its arrays.
    n_entries = matrix.nnz + n_rows if sparse.issparse(matrix) else 2 * int(np.count_nonzero(matrix))
    limits.check_expansion(path, path.stat().st_size, unpacked + _ENTRY_BYTES * n_entries, _FREE_BYTES)
    return matrix


def _matrix(content: bytes) -> Any:
    with warnings.catch_warnings(), np.load(io.BytesIO(content), allow_pickle=False) as archive:
        warnings.simplefilter("ignore")
        if len(archive.files) == 1:
            (matrix,) = archive.values()
            if getattr(matrix, "ndim", 0) != 2:
                raise ValueError("it is no matrix")
            return matrix
        matrix = sparse.load_npz(io.BytesIO(content))
    if matrix.format not in ("csr", "csc"):
        raise ValueError(f"it is {matrix.format}")
    check_indices(matrix, "it")
    return matrix


def write(dataset: Dataset, target: Target, staging: Staging) -> None:
    """Write the pair of files and, beside them, the names of the columns."""
    path, labels_path = target.path, target.labels_path
    if labels_path is None:
        name = other_half(path, "X", "Y", _WORD)
        if name is None:
            message = "must contain a single X, as in X.trn.npz, or labels_path must be given"
            raise ParameterError(f"the name of the features of an NPZ pair {message}; got '{path.name}'")
        labels_path = path.with_name(f"{name}.gz" if is_gzip(path) else name)
    for file_path, matrix in ((path, features_of(dataset)), (labels_path, dataset.Y)):
        with staging.open(file_path) as file:
            content = io.BytesIO()  # a zip archive is not written in order, a gzip file must be
            sparse.save_npz(content, matrix)
            file.write(content.getbuffer())
    write_companions(staging, Target(path), dataset)
