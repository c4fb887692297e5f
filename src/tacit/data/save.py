"""Writing data sets in any format, and converting files from one format to another."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from tacit.core.checks import as_features
from tacit.core.labels import read_labels
from tacit.data.dataset import Dataset, texts_of
from tacit.data.files import Staging, suffix
from tacit.data.formats import FORMATS, NAMES, Format, Target, named_format
from tacit.data.load import load_data
from tacit.errors import DataError, ParameterError
from tacit.text.vectorizer import TextVectorizer

_NO_TEXTS = "texts cannot be made from features; choose a numeric format"


def save_data(
    dataset: Dataset,
    path: str | os.PathLike[str],
    labels_path: str | os.PathLike[str] | None = None,
    format: str | None = None,  # noqa: A002
) -> list[Path]:
    """Write a data set to files, compressed if their names end in ``.gz``. On an error, no file is written.

    Known negatives (stored zeros of `Y`) are kept by the formats that can express them, npz and xmc-pair, and dropped
    by the others. For formats with two files, `path` is the one with the samples and `labels_path` the other: ``Y`` of
    a pair, the XML of an ARFF file, or a list of label names. By default it is placed beside `path`, as ``labels.txt``
    if it lists names. The `format` is by default chosen by the suffix of `path`, where ``.txt`` means xmc. Returns the
    files written.
    """
    path = Path(path)
    chosen = format_to_write(path) if format is None else named_format(format)
    if chosen.is_text and dataset.texts is None:
        raise ParameterError(f"'{chosen.name}' holds texts but the data set has only features: {_NO_TEXTS}")
    if not chosen.is_text and dataset.X is None:
        message = "turn the texts into features first, as convert does"
        raise ParameterError(f"'{chosen.name}' holds features but the data set has only texts: {message}")
    target = Target(path, None if labels_path is None else Path(labels_path))
    with Staging() as staging:
        chosen.write(_checked(dataset), target, staging)
        return staging.paths


def convert(
    source: str | os.PathLike[str],
    target: str | os.PathLike[str],
    *,
    from_format: str | None = None,
    to_format: str | None = None,
    look: Callable[[Dataset], None] | None = None,
    **options: Any,
) -> list[Path]:
    """Convert a data file to another format and return the files written.

    Where both formats have named fields, all of them are kept. Converting texts to a numeric format computes tf-idf
    features and writes their names to ``features.txt`` beside the target. Features cannot be converted to texts. `look`
    is called with the data. Other options are those of `load_data`, for the source.
    """
    written_as = format_to_write(Path(target)) if to_format is None else named_format(to_format)
    dataset = load_data(source, format=from_format, keep_columns=written_as.is_text, **options)
    if look is not None:
        look(dataset)
    if written_as.is_text and dataset.texts is None:
        raise ParameterError(f"{source} holds features and '{written_as.name}' holds texts: {_NO_TEXTS}")
    if not written_as.is_text and dataset.X is None:
        vectorizer = TextVectorizer()
        X = vectorizer.fit_transform(texts_of(dataset))
        dataset = replace(dataset, X=X, feature_names=[str(name) for name in vectorizer.feature_names_])
    return save_data(dataset, target, format=written_as.name)


def format_to_write(path: Path) -> Format:
    """Choose the format of a new file by its name."""
    if suffix(path) == ".txt":
        return FORMATS["xmc-pair" if "_X_Xf" in path.name else "xmc"]
    candidates = [entry for entry in FORMATS.values() if suffix(path) in entry.suffixes]
    if not candidates:
        raise ParameterError(f"'{path.name}' does not say which format to write; name it, one of {NAMES}")
    return candidates[-1]


def _checked(dataset: Dataset) -> Dataset:
    """Check a data set and return it as readers do: CSR, float32, sorted. The caller's matrices are not changed."""
    X = None if dataset.X is None else as_features(dataset.X)
    Y = read_labels(dataset.Y).matrix
    sizes = {"samples": Y.shape[0], "labels": Y.shape[1], "features": 1 if X is None else X.shape[1]}
    if empty := [what for what, size in sizes.items() if not size]:
        raise DataError(f"a data set without {empty[0]} cannot be saved; it must have at least one")
    return replace(dataset, X=X, Y=Y)
