"""The figures of the report, drawn as inline SVG.

The coordinate system is 340 wide, the width of a phone, so that text keeps a readable size there; on larger screens
the whole plot is scaled up. Colours are CSS classes, which the style sheet of the page defines for light and dark mode.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from tacit.report.findings import Frequencies, Operating, Pair, Reliability, TradeOff
from tacit.report.markup import Markup, tag

WIDTH = 340
_TOP, _RIGHT, _BOTTOM, _LEFT = 10, 12, 38, 44
_MARK = 3.2  # half the size of a point

Point = tuple[float, float]
_MAX_POINTS = 200  # of a curve
_UNSEEN_AT = 0.5  # where a count of 0 is shown on a logarithmic axis
_BINS_PER_DECADE = 6
_CELL = 4.0  # labels nearer than this on the page share a mark


def scale(low: float, high: float, start: float, end: float, log: bool = False) -> Callable[[float], float]:
    """A map from numbers to coordinates, `low` to `start` and `high` to `end`; those beyond an end are moved there."""
    change = math.log if log else float
    first, last = change(low), change(high)
    return lambda value: start + (end - start) * (change(min(max(value, low), high)) - first) / (last - first)


@dataclass
class Plot:
    """A plot under construction; `x_range` and `y_range` are (low, high)."""

    title: str
    x_range: Point
    y_range: Point
    x_label: str
    y_label: str
    x_log: bool = False
    y_log: bool = False
    height: float = 240
    parts: list[Markup] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.x = scale(*self.x_range, _LEFT, WIDTH - _RIGHT, self.x_log)
        self.y = scale(*self.y_range, self.height - _BOTTOM, _TOP, self.y_log)

    def axes(self, x_ticks: Iterable[tuple[float, str]], y_ticks: Iterable[tuple[float, str]]) -> None:
        """Draw the axes with their labels, and grid lines and numbers at the ticks."""
        left, right, bottom = _LEFT, WIDTH - _RIGHT, self.height - _BOTTOM
        for value, text in y_ticks:
            height = self.y(value)
            self.parts.append(_line([(left, height), (right, height)], "grid"))
            self.parts.append(_text(text, left - 6, height + 4, "end"))
        for value, text in x_ticks:
            self.parts.append(_text(text, self.x(value), bottom + 15, "middle"))
        self.parts.append(_line([(left, bottom), (right, bottom)], "axis"))
        self.parts.append(_text(self.x_label, (left + right) / 2, bottom + 32, "middle", "label"))
        middle = (bottom + _TOP) / 2
        turned = f"rotate(-90 11 {middle:.1f})"
        self.parts.append(tag("text", self.y_label, x=11, y=round(middle, 1), class_="label", transform=turned))

    def line(self, points: Sequence[Point], class_: str) -> None:
        """Draw a line through points."""
        self.parts.append(_line([(self.x(x), self.y(y)) for x, y in points], class_))

    def bar(self, left: float, right: float, low: float, high: float, class_: str, title: str = "") -> None:
        """Draw a rectangle; `title` is shown on hovering."""
        x, y = sorted((self.x(left), self.x(right))), sorted((self.y(low), self.y(high)))
        size = {"width": round(x[1] - x[0], 1), "height": round(y[1] - y[0], 1)}
        about = tag("title", title) if title else None
        self.parts.append(tag("rect", about, x=round(x[0], 1), y=round(y[0], 1), **size, class_=class_))

    def whisker(self, x: float, low: float, high: float) -> None:
        """Draw a vertical interval."""
        self.line([(x, low), (x, high)], "whisker")

    def point(self, x: float, y: float, class_: str, title: str = "", *, cross: bool = False, size: float = 1) -> None:
        """Draw a dot or a cross; `title` is shown on hovering."""
        x, y = round(self.x(x), 1), round(self.y(y), 1)
        about = tag("title", title) if title else None
        if cross:
            arm = 1.1 * _MARK
            strokes = [f"M{x - arm:.1f} {y - up:.1f}L{x + arm:.1f} {y + up:.1f}" for up in (arm, -arm)]
            self.parts.append(tag("path", about, d="".join(strokes), class_=class_))
        else:
            self.parts.append(tag("circle", about, cx=x, cy=y, r=size * _MARK, class_=class_))

    def note(self, text: str, x: float, y: float, anchor: str = "start", *, below: bool = False) -> None:
        """Write a few words just above or below a point."""
        self.parts.append(_text(text, self.x(x), self.y(y) + (16 if below else -7), anchor, "note"))

    def markup(self) -> Markup:
        """The plot as an SVG element."""
        return tag(
            "svg", tag("title", self.title), self.parts,
            viewBox=f"0 0 {WIDTH} {self.height:g}", role="img", aria_label=self.title,
        )  # fmt: skip


def share_ticks(count: int = 5) -> list[tuple[float, str]]:
    """Ticks from 0 to 1, labelled in percent."""
    return [(step / count, f"{100 * step / count:.0f}") for step in range(count + 1)]


def _ticks_above(share: float) -> list[tuple[float, str]]:
    """Ticks in percent from 0, about five, of which the last is above `share` or 100."""
    percent = min(max(100 * share, 1.0), 100.0)
    step = next(step for step in (1, 2, 5, 10, 20) if percent / step < 5 or step == 20)
    n_steps = min(math.floor(percent / step + 1e-9) + 1, math.ceil(100 / step))
    return [(number * step / 100, f"{number * step}") for number in range(n_steps + 1)]


def power_ticks(low: float, high: float) -> list[tuple[float, str]]:
    """Ticks at powers of ten."""
    powers = range(math.ceil(math.log10(low)), math.floor(math.log10(high)) + 1)
    every = 1 if len(powers) <= 6 else 2
    return [(10.0**power, f"{10**power:,}") for power in powers if power % every == 0]


def _line(points: Sequence[Point], class_: str) -> Markup:
    return tag("polyline", points=" ".join(f"{x:.1f},{y:.1f}" for x, y in points), class_=class_)


def _text(text: str, x: float, y: float, anchor: str, class_: str = "tick") -> Markup:
    return tag("text", text, x=round(x, 1), y=round(y, 1), text_anchor=anchor, class_=class_)


def paired_bars(title: str, pairs: Sequence[Pair], x_label: str, y_label: str) -> Markup:
    """Draw bars of the model and the baseline side by side, with their intervals."""
    upper = [interval[1] for pair in pairs for interval in pair.intervals if interval is not None]
    highest = max([0.0, *upper, *(value for pair in pairs for value in pair.values)])
    y_ticks = _ticks_above(highest)
    plot = Plot(title, (-0.5, len(pairs) - 0.5), (0, y_ticks[-1][0]), x_label, y_label)
    plot.axes([(place, pair.name) for place, pair in enumerate(pairs)], y_ticks)
    for place, pair in enumerate(pairs):
        sides = ((place - 0.36, "model"), (place + 0.02, "baseline"))
        for (left, class_), value, ends in zip(sides, pair.values, pair.intervals, strict=True):
            plot.bar(left, left + 0.34, 0, value, class_, f"{pair.name}, {class_}: {100 * value:.1f} %")
            if ends is not None and ends[1] > ends[0]:
                plot.whisker(left + 0.17, *ends)
    return plot.markup()


def precision_recall(curve: TradeOff, stored: Operating, steps: Sequence[Operating] = ()) -> Markup:
    """Draw precision over recall, with the stored threshold and some others marked."""
    title = (
        f"Precision over recall as the threshold falls. At the stored threshold {stored.threshold:.3f}, "
        f"precision is {stored.precision:.0%} and recall {stored.recall:.0%}."
    )
    plot = Plot(title, (0, 1), (0, 1), "recall (%)", "precision (%)")
    plot.axes(share_ticks(), share_ticks())
    even = np.linspace(0, curve.recall[-1], _MAX_POINTS)  # evenly spaced on the page
    chosen = np.unique(np.searchsorted(curve.recall, even).clip(max=len(curve.recall) - 1))
    plot.line(list(zip(curve.recall[chosen].tolist(), curve.precision[chosen].tolist(), strict=True)), "curve")
    for place in steps:
        if place.labels:
            plot.point(place.recall, place.precision, "step", f"threshold {place.threshold}: {_both(place)}")
    plot.point(stored.recall, stored.precision, "stored", f"stored threshold: {_both(stored)}", size=1.5)
    above = stored.recall < 0.6  # the curve falls, so there is room above it on the left and below it on the right
    anchor = "start" if above else "end"
    plot.note(f"threshold {stored.threshold:.3g}", stored.recall, stored.precision, anchor, below=not above)
    return plot.markup()


def _both(place: Operating) -> str:
    return f"precision {place.precision:.0%}, recall {place.recall:.0%}, {place.labels:.1f} labels per sample"


def reliability_diagram(found: Reliability) -> Markup:
    """Draw the share of right suggestions over their probability; on the diagonal both agree."""
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
    """Draw the training samples of each label by rank, both logarithmic, marked as found, missed or not tested."""
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
    """Yield one mark for labels at nearly the same point; its kind is that of most tested labels there."""
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
    """Draw the share of tested labels that were found, by rank."""
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
