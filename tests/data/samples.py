"""Small data sets and files that the tests of the formats share."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from tacit.data.dataset import Dataset
from tacit.data.formats import FORMATS

needs_openpyxl = pytest.mark.skipif(find_spec("openpyxl") is None, reason="needs the extra excel")
needs_pyarrow = pytest.mark.skipif(find_spec("pyarrow") is None, reason="needs the extra parquet")

READ_ONLY = ("arff", "annif", "folder")

LABEL_NAMES = ["gardening", "machine learning", "Smith, John", "<b>ö"]


def formats(*, is_text: bool | None = None) -> list[Any]:
    """Names of formats that can be written, as parameters of a test; skipped where what they need is not installed."""
    needed = {"parquet": needs_pyarrow, "xlsx": needs_openpyxl}
    return [
        pytest.param(entry.name, marks=needed.get(entry.name, ()))
        for entry in FORMATS.values()
        if is_text in (None, entry.is_text) and entry.name not in READ_ONLY
    ]


def csr(rows: Sequence[Sequence[float]]) -> sparse.csr_matrix:
    return sparse.csr_matrix(np.array(rows, dtype=np.float32))


def numeric_dataset() -> Dataset:
    """Five samples, one without labels, one without features, one without either."""
    X = csr([[0, 1, 0.1], [2.5, 0, 0], [0, 0, 0], [0, -3e-20, 7], [0, 0, 0]])
    Y = csr([[1, 0, 0, 1], [0, 0, 0, 0], [0, 1, 0, 0], [1, 1, 1, 1], [0, 0, 0, 0]])
    return Dataset(X, Y, list(LABEL_NAMES), feature_names=["a", "b", "it's"])


def text_dataset() -> Dataset:
    texts = ["An apple a day", "Füchse, Hasen; Igel | Dachse", "plain", 'say "hi"']
    Y = csr([[1, 0, 0, 1], [0, 0, 0, 0], [0, 1, 1, 0], [1, 1, 1, 1]])
    return Dataset(None, Y, sorted(LABEL_NAMES), texts=texts)


def assert_same_matrix(left: sparse.csr_matrix, right: sparse.csr_matrix) -> None:
    """Equal entry for entry, stored zeros included, bit for bit."""
    assert left.shape == right.shape
    assert left.dtype == right.dtype == np.float32
    np.testing.assert_array_equal(left.indptr, right.indptr)
    np.testing.assert_array_equal(left.indices, right.indices)
    np.testing.assert_array_equal(left.data.view(np.uint32), right.data.view(np.uint32))


def assert_same(left: Dataset, right: Dataset) -> None:
    assert (left.X is None) == (right.X is None)
    if left.X is not None and right.X is not None:
        assert_same_matrix(left.X, right.X)
    assert_same_matrix(left.Y, right.Y)
    assert left.texts == right.texts
    assert left.label_names == right.label_names


def assert_sound(dataset: Dataset) -> None:
    """What every successful load promises."""
    for matrix in (dataset.X, dataset.Y):
        if matrix is None:
            continue
        assert matrix.shape[0] >= 1
        assert matrix.shape[1] >= 1
        assert matrix.dtype == np.float32
        assert matrix.indices.dtype == np.int32
        matrix.check_format(full_check=True)
        assert np.isfinite(matrix.data).all()
        lengths = np.diff(matrix.indptr)
        inner = np.ones(len(matrix.indices), dtype=bool)
        inner[matrix.indptr[:-1][lengths > 0]] = False
        assert (np.diff(matrix.indices, prepend=-1)[inner] > 0).all()  # sorted, no duplicates
    assert set(np.unique(dataset.Y.data)) <= {0.0, 1.0}
    assert len(set(dataset.label_names)) == dataset.n_labels
    for text in dataset.texts or []:
        text.encode()


def write_files(folder: Path, files: dict[str, str | bytes]) -> Path:
    """Write files, return the first."""
    for name, content in files.items():
        (folder / name).write_bytes(content.encode() if isinstance(content, str) else content)
    return folder / next(iter(files))
