"""The page in a real browser, used by keyboard alone."""

from __future__ import annotations

import pytest

from server.browser import CHROMIUM, Page, chromium
from server.live import Live
from tacit.server.limits import Settings
from tacit.store.acts import in_force
from tacit.store.ledger import Ledger

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed")


@pytest.fixture(scope="module")
def new_tab(tmp_path_factory):
    with chromium(tmp_path_factory.mktemp("browser")) as opener:
        yield opener


def labels(page: Page) -> list[str]:
    return page.evaluate("[...document.querySelectorAll('.suggestion')].map(it => it.dataset.label)")


def opened(page: Page, live: Live) -> Page:
    page.open(str(live.base_url))
    page.wait_until("document.getElementById('about-model')?.textContent.includes('4 labels')")
    return page


def suggest(page: Page, text: str) -> None:
    page.tab_to("it.id === 'text'")
    page.type(text)
    page.press("Enter", ctrl=True)
    page.wait_until("document.querySelectorAll('.suggestion').length > 0")


def press_button(page: Page, name: str) -> None:
    page.tab_to(f"it.tagName === 'BUTTON' && (it.ariaLabel || it.textContent) === {name!r}")
    page.press("Enter")


def check_nothing_odd(page: Page, live: Live) -> None:
    assert page.complaints == []
    assert {request for request in page.requests if not request.startswith(("data:", str(live.base_url)))} == set()


def test_the_whole_way_by_keyboard(new_tab, live, model):
    page = opened(new_tab(), live)
    suggest(page, "apple pear song chord tune")
    assert set(labels(page)[:2]) == {"fruit", "music"}

    press_button(page, "Why fruit?")
    page.wait_until("document.querySelector('.words li')")
    assert page.evaluate("document.querySelector('.words .word').textContent") in ("apple", "pear")
    assert page.evaluate("document.activeElement.ariaExpanded") == "true"

    press_button(page, "Accept fruit")
    page.wait_until("document.querySelectorAll('#acts li').length === 1")
    assert page.evaluate("document.activeElement.ariaPressed") == "true"
    press_button(page, "Reject cars")
    page.wait_until("document.querySelectorAll('#acts li').length === 2")

    press_button(page, "Leave out music")
    page.wait_until("![...document.querySelectorAll('.suggestion')].some(it => it.dataset.label === 'music')")
    assert page.evaluate("document.activeElement.id") == "results-heading"

    page.tab_to("it.id === 'new-name'")
    page.type("pome")
    page.press("Enter")
    page.wait_until("[...document.querySelectorAll('.suggestion')].some(it => it.dataset.label === 'pome')")
    assert "pome" in live.suggest("apple pear song", k=5)

    press_button(page, "Allow music again")
    page.wait_until("[...document.querySelectorAll('.suggestion')].some(it => it.dataset.label === 'music')")

    press_button(page, "Take back: added 'pome' from 1 example")
    page.wait_until("![...document.querySelectorAll('.suggestion')].some(it => it.dataset.label === 'pome')")
    acts = in_force(Ledger(model / "acts.jsonl").read().acts)
    judged = [each for act in acts for each in act.content["judgements"]]
    assert [(each["label"], each["accepted"]) for each in judged] == [("fruit", True), ("cars", False)]
    check_nothing_odd(page, live)


def test_frequent_labels_are_damped(new_tab, live):
    page = opened(new_tab(), live)
    suggest(page, "apple song")
    page.tab_to("it.id === 'damp'")
    page.press("ArrowRight")
    page.wait_until("document.getElementById('damp-value').textContent === 'damped by 10 %'")
    page.wait_until("document.querySelectorAll('.suggestion').length > 0")
    check_nothing_odd(page, live)


def test_any_number_of_labels_may_be_asked_for(new_tab, live):
    page = opened(new_tab(), live)
    suggest(page, "apple song")
    for k, threshold, n_shown in (("2", "", 2), ("", "", 4), ("", "auto", None), ("3", "auto", None)):
        page.evaluate(f"document.getElementById('threshold').value = {threshold!r}")
        page.evaluate(f"document.getElementById('k').value = {k!r}")
        page.evaluate("document.getElementById('status').textContent = ''")
        page.evaluate("document.getElementById('suggest-form').requestSubmit()")
        page.wait_until("document.getElementById('status').textContent !== ''")
        wish = {"k": int(k) if k else None, "threshold": threshold or None}
        assert labels(page) == live.suggest("apple song", **wish)
        assert n_shown in (None, len(labels(page)))
    check_nothing_odd(page, live)


def test_a_token_is_asked_for_and_errors_are_shown(new_tab, start):
    live = start(settings=Settings(token="correct-horse"))
    page = new_tab()
    page.open(str(live.base_url))
    page.wait_until("document.getElementById('token-form')?.hidden === false")
    page.wait_until("document.activeElement.id === 'token'")
    page.type("correct-horse")
    page.press("Enter")
    page.wait_until("document.getElementById('about-model').textContent.includes('4 labels')")
    page.tab_to("it.id === 'new-name'")
    page.type("fruit")
    page.press("Enter")
    page.wait_until("document.getElementById('error').textContent.includes('there is a label')")
    assert page.evaluate("sessionStorage.length") == 1


@pytest.mark.parametrize("width", [320, 390, 1280])
def test_nothing_sticks_out(new_tab, live, tmp_path, width):
    page = opened(new_tab(), live)
    suggest(page, "apple song " + "w" * 300)
    press_button(page, "Why fruit?")
    page.wait_until("document.querySelector('.why p, .words li')")
    page.screenshot(tmp_path / "page.png", width=width, height=800, dark=width == 390)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    check_nothing_odd(page, live)
