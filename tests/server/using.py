"""What people do on the page, by keyboard."""

from __future__ import annotations

from pathlib import Path

from server.browser import Page
from server.live import Live

READY = "document.querySelectorAll('.suggestion').length > 0 && !document.querySelector('[aria-busy]')"


def opened(page: Page, live: Live) -> Page:
    page.open(str(live.base_url))
    page.wait_until("document.getElementById('about-model')?.textContent.includes(' labels')")
    page.wait_until("document.getElementById('describe-model').textContent.includes('chooses among')")
    return page


def labels(page: Page) -> list[str]:
    return page.evaluate("[...document.querySelectorAll('.suggestion')].map(it => it.dataset.label)")


def text_of(page: Page, selector: str) -> str:
    return page.evaluate(f"document.querySelector({selector!r}).textContent")


def suggest(page: Page, text: str) -> None:
    page.tab_to("it.id === 'text'")
    page.type(text)
    page.press("Enter", ctrl=True)
    page.wait_until(READY)


def focus(page: Page, label: str) -> None:
    """Go to a label in the list with the arrow keys."""
    page.tab_to("it.className === 'accept'")
    for key in ("ArrowUp", "ArrowDown"):
        for _ in labels(page):
            if page.evaluate("document.activeElement.closest('.suggestion').dataset.label") == label:
                return
            page.press(key)
    raise AssertionError(f"no arrow key leads to {label}")


def press_button(page: Page, name: str) -> None:
    page.tab_to(f"it.tagName === 'BUTTON' && (it.ariaLabel || it.textContent) === {name!r}")
    page.press("Enter")


def wait_for_label(page: Page, label: str, *, is_gone: bool = False) -> None:
    """Wait until a label is in the list, or no longer there."""
    page.wait_until(f"{'!' * is_gone}document.querySelector('.suggestion[data-label={label}]')")


def wait_for_acts(page: Page, number: int) -> None:
    page.wait_until(f"document.querySelectorAll('#acts li').length === {number}")


def load_file(page: Page, path: Path) -> None:
    page.tab_to("it.id === 'file'")
    page.choose_file(path)


def check_nothing_odd(page: Page, live: Live) -> None:
    """The console is empty, and nothing was asked of anybody but the service."""
    assert page.complaints == []
    allowed = ("data:", "blob:", str(live.base_url))
    assert {request for request in page.requests if not request.startswith(allowed)} == set()
