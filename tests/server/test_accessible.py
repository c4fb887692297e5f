"""No violation that axe-core knows, on any screen and in light and dark."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from report.samples import new_dataset, trained_tagger
from server.browser import Page
from server.using import READY, load_file, press_button, suggest
from tacit.report.write import write_report

FOLDERS = [
    Path(sys.prefix, "node_modules"),
    *map(Path, filter(None, os.environ.get("NODE_PATH", "").split(os.pathsep))),
]
AXE = next((file for folder in FOLDERS if (file := folder / "axe-core" / "axe.min.js").exists()), None)
_RUN = """axe.run().then((found) => found.violations.map((each) =>
  `${each.id}: ${each.nodes.map((node) => node.html.slice(0, 120)).join("; ")}`))"""

pytestmark = pytest.mark.skipif(AXE is None, reason="axe-core is not installed: npm install --prefix .venv axe-core")


def check(page: Page) -> None:
    assert AXE is not None
    found = {}
    page.evaluate(f"{AXE.read_text(encoding='utf-8')};0")
    for width in (390, 1280):
        for dark in (False, True):
            page.look(width=width, height=900, dark=dark)
            found[width, dark] = page.evaluate(_RUN)
    assert not any(found.values()), found


def test_the_check_finds_what_is_wrong(page):
    page.evaluate("document.documentElement.removeAttribute('lang')")
    with pytest.raises(AssertionError, match="html-has-lang"):
        check(page)


def test_the_empty_page(page):
    check(page)


def test_suggestions_with_reasons_verdicts_and_an_open_list(page):
    suggest(page, "apple pear song chord tune")
    page.press("Enter")
    page.press("ArrowDown")
    page.press("x")
    page.press("w")
    page.wait_until("document.querySelectorAll('#acts li').length === 2 && document.querySelector('.amounts')")
    page.press("/")
    page.type("e")
    page.wait_until("!document.getElementById('assign-options').hidden")
    check(page)


def test_errors_options_and_the_form_of_a_new_label(new_tab, start):
    page = new_tab()
    live = start(token="correct-horse")
    page.open(str(live.base_url))
    page.wait_until("document.activeElement?.id === 'token' && document.querySelector('[role=alert]')")
    page.evaluate("for (const each of document.querySelectorAll('details')) each.open = true")
    check(page)


def test_the_queue(page, tmp_path):
    (tmp_path / "new.csv").write_text("id,text\n1,apple\n2,song\n")
    load_file(page, tmp_path / "new.csv")
    page.wait_until(READY)
    press_button(page, "Done, next")
    page.wait_until("document.getElementById('queue-place').textContent.startsWith('text 2')")
    page.wait_until(READY)
    check(page)


def test_the_report(new_tab, tmp_path):
    write_report(tmp_path / "report.html", trained_tagger(), new_dataset())
    page = new_tab()
    page.open((tmp_path / "report.html").as_uri())
    page.wait_until("document.readyState === 'complete' && document.querySelectorAll('h2').length > 5")
    check(page)
