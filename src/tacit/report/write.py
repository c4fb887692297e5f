"""A report on a model and a data set: one self-contained HTML file."""

from __future__ import annotations

import datetime as dt
import os
from importlib.resources import files
from pathlib import Path
from typing import Any

from tacit._version import __version__
from tacit.data.dataset import Dataset
from tacit.data.files import Staging, check_place
from tacit.errors import FileError
from tacit.ranking import Ranking
from tacit.report import sections
from tacit.report.evaluation import Evaluation, evaluate_model
from tacit.report.markup import Markup, shorten, tag

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
    date: dt.date | None = None,
) -> None:
    """Write a report on a model and a data set as one self-contained HTML file.

    The file is written atomically. The same model, data, seed and date give the same bytes.

    Parameters
    ----------
    path : path
        The file to write, ending in ``.html``.
    model : Tagger or Estimator
        A fitted model.
    dataset : Dataset
        Labelled samples that the model was not trained on, from `tacit.load_data`.
    ranking : Ranking, optional
        The model's suggestions for the samples, if they were computed already.
    model_name, data_name : str, optional
        Names for the model and the data in the report, such as their paths.
    seed : int
        Seed of the bootstrap intervals and of the choice of examples.
    date : datetime.date, optional
        The date of the report; by default today in UTC.
    """
    path = check_report_path(path)
    content = page(evaluate_model(model, dataset, ranking, seed), model_name, data_name, date)
    with Staging() as staging, staging.open(path) as file:
        file.write(content.encode())


def check_report_path(path: str | os.PathLike[str]) -> Path:
    """Check that a report can be written to `path`, before the work starts."""
    path = Path(path)
    if path.suffix.lower() not in _SUFFIXES:
        raise FileError(path, f"a report must end in {' or '.join(_SUFFIXES)}; name the file so")
    check_place(path)
    if not os.access(path.parent, os.W_OK):
        raise FileError(path, f"cannot be written: the folder {path.parent} may not be changed; choose another")
    return path


def page(evaluation: Evaluation, model: str | None = None, data: str | None = None, date: dt.date | None = None) -> str:
    """The whole report as HTML; `model` and `data` are names for the two, such as their paths."""
    date = date or dt.datetime.now(dt.timezone.utc).date()
    parts = [
        sections.what_section(evaluation, model, data, date),
        *(section(evaluation) for section in sections.SECTIONS),
    ]
    links = [tag("li", tag("a", part.title, href=f"#{part.anchor}")) for part in parts]
    body = tag(
        "body",
        tag("header", tag("h1", f"How good is {evaluation.model_name}?"), sections.summary(evaluation, data)),
        tag("nav", tag("ul", links), aria_label="Sections"),
        tag("main", [part.markup() for part in parts]),
        tag("footer", tag("p", f"Made by tacit {__version__}. Intervals are 95 % bootstrap intervals over samples.")),
    )
    title = f"{evaluation.model_name} on {data or 'data'}: evaluation by tacit"
    return "<!DOCTYPE html>\n" + tag("html", _head(title), body, lang="en") + "\n"


def _head(title: str) -> Markup:
    style = files("tacit.report").joinpath("style.css").read_text(encoding="utf-8")
    return tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("title", shorten(title, 200)),
        tag("style", Markup(style)),
    )
