"""A report on a model and a data set: one self-contained HTML file."""

from __future__ import annotations

import datetime as dt
import os
from collections.abc import Iterable
from importlib.resources import files
from pathlib import Path
from typing import Any

from tacit._version import __version__
from tacit.core.ranking import Ranking
from tacit.data.dataset import Dataset
from tacit.data.files import Staging, check_place
from tacit.errors import FileError
from tacit.evaluation.bands import BANDS, BandResult
from tacit.evaluation.metrics import COVERAGE, COVERAGE_MEANING, METRICS
from tacit.report import figures, findings
from tacit.report.findings import SHOWN, Evaluation, evaluate_model
from tacit.report.markup import (
    Content,
    Markup,
    Section,
    counted,
    facts,
    figure,
    key,
    percent,
    shorten,
    side_by_side,
    table,
    tag,
    tiles,
    user_text,
    with_interval,
    with_remark,
)
from tacit.tagger.overlap import note_on_overlap

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
    date = date or dt.datetime.now(dt.timezone.utc).date()
    parts = [what_section(evaluation, model, data, date), *(section(evaluation) for section in SECTIONS)]
    links = [tag("li", tag("a", part.title, href=f"#{part.anchor}")) for part in parts]
    body = tag(
        "body",
        tag("header", tag("h1", f"How good is {evaluation.model_name}?"), summary(evaluation, data)),
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


_MEANINGS = {f"{metric.name}@k": metric.meaning for metric in METRICS.values()} | {f"{COVERAGE}@k": COVERAGE_MEANING}
_IN_FIGURE = ("P@1", "P@3", "P@5", "nDCG@5", "R@5", "PSP@5")
_THRESHOLDS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
_KEYS = (key("model", "this model"), " ", key("baseline", "always the most frequent labels"))
_NAME_LENGTH = 90
_TEXT_LENGTH = 280


def summary(evaluation: Evaluation, data: str | None = None) -> Content:
    """The most important numbers, for the top of the page, after a warning if the model was trained on the samples."""
    values = {pair.name: pair.values for pair in evaluation.metrics}
    (first, guess), (found, guess_found), (covered, _) = (values[name] for name in ("P@1", f"R@{SHOWN}", f"C@{SHOWN}"))
    shown = [
        ("first suggestion right", first, f"most frequent label: {percent(guess)} %"),
        (f"true labels in the first {SHOWN}", found, f"most frequent: {percent(guess_found)} %"),
        (f"labels ever found in the first {SHOWN}", covered, "of those in these data"),
    ]
    if evaluation.is_calibrated:
        shown.append(("probabilities are off by", findings.reliability(evaluation).error, "expected calibration error"))
    note = note_on_overlap(evaluation.share_in_training, data or "the data")
    warning = tag("p", tag("strong", note), ".", class_="warning") if note else None
    return warning, tiles((name, f"{percent(share)} %", remark) for name, share, remark in shown)


def what_section(evaluation: Evaluation, model: str | None, data: str | None, date: dt.date) -> Section:
    """The model, its training, the data and the date."""
    is_tested = evaluation.is_tested
    n_unseen = int((is_tested & (evaluation.counts == 0)).sum())
    each = evaluation.truth.nnz / len(evaluation)
    pairs: list[tuple[str, Content]] = [
        ("model", [evaluation.model_name, (" in ", user_text(model)) if model else None]),
        ("evaluated on", [user_text(data) if data else "data", ": ", counted(len(evaluation), "sample")]),
        ("date", date.isoformat()),
        ("their labels", f"{is_tested.sum():,} different, {each:.2f} per sample; {n_unseen:,} unseen in training"),
        *_training_facts(evaluation),
    ]
    n_acts = len(evaluation.model.history())
    if n_acts:
        pairs.append(("since training", f"{counted(n_acts, 'change')}: labels amended, or feedback learned from"))
    return Section("what", "What was evaluated", facts(pairs))


def _training_facts(evaluation: Evaluation) -> list[tuple[str, Content]]:
    card = evaluation.model.card_
    if not card:
        return []
    sizes = ", ".join(counted(card[f"{noun}s"], noun) for noun in ("sample", "feature", "label"))
    fingerprint = str(card["fingerprint"])
    return [
        ("trained on", f"{sizes}, {card['positives'] / max(card['samples'], 1):.2f} labels per sample"),
        ("model chosen", str(card["reason"])),
        ("fingerprint", [tag("code", fingerprint[:16], title=fingerprint), f", seed {card['seed']}"]),
        ("versions", ", ".join(f"{name} {version}" for name, version in card["versions"].items())),
    ]


def metrics_section(evaluation: Evaluation) -> Section:
    """Metrics with intervals, compared with the most frequent labels as a baseline."""
    rows = [[pair.name, *map(with_interval, pair.values, pair.intervals)] for pair in evaluation.metrics]
    pairs = [pair for pair in evaluation.metrics if pair.name in _IN_FIGURE]
    drawing = figures.paired_bars("Metrics of the model beside the most frequent labels", pairs, "metric", "percent")
    numbers = table("In percent, with 95 % intervals", ["metric", "this model", "most frequent"], rows)
    left = figure(drawing, _KEYS), facts(_MEANINGS.items())
    return Section("metrics", "Metrics", side_by_side(left, numbers))


def bands_section(evaluation: Evaluation) -> Section:
    """Recall by label frequency."""
    pairs = [pair for _, pair in evaluation.bands if pair is not None]
    rows = [
        [
            with_remark(band.name, _band_size(evaluation, band)),
            *(["–", "–"] if pair is None else map(with_interval, pair.values, pair.intervals)),
        ]
        for band, pair in evaluation.bands
    ]
    title = f"Recall at {SHOWN} by the number of training samples of a label"
    drawing = figures.paired_bars(title, pairs, "training samples of the label", f"found in the first {SHOWN} (%)")
    intro = (
        f"Of the times that a label is true, how often is it among the first {SHOWN} suggestions? Labels are grouped "
        "by how many training samples they had, so that frequent labels do not hide rare ones."
    )
    header = ["training samples of the label", "this model", "most frequent"]
    numbers = table(f"R@{SHOWN} in percent, with 95 % intervals", header, rows)
    return Section("bands", "By label frequency", [tag("p", intro), side_by_side(figure(drawing, _KEYS), numbers)])


def _band_size(evaluation: Evaluation, band: BandResult) -> str:
    n_unknown = evaluation.truth.shape[1] - len(evaluation.model.classes_)
    unknown = f"; {n_unknown:,} of them unknown to the model" if n_unknown and band.name == BANDS[0][0] else ""
    return f"{counted(band.n_labels, 'label')}, {band.n_positives:,} × true{unknown}"


def thresholds_section(evaluation: Evaluation) -> Section:
    """Precision and recall by threshold; only at the stored threshold if scores are not probabilities."""
    (stored,) = findings.operating_points(evaluation.curve, [evaluation.threshold])
    steps = findings.operating_points(evaluation.curve, _THRESHOLDS) if evaluation.is_calibrated else []
    points = sorted([*steps, stored])
    rows = [[f"{point.threshold:.3g}", *_shares(point), f"{point.labels:.2f}"] for point in points]
    header = ["threshold", "precision", "recall", "F1", "labels"]
    caption = "What a threshold gives, in percent; labels per sample"
    numbers = table(caption, header, rows, n_names=0, chosen=points.index(stored))
    keys = [key("wrong", "the stored threshold"), " ", key("step", "those of the table") if steps else None]
    drawing = figures.precision_recall(evaluation.curve, stored, steps)
    intro: list[Content] = ["Every suggestion that reaches the threshold counts. A lower threshold raises recall."]
    if steps:
        intro += [" To have one chosen: ", tag("code", "--threshold precision=0.8"), "."]
    content = tag("p", intro), side_by_side(figure(drawing, keys), numbers)
    return Section("thresholds", "Precision and recall", content)


def _shares(point: findings.Operating) -> tuple[str, str, str]:
    """Format precision, recall and F1; without any suggestion, precision and F1 are undefined."""
    if not point.labels:
        return "–", percent(0), "–"
    return percent(point.precision), percent(point.recall), percent(point.f1)


def probabilities_section(evaluation: Evaluation) -> Section:
    """The reliability diagram, for a model whose scores are probabilities."""
    title = "Are the probabilities true?"
    if not evaluation.is_calibrated:
        reason = "The scores of this model are not probabilities: it was trained without calibration."
        return Section("probabilities", title, tag("p", reason))
    found = findings.reliability(evaluation)
    intro = (
        f"The first {SHOWN} suggestions of all samples, in {len(found.bins)} bins of equal size by probability. "
        "On the dashed line, suggestions given 70 % are right 70 times of 100. "
    )
    calibration = evaluation.model.calibration_
    learned = "" if calibration is None else f" In training: {calibration.summary}."
    error = (
        tag("strong", f"Expected calibration error: {found.error:.3f}"),
        f" (the mean distance from the line).{learned}",
    )
    rows = [[percent(part.probability), percent(part.rate), f"{part.size:,}"] for part, _ in found.bins]
    numbers = table("The bins, in percent", ["probability given", "were right", "suggestions"], rows, n_names=0)
    caption = (
        "Below the line the model is overconfident, above it underconfident. The latter is normal where these data "
        "record more of the true labels than the training data did. Vertical lines are 95 % intervals."
    )
    drawing = figure(figures.reliability_diagram(found), caption)
    return Section("probabilities", title, [tag("p", intro, error), side_by_side(drawing, numbers)])


def labels_section(evaluation: Evaluation) -> Section:
    """The labels with the best and worst F1."""
    ends = findings.extremes(evaluation)
    captions = (("Best labels, in percent", ends.best), ("Worst labels, in percent", ends.worst))
    intro = (
        f"By F1 at the stored threshold, of {counted(ends.n_labels, 'label')} that occur at least {ends.n_positives} × "
        "in these data; below each, its samples in training and here. Labels never suggested have no precision."
    )
    tables = [_scores(evaluation, caption, scores) for caption, scores in captions if scores]
    return Section("labels", "Labels", [tag("p", intro), side_by_side(*tables)])


def _scores(evaluation: Evaluation, caption: str, scores: Iterable[findings.LabelScore]) -> Markup:
    def row(score: findings.LabelScore) -> list[Content]:
        remark = f"{evaluation.counts[score.label]:,} trained, {score.n_positives:,} here"
        precision = "–" if score.precision is None else percent(score.precision)
        name = with_remark(_label(evaluation, score.label), remark)
        return [name, precision, percent(score.recall), percent(score.f1)]

    return table(caption, ["label", "precision", "recall", "F1"], map(row, scores), folds=True)


def _label(evaluation: Evaluation, label: int) -> Markup:
    return user_text(evaluation.names[label], _NAME_LENGTH)


def confusions_section(evaluation: Evaluation) -> Section:
    """Pairs of a label suggested wrongly and a label missed in the same samples."""
    pairs = findings.confusions(evaluation)
    title = "Confused labels"
    if not pairs:
        return Section("confusions", title, tag("p", "No label was suggested wrongly where another was missed."))
    rows: list[list[Content]] = [
        [
            *(_label(evaluation, label) for label in pair[:2]),
            with_remark(pair.n_samples, f"of {pair.n_missed:,} missed"),
        ]
        for pair in pairs
    ]
    intro = (
        "Suggested at the stored threshold though not recorded, in samples where the other label was recorded but not "
        "suggested. Where labels are recorded incompletely, some of these suggestions are right: "
    )
    hint = tag("code", "tacit find-missing"), " lists them."
    header = ["suggested wrongly", "missed", "samples"]
    pairs_table = table("Most frequent pairs", header, rows, n_names=2, folds=True)
    return Section("confusions", title, [tag("p", intro, hint), pairs_table])


def samples_section(evaluation: Evaluation) -> Section:
    """Example samples with right and wrong suggestions."""
    content = [
        (tag("h3", title), tag("ul", [_sample(evaluation, sample) for sample in samples], class_="samples"))
        for title, samples in findings.examples(evaluation).items()
        if samples
    ]
    numbers = "probabilities" if evaluation.is_calibrated else "scores"
    intro = (
        f"✓: right; ✗: not recorded; dashed: recorded but not among the first {SHOWN}; pale: below the stored "
        f"threshold of {evaluation.threshold:.3g}. Numbers are {numbers}."
    )
    return Section("samples", "Samples", [tag("p", intro), content])


def _sample(evaluation: Evaluation, sample: findings.Example) -> Markup:
    suggested = [_suggestion(evaluation, suggestion) for suggestion in sample.suggested]
    missed = [tag("li", _label(evaluation, label), tag("small", " missed"), class_="absent") for label in sample.missed]
    text = user_text(sample.text, _TEXT_LENGTH, element="p") if sample.text else None
    number = tag("span", f"sample {sample.row:,}", class_="muted")
    return tag("li", number, text, tag("ul", suggested, missed, class_="labels"))


def _suggestion(evaluation: Evaluation, suggestion: findings.Suggested) -> Markup:
    mark, class_ = ("✓", "right") if suggestion.is_right else ("✗", "wrong")
    name, score = _label(evaluation, suggestion.label), f" {suggestion.score:.2f}"
    return tag("li", f"{mark} ", name, score, class_=class_ if suggestion.is_chosen else f"{class_} pale")


#: The sections after the first, in the order of the page.
SECTIONS = (
    metrics_section, bands_section, thresholds_section, probabilities_section, labels_section, confusions_section,
    samples_section,
)  # fmt: skip
