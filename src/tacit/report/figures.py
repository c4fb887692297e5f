"""The figures of the report as inline SVG: 340 wide, the width of a phone, and scaled up on larger screens.

Colours are CSS classes, which the style sheet of the page defines for light and dark mode.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np

from tacit.evaluation.curves import ThresholdCurve
from tacit.report.findings import Operating, Pair, Reliability
from tacit.report.markup import Markup, tag

WIDTH, _HEIGHT = 340, 240
_LEFT, _RIGHT, _TOP, _BOTTOM = 44, WIDTH - 12, 10, _HEIGHT - 38  # of the area of a plot
_RADIUS = 3.2  # of a dot
_MAX_POINTS = 200  # of a curve

Point = tuple[float, float]
Ticks = Sequence[tuple[float, str]]
SHARES: Ticks = [(step / 5, f"{20 * step}") for step in range(6)]  # in percent


class Plot:
    """A plot under construction; the last tick ends the y axis, which begins at 0."""

    def __init__(
        self, x_label: str, y_label: str, x_ticks: Ticks = SHARES, y_ticks: Ticks = SHARES, x_range: Point = (0, 1)
    ) -> None:
        self.parts: list[Markup] = []
        self.x_range, self.y_range = x_range, (0, y_ticks[-1][0])
        for value, text in y_ticks:
            self.line([(x_range[0], value), (x_range[1], value)], "grid")
            self.parts.append(_text(text, _LEFT - 6, self.y(value) + 4, "end"))
        self.parts += [_text(text, self.x(value), _BOTTOM + 15, "middle") for value, text in x_ticks]
        self.line([(x_range[0], 0), (x_range[1], 0)], "axis")
        self.parts.append(_text(x_label, (_LEFT + _RIGHT) / 2, _BOTTOM + 32, "middle", "label"))
        middle = (_BOTTOM + _TOP) / 2
        self.parts.append(tag("text", y_label, x=11, y=middle, class_="label", transform=f"rotate(-90 11 {middle})"))

    def x(self, value: float) -> float:
        """The horizontal coordinate of a number; numbers beyond an end are moved there."""
        return _scaled(value, self.x_range, _LEFT, _RIGHT)

    def y(self, value: float) -> float:
        """The vertical coordinate of a number."""
        return _scaled(value, self.y_range, _BOTTOM, _TOP)

    def line(self, points: Iterable[Point], class_: str) -> None:
        """Draw a line through points."""
        places = " ".join(f"{self.x(x):.1f},{self.y(y):.1f}" for x, y in points)
        self.parts.append(tag("polyline", points=places, class_=class_))

    def bar(self, left: float, right: float, high: float, class_: str, title: str) -> None:
        """Draw a rectangle on the axis; `title` is shown on hovering."""
        x, y = round(self.x(left), 1), round(self.y(high), 1)
        size = {"width": round(self.x(right) - x, 1), "height": round(_BOTTOM - y, 1)}
        self.parts.append(tag("rect", tag("title", title), x=x, y=y, **size, class_=class_))

    def whisker(self, x: float, interval: Point) -> None:
        """Draw a vertical interval."""
        self.line([(x, end) for end in interval], "whisker")

    def dot(self, x: float, y: float, class_: str, title: str, size: float = 1) -> None:
        """Draw a dot; `title` is shown on hovering."""
        place = {"cx": round(self.x(x), 1), "cy": round(self.y(y), 1)}
        self.parts.append(tag("circle", tag("title", title), **place, r=size * _RADIUS, class_=class_))

    def markup(self, title: str) -> Markup:
        """The plot as an SVG element."""
        about = {"viewBox": f"0 0 {WIDTH} {_HEIGHT}", "role": "img", "aria_label": title}
        return tag("svg", tag("title", title), self.parts, **about)


def _scaled(value: float, ends: Point, start: float, stop: float) -> float:
    low, high = ends
    return start + (stop - start) * (min(max(value, low), high) - low) / (high - low)


def _text(text: str, x: float, y: float, anchor: str, class_: str = "tick") -> Markup:
    return tag("text", text, x=round(x, 1), y=round(y, 1), text_anchor=anchor, class_=class_)


def _ticks_above(highest: float) -> Ticks:
    """Ticks in percent from 0, about five, of which the last is above `highest` or 100."""
    percent = min(max(100 * highest, 1.0), 100.0)
    step = next(step for step in (1, 2, 5, 10, 20) if percent / step < 5 or step == 20)
    n_steps = min(math.floor(percent / step + 1e-9) + 1, math.ceil(100 / step))
    return [(number * step / 100, f"{number * step}") for number in range(n_steps + 1)]


def paired_bars(title: str, pairs: Sequence[Pair], x_label: str, y_label: str) -> Markup:
    """Draw bars of the model and the baseline side by side, with their intervals."""
    upper = [interval[1] for pair in pairs for interval in pair.intervals if interval is not None]
    highest = max([0.0, *upper, *(value for pair in pairs for value in pair.values)])
    names = [(place, pair.name) for place, pair in enumerate(pairs)]
    plot = Plot(x_label, y_label, names, _ticks_above(highest), (-0.5, max(len(pairs), 1) - 0.5))
    for place, pair in enumerate(pairs):
        sides = ((place - 0.36, "model"), (place + 0.02, "baseline"))
        for (left, class_), value, interval in zip(sides, pair.values, pair.intervals, strict=True):
            plot.bar(left, left + 0.34, value, class_, f"{pair.name}, {class_}: {100 * value:.1f} %")
            if interval is not None and interval[1] > interval[0]:
                plot.whisker(left + 0.17, interval)
    return plot.markup(title)


def precision_recall(curve: ThresholdCurve, stored: Operating, steps: Sequence[Operating] = ()) -> Markup:
    """Draw precision over recall, with the stored threshold and some others marked."""
    plot = Plot("recall (%)", "precision (%)")
    recall, precision = curve.recall[1:], curve.precision[1:]
    even = np.linspace(0, recall[-1], _MAX_POINTS)  # evenly spaced on the page
    chosen = np.unique(np.searchsorted(recall, even).clip(max=len(recall) - 1))
    plot.line(zip(recall[chosen].tolist(), precision[chosen].tolist(), strict=True), "curve")
    for step in steps:
        if step.labels:
            plot.dot(step.recall, step.precision, "step", f"threshold {step.threshold}: {step}")
    plot.dot(stored.recall, stored.precision, "stored", f"stored threshold: {stored}", size=1.5)
    is_left = stored.recall < 0.6  # the curve falls: there is room above it on the left and below it on the right
    x, y = plot.x(stored.recall), plot.y(stored.precision) + (-7 if is_left else 16)
    plot.parts.append(_text(f"threshold {stored.threshold:.3g}", x, y, "start" if is_left else "end", "note"))
    return plot.markup(
        f"Precision over recall as the threshold falls. At the stored threshold {stored.threshold:.3f}, "
        f"precision is {stored.precision:.0%} and recall {stored.recall:.0%}."
    )


def reliability_diagram(found: Reliability) -> Markup:
    """Draw the fraction of right suggestions over their probability; on the diagonal both agree."""
    plot = Plot("probability given (%)", "were right (%)")
    plot.line([(0, 0), (1, 1)], "diagonal")
    plot.line([(part.probability, part.rate) for part, _ in found.bins], "curve thin")
    for part, interval in found.bins:
        plot.whisker(part.probability, interval)
        about = f"{part.size:,} suggestions of about {part.probability:.1%}: {part.rate:.1%} were right"
        plot.dot(part.probability, part.rate, "dot", about)
    return plot.markup(
        f"How often suggestions were right over their probability, in {len(found.bins)} bins of equal size; "
        f"the expected calibration error is {found.error:.3f}."
    )
