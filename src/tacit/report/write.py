"""A report to a file."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from tacit.data.dataset import Dataset
from tacit.data.files import Staging
from tacit.errors import FileError
from tacit.ranking import Ranking
from tacit.report.evaluation import evaluate_model
from tacit.report.page import page

_SUFFIXES = (".html", ".htm")


def write_report(
    path: str | os.PathLike[str],
    model: Any,
    dataset: Dataset,
    *,
    ranking: Ranking | None = None,
    model_name: str | None = None,
    data_name: str | None = None,
    seed: int = 0,
) -> None:
    """Write what there is to know of a model on a data set as one HTML file that needs nothing else.

    The file appears once it is whole; the same model, data and seed give the same bytes.

    Parameters
    ----------
    path : path
        The file to write, ending in ``.html``.
    model : Tagger or Estimator
        A fitted model.
    dataset : Dataset
        Samples with their labels, which the model should not have seen; from `tacit.load_data`.
    ranking : Ranking, optional
        What the model suggests for them, if it has been asked already.
    model_name, data_name : str, optional
        What to call them in the report, such as their paths.
    seed : int
        Seed of the intervals and of the choice of examples.
    """
    path = check_report_path(path)
    content = page(evaluate_model(model, dataset, ranking, seed), model_name, data_name)
    with Staging() as staging, staging.open(path) as file:
        file.write(content.encode())


def check_report_path(path: str | os.PathLike[str]) -> Path:
    """Raise now unless a report can be written to `path` later."""
    path = Path(path)
    if path.suffix.lower() not in _SUFFIXES:
        raise FileError(path, f"a report must end in {' or '.join(_SUFFIXES)}; name the file so")
    if path.is_dir():
        raise FileError(path, "cannot be written: it is a folder; name a file")
    if not path.parent.is_dir():
        raise FileError(path, f"cannot be written: there is no folder {path.parent}; create it first")
    if not os.access(path.parent, os.W_OK):
        raise FileError(path, f"cannot be written: the folder {path.parent} may not be changed; choose another")
    return path
