"""A report on a model and a data set: one self-contained HTML file."""

from __future__ import annotations

import datetime as dt
import os
from collections.abc import Iterable, Iterator
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Any

import numpy as np

from tacit._version import __version__
from tacit.core.ranking import Ranking
from tacit.data.dataset import Dataset
from tacit.data.files import Staging, check_place
from tacit.errors import FileError
from tacit.evaluation.bands import BANDS
from tacit.evaluation.metrics import COVERAGE, COVERAGE_MEANING, METRICS
from tacit.report import figures, findings
from tacit.report.findings import SHOWN, Evaluation, evaluate_model
from tacit.report.markup import (
    Content,
    Markup,
    counted,
    definitions,
    join,
    percent,
    shorten,
    table,
    tag,
    user_text,
    with_interval,
    with_remark,
)
from tacit.tagger.overlap import note_on_overlap, share_in_training

_SUFFIXES = (".html", ".htm")
_MEANINGS = {f"{metric.name}@k": metric.meaning for metric in METRICS.values()} | {f"{COVERAGE}@k": COVERAGE_MEANING}
_THRESHOLDS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
_NAME_LENGTH, _TEXT_LENGTH = 90, 280


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
    """Write a report on a model and a data set as one self-contained HTML file, which ends in ``.html``.

    The file is written atomically. The same model, data, seed and date give the same bytes.

    Parameters
    ----------
    path : path
        The file to write.
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
    name, source = evaluation.model.model_name_, files("tacit.report")
    title = f"{name} on {data or 'data'}: evaluation by tacit"
    best, worst, enough = findings.extremes(evaluation)
    parts: dict[str, Content] = {
        "title": shorten(title, 200),
        "style": Markup(source.joinpath("style.css").read_text(encoding="utf-8")),
        "model": name,
        "warning": _warning(evaluation, data),
        "summary": _summary(evaluation),
        "facts": definitions(_facts(evaluation, model, data, date or dt.datetime.now(dt.timezone.utc).date())),
        "metrics": _metrics(evaluation),
        "meanings": definitions(_MEANINGS.items()),
        "bands": _bands(evaluation),
        "curve": figures.precision_recall(evaluation.curve, evaluation.threshold),
        "thresholds": _thresholds(evaluation),
        "probabilities": _probabilities(evaluation),
        "labels": [_labels(evaluation, kind, scores) for kind, scores in (("Best", best), ("Worst", worst)) if scores],
        "samples": _samples(evaluation),
        "shown": SHOWN,
        "enough": enough,
        "threshold": f"{evaluation.threshold:.3g}",
        "numbers": "scores" if evaluation.model.calibration_ is None else "probabilities",
        "version": __version__,
    }
    template = Template(source.joinpath("page.html").read_text(encoding="utf-8"))
    return template.substitute({name: join(content) for name, content in parts.items()})


def _warning(evaluation: Evaluation, data: str | None) -> Content:
    """What a reader must know first if the model was trained on the samples."""
    samples = evaluation.dataset.texts if evaluation.model.takes_texts else evaluation.dataset.X
    share = 0.0 if samples is None else share_in_training(evaluation.model, samples)
    note = note_on_overlap(share, data or "the data")
    return tag("p", tag("strong", note), ".", class_="warning") if note else None


def _summary(evaluation: Evaluation) -> Markup:
    """The most important numbers."""
    values = {pair.name: pair.values for pair in evaluation.metrics}
    (first, guess), (found, guess_found), (covered, _) = (values[name] for name in ("P@1", f"R@{SHOWN}", f"C@{SHOWN}"))
    tiles = [
        ("first suggestion right", first, f"most frequent label: {percent(guess)} %"),
        (f"true labels in the first {SHOWN}", found, f"most frequent: {percent(guess_found)} %"),
        (f"labels ever found in the first {SHOWN}", covered, "of those in these data"),
    ]
    if evaluation.model.calibration_ is not None:
        tiles.append(("probabilities are off by", findings.reliability(evaluation)[1], "expected calibration error"))
    return definitions(((name, with_remark(f"{percent(value)} %", remark)) for name, value, remark in tiles), "tiles")


def _facts(evaluation: Evaluation, model: str | None, data: str | None, date: dt.date) -> Iterator[tuple[str, Content]]:
    """The model, its training, the data and the date."""
    is_tested = np.bincount(evaluation.truth.indices, minlength=evaluation.truth.shape[1]) > 0
    n_unseen = int((is_tested & (evaluation.counts == 0)).sum())
    each = evaluation.truth.nnz / len(evaluation.dataset)
    yield "model", [evaluation.model.model_name_, (" in ", user_text(model)) if model else None]
    yield "evaluated on", [user_text(data) if data else "data", ": ", counted(len(evaluation.dataset), "sample")]
    yield "date", date.isoformat()
    yield "their labels", f"{is_tested.sum():,} different, {each:.2f} per sample; {n_unseen:,} unseen in training"
    if card := evaluation.model.card_:
        sizes = ", ".join(counted(card[f"{noun}s"], noun) for noun in ("sample", "feature", "label"))
        fingerprint = str(card["fingerprint"])
        yield "trained on", f"{sizes}, {card['positives'] / max(card['samples'], 1):.2f} labels per sample"
        yield "model chosen", str(card["reason"])
        yield "fingerprint", [tag("code", fingerprint[:16], title=fingerprint), f", seed {card['seed']}"]
        yield "versions", ", ".join(f"{name} {version}" for name, version in card["versions"].items())
    if n_acts := len(evaluation.model.history()):
        yield "since training", f"{counted(n_acts, 'change')}: labels amended, or feedback learned from"


def _metrics(evaluation: Evaluation) -> Markup:
    """Metrics with intervals, compared with the most frequent labels as a baseline."""
    rows = [
        [pair.name, *(map(with_interval, pair.values, pair.intervals) if pair.intervals else map(percent, pair.values))]
        for pair in evaluation.metrics
    ]
    return table("In percent, with 95 % intervals", ["metric", "this model", "most frequent"], rows)


def _bands(evaluation: Evaluation) -> Markup:
    """Recall by label frequency."""
    n_unknown, metric = evaluation.truth.shape[1] - len(evaluation.model.classes_), f"R@{SHOWN}"
    rows = []
    for both in evaluation.bands:
        band = both[0]
        unknown = f"; {n_unknown:,} of them unknown to the model" if n_unknown and band.name == BANDS[0][0] else ""
        remark = f"{counted(band.n_labels, 'label')}, {band.n_positives:,} × true{unknown}"
        cells = [with_interval(each.values[metric], each.intervals[metric]) for each in both]
        rows.append([with_remark(band.name, remark), *(cells if band.n_positives else ["–", "–"])])
    header = ["training samples of the label", "this model", "most frequent"]
    return table(f"{metric} in percent, with 95 % intervals", header, rows)


def _thresholds(evaluation: Evaluation) -> Markup:
    """What thresholds give; without any suggestion, precision and F1 are undefined."""
    rows: list[list[Content]] = []
    thresholds = sorted({evaluation.threshold, *(() if evaluation.model.calibration_ is None else _THRESHOLDS)})
    for threshold in thresholds:
        precision, recall, n_labels = map(float, evaluation.curve.at(threshold))
        f1 = 2 * precision * recall / (precision + recall) if precision + recall else 0.0
        values = (precision, recall, f1) if n_labels else (None, recall, None)
        rows.append([f"{threshold:.3g}", *map(percent, values), f"{n_labels:.2f}"])
    header = ["threshold", "precision", "recall", "F1", "labels"]
    caption = "What a threshold gives, in percent; labels per sample"
    return table(caption, header, rows, chosen=thresholds.index(evaluation.threshold))


def _probabilities(evaluation: Evaluation) -> Content:
    """The reliability diagram, for a model whose scores are probabilities."""
    calibration = evaluation.model.calibration_
    if calibration is None:
        return tag("p", "The scores of this model are not probabilities: it was trained without calibration.")
    bins, error = findings.reliability(evaluation)
    intro = (
        f"The first {SHOWN} suggestions of all samples, in {len(bins)} bins of equal size by probability. "
        "On the dashed line, suggestions given 70 % are right 70 times of 100. "
    )
    strong = tag("strong", f"Expected calibration error: {error:.3f}")
    learned = f" (the mean distance from the line). In training: {calibration.summary}."
    rows = [[percent(part.probability), percent(part.rate), f"{part.size:,}"] for part, _ in bins]
    numbers = table("The bins, in percent", ["probability given", "were right", "suggestions"], rows)
    caption = (
        "Below the line the model is overconfident, above it underconfident. The latter is normal where these data "
        "record more of the true labels than the training data did. Vertical lines are 95 % intervals."
    )
    drawing = tag("figure", figures.reliability_diagram(bins, error), tag("figcaption", caption))
    return tag("p", intro, strong, learned), tag("div", drawing, numbers, class_="side")


def _labels(evaluation: Evaluation, kind: str, scores: Iterable[findings.LabelScore]) -> Markup:
    """The labels with the best or worst F1."""
    rows = []
    for score in scores:
        remark = f"{evaluation.counts[score.label]:,} trained, {score.n_positives:,} here"
        rows.append([with_remark(_label(evaluation, score.label), remark), *map(percent, score[2:])])
    return table(f"{kind} labels, in percent", ["label", "precision", "recall", "F1"], rows)


def _label(evaluation: Evaluation, label: int) -> Markup:
    return user_text(evaluation.names[label], _NAME_LENGTH)


def _samples(evaluation: Evaluation) -> Content:
    """Example samples with right and wrong suggestions."""
    return [
        (tag("h3", title), tag("ul", [_sample(evaluation, row) for row in rows], class_="samples"))
        for title, rows in findings.examples(evaluation).items()
        if rows
    ]


def _sample(evaluation: Evaluation, row: int) -> Markup:
    ranking, truth = evaluation.ranking, evaluation.truth
    shown = np.flatnonzero(evaluation.is_label[row, :SHOWN])
    labels = ranking.labels[row, shown].tolist()
    items = []
    for label, score, is_right in zip(labels, ranking.scores[row, shown], evaluation.hits[row, shown], strict=True):
        mark, class_ = ("✓", "right") if is_right else ("✗", "wrong")
        pale = "" if score >= evaluation.threshold else " pale"
        items.append(tag("li", f"{mark} ", _label(evaluation, label), f" {score:.2f}", class_=class_ + pale))
    missed = [
        label for label in truth.indices[truth.indptr[row] : truth.indptr[row + 1]].tolist() if label not in labels
    ]
    items += [tag("li", _label(evaluation, label), tag("small", " missed"), class_="absent") for label in missed]
    text = evaluation.dataset.texts[row] if evaluation.dataset.texts is not None else ""
    about = tag("p", shorten(text, _TEXT_LENGTH), title=shorten(text, 10 * _TEXT_LENGTH), dir="auto") if text else None
    return tag("li", tag("span", f"sample {row:,}", class_="muted"), about, tag("ul", items, class_="labels"))
