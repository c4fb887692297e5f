"""Data files named on the command line."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tacit.data.dataset import Dataset


def read(
    path: Path, data_format: str | None, text: str | None, labels: str | None, labels_path: Path | None
) -> Dataset:
    """The data set that the input options describe."""
    from tacit.data.load import load_data

    return load_data(path, labels_path=labels_path, format=data_format, text=text, labels=labels)
