"""HTML and SVG as Python values: whatever is not markup is escaped, so that no text of the user's can become any."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable
from typing import TypeAlias

_VOID = {"meta", "br"}  # HTML elements without an end tag
_UNPRINTABLE = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")


class Markup(str):
    """Text that is HTML already."""

    __slots__ = ()


Content: TypeAlias = "str | int | float | Iterable[Content] | None"


def tag(element: str, /, *content: Content, **attributes: str | float | None) -> Markup:
    """An element; `class_` stands for ``class``, `aria_label` for ``aria-label``, and None leaves an attribute out."""
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(value)}"'
        for key, value in attributes.items()
        if value is not None
    )
    if element in _VOID:
        return Markup(f"<{element}{written}>")
    return Markup(f"<{element}{written}>{join(content)}</{element}>")


def join(content: Content) -> Markup:
    """Pieces of content one after the other: markup as it is, anything else escaped, None left out."""
    if content is None:
        return Markup()
    if isinstance(content, str | int | float):
        return content if isinstance(content, Markup) else escape(content)
    return Markup("".join(map(join, content)))


def escape(value: str | float) -> Markup:
    """Text that shows as it is; characters that HTML cannot hold become the replacement character."""
    text = f"{value:.6g}" if isinstance(value, float) else str(value)
    return Markup(html.escape(_UNPRINTABLE.sub("\ufffd", text)))


def shorten(text: str, length: int) -> str:
    """The beginning of a text, on one line, cut between words where there are any."""
    text = " ".join(text[: 8 * length].split())
    if len(text) <= length:
        return text
    cut = text[: length - 1]
    space = cut.rfind(" ")
    return (cut[:space] if space > length // 2 else cut).rstrip() + "…"


def user_text(text: str, length: int = 80, *, element: str = "bdi", **attributes: str | None) -> Markup:
    """A name or text of the user's, in its own writing direction and shortened; the whole of it on hovering."""
    shown = shorten(text, length)
    whole = None if shown == text else shorten(text, 10 * length)
    direction = None if element == "bdi" else "auto"
    return tag(element, shown, title=whole, dir=direction, **attributes)
