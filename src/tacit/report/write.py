"""A report on a model and a data set: one self-contained HTML file."""

from __future__ import annotations

import datetime as dt
import os
from collections.abc import Iterable
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from tacit._version import __version__
from tacit.core.ranking import Ranking
from tacit.data.dataset import Dataset
from tacit.data.files import Staging, check_place
from tacit.errors import FileError
from tacit.evaluation.bands import BANDS, BandResult
from tacit.evaluation.metrics import COVERAGE, COVERAGE_MEANING, METRICS
from tacit.report import figures, findings
from tacit.report.findings import SHOWN, Evaluation, Pair, evaluate_model
from tacit.report.markup import (
    Content,
    Markup,
    counted,
    definitions,
    figure,
    percent,
    section,
    shorten,
    side_by_side,
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
    name, date = evaluation.model.model_name_, date or dt.datetime.now(dt.timezone.utc).date()
    sections = what_section(evaluation, model, data, date), *(build(evaluation) for build in SECTIONS)
    title = f"{name} on {data or 'data'}: evaluation by tacit"
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("title", shorten(title, 200)),
        tag("style", Markup(files("tacit.report").joinpath("style.css").read_text(encoding="utf-8"))),
    )
    body = tag(
        "body",
        tag("header", tag("h1", f"How good is {name}?"), summary(evaluation, data)),
        tag("main", sections),
        tag("footer", tag("p", f"Made by tacit {__version__}. Intervals are 95 % bootstrap intervals over samples.")),
    )
    return "<!DOCTYPE html>\n" + tag("html", head, body, lang="en") + "\n"


def summary(evaluation: Evaluation, data: str | None = None) -> Content:
    """The most important numbers, for the top of the page, after a warning if the model was trained on the samples."""
    values = {pair.name: pair.values for pair in evaluation.metrics}
    (first, guess), (found, guess_found), (covered, _) = (values[name] for name in ("P@1", f"R@{SHOWN}", f"C@{SHOWN}"))
    tiles = [
        ("first suggestion right", first, f"most frequent label: {percent(guess)} %"),
        (f"true labels in the first {SHOWN}", found, f"most frequent: {percent(guess_found)} %"),
        (f"labels ever found in the first {SHOWN}", covered, "of those in these data"),
    ]
    if evaluation.is_calibrated:
        tiles.append(("probabilities are off by", findings.reliability(evaluation)[1], "expected calibration error"))
    samples = evaluation.dataset.texts if evaluation.model.takes_texts else evaluation.dataset.X
    share = 0.0 if samples is None else share_in_training(evaluation.model, samples)
    note = note_on_overlap(share, data or "the data")
    warning = tag("p", tag("strong", note), ".", class_="warning") if note else None
    shown = ((name, with_remark(f"{percent(value)} %", remark)) for name, value, remark in tiles)
    return warning, definitions(shown, "tiles")


def what_section(evaluation: Evaluation, model: str | None, data: str | None, date: dt.date) -> Markup:
    """The model, its training, the data and the date."""
    is_tested = np.bincount(evaluation.truth.indices, minlength=evaluation.truth.shape[1]) > 0
    n_unseen = int((is_tested & (evaluation.counts == 0)).sum())
    each = evaluation.truth.nnz / len(evaluation)
    pairs: list[tuple[str, Content]] = [
        ("model", [evaluation.model.model_name_, (" in ", user_text(model)) if model else None]),
        ("evaluated on", [user_text(data) if data else "data", ": ", counted(len(evaluation), "sample")]),
        ("date", date.isoformat()),
        ("their labels", f"{is_tested.sum():,} different, {each:.2f} per sample; {n_unseen:,} unseen in training"),
    ]
    if card := evaluation.model.card_:
        sizes = ", ".join(counted(card[f"{noun}s"], noun) for noun in ("sample", "feature", "label"))
        fingerprint = str(card["fingerprint"])
        pairs += [
            ("trained on", f"{sizes}, {card['positives'] / max(card['samples'], 1):.2f} labels per sample"),
            ("model chosen", str(card["reason"])),
            ("fingerprint", [tag("code", fingerprint[:16], title=fingerprint), f", seed {card['seed']}"]),
            ("versions", ", ".join(f"{name} {version}" for name, version in card["versions"].items())),
        ]
    if n_acts := len(evaluation.model.history()):
        pairs.append(("since training", f"{counted(n_acts, 'change')}: labels amended, or feedback learned from"))
    return section("what", "What was evaluated", definitions(pairs))


def metrics_section(evaluation: Evaluation) -> Markup:
    """Metrics with intervals, compared with the most frequent labels as a baseline."""
    rows = [[pair.name, *_cells(pair)] for pair in evaluation.metrics]
    numbers = table("In percent, with 95 % intervals", ["metric", "this model", "most frequent"], rows)
    return section("metrics", "Metrics", side_by_side(numbers, definitions(_MEANINGS.items())))


def _cells(pair: Pair) -> Iterable[Content]:
    return map(with_interval, pair.values, pair.intervals) if pair.intervals else map(percent, pair.values)


def bands_section(evaluation: Evaluation) -> Markup:
    """Recall by label frequency."""
    intro = (
        f"Of the times that a label is true, how often is it among the first {SHOWN} suggestions? Labels are grouped "
        "by how many training samples they had, so that frequent labels do not hide rare ones."
    )
    header = ["training samples of the label", "this model", "most frequent"]
    rows = [_band_cells(evaluation, both) for both in evaluation.bands]
    numbers = table(f"R@{SHOWN} in percent, with 95 % intervals", header, rows)
    return section("bands", "By label frequency", tag("p", intro), numbers)


