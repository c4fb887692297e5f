"""Sections about labels and samples one by one."""

from __future__ import annotations

from collections.abc import Iterable

from tacit.report import by_label, figures
from tacit.report.evaluation import SHOWN, Evaluation
from tacit.report.examples import Example, examples
from tacit.report.markup import Markup, tag, user_text
from tacit.report.parts import Section, counted, figure, key, percent, side_by_side, table, with_remark

_NAME_LENGTH = 90
_TEXT_LENGTH = 280


def labels_section(evaluation: Evaluation) -> Section:
    """Label frequencies, and the labels that fare best and worst."""
    labels = by_label.frequencies(evaluation)
    n_found, n_missed = int(labels.is_found.sum()), int((labels.is_tested & ~labels.is_found).sum())
    keys = [
        key("model", f"{n_found:,} found in the first {SHOWN} at least once"),
        key("wrong", f"{n_missed:,} never found (crosses)"),
        key("baseline", f"{int((~labels.is_tested).sum()):,} in no sample of these data"),
    ]
    drawings = side_by_side(
        figure(
            figures.frequency_plot(labels),
            keys,
            " Where labels share a place, what most of them are. Both axes are logarithmic.",
        ),
        figure(figures.found_by_rank(labels), "Of the labels in these data, the share found at least once."),
    )
    ends = by_label.extremes(evaluation)
    tables = [
        _scores(evaluation, caption, scores)
        for caption, scores in (("Best labels, in percent", ends.best), ("Worst labels, in percent", ends.worst))
        if scores
    ]
    intro = (
        f"By F1 at the stored threshold, of {counted(ends.n_labels, 'label')} that occur at least {ends.n_positives} × "
        "in these data; below each, its samples in training and here."
    )
    content = drawings, tag("h3", "Best and worst"), tag("p", intro), side_by_side(*tables)
    return Section("labels", "Labels", content)


def _scores(evaluation: Evaluation, caption: str, scores: Iterable[by_label.LabelScore]) -> Markup:
    rows = [
        [
            with_remark(
                _label(evaluation, score.label),
                f"{evaluation.counts[score.label]:,} trained, {score.n_positives:,} here",
            ),
            *map(percent, (score.precision, score.recall, score.f1)),
        ]
        for score in scores
    ]
    return table(caption, ["label", "precision", "recall", "F1"], rows)


def _label(evaluation: Evaluation, label: int) -> Markup:
    return user_text(evaluation.names[label], _NAME_LENGTH)


def confusions_section(evaluation: Evaluation) -> Section:
    """Labels suggested wrongly where others were missed."""
    pairs = by_label.confusions(evaluation)
    title = "Labels taken for one another"
    if not pairs:
        return Section("confusions", title, tag("p", "No label was suggested wrongly where another was missed."))
    rows = [
        [
            _label(evaluation, pair.suggested),
            _label(evaluation, pair.missed),
            with_remark(f"{pair.n_samples:,}", f"of {pair.n_missed:,} missed"),
        ]
        for pair in pairs
    ]
    intro = (
        "Suggested at the stored threshold though not recorded, in samples where the other label was recorded but not "
        "suggested. Where labels are recorded incompletely, some of these suggestions are right: "
    )
    hint = tag("code", "tacit find-missing"), " lists them."
    header = ["suggested wrongly", "missed", "samples"]
    return Section("confusions", title, [tag("p", intro, hint), table("Most frequent pairs", header, rows, n_names=2)])


def samples_section(evaluation: Evaluation) -> Section:
    """Samples with right and wrong suggestions."""
    found = examples(evaluation)
    groups = (
        ("At random", found.at_random),
        ("Rare labels that were found", found.rare),
        ("Mistakes that the model was sure of", found.mistaken),
    )
    content = [
        (tag("h3", title), tag("ul", [_sample(evaluation, sample) for sample in samples], class_="samples"))
        for title, samples in groups
        if samples
    ]
    numbers = "probabilities" if evaluation.is_calibrated else "scores"
    intro = f"✓ is right, ✗ is not recorded, dashed is recorded but not among the first {SHOWN}; numbers are {numbers}."
    return Section("samples", "Samples", [tag("p", intro), content])


def _sample(evaluation: Evaluation, sample: Example) -> Markup:
    suggested = [
        tag(
            "li",
            "✓ " if is_right else "✗ ",
            _label(evaluation, label),
            f" {score:.2f}",
            class_="right" if is_right else "wrong",
        )
        for label, score, is_right in sample.suggested
    ]
    missed = [tag("li", _label(evaluation, label), tag("small", " missed"), class_="absent") for label in sample.missed]
    text = user_text(sample.text, _TEXT_LENGTH, element="p") if sample.text else None
    number = tag("span", f"sample {sample.row:,}", class_="muted")
    return tag("li", number, text, tag("ul", suggested, missed, class_="labels"))
