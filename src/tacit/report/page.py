"""The page around the sections of the report."""

from __future__ import annotations

from importlib.resources import files

from tacit._version import __version__
from tacit.report.curves import reliability
from tacit.report.evaluation import SHOWN, Evaluation
from tacit.report.label_sections import confusions_section, labels_section, samples_section
from tacit.report.markup import Content, Markup, shorten, tag, user_text
from tacit.report.metric_sections import bands_section, metrics_section, probabilities_section, thresholds_section
from tacit.report.parts import Section, counted, facts, percent, tiles


def page(evaluation: Evaluation, model: str | None = None, data: str | None = None) -> str:
    """The whole report as HTML.

    Parameters
    ----------
    evaluation : Evaluation
        A model beside data.
    model, data : str, optional
        What to call them, such as their paths.
    """
    sections = [
        _what_section(evaluation, model, data),
        metrics_section(evaluation),
        bands_section(evaluation),
        thresholds_section(evaluation),
        probabilities_section(evaluation),
        labels_section(evaluation),
        confusions_section(evaluation),
        samples_section(evaluation),
    ]
    links = [tag("li", tag("a", section.title, href=f"#{section.anchor}")) for section in sections]
    body = tag(
        "body",
        tag("header", tag("h1", f"How good is {evaluation.model_name}?"), _summary(evaluation)),
        tag("nav", tag("ul", links), aria_label="Sections"),
        tag("main", [section.markup() for section in sections]),
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


def _summary(evaluation: Evaluation) -> Content:
    metrics = {metric.name: metric for metric in evaluation.metrics}
    first, found, covered = (metrics[name] for name in ("P@1", f"R@{SHOWN}", f"C@{SHOWN}"))
    shown = [
        ("first suggestion right", first.value, f"most frequent label: {percent(first.baseline)} %"),
        (f"true labels in the first {SHOWN}", found.value, f"most frequent: {percent(found.baseline)} %"),
        (f"labels ever found in the first {SHOWN}", covered.value, "of those in these data"),
    ]
    if evaluation.is_calibrated:
        shown.append(("probabilities are off by", reliability(evaluation).error, "expected calibration error"))
    return tiles((name, f"{percent(share)} %", remark) for name, share, remark in shown)


def _what_section(evaluation: Evaluation, model: str | None, data: str | None) -> Section:
    truth = evaluation.truth
    is_tested = evaluation.is_tested
    n_unseen = int((is_tested & (evaluation.counts == 0)).sum())
    per_sample = truth.nnz / len(evaluation)
    pairs: list[tuple[str, Content]] = [
        ("model", [evaluation.model_name, (" in ", user_text(model)) if model else None]),
        ("evaluated on", [user_text(data) if data else "data", ": ", counted(len(evaluation), "sample")]),
        (
            "their labels",
            f"{is_tested.sum():,} different, {per_sample:.2f} per sample; {n_unseen:,} unseen in training",
        ),
        *_training_facts(evaluation),
    ]
    n_acts = len(evaluation.model.history())
    if n_acts:
        pairs.append(("since training", f"{counted(n_acts, 'change')}: labels amended, or feedback learned from"))
    return Section("what", "What was evaluated", facts(pairs))


def _training_facts(evaluation: Evaluation) -> list[tuple[str, Content]]:
    card = evaluation.card
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
