"""The figures of the report."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from tacit.metrics import Interval
from tacit.report.by_label import Frequencies
from tacit.report.curves import Operating, Reliability, TradeOff
from tacit.report.markup import Markup
from tacit.report.plot import Plot, power_ticks, share_ticks

_MAX_POINTS = 200  # of a curve
_UNSEEN_AT = 0.5  # where a count of 0 is shown on a logarithmic axis
_BINS_PER_DECADE = 6
_CELL = 4.0  # labels nearer than this on the page share a mark


class Pair(NamedTuple):
    """A number of the model and of the baseline, with their intervals."""

    name: str
    values: tuple[float, float]
    intervals: tuple[Interval | None, Interval | None]


def paired_bars(title: str, pairs: Sequence[Pair], x_label: str, y_label: str) -> Markup:
    """Bars of the model and the baseline side by side, with their intervals."""
    upper = [interval[1] for pair in pairs for interval in pair.intervals if interval is not None]
    highest = max([0.1, *upper, *(value for pair in pairs for value in pair.values)])
    top = min(1.0, np.ceil(10 * highest) / 10)
    plot = Plot(title, (-0.5, len(pairs) - 0.5), (0, top), x_label, y_label)
    y_ticks = [(value, text) for value, text in share_ticks(5 if top > 0.5 else 10) if value <= top]
    plot.axes([(place, pair.name) for place, pair in enumerate(pairs)], y_ticks)
    for place, pair in enumerate(pairs):
        sides = ((place - 0.36, "model"), (place + 0.02, "baseline"))
        for (left, class_), value, ends in zip(sides, pair.values, pair.intervals, strict=True):
            plot.bar(left, left + 0.34, 0, value, class_, f"{pair.name}, {class_}: {100 * value:.1f} %")
            if ends is not None and ends[1] > ends[0]:
                plot.whisker(left + 0.17, *ends)
    return plot.markup()


def precision_recall(curve: TradeOff, stored: Operating, steps: Sequence[Operating] = ()) -> Markup:
    """Precision over recall as the threshold falls, the stored threshold and some others marked."""
    title = (
        f"Precision over recall as the threshold falls. At the stored threshold {stored.threshold:.3f}, "
        f"precision is {stored.precision:.0%} and recall {stored.recall:.0%}."
    )
    plot = Plot(title, (0, 1), (0, 1), "recall (%)", "precision (%)")
    plot.axes(share_ticks(), share_ticks())
    even = np.linspace(0, curve.recall[-1], _MAX_POINTS)  # evenly over recall, and so over the page
    chosen = np.unique(np.searchsorted(curve.recall, even).clip(max=len(curve.recall) - 1))
    plot.line(list(zip(curve.recall[chosen].tolist(), curve.precision[chosen].tolist(), strict=True)), "curve")
    for place in steps:
        if place.labels:
            plot.point(place.recall, place.precision, "step", f"threshold {place.threshold}: {_both(place)}")
    plot.point(stored.recall, stored.precision, "stored", f"stored threshold: {_both(stored)}", size=1.5)
    above = stored.recall < 0.6  # the curve falls: to the right of it there is room above, to the left below
    anchor = "start" if above else "end"
    plot.note(f"threshold {stored.threshold:.3g}", stored.recall, stored.precision, anchor, below=not above)
    return plot.markup()


def _both(place: Operating) -> str:
    return f"precision {place.precision:.0%}, recall {place.recall:.0%}, {place.labels:.1f} labels per sample"


def reliability_diagram(found: Reliability) -> Markup:
    """How often suggestions were right over their probability; on the diagonal both agree."""
    title = (
        f"How often suggestions were right over their probability, in {len(found.bins)} bins of equal size; "
        f"the expected calibration error is {found.error:.3f}."
    )
    plot = Plot(title, (0, 1), (0, 1), "probability given (%)", "were right (%)")
    plot.axes(share_ticks(), share_ticks())
    plot.line([(0, 0), (1, 1)], "diagonal")
    plot.line([(part.probability, part.share) for part in found.bins], "curve thin")
    for part in found.bins:
        plot.whisker(part.probability, *part.interval)
        about = f"{part.size:,} suggestions of about {part.probability:.1%}: {part.share:.1%} were right"
        plot.point(part.probability, part.share, "dot", about)
    return plot.markup()


def frequency_plot(labels: Frequencies) -> Markup:
    """Training samples of each label by rank, both logarithmic; labels found, missed and not tested."""
    n_labels, most = len(labels.counts), max(int(labels.counts[0]), 1)
    title = (
        f"Training samples of each of {n_labels:,} labels, from the most frequent to the rarest: "
        f"{int(labels.is_found.sum()):,} were found, {int((labels.is_tested & ~labels.is_found).sum()):,} missed."
    )
    low = _UNSEEN_AT if not labels.counts[-1] else 0.8
    x_range, y_range = (0.9, max(n_labels * 1.1, 10)), (low, max(most * 1.3, 10))
    plot = Plot(title, x_range, y_range, "rank of the label", "training samples", x_log=True, y_log=True)
    unseen = [(_UNSEEN_AT, "0")] if not labels.counts[-1] else []
    plot.axes(power_ticks(1, n_labels), [*unseen, *power_ticks(1, max(most, 10))])
    for x, y, kind in _marks(plot, labels):
        plot.point(x, y, kind, cross=kind == "missed")
    return plot.markup()


def _marks(plot: Plot, labels: Frequencies) -> Iterator[tuple[float, float, str]]:
    """A mark for the labels that are drawn at about the same place: of the tested ones, what most of them are."""
    kinds = np.where(labels.is_found, 1, np.where(labels.is_tested, -1, 0))
    cells: dict[tuple[int, int], list[tuple[int, float, int]]] = {}
    for rank, (count, kind) in enumerate(zip(labels.counts.tolist(), kinds.tolist(), strict=True), 1):
        height = max(count, _UNSEEN_AT)
        cells.setdefault((round(plot.x(rank) / _CELL), round(plot.y(height) / _CELL)), []).append((rank, height, kind))
    for members in cells.values():
        rank, height, _ = members[len(members) // 2]
        votes = [kind for _, _, kind in members if kind]
        yield rank, height, "untested" if not votes else "found" if sum(votes) >= 0 else "missed"


def found_by_rank(labels: Frequencies) -> Markup:
    """The share of tested labels that were found, by rank."""
    n_labels = len(labels.counts)
    plot = Plot("Share of the tested labels that were found, by rank.", (0.9, max(n_labels * 1.1, 10)), (0, 1),
                "rank of the label", "found (%)", x_log=True, height=130)  # fmt: skip
    plot.axes(power_ticks(1, n_labels), share_ticks(2))
    n_bins = max(1, round(_BINS_PER_DECADE * np.log10(max(n_labels, 2))))
    edges = np.unique(np.geomspace(1, n_labels + 1, n_bins + 1).round().astype(int))
    for first, end in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True):
        tested = labels.is_tested[first - 1 : end - 1]
        if tested.any():
            share = float(labels.is_found[first - 1 : end - 1][tested].mean())
            about = f"ranks {first:,} to {end - 1:,}: {share:.0%} of {int(tested.sum()):,} tested labels found"
            left, right = (first, end) if first > 1 else (1, max(end, 1.2))
            plot.bar(left, right, 0, 1, "missed-bar", about)
            plot.bar(left, right, 0, share, "found-bar", about)
    return plot.markup()
