"""Sections about all labels together: metrics, bands, thresholds, probabilities."""

from __future__ import annotations

from tacit.metrics import Interval
from tacit.report import curves, figures
from tacit.report.evaluation import SHOWN, Evaluation
from tacit.report.markup import Content, tag
from tacit.report.parts import (
    Section,
    counted,
    facts,
    figure,
    key,
    percent,
    side_by_side,
    table,
    with_interval,
    with_remark,
)

_MEANINGS = {
    "P@k": "of the first k suggestions, the share that is right",
    "nDCG@k": "the same, early places counting more; 100 if all true labels come first",
    "R@k": "of a sample's true labels, the share among the first k",
    "PSP@k": "precision that credits rare labels more, by their propensity",
    "PSnDCG@k": "nDCG in the same way",
    "C@k": "of all labels in these data, the share found for at least one sample",
}
_IN_FIGURE = ("P@1", "P@3", "P@5", "nDCG@5", "R@5", "PSP@5")
_THRESHOLDS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
_KEYS = (key("model", "this model"), " ", key("baseline", "always the most frequent labels"))


def metrics_section(evaluation: Evaluation) -> Section:
    """Metrics with intervals beside those of the most frequent labels."""
    metrics = evaluation.metrics
    rows = [
        [
            metric.name,
            with_interval(metric.value, metric.interval),
            with_interval(metric.baseline, metric.baseline_interval),
        ]
        for metric in metrics
    ]
    pairs = [
        figures.Pair(metric.name, (metric.value, metric.baseline), (metric.interval, metric.baseline_interval))
        for metric in metrics
        if metric.name in _IN_FIGURE
    ]
    drawing = figures.paired_bars("Metrics of the model beside the most frequent labels", pairs, "metric", "percent")
    numbers = table("In percent, with 95 % intervals", ["metric", "this model", "most frequent"], rows)
    left = figure(drawing, _KEYS), facts(_MEANINGS.items())
    return Section("metrics", "Metrics", side_by_side(left, numbers))


def bands_section(evaluation: Evaluation) -> Section:
    """Recall by label frequency."""
    metric = f"R@{SHOWN}"
    rows: list[list[Content]] = []
    pairs = []
    for band in evaluation.bands:
        model, baseline = band.model, band.baseline
        if not model.n_labels:
            continue
        sizes = f"{counted(model.n_labels, 'label')}, {model.n_positives:,} × true"
        if not model.n_positives:
            rows.append([with_remark(model.name, sizes), "–", "–"])
            continue
        values = model.values[metric], baseline.values[metric]
        intervals: tuple[Interval, Interval] = model.intervals[metric], baseline.intervals[metric]
        rows.append([with_remark(model.name, sizes), *map(with_interval, values, intervals)])
        pairs.append(figures.Pair(model.name, values, intervals))
    title = f"Recall at {SHOWN} by the number of training samples of a label"
    drawing = figures.paired_bars(title, pairs, "training samples of the label", f"found in the first {SHOWN} (%)")
    intro = (
        f"Of the times that a label is true, how often is it among the first {SHOWN} suggestions? Labels are grouped "
        "by how many training samples they had, so that frequent labels do not hide rare ones."
    )
    header = ["training samples of the label", "this model", "most frequent"]
    numbers = table(f"{metric} in percent, with 95 % intervals", header, rows)
    return Section("bands", "By label frequency", [tag("p", intro), side_by_side(figure(drawing, _KEYS), numbers)])


def thresholds_section(evaluation: Evaluation) -> Section:
    """Precision and recall over thresholds; where scores are no probabilities, the stored threshold alone."""
    curve = curves.trade_off(evaluation)
    stored = curve.at(evaluation.threshold)
    steps = [curve.at(threshold) for threshold in _THRESHOLDS] if evaluation.is_calibrated else []
    places = sorted([*steps, stored])
    rows = [[f"{place.threshold:.3g}", *_shares(place), f"{place.labels:.2f}"] for place in places]
    header = ["threshold", "precision", "recall", "F1", "labels"]
    numbers = table(
        "What a threshold gives, in percent; labels per sample", header, rows, n_names=0, chosen=places.index(stored)
    )
    keys = [key("wrong", "the stored threshold"), " ", key("step", "those of the table") if steps else None]
    drawing = figures.precision_recall(curve, stored, steps)
    intro: list[Content] = ["Every suggestion that reaches the threshold counts. A lower one finds more and errs more."]
    if steps:
        intro += [" To have one chosen: ", tag("code", "--threshold precision=0.8"), "."]
    content = tag("p", intro), side_by_side(figure(drawing, keys), numbers)
    return Section("thresholds", "Precision and recall", content)


def _shares(place: curves.Operating) -> tuple[str, str, str]:
    """Precision, recall and F1; without any suggestion there is no precision."""
    if not place.labels:
        return "–", percent(0), "–"
    return percent(place.precision), percent(place.recall), percent(place.f1)


def probabilities_section(evaluation: Evaluation) -> Section:
    """The reliability diagram, for a model whose scores are probabilities."""
    title = "Are the probabilities true?"
    if not evaluation.is_calibrated:
        reason = (
            "The scores of this model are not probabilities: it was trained without calibration, or on few samples."
        )
        return Section("probabilities", title, tag("p", reason))
    found = curves.reliability(evaluation)
    intro = (
        f"The first {SHOWN} suggestions of all samples, in {len(found.bins)} bins of equal size by probability. "
        "On the dashed line, suggestions given 70 % are right 70 times of 100. "
    )
    error = tag("strong", f"Expected calibration error: {found.error:.3f}"), " (the mean distance from the line)."
    rows = [[percent(part.probability), percent(part.share), f"{part.size:,}"] for part in found.bins]
    numbers = table("The bins, in percent", ["probability given", "were right", "suggestions"], rows, n_names=0)
    caption = (
        "Below the line the model is too sure of itself; above it not sure enough, as where these data record more of "
        "the true labels than the training data did. Upright lines: 95 % intervals."
    )
    drawing = figure(figures.reliability_diagram(found), caption)
    return Section("probabilities", title, [tag("p", intro, error), side_by_side(drawing, numbers)])
