"""A Dataset to any data file."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import numpy as np
from scipy import sparse

from tacit.data.dataset import Dataset
from tacit.data.files import Staging
from tacit.data.formats import Target, format_to_write, named_format
from tacit.errors import DataError, ParameterError


def save_data(
    dataset: Dataset,
    path: str | os.PathLike[str],
    labels_path: str | os.PathLike[str] | None = None,
    format: str | None = None,  # noqa: A002
) -> list[Path]:
    """Write a data set to files, packed if their names end with ``.gz``; all of them or, on an error, none.

    Parameters
    ----------
    dataset : Dataset
        With `X` for numeric formats, with `texts` for the others. Known negatives (stored zeros of `Y`) are kept
        by the formats that can say so: npz and xmc-pair.
    path : path
        The file to write; of formats with two files, the one with the samples.
    labels_path : path, optional
        Where the second file goes: ``Y`` of a pair, the XML of an ARFF file, the names of the labels otherwise.
        By default it lies beside `path`, as ``labels.txt`` if it lists names.
    format : str, optional
        As for `load_data`; by default what the name of the file says, ``.txt`` meaning xmc.

    Returns
    -------
    list of Path
        The files written.
    """
    path = Path(path)
    chosen = format_to_write(path) if format is None else named_format(format)
    if chosen.is_text and dataset.texts is None:
        message = "texts cannot be made from features; choose a numeric format"
        raise ParameterError(f"'{chosen.name}' holds texts but the data set has only features: {message}")
    if not chosen.is_text and dataset.X is None:
        message = "turn the texts into features first, as convert does"
        raise ParameterError(f"'{chosen.name}' holds features but the data set has only texts: {message}")
    target = Target(path, None if labels_path is None else Path(labels_path))
    with Staging() as staging:
        chosen.write(_checked(dataset), target, staging)
        return staging.paths


def _checked(dataset: Dataset) -> Dataset:
    """The data set as readers return it: CSR, float32, sorted, finite; the caller's matrices stay as they are."""
    X = None if dataset.X is None else _canonical(dataset.X, "X")
    Y = _canonical(dataset.Y, "Y")
    if not np.isin(Y.data, (0.0, 1.0)).all():
        raise DataError("Y must hold 0 and 1 only; correct it before saving")
    for what, size in (("samples", Y.shape[0]), ("labels", Y.shape[1]), ("features", 1 if X is None else X.shape[1])):
        if size == 0:
            raise DataError(f"a data set without {what} cannot be saved; it must have at least one")
    return replace(dataset, X=X, Y=Y)


def _canonical(matrix: sparse.csr_matrix, name: str) -> sparse.csr_matrix:
    matrix = sparse.csr_matrix(matrix, dtype=np.float32)
    if not matrix.has_canonical_format:
        matrix = matrix.copy()
        matrix.sum_duplicates()
    if not np.isfinite(matrix.data).all():
        raise DataError(f"{name} must be finite; it has NaN or infinity: correct it before saving")
    return matrix
