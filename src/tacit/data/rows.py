"""Sparse matrices as lines of text ``l,l f:v f:v``."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import IO

import numpy as np
import numpy.typing as npt
from scipy import sparse

_ROWS_AT_ONCE = 4096


def write_rows(
    file: IO[bytes],
    X: sparse.csr_matrix,
    Y: sparse.csr_matrix | None,
    *,
    first_feature: int = 0,
    first_label: int = 0,
) -> None:
    """Write one line per sample: its labels (unless `Y` is None), its features, a line feed."""
    for start in range(0, X.shape[0], _ROWS_AT_ONCE):
        features = _feature_texts(X[start : start + _ROWS_AT_ONCE], first_feature)
        if Y is None:
            file.writelines(f"{row}\n".encode() for row in features)
            continue
        labels = _label_texts(Y[start : start + _ROWS_AT_ONCE], first_label)
        file.writelines(f"{tags} {row}\n".encode() for tags, row in zip(labels, features, strict=True))


def _feature_texts(X: sparse.csr_matrix, first: int) -> Iterator[str]:
    pairs = [
        f"{feature}:{value}" for feature, value in zip((X.indices + first).tolist(), value_texts(X.data), strict=True)
    ]
    return _by_row(pairs, X.indptr, " ")


def _label_texts(Y: sparse.csr_matrix, first: int) -> Iterator[str]:
    Y = Y.copy()
    Y.eliminate_zeros()
    return _by_row([str(label) for label in (Y.indices + first).tolist()], Y.indptr, ",")


def _by_row(texts: list[str], indptr: npt.NDArray[np.integer], separator: str) -> Iterator[str]:
    bounds = indptr.tolist()
    return (separator.join(texts[start:end]) for start, end in itertools.pairwise(bounds))


def value_texts(values: npt.NDArray[np.float32]) -> list[str]:
    """The shortest texts that read back as the same float32, whole numbers without a point."""
    return [text.removesuffix(".0") for text in values.astype(np.str_).tolist()]
