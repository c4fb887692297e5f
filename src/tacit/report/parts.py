"""What sections are made of: tables, lists, figures with captions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from tacit.metrics import Interval
from tacit.report.markup import Content, Markup, tag


class Section(NamedTuple):
    """A part of the page."""

    anchor: str
    title: str
    content: Content

    def markup(self) -> Markup:
        """The section as an element."""
        heading = tag("h2", self.title, id=f"{self.anchor}-title")
        return tag("section", heading, self.content, id=self.anchor, aria_labelledby=f"{self.anchor}-title")


def percent(share: float) -> str:
    """A share in percent, one digit after the point."""
    return f"{100 * share:.1f}"


def counted(number: int, noun: str) -> str:
    """A number of things."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def with_remark(content: Content, remark: str) -> Content:
    """Content with a remark in small type below it."""
    return content, tag("small", remark)


def with_interval(value: float, interval: Interval | None) -> Content:
    """A share in percent, its interval below it."""
    if interval is None:
        return percent(value)
    return with_remark(percent(value), f"{percent(interval[0])}–{percent(interval[1])}")


def table(
    caption: str,
    header: Sequence[str],
    rows: Iterable[Sequence[Content]],
    n_names: int = 1,
    chosen: int | None = None,
) -> Markup:
    """Rows under a header; on a narrow screen the table scrolls and the page does not.

    Parameters
    ----------
    caption : str
        What the table shows.
    header, rows : sequences
        Names of the columns; cells.
    n_names : int
        How many of the columns hold text and not numbers; the first names the row.
    chosen : int, optional
        A row to stand out.
    """
    kinds = ["name" if column < n_names else None for column in range(len(header))]
    head = tag("tr", [tag("th", name, scope="col", class_=kind) for name, kind in zip(header, kinds, strict=True)])
    body = [
        tag(
            "tr",
            tag("th", row[0], scope="row", class_=kinds[0]),
            [tag("td", cell, class_=kind) for cell, kind in zip(row[1:], kinds[1:], strict=True)],
            class_="chosen" if number == chosen else None,
        )
        for number, row in enumerate(rows)
    ]
    content = tag("table", tag("caption", caption), tag("thead", head), tag("tbody", body))
    return tag("div", content, class_="scroll", tabindex=0, role="region", aria_label=caption)


def side_by_side(*blocks: Content) -> Markup:
    """Blocks in columns, where the screen is wide enough."""
    return tag("div", [tag("div", block) for block in blocks], class_="side")


def facts(pairs: Iterable[tuple[str, Content]]) -> Markup:
    """Terms with what they stand for."""
    return tag("dl", [(tag("dt", term), tag("dd", meaning)) for term, meaning in pairs], class_="facts")


def tiles(numbers: Iterable[tuple[str, str, str]]) -> Markup:
    """The numbers to see first: what it is, its value, a remark."""
    return tag(
        "dl",
        [tag("div", tag("dt", name), tag("dd", with_remark(value, remark))) for name, value, remark in numbers],
        class_="tiles",
    )


def figure(drawing: Markup, *caption: Content) -> Markup:
    """A drawing with what it shows."""
    return tag("figure", drawing, tag("figcaption", caption))


def key(kind: str, meaning: str) -> Markup:
    """What a colour stands for in a figure."""
    return tag("span", tag("span", class_=f"patch {kind}", aria_hidden="true"), meaning, class_="key")
