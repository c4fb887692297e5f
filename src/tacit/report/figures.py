"""The figures of the report as inline SVG, 340 wide; their colours are CSS classes of the page's style sheet."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from tacit.evaluation.curves import Bin, ThresholdCurve
from tacit.evaluation.metrics import Interval
from tacit.report.markup import Markup, tag

WIDTH, _HEIGHT = 340, 240
_LEFT, _RIGHT, _TOP, _BOTTOM = 44, WIDTH - 12, 10, _HEIGHT - 38  # of the area of a plot


class Plot:
    """A plot under construction, of rates over rates."""

    def __init__(self, x_label: str, y_label: str) -> None:
        self.parts: list[Markup] = []
        for step in range(6):
            self.line([(0, step / 5), (1, step / 5)], "grid" if step else "axis")
            self.text(f"{20 * step}", _LEFT - 6, _y(step / 5) + 4, "end")
            self.text(f"{20 * step}", _x(step / 5), _BOTTOM + 15, "middle")
        self.text(x_label, _x(0.5), _BOTTOM + 32, "middle", "label")
        turn = f"rotate(-90 11 {_y(0.5)})"
        self.parts.append(tag("text", y_label, x=11, y=_y(0.5), class_="label", transform=turn))

    def text(self, text: str, x: float, y: float, anchor: str, class_: str = "tick") -> None:
        """Write at a point of the page."""
        self.parts.append(tag("text", text, x=round(x, 1), y=round(y, 1), text_anchor=anchor, class_=class_))

    def line(self, points: Iterable[tuple[float, float]], class_: str) -> None:
        """Draw a line through points."""
        places = " ".join(f"{_x(x):.1f},{_y(y):.1f}" for x, y in points)
        self.parts.append(tag("polyline", points=places, class_=class_))

    def dot(self, x: float, y: float, class_: str, title: str, radius: float = 3.2) -> None:
        """Draw a dot; `title` is shown on hovering."""
        centre = {"cx": round(_x(x), 1), "cy": round(_y(y), 1)}
        self.parts.append(tag("circle", tag("title", title), **centre, r=radius, class_=class_))

    def markup(self, title: str) -> Markup:
        """The plot as an SVG element."""
        about = {"viewBox": f"0 0 {WIDTH} {_HEIGHT}", "role": "img", "aria_label": title}
        return tag("svg", tag("title", title), self.parts, **about)


def _x(rate: float) -> float:
    return _LEFT + (_RIGHT - _LEFT) * rate


def _y(rate: float) -> float:
    return _BOTTOM - (_BOTTOM - _TOP) * rate


def precision_recall(curve: ThresholdCurve, threshold: float) -> Markup:
    """Draw precision over recall, with the stored threshold marked."""
    plot = Plot("recall (%)", "precision (%)")
    recall, precision = curve.recall[1:], curve.precision[1:]
    even = np.linspace(0, recall[-1], 200)  # evenly spaced on the page
    chosen = np.unique(np.searchsorted(recall, even).clip(max=len(recall) - 1))
    plot.line(zip(recall[chosen].tolist(), precision[chosen].tolist(), strict=True), "curve")
    y, x, _ = map(float, curve.at(threshold))
    about = f"At the stored threshold {threshold:.3g}, precision is {y:.0%} and recall {x:.0%}."
    plot.dot(x, y, "stored", about, radius=4.8)
    return plot.markup(f"Precision over recall as the threshold falls. {about}")


def reliability_diagram(bins: Sequence[tuple[Bin, Interval]], error: float) -> Markup:
    """Draw the fraction of right suggestions over their probability; on the diagonal both agree."""
    plot = Plot("probability given (%)", "were right (%)")
    plot.line([(0, 0), (1, 1)], "diagonal")
    plot.line([(part.probability, part.rate) for part, _ in bins], "curve thin")
    for part, interval in bins:
        plot.line([(part.probability, end) for end in interval], "whisker")
        about = f"{part.size:,} suggestions of about {part.probability:.1%}: {part.rate:.1%} were right"
        plot.dot(part.probability, part.rate, "dot", about)
    return plot.markup(
        f"How often suggestions were right over their probability, in {len(bins)} bins of equal size; "
        f"the expected calibration error is {error:.3f}."
    )
