"""HTML and SVG as Python values. Everything that is not `Markup` is escaped, so user text cannot become markup."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Sequence
from typing import TypeAlias

from tacit.evaluation.metrics import Interval

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


def user_text(text: str, length: int = 80) -> Markup:
    """Show user text, shortened and in its own writing direction; hovering shows more of it."""
    shown = shorten(text, length)
    return tag("bdi", shown, title=None if shown == text else shorten(text, 10 * length))


def percent(rate: float | None) -> str:
    """Format a rate in percent with one decimal; None is undefined."""
    return "–" if rate is None else f"{100 * rate:.1f}"


def counted(number: int, noun: str) -> str:
    """Format a number with its noun."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def with_remark(content: Content, remark: str) -> Content:
    """Put a remark in small type below content."""
    return content, tag("small", remark)


def with_interval(value: float, interval: Interval) -> Content:
    """Format a rate in percent, with its interval below it."""
    return with_remark(percent(value), f"{percent(interval[0])}–{percent(interval[1])}")


def table(caption: str, header: Sequence[str], rows: Iterable[Sequence[Content]], chosen: int | None = None) -> Markup:
    """Build a table that scrolls on narrow screens; the first cell of a row is its heading, `chosen` is highlighted."""
    head = tag("tr", [tag("th", name, scope="col") for name in header])
    body = [
        tag("tr", tag("th", row[0], scope="row"), [tag("td", cell) for cell in row[1:]],
            class_="chosen" if number == chosen else None)
        for number, row in enumerate(rows)
    ]  # fmt: skip
    content = tag("table", tag("caption", caption), tag("thead", head), tag("tbody", body))
    return tag("div", content, class_="scroll", tabindex=0, role="region", aria_label=caption)


def definitions(pairs: Iterable[tuple[str, Content]], class_: str = "facts") -> Markup:
    """Build a list of terms and their meanings."""
    return tag("dl", [tag("div", tag("dt", term), tag("dd", meaning)) for term, meaning in pairs], class_=class_)
