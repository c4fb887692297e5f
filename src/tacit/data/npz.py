"""NPZ pairs: ``X.trn.npz`` and ``Y.trn.npz``, each a SciPy sparse matrix (CSR or CSC) or one dense array.

Stored zeros of a sparse Y are known negatives and are kept. In a dense Y, NaN means unknown. If a dense Y has any NaN,
its zeros are known negatives; otherwise its zeros are dropped, like the absent entries of a sparse Y.
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

from tacit.arrays import AnyArray
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
    has_both = source.labels_path is not None and ".npz" in source.labels_path.name
    X_path, Y_path, names_path = find_pair(source, ("X", "Y"), _WORD, has_both=has_both)
    features, labels = _read_matrix(X_path, "feature", source.limits), _read_matrix(Y_path, "label", source.limits)
    has_unknown = isinstance(labels, np.ndarray) and bool(np.isnan(labels).any())
    X = _converted(X_path, as_features, features)
    Y = _converted(Y_path, partial(read_labels, known_negatives=has_unknown), labels).matrix
    return numeric_dataset(X_path, X, Y, source.limits, names_path, Y_path=Y_path)


def _converted(path: Path, convert: Callable[[Any], Any], matrix: Any) -> Any:
    try:
        return convert(matrix)
    except DataError as error:
        raise FileError(path, str(error)) from error


def _read_matrix(path: Path, column: str, limits: FileLimits) -> Any:
    """Read and check the matrix in a file; nothing in it is unpickled."""
    parts = _read_parts(path, limits)
    unpacked = sum(part.nbytes for part in parts.values())
    if len(parts) == 1:
        (matrix,) = parts.values()
        if matrix.ndim != 2 or matrix.dtype.kind not in "fiub":
            raise FileError(path, f"must hold a matrix of numbers; got {matrix.dtype} of shape {matrix.shape}")
        n_entries = 2 * int(np.count_nonzero(matrix))
    elif missing := {"data", "indices", "indptr", "shape", "format"} - parts.keys():
        raise FileError(path, f"must hold one matrix, dense or as scipy saves it; lacks {', '.join(sorted(missing))}")
    else:
        matrix = _sparse_matrix(path, parts)
        n_entries = matrix.nnz + matrix.shape[0]  # of a CSC matrix, rows cost nothing yet
    limits.check_columns(path, matrix.shape[1], column)
    if min(matrix.shape) == 0:
        what = "samples" if matrix.shape[0] == 0 else f"{column}s"
        raise FileError(path, f"must have at least one row and one column; it has no {what}")
    limits.check_expansion(path, path.stat().st_size, unpacked + _ENTRY_BYTES * n_entries, _FREE_BYTES)
    return matrix


def _read_parts(path: Path, limits: FileLimits) -> dict[str, AnyArray]:
    content = read_bytes(path, limits)
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as packed:
            members = packed.infolist()
        if any(member.compress_type not in _PACKINGS for member in members):
            raise ValueError("it is packed in another way than NumPy does")
        limits.check_expansion(path, path.stat().st_size, sum(member.file_size for member in members), _FREE_BYTES)
        with warnings.catch_warnings(), np.load(io.BytesIO(content), allow_pickle=False) as archive:
            warnings.simplefilter("ignore")
            parts = {name: archive[name] for name in archive.files}
        if other := next((name for name, part in parts.items() if not isinstance(part, np.ndarray)), None):
            raise ValueError(f"'{other}' in it is no array")
    except FileError:
        raise
    except Exception as error:  # zipfile and NumPy let through whatever parsers and codecs raise
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise FileError(path, f"is not a whole NPZ file of numbers ({reason}); save it again") from error
    return parts


def _sparse_matrix(path: Path, parts: dict[str, AnyArray]) -> sparse.csr_matrix | sparse.csc_matrix:
    layout, shape = parts["format"].item() if parts["format"].size == 1 else None, parts["shape"]
    layout = layout.decode("ascii", "replace") if isinstance(layout, bytes) else layout
    if layout not in ("csr", "csc"):
        raise FileError(path, f"must be a CSR or CSC matrix; got {layout!r}; save it as CSR")
    arrays = parts["data"], parts["indices"], parts["indptr"]
    whole = all(part.dtype.kind in "iu" for part in (*arrays[1:], shape))
    if not whole or arrays[0].dtype.kind not in "fiub" or shape.shape != (2,) or shape.astype(np.int64).min() < 0:
        raise FileError(path, "the parts of its sparse matrix have wrong types; save it again with scipy")
    try:
        kind = sparse.csr_matrix if layout == "csr" else sparse.csc_matrix
        matrix = kind(arrays, shape=tuple(shape.tolist()))
        check_indices(matrix, "it")
    except (ValueError, DataError) as error:
        message = f"the parts of its sparse matrix do not fit together ({error})"
        raise FileError(path, f"{message}; save it again with scipy") from error
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
