"""The page in a real browser, used by keyboard alone."""

from __future__ import annotations

import pytest

from server.using import (
    READY,
    check_nothing_odd,
    focus,
    labels,
    opened,
    press_button,
    suggest,
    text_of,
    wait_for_acts,
    wait_for_label,
)
from tacit import Tagger
from tacit.data.vocabulary import Vocabulary
from tacit.store.acts import in_force
from tacit.store.ledger import Ledger
from tagger.articles import articles

SCORE = "document.querySelector('[data-label=\"{}\"] .score').textContent"

SHOWN_ACTIONS = "[...document.querySelectorAll('.actions')].filter(it => getComputedStyle(it).opacity === '1').length"


def test_the_whole_way_by_keyboard(page, live, model):
    suggest(page, "apple pear song chord tune")
    assert set(labels(page)[:2]) == {"fruit", "music"}
    assert page.evaluate(SHOWN_ACTIONS) == 1  # those of the label that has the focus
    assert page.evaluate("document.activeElement.closest('.suggestion').dataset.label") == labels(page)[0]

    focus(page, "fruit")
    page.press("w")
    page.wait_until("document.querySelector('.amounts li')")
    assert text_of(page, ".word") in ("apple", "pear")
    assert page.evaluate("[...document.querySelectorAll('#marks mark')].map(it => it.textContent)") == ["apple", "pear"]

    page.press("Enter")
    wait_for_acts(page, 1)
    assert page.evaluate("document.activeElement.ariaPressed") == "true"
    focus(page, "cars")
    page.press("x")
    wait_for_acts(page, 2)

    focus(page, "music")
    page.press("l")
    wait_for_label(page, "music", is_gone=True)
    page.wait_until("document.activeElement.className === 'accept'")
    assert "Nothing was learned" in text_of(page, "#status")

    page.tab_to("it.tagName === 'SUMMARY' && it.textContent.includes('Add a label')")
    page.press("Enter")
    page.tab_to("it.id === 'new-name'")
    page.type("pome")
    page.press("Enter")
    wait_for_label(page, "pome")
    assert "pome" in live.suggest("apple pear song", k=5)

    press_button(page, "Allow music again")
    wait_for_label(page, "music")

    press_button(page, "Take back: added 'pome' from 1 example")
    wait_for_label(page, "pome", is_gone=True)
    acts = in_force(Ledger(model / "acts.jsonl").read().acts)
    judged = [each for act in acts for each in act.content["judgements"]]
    assert [(each["label"], each["accepted"]) for each in judged] == [("fruit", True), ("cars", False)]
    check_nothing_odd(page, live)


def test_a_swipe_shows_the_other_actions(page):
    page.look(width=390, height=844)
    suggest(page, "apple song")
    page.evaluate("document.activeElement.blur()")
    assert page.evaluate(SHOWN_ACTIONS) == 0
    x, y = page.evaluate(
        "(r => [r.right - 90, r.top + 10])(document.querySelector('.suggestion').getBoundingClientRect())"
    )
    page.call("Input.dispatchTouchEvent", type="touchStart", touchPoints=[{"x": x, "y": y}])
    for step in (30, 60, 90):
        page.call("Input.dispatchTouchEvent", type="touchMove", touchPoints=[{"x": x - step, "y": y}])
    page.call("Input.dispatchTouchEvent", type="touchEnd", touchPoints=[])
    page.wait_until("document.querySelector('.more').ariaExpanded === 'true'")
    assert page.evaluate(SHOWN_ACTIONS) == 1
    assert page.evaluate("document.querySelector('.accept').ariaPressed") == "false"


def test_a_verdict_moves_the_bar_and_a_second_press_takes_it_back(page, live):
    suggest(page, "filler1 filler2")
    label = labels(page)[0]
    before = page.evaluate(SCORE.format(label))
    page.press("x")
    page.wait_until(f"{SCORE.format(label)} !== {before!r}")
    now = live.post("/v1/suggest", json={"text": "filler1 filler2", "include": [label]}).json()
    score = now["results"][0]["suggestions"][0]["score"]
    assert page.evaluate(SCORE.format(label)) == f"{round(100 * score)}\u00a0%"
    width = page.evaluate("parseFloat(document.querySelector('.suggestion .bar > span').style.width)")
    assert width == pytest.approx(100 * score, abs=0.01)
    page.press("x")
    page.wait_until(f"{SCORE.format(label)} === {before!r}")
    wait_for_acts(page, 0)


def test_any_label_is_assigned_by_any_of_its_names(new_tab, start, saved, tmp_path):
    tagger = Tagger.load(saved)
    tagger.vocabulary_ = Vocabulary(["cars", "music"], ["Automobiles", "Music"], [["motor vehicles", "autos"], []])
    tagger.save(tmp_path / "named")
    live = start(folders={"named": tmp_path / "named"})
    page = opened(new_tab(), live)
    page.evaluate("document.getElementById('k').value = '1'")
    suggest(page, "apple pear fig")
    assert labels(page) == ["fruit"]
    page.press("/")
    page.type("motor")
    page.wait_until("!document.getElementById('assign-options').hidden")
    assert text_of(page, "#assign-0") == "Automobilesalso: motor vehicles"
    assert page.evaluate("document.activeElement.getAttribute('aria-activedescendant')") == "assign-0"
    page.press("Enter")
    page.wait_until("document.querySelector('[data-label=cars].accepted')")
    wait_for_acts(page, 1)
    assert text_of(page, "#acts li > span").startswith("accepted 'Automobiles' for 'apple pear fig'")
    assert Ledger(tmp_path / "named" / "acts.jsonl").read().acts[0].labels() == ["cars"]

    page.tab_to("it.id === 'assign-name'")
    page.type("pomes")
    page.wait_until("!document.getElementById('assign-options').hidden")
    page.press("Enter")  # a name that no label has: the form for a new one
    page.wait_until("document.activeElement.id === 'new-name'")
    assert page.evaluate("document.activeElement.value") == "pomes"
    check_nothing_odd(page, live)


