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


def save_data(
    dataset: Dataset,
    path: str | os.PathLike[str],
    labels_path: str | os.PathLike[str] | None = None,
    format: str | None = None,  # noqa: A002
) -> list[Path]:
    """Write a data set to files, compressed if their names end in ``.gz``, and return them; all of them or none.

    Known negatives (stored zeros of `Y`) are kept by npz and xmc-pair alone. `labels_path` is ``Y`` of a pair, or else
    a list of label names. By default it is placed beside `path`, as ``labels.txt`` if it lists names, and the suffix
    of `path` tells the `format`, where ``.txt`` means xmc.
    """
    path = Path(path)
    chosen = format_to_write(path) if format is None else named_format(format)
    if (dataset.texts if chosen.is_text else dataset.X) is None:
        wanted, remedy = ("texts", "choose a numeric format") if chosen.is_text else ("features", "use convert")
        raise ParameterError(f"'{chosen.name}' holds {wanted}, which the data set lacks; {remedy}")
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
    """Convert a data file to another format and return the files written; options are those of `load_data`.

    Named fields are kept where both formats have them. Texts become tf-idf features in a numeric format, whose names
    are written to ``features.txt``. `look` is called with the data.
    """
    written_as = format_to_write(Path(target)) if to_format is None else named_format(to_format)
    dataset = load_data(source, format=from_format, keep_columns=written_as.is_text, **options)
    if look is not None:
        look(dataset)
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
