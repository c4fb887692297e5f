"""The figures of the report as inline SVG, 340 wide; their colours are CSS classes of the page's style sheet."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np

from tacit.evaluation.curves import ThresholdCurve
from tacit.report.findings import Pair, Reliability
from tacit.report.markup import Markup, tag

WIDTH, _HEIGHT = 340, 240
_LEFT, _RIGHT, _TOP, _BOTTOM = 44, WIDTH - 12, 10, _HEIGHT - 38  # of the area of a plot
_DOT, _STORED = 3.2, 4.8  # radii
_MAX_POINTS = 200  # of a curve

Point = tuple[float, float]
Ticks = Sequence[tuple[float, str]]
PERCENT: Ticks = [(step / 5, f"{20 * step}") for step in range(6)]


class Plot:
    """A plot under construction; the last tick ends the y axis, which begins at 0."""

    def __init__(
        self, x_label: str, y_label: str, x_ticks: Ticks = PERCENT, y_ticks: Ticks = PERCENT, x_range: Point = (0, 1)
    ) -> None:
        self.parts: list[Markup] = []
        self.x_range, self.y_range = x_range, (0, y_ticks[-1][0])
        for value, text in y_ticks:
            self.line([(x_range[0], value), (x_range[1], value)], "grid")
            self.text(text, _LEFT - 6, self.y(value) + 4, "end")
        for value, text in x_ticks:
            self.text(text, self.x(value), _BOTTOM + 15, "middle")
        self.line([(x_range[0], 0), (x_range[1], 0)], "axis")
        self.text(x_label, (_LEFT + _RIGHT) / 2, _BOTTOM + 32, "middle", "label")
        middle = (_BOTTOM + _TOP) / 2
        self.parts.append(tag("text", y_label, x=11, y=middle, class_="label", transform=f"rotate(-90 11 {middle})"))

    def x(self, value: float) -> float:
        """The horizontal coordinate of a number; numbers beyond an end are moved there."""
        return float(np.interp(value, self.x_range, (_LEFT, _RIGHT)))

    def y(self, value: float) -> float:
        """The vertical coordinate of a number."""
        return float(np.interp(value, self.y_range, (_BOTTOM, _TOP)))

    def text(self, text: str, x: float, y: float, anchor: str, class_: str = "tick") -> None:
        """Write at a point of the page."""
        self.parts.append(tag("text", text, x=round(x, 1), y=round(y, 1), text_anchor=anchor, class_=class_))

    def line(self, points: Iterable[Point], class_: str) -> None:
        """Draw a line through points."""
        places = " ".join(f"{self.x(x):.1f},{self.y(y):.1f}" for x, y in points)
        self.parts.append(tag("polyline", points=places, class_=class_))

    def bar(self, left: float, right: float, high: float, class_: str, title: str) -> None:
        """Draw a rectangle on the axis; `title` is shown on hovering."""
        x, y = round(self.x(left), 1), round(self.y(high), 1)
        size = {"width": round(self.x(right) - x, 1), "height": round(_BOTTOM - y, 1)}
        self.parts.append(tag("rect", tag("title", title), x=x, y=y, **size, class_=class_))

    def dot(self, x: float, y: float, class_: str, title: str, radius: float = _DOT) -> None:
        """Draw a dot; `title` is shown on hovering."""
        centre = {"cx": round(self.x(x), 1), "cy": round(self.y(y), 1)}
        self.parts.append(tag("circle", tag("title", title), **centre, r=radius, class_=class_))

    def markup(self, title: str) -> Markup:
        """The plot as an SVG element."""
        about = {"viewBox": f"0 0 {WIDTH} {_HEIGHT}", "role": "img", "aria_label": title}
        return tag("svg", tag("title", title), self.parts, **about)


def _ticks_above(highest: float) -> Ticks:
    """Ticks in percent from 0, about five, of which the last is above `highest` or 100."""
    percent = min(max(100 * highest, 1.0), 100.0)
    step = next(step for step in (1, 2, 5, 10, 20) if percent / step < 5 or step == 20)
    n_steps = min(math.floor(percent / step + 1e-9) + 1, math.ceil(100 / step))
    return [(number * step / 100, f"{number * step}") for number in range(n_steps + 1)]


def paired_bars(title: str, pairs: Sequence[Pair], x_label: str, y_label: str) -> Markup:
    """Draw bars of the model and the baseline side by side, with their intervals."""
    highest = max((end for pair in pairs for _, end in pair.intervals), default=0.0)
    names = [(place, pair.name) for place, pair in enumerate(pairs)]
    plot = Plot(x_label, y_label, names, _ticks_above(highest), (-0.5, max(len(pairs), 1) - 0.5))
    for place, pair in enumerate(pairs):
        sides = ((place - 0.36, "model"), (place + 0.02, "baseline"))
        for (left, class_), value, interval in zip(sides, pair.values, pair.intervals, strict=True):
            plot.bar(left, left + 0.34, value, class_, f"{pair.name}, {class_}: {100 * value:.1f} %")
            plot.line([(left + 0.17, end) for end in interval], "whisker")
    return plot.markup(title)


def precision_recall(curve: ThresholdCurve, threshold: float) -> Markup:
    """Draw precision over recall, with the stored threshold marked."""
    plot = Plot("recall (%)", "precision (%)")
    recall, precision = curve.recall[1:], curve.precision[1:]
    even = np.linspace(0, recall[-1], _MAX_POINTS)  # evenly spaced on the page
    chosen = np.unique(np.searchsorted(recall, even).clip(max=len(recall) - 1))
    plot.line(zip(recall[chosen].tolist(), precision[chosen].tolist(), strict=True), "curve")
    y, x, _ = map(float, curve.at(threshold))
    about = f"At the stored threshold {threshold:.3g}, precision is {y:.0%} and recall {x:.0%}."
    plot.dot(x, y, "stored", about, _STORED)
    is_left = x < 0.6  # the curve falls: there is room above it on the left and below it on the right
    side = "start" if is_left else "end"
    plot.text(f"threshold {threshold:.3g}", plot.x(x), plot.y(y) + (-7 if is_left else 16), side, "note")
    return plot.markup(f"Precision over recall as the threshold falls. {about}")


def reliability_diagram(found: Reliability) -> Markup:
    """Draw the fraction of right suggestions over their probability; on the diagonal both agree."""
    plot = Plot("probability given (%)", "were right (%)")
    plot.line([(0, 0), (1, 1)], "diagonal")
    plot.line([(part.probability, part.rate) for part, _ in found.bins], "curve thin")
    for part, interval in found.bins:
        plot.line([(part.probability, end) for end in interval], "whisker")
        about = f"{part.size:,} suggestions of about {part.probability:.1%}: {part.rate:.1%} were right"
        plot.dot(part.probability, part.rate, "dot", about)
    return plot.markup(
        f"How often suggestions were right over their probability, in {len(found.bins)} bins of equal size; "
        f"the expected calibration error is {found.error:.3f}."
    )