def test_reasons_are_sorted_and_similar_texts_have_their_labels(new_tab, start, tmp_path):
    Tagger(model="OneVsAll", keep_texts=True).fit(*articles()).save(tmp_path / "kept")
    page = opened(new_tab(), start(folders={"kept": tmp_path / "kept"}))
    suggest(page, "pears and songs, a Pear and a rainy choir")
    focus(page, "fruit")
    page.press("w")
    page.wait_until("document.querySelector('.similar')")
    lists = "[...document.querySelectorAll('.amounts')].map(it => [...it.querySelectorAll('.bar > span')]{})"
    widths = page.evaluate(lists.format(".map(list => parseFloat(list.style.width))"))
    assert all(each == sorted(each, reverse=True) for each in widths)
    lefts = page.evaluate(lists.format(".map(bar => bar.getBoundingClientRect().left)"))
    assert all(len(set(each)) <= 1 for each in lefts)
    marked = page.evaluate("[...document.querySelectorAll('#marks mark')].map(it => it.textContent)")
    assert "Pear" in marked
    assert "rainy" not in marked
    chips = page.evaluate("[...document.querySelectorAll('.similar .chips')].map(it => it.textContent)")
    assert all("fruit" in each for each in chips)


def test_damped_labels_keep_their_probabilities(page, live):
    suggest(page, "apple song")
    before = {label: page.evaluate(SCORE.format(label)) for label in labels(page)}
    page.tab_to("it.tagName === 'SUMMARY' && it.textContent === 'Options'")
    page.press("Enter")
    page.tab_to("it.id === 'damp'")
    for _ in range(10):
        page.press("ArrowRight")
    page.wait_until("document.getElementById('damp-value').textContent.includes('100')")
    page.wait_until(READY)
    assert labels(page) == live.suggest("apple song", damp_head=1.0)
    assert {label: page.evaluate(SCORE.format(label)) for label in labels(page)} == before
    check_nothing_odd(page, live)


def test_scores_that_are_no_probabilities_are_not_shown_as_such(new_tab, start, tmp_path):
    Tagger(model="OneVsAll", calibrate=False).fit(*articles()).save(tmp_path / "raw")
    page = opened(new_tab(), start(folders={"raw": tmp_path / "raw"}))
    assert "not probabilities" in text_of(page, "#describe-model")
    suggest(page, "apple song")
    shown = page.evaluate("[...document.querySelectorAll('.score')].map(it => it.textContent)")
    assert all(each.startswith("score ") and "%" not in each for each in shown)


def test_before_a_text_the_page_says_what_the_model_is(new_tab, start, model, saved, tmp_path):
    live = start()
    page = opened(new_tab(), live)
    about = text_of(page, "#describe-model")
    assert "4 labels, learned from 160 texts" in about
    assert "held out from training" in about
    assert "each is uncertain by about ±" in about
    assert page.evaluate("document.querySelector('#describe-model a')") is None
    press_button(page, "Try an example")
    page.wait_until(READY)
    assert len(page.evaluate("document.getElementById('text').value").split()) == 3  # words that it knows
    fingerprint = Tagger.load(saved).card_["fingerprint"]
    (model / "report.html").write_text(f'<!DOCTYPE html><title>the report</title><code title="{fingerprint}">x</code>')
    opened(page, live)
    page.tab_to("it.tagName === 'A' && it.textContent.includes('report')")
    page.press("Enter")
    page.wait_until("document.title === 'the report'")


def test_any_number_of_labels_may_be_asked_for(page, live):
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


def test_a_token_is_asked_for_and_errors_are_shown_where_they_arise(new_tab, start):
    live = start(token="correct-horse")
    page = new_tab()
    page.open(str(live.base_url))
    page.wait_until("document.getElementById('token-form')?.hidden === false")
    page.wait_until("document.activeElement.id === 'token'")
    page.type("correct-horse")
    page.press("Enter")
    page.wait_until("document.getElementById('about-model').textContent.includes('4 labels')")
    page.tab_to("it.tagName === 'SUMMARY' && it.textContent.includes('Add a label')")
    page.press("Enter")
    page.tab_to("it.id === 'new-name'")
    page.type("fruit")
    page.press("Enter")
    page.wait_until("document.querySelector('#add-form > [role=alert]')?.textContent.includes('there is a label')")
    top, bottom, height = page.evaluate(
        "(it => [it.top, it.bottom, innerHeight])(document.querySelector('[role=alert]').getBoundingClientRect())"
    )
    assert 0 <= top < bottom <= height + 1
    assert page.evaluate("sessionStorage.length") == 1


@pytest.mark.parametrize("width", [320, 390, 1280])
def test_nothing_sticks_out(page, live, width):
    suggest(page, "apple song " + "w" * 300)
    focus(page, "fruit")
    page.press("w")
    page.wait_until("document.querySelector('.why h3, .why p:not(.muted)')")
    page.look(width=width, height=800, dark=width == 390)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    check_nothing_odd(page, live)
