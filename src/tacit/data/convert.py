"""One data file to another format."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from tacit.data.dataset import Dataset, texts_of
from tacit.data.formats import format_to_write, named_format
from tacit.data.load import load_data
from tacit.data.save import save_data
from tacit.errors import ParameterError


def convert(
    source: str | os.PathLike[str],
    target: str | os.PathLike[str],
    *,
    from_format: str | None = None,
    to_format: str | None = None,
    labels_path: str | os.PathLike[str] | None = None,
    text: str | Sequence[str] | None = None,
    labels: str | None = None,
    **limits: int | None,
) -> list[Path]:
    """Read a data file and write it in another format; returns the files written.

    Texts become tf-idf features in a numeric format, and their vocabulary goes into ``features.txt`` beside it.
    Features cannot become texts. The other arguments are those of `load_data`, for the source.
    """
    written_as = format_to_write(Path(target)) if to_format is None else named_format(to_format)
    dataset = load_data(source, labels_path, from_format, text, labels, **limits)
    if written_as.is_text and dataset.texts is None:
        message = "texts cannot be made from features; choose a numeric format"
        raise ParameterError(f"{source} holds features and '{written_as.name}' holds texts: {message}")
    if not written_as.is_text and dataset.X is None:
        dataset = _vectorized(dataset)
    return save_data(dataset, target, format=written_as.name)


def _vectorized(dataset: Dataset) -> Dataset:
    from tacit.vectorizer import TextVectorizer

    vectorizer = TextVectorizer()
    X = vectorizer.fit_transform(texts_of(dataset))
    return replace(dataset, X=X, feature_names=[str(name) for name in vectorizer.feature_names_])
