"""Plots as inline SVG: axes, lines, bars and points.

Coordinates are those of a phone, 340 wide, so that text keeps a readable size there; on larger screens the whole plot
grows. Colours are classes that the style sheet of the page fills in, for light and for dark.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from tacit.report.markup import Markup, tag

WIDTH = 340
_TOP, _RIGHT, _BOTTOM, _LEFT = 10, 12, 38, 44
_MARK = 3.2  # half the size of a point

Point = tuple[float, float]


@dataclass(frozen=True)
class Scale:
    """Where the numbers of one axis go.

    Attributes
    ----------
    low, high : float
        Ends of the axis, in the numbers that it shows.
    start, end : float
        Ends of the axis on the page.
    log : bool
        Whether equal ratios are equal distances. Numbers below `low`, such as 0, are then shown at `low`.
    """

    low: float
    high: float
    start: float
    end: float
    log: bool = False

    def __call__(self, value: float) -> float:
        """The place of a number on the page; what lies beyond an end is shown there."""
        value = min(max(value, self.low), self.high)
        if self.log:
            share = math.log(value / self.low) / math.log(self.high / self.low)
        else:
            share = (value - self.low) / (self.high - self.low)
        return self.start + share * (self.end - self.start)


@dataclass
class Plot:
    """A plot under construction: `x` and `y` are given as (low, high) and become scales."""

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
        self.x = Scale(*self.x_range, _LEFT, WIDTH - _RIGHT, self.x_log)
        self.y = Scale(*self.y_range, self.height - _BOTTOM, _TOP, self.y_log)

    def axes(self, x_ticks: Iterable[tuple[float, str]], y_ticks: Iterable[tuple[float, str]]) -> None:
        """Grid lines and numbers at the ticks, and what the axes show."""
        left, right, bottom = self.x.start, self.x.end, self.y.start
        for value, text in y_ticks:
            height = self.y(value)
            self.parts.append(_line([(left, height), (right, height)], "grid"))
            self.parts.append(_text(text, left - 6, height + 4, "end"))
        for value, text in x_ticks:
            self.parts.append(_text(text, self.x(value), bottom + 15, "middle"))
        self.parts.append(_line([(left, bottom), (right, bottom)], "axis"))
        self.parts.append(_text(self.x_label, (left + right) / 2, bottom + 32, "middle", "label"))
        middle = (self.y.start + self.y.end) / 2
        turned = f"rotate(-90 11 {middle:.1f})"
        self.parts.append(tag("text", self.y_label, x=11, y=round(middle, 1), class_="label", transform=turned))

    def line(self, points: Sequence[Point], class_: str) -> None:
        """A line through points."""
        self.parts.append(_line([(self.x(x), self.y(y)) for x, y in points], class_))

    def bar(self, left: float, right: float, low: float, high: float, class_: str, title: str = "") -> None:
        """A rectangle between two places of each axis, with what it shows on hovering."""
        x, y = sorted((self.x(left), self.x(right))), sorted((self.y(low), self.y(high)))
        size = {"width": round(x[1] - x[0], 1), "height": round(y[1] - y[0], 1)}
        self.parts.append(
            tag(
                "rect",
                tag("title", title) if title else None,
                x=round(x[0], 1),
                y=round(y[0], 1),
                **size,
                class_=class_,
            )
        )

    def whisker(self, x: float, low: float, high: float, class_: str = "whisker") -> None:
        """An upright interval."""
        self.line([(x, low), (x, high)], class_)

    def point(self, x: float, y: float, class_: str, title: str = "", *, cross: bool = False, size: float = 1) -> None:
        """A dot, or a cross, with what it shows on hovering."""
        x, y = round(self.x(x), 1), round(self.y(y), 1)
        about = tag("title", title) if title else None
        if cross:
            arm = 1.1 * _MARK
            strokes = [f"M{x - arm:.1f} {y - up:.1f}L{x + arm:.1f} {y + up:.1f}" for up in (arm, -arm)]
            self.parts.append(tag("path", about, d="".join(strokes), class_=class_))
        else:
            self.parts.append(tag("circle", about, cx=x, cy=y, r=size * _MARK, class_=class_))

    def note(self, text: str, x: float, y: float, anchor: str = "start", *, below: bool = False) -> None:
        """A few words at a place of the plot, just above it or below it."""
        self.parts.append(_text(text, self.x(x), self.y(y) + (16 if below else -7), anchor, "note"))

    def markup(self) -> Markup:
        """The plot as an element of a page."""
        return tag(
            "svg", tag("title", self.title), self.parts,
            viewBox=f"0 0 {WIDTH} {self.height:g}", role="img", aria_label=self.title,
        )  # fmt: skip


def share_ticks(count: int = 5) -> list[tuple[float, str]]:
    """Ticks from 0 to 1, in percent."""
    return [(step / count, f"{100 * step / count:.0f}") for step in range(count + 1)]


def power_ticks(low: float, high: float) -> list[tuple[float, str]]:
    """Ticks at powers of ten."""
    powers = range(math.ceil(math.log10(low)), math.floor(math.log10(high)) + 1)
    every = 1 if len(powers) <= 6 else 2
    return [(10.0**power, f"{10**power:,}") for power in powers if power % every == 0]


def _line(points: Sequence[Point], class_: str) -> Markup:
    return tag("polyline", points=" ".join(f"{x:.1f},{y:.1f}" for x, y in points), class_=class_)


def _text(text: str, x: float, y: float, anchor: str, class_: str = "tick") -> Markup:
    return tag("text", text, x=round(x, 1), y=round(y, 1), text_anchor=anchor, class_=class_)
