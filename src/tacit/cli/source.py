"""Data files named on the command line."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tacit.data.dataset import Dataset


def read(
    path: Path, data_format: str | None, text: str | None, labels: str | None, labels_path: Path | None
) -> Dataset:
    """The data set that the input options describe."""
    from tacit.data.load import load_data

    return load_data(path, labels_path=labels_path, format=data_format, text=text, labels=labels)


def inputs_of(model: Any, dataset: Dataset) -> Any:
    """What `model` ranks: the texts of a data set for a tagger, its features for any other model."""
    from tacit.data.dataset import features_of, texts_of
    from tacit.tagger.tagger import Tagger

    if isinstance(model, Tagger):
        return texts_of(dataset)
    return _as_wide_as(model, features_of(dataset))


def read_unlabelled(path: Path, model: Any, data_format: str | None, text: str | None, **others: Any) -> Any:
    """What `model` ranks, from a file whose labels, if it has any, do not matter; ``-`` is one text per line."""
    from tacit.data.texts import load_texts
    from tacit.tagger.tagger import Tagger

    if not isinstance(model, Tagger):
        return inputs_of(model, read(path, data_format=data_format, text=text, **others))
    if str(path) == "-":
        return [line.rstrip("\r\n") for line in sys.stdin]
    return load_texts(path, format=data_format, text=text)


def _as_wide_as(model: Any, X: Any) -> Any:
    """X with the columns of the training data: a file without header ends at its last feature in use."""
    missing = model.n_features_in_ - X.shape[1]
    if missing > 0:
        X = X.copy()
        X.resize(X.shape[0], model.n_features_in_)
    return X
