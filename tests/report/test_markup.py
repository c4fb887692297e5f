from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from report.samples import Page
from tacit.report.markup import Markup, join, shorten, tag, user_text


def test_content_is_escaped_and_markup_is_not():
    assert tag("p", "a < b & c", tag("b", "!")) == "<p>a &lt; b &amp; c<b>!</b></p>"
    assert tag("i", title='"quoted"') == '<i title="&quot;quoted&quot;"></i>'
    assert join([1, ("a", None, [Markup("<br>")])]) == "1a<br>"


def test_attributes():
    assert tag("td", class_="x", aria_label="y", colspan=None) == '<td class="x" aria-label="y"></td>'
    assert tag("rect", x=0.1 + 0.2) == '<rect x="0.3"></rect>'


@given(st.text(st.characters(), max_size=200))
def test_no_text_becomes_markup(text):
    page = Page(tag("p", text, title=text))
    assert [name for name, _ in page.attributes] == ["p"]
    page_bytes = tag("p", text).encode()  # lone surrogates cannot be encoded
    assert b"\x00" not in page_bytes


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("short", "short"),
        ("  several   words\nhere ", "several words here"),
        ("a text that is too long to be shown", "a text that is too…"),
        ("x" * 50, "x" * 19 + "…"),
        ("", ""),
    ],
)
def test_shorten(text, shown):
    assert shorten(text, 20) == shown


def test_names_keep_their_direction_and_their_whole():
    assert user_text("שלום") == "<bdi>שלום</bdi>"
    assert user_text("word " * 30, 10) == f'<bdi title="{("word " * 30)[:99].strip()[:95].strip()}…">word word…</bdi>'
