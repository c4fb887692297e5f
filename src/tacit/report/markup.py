"""HTML and SVG as Python values. Everything that is not `Markup` is escaped, so user text cannot become markup."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple, TypeAlias

from tacit.evaluation.metrics import Interval

_VOID = {"meta", "br"}  # HTML elements without an end tag
_UNPRINTABLE = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")


class Markup(str):
    """Text that is HTML already and needs no escaping."""

    __slots__ = ()


Content: TypeAlias = "str | int | float | Iterable[Content] | None"


def tag(element: str, /, *content: Content, **attributes: str | float | None) -> Markup:
    """Build an element; `class_` means ``class``, `aria_label` means ``aria-label``, and None omits an attribute."""
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(value)}"'
        for key, value in attributes.items()
        if value is not None
    )
    if element in _VOID:
        return Markup(f"<{element}{written}>")
    return Markup(f"<{element}{written}>{join(content)}</{element}>")


def join(content: Content) -> Markup:
    """Concatenate content: markup as it is, anything else escaped, None omitted."""
    if content is None:
        return Markup()
    if isinstance(content, str | int | float):
        return content if isinstance(content, Markup) else escape(content)
    return Markup("".join(map(join, content)))


def escape(value: str | float) -> Markup:
    """Escape text; characters that HTML cannot hold become the replacement character."""
    text = f"{value:.6g}" if isinstance(value, float) else str(value)
    return Markup(html.escape(_UNPRINTABLE.sub("\ufffd", text)))


def shorten(text: str, length: int) -> str:
    """Shorten a text to one line of at most `length` characters, cut between words if possible."""
    text = " ".join(text[: 8 * length].split())
    if len(text) <= length:
        return text
    cut = text[: length - 1]
    space = cut.rfind(" ")
    return (cut[:space] if space > length // 2 else cut).rstrip() + "…"


def user_text(text: str, length: int = 80, *, element: str = "bdi", **attributes: str | None) -> Markup:
    """Show user text, shortened and in its own writing direction; hovering shows more of it."""
    shown = shorten(text, length)
    whole = None if shown == text else shorten(text, 10 * length)
    direction = None if element == "bdi" else "auto"
    return tag(element, shown, title=whole, dir=direction, **attributes)


class Section(NamedTuple):
    """A section of the page."""

    anchor: str
    title: str
    content: Content

    def markup(self) -> Markup:
        """The section as an element."""
        heading = tag("h2", self.title, id=f"{self.anchor}-title")
        return tag("section", heading, self.content, id=self.anchor, aria_labelledby=f"{self.anchor}-title")


def percent(rate: float) -> str:
    """Format a rate in percent with one decimal."""
    return f"{100 * rate:.1f}"


def counted(number: int, noun: str) -> str:
    """Format a number with its noun."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def with_remark(content: Content, remark: str) -> Content:
    """Put a remark in small type below content."""
    return content, tag("small", remark)


def with_interval(value: float, interval: Interval | None) -> Content:
    """Format a rate in percent, with its interval below it."""
    if interval is None:
        return percent(value)
    return with_remark(percent(value), f"{percent(interval[0])}–{percent(interval[1])}")


def table(
    caption: str,
    header: Sequence[str],
    rows: Iterable[Sequence[Content]],
    n_names: int = 1,
    chosen: int | None = None,
    *,
    folds: bool = False,
) -> Markup:
    """Build a table that scrolls within the page on narrow screens; the first cell of a row is its heading.

    The first `n_names` columns hold text instead of numbers, and the row `chosen` is highlighted. A table that `folds`
    shows, on narrow screens, the cells of a row below its first one, each with the name of its column.
    """
    kinds = ["name" if column < n_names else None for column in range(len(header))]
    head = tag("tr", [tag("th", name, scope="col", class_=kind) for name, kind in zip(header, kinds, strict=True)])
    body = [
        tag(
            "tr",
            tag("th", row[0], scope="row", class_=kinds[0]),
            [
                tag("td", cell, class_=kind, data_column=name if folds else None)
                for cell, kind, name in zip(row[1:], kinds[1:], header[1:], strict=True)
            ],
            class_="chosen" if number == chosen else None,
        )
        for number, row in enumerate(rows)
    ]
    parts = tag("caption", caption), tag("thead", head), tag("tbody", body)
    content = tag("table", parts, class_="folds" if folds else None)
    return tag("div", content, class_="scroll", tabindex=0, role="region", aria_label=caption)


def side_by_side(*blocks: Content) -> Markup:
    """Arrange blocks in columns if the screen is wide enough."""
    return tag("div", [tag("div", block) for block in blocks], class_="side")


def facts(pairs: Iterable[tuple[str, Content]]) -> Markup:
    """Build a list of terms and their meanings."""
    return tag("dl", [(tag("dt", term), tag("dd", meaning)) for term, meaning in pairs], class_="facts")


def tiles(numbers: Iterable[tuple[str, str, str]]) -> Markup:
    """Build tiles of a name, a value and a remark each."""
    items = [tag("div", tag("dt", name), tag("dd", with_remark(value, remark))) for name, value, remark in numbers]
    return tag("dl", items, class_="tiles")


def figure(drawing: Markup, *caption: Content) -> Markup:
    """Put a caption below a drawing."""
    return tag("figure", drawing, tag("figcaption", caption))


def key(kind: str, meaning: str) -> Markup:
    """Build an entry of a figure's legend."""
    return tag("span", tag("span", class_=f"patch {kind}", aria_hidden="true"), meaning, class_="key")