def _band_cells(evaluation: Evaluation, both: tuple[BandResult, BandResult]) -> list[Content]:
    band, metric = both[0], f"R@{SHOWN}"
    n_unknown = evaluation.truth.shape[1] - len(evaluation.model.classes_)
    unknown = f"; {n_unknown:,} of them unknown to the model" if n_unknown and band.name == BANDS[0][0] else ""
    remark = f"{counted(band.n_labels, 'label')}, {band.n_positives:,} × true{unknown}"
    cells = [with_interval(each.values[metric], each.intervals[metric]) for each in both]
    return [with_remark(band.name, remark), *(cells if band.n_positives else ["–", "–"])]


def thresholds_section(evaluation: Evaluation) -> Markup:
    """Precision and recall by threshold; only at the stored threshold if scores are not probabilities."""
    stored = evaluation.threshold
    thresholds = sorted({stored, *(_THRESHOLDS if evaluation.is_calibrated else ())})
    rows = [_at_threshold(evaluation, threshold) for threshold in thresholds]
    header = ["threshold", "precision", "recall", "F1", "labels"]
    caption = "What a threshold gives, in percent; labels per sample"
    numbers = table(caption, header, rows, chosen=thresholds.index(stored))
    drawing = figures.precision_recall(evaluation.curve, stored)
    intro: list[Content] = ["Every suggestion that reaches the threshold counts. A lower threshold raises recall."]
    if evaluation.is_calibrated:
        intro += [" To have one chosen: ", tag("code", "--threshold precision=0.8"), "."]
    content = side_by_side(figure(drawing, "The dot is the stored threshold."), numbers)
    return section("thresholds", "Precision and recall", tag("p", intro), content)


def _at_threshold(evaluation: Evaluation, threshold: float) -> list[Content]:
    """Without any suggestion, precision and F1 are undefined."""
    precision, recall, n_labels = map(float, evaluation.curve.at(threshold))
    f1 = 2 * precision * recall / (precision + recall) if precision + recall else 0.0
    values = (precision, recall, f1) if n_labels else (None, recall, None)
    return [f"{threshold:.3g}", *map(percent, values), f"{n_labels:.2f}"]


def probabilities_section(evaluation: Evaluation) -> Markup:
    """The reliability diagram, for a model whose scores are probabilities."""
    title, calibration = "Are the probabilities true?", evaluation.model.calibration_
    if calibration is None:
        reason = "The scores of this model are not probabilities: it was trained without calibration."
        return section("probabilities", title, tag("p", reason))
    bins, expected_error = findings.reliability(evaluation)
    intro = (
        f"The first {SHOWN} suggestions of all samples, in {len(bins)} bins of equal size by probability. "
        "On the dashed line, suggestions given 70 % are right 70 times of 100. "
    )
    error = tag("strong", f"Expected calibration error: {expected_error:.3f}")
    learned = f" (the mean distance from the line). In training: {calibration.summary}."
    rows = [[percent(part.probability), percent(part.rate), f"{part.size:,}"] for part, _ in bins]
    numbers = table("The bins, in percent", ["probability given", "were right", "suggestions"], rows)
    caption = (
        "Below the line the model is overconfident, above it underconfident. The latter is normal where these data "
        "record more of the true labels than the training data did. Vertical lines are 95 % intervals."
    )
    drawing = figure(figures.reliability_diagram(bins, expected_error), caption)
    return section("probabilities", title, tag("p", intro, error, learned), side_by_side(drawing, numbers))


def labels_section(evaluation: Evaluation) -> Markup:
    """The labels with the best and worst F1."""
    best, worst, enough = findings.extremes(evaluation)
    intro = (
        f"By F1 at the stored threshold, of labels that occur at least {enough} × in these data; below each, its "
        "samples in training and here. Labels never suggested have no precision."
    )
    parts = (("Best labels, in percent", best), ("Worst labels, in percent", worst))
    tables = [
        table(caption, ["label", "precision", "recall", "F1"], [_score_cells(evaluation, score) for score in scores])
        for caption, scores in parts
        if scores
    ]
    return section("labels", "Labels", tag("p", intro), side_by_side(*tables))


def _score_cells(evaluation: Evaluation, score: findings.LabelScore) -> list[Content]:
    remark = f"{evaluation.counts[score.label]:,} trained, {score.n_positives:,} here"
    return [with_remark(_label(evaluation, score.label), remark), *map(percent, score[2:])]


def _label(evaluation: Evaluation, label: int) -> Markup:
    return user_text(evaluation.names[label], _NAME_LENGTH)


def samples_section(evaluation: Evaluation) -> Markup:
    """Example samples with right and wrong suggestions."""
    content = [
        (tag("h3", title), tag("ul", [_sample(evaluation, row) for row in rows], class_="samples"))
        for title, rows in findings.examples(evaluation).items()
        if rows
    ]
    numbers = "probabilities" if evaluation.is_calibrated else "scores"
    intro = (
        f"✓: right; ✗: not recorded; dashed: recorded but not among the first {SHOWN}; pale: below the stored "
        f"threshold of {evaluation.threshold:.3g}. Numbers are {numbers}."
    )
    return section("samples", "Samples", tag("p", intro), content)


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
    text = findings.text_of_sample(evaluation.dataset, row)
    whole = shorten(text, 10 * _TEXT_LENGTH)
    shortened = tag("p", shorten(text, _TEXT_LENGTH), title=whole, dir="auto") if text else None
    number = tag("span", f"sample {row:,}", class_="muted")
    return tag("li", number, shortened, tag("ul", items, class_="labels"))


#: The sections after the first, in the order of the page.
SECTIONS = (
    metrics_section, bands_section, thresholds_section, probabilities_section, labels_section, samples_section,
)  # fmt: skip
