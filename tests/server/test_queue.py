"""The queue of the page: a file of texts, worked through by keyboard."""

from __future__ import annotations

import csv
import json
import shutil
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from server.browser import Page
from server.using import (
    READY,
    check_nothing_odd,
    focus,
    labels,
    load_file,
    opened,
    press_button,
    text_of,
    wait_for_acts,
)
from tacit import Tagger

TEXTS = ["apple pear fig", "song choir drum", "filler1 filler2", "rain; wind, storm"]


def at(page: Page, place: int, n_decided: int, n_texts: int = len(TEXTS)) -> None:
    page.wait_until(
        "document.getElementById('queue-place').textContent.startsWith("
        f"'text {place} of {n_texts}, {n_decided} decided')"
    )
    page.wait_until(READY)
    page.wait_until("document.activeElement.className === 'accept'")


def downloaded(folder: Path, name: str) -> str:
    end = time.monotonic() + 60
    while not (folder / name).exists() and time.monotonic() < end:
        time.sleep(0.05)
    return (folder / name).read_text(encoding="utf-8")


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """A CSV as spreadsheets write it: semicolons, quoted cells, a byte-order mark."""
    path = tmp_path / "new.csv"
    with path.open("w", newline="", encoding="utf-8-sig") as file:
        rows = [(str(number), text, f'a "{number}"') for number, text in enumerate(TEXTS, 7)]
        csv.writer(file, delimiter=";").writerows([("id", "text", "accepted"), *rows])
    return path


def test_from_a_file_to_an_export_by_keyboard(page, live, table, tmp_path):
    page.download_to(tmp_path)
    load_file(page, table)
    at(page, 1, 0)
    assert page.evaluate("document.getElementById('text').value") == TEXTS[0]
    focus(page, "fruit")
    page.press("Enter")
    wait_for_acts(page, 1)
    focus(page, "cars")
    page.press("x")
    wait_for_acts(page, 2)
    page.press("n")
    at(page, 2, 1)
    page.press("s")  # skipped
    at(page, 3, 1)
    page.press("n")  # decided: no label
    at(page, 4, 2)
    assert page.evaluate("document.getElementById('queue-progress').value") == 2

    opened(page, live)  # a reload: the file, the place and the verdicts are still there
    page.wait_until("document.getElementById('queue-place').textContent.startsWith('text 4 of 4, 2 decided')")
    wait_for_acts(page, 2)
    page.tab_to("it.className === 'accept'")
    for place in (3, 2, 1):
        page.press("p")
        at(page, place, 2)
    verdicts = "[...document.querySelectorAll('.accepted, .rejected')].map(it => it.dataset.label)"
    assert sorted(page.evaluate(verdicts)) == ["cars", "fruit"]
    page.press("n")  # over the text that is decided, to the next that is not
    at(page, 2, 2)
    page.press("/")
    page.type("weath")
    page.wait_until("!document.getElementById('assign-options').hidden")
    page.press("Enter")
    wait_for_acts(page, 3)
    focus(page, "weather")
    page.press("n")
    at(page, 4, 3)
    page.press("n")
    page.wait_until("document.activeElement.id === 'export'")
    assert text_of(page, "#status") == "All 4 texts are decided."
    page.press("Enter")
    rows = list(csv.reader(downloaded(tmp_path, "new-decided.csv").splitlines(), delimiter=";"))
    assert rows == [
        ["\ufeffid", "text", "accepted", "accepted_here", "rejected"],
        ["7", TEXTS[0], 'a "7"', "fruit", "cars"],
        ["8", TEXTS[1], 'a "8"', "weather", ""],
        ["9", TEXTS[2], 'a "9"', "", ""],
        ["10", TEXTS[3], 'a "10"', "", ""],
    ]

    press_button(page, "Close")
    page.wait_until("!document.getElementById('queue-closed').hidden")
    opened(page, live)
    assert page.evaluate("document.getElementById('queue-open').hidden")
    check_nothing_odd(page, live)


def test_the_most_uncertain_first(new_tab, live, tmp_path):
    texts = [*TEXTS, "", "apple road", "tune"]
    (tmp_path / "new.jsonl").write_text("".join(json.dumps({"id": n, "body": t}) + "\n" for n, t in enumerate(texts)))
    page = opened(new_tab(), live)
    page.download_to(tmp_path)
    load_file(page, tmp_path / "new.jsonl")
    at(page, 1, 0, len(texts))
    page.press("n")
    at(page, 2, 1, len(texts))
    page.tab_to("it.id === 'uncertain'")
    page.press(" ")
    page.wait_until("document.getElementById('text').value === 'filler1 filler2'")
    page.wait_until(READY)
    seen = []
    for _ in texts[1:]:
        seen.append(page.evaluate("document.getElementById('text').value"))
        press_button(page, "Done, next")
        page.wait_until(
            f"(text => text !== {seen[-1]!r} && (!text || document.activeElement.className === 'accept'))"
            "(document.getElementById('text').value) || document.activeElement.id === 'export'"
        )
    found = live.post("/v1/suggest", json={"texts": [text or "-" for text in texts], "k": 10}).json()["results"]
    doubts = {text: entropy(result) for text, result in zip(texts, found, strict=True)} | {"": -1.0}
    assert seen == sorted(texts[1:], key=lambda text: -doubts[text])
    page.wait_until("document.activeElement.id === 'export'")
    page.press("Enter")
    rows = [json.loads(line) for line in downloaded(tmp_path, "new-decided.jsonl").splitlines()]
    assert rows == [{"id": n, "body": text, "accepted": [], "rejected": []} for n, text in enumerate(texts)]


def entropy(result: dict) -> float:
    shares = np.array([each["score"] for each in result["suggestions"]]).clip(1e-12, 1 - 1e-12)
    return float(-(shares * np.log2(shares) + (1 - shares) * np.log2(1 - shares)).sum())


def test_on_a_phone_text_and_suggestions_are_in_view_together(new_tab, live, tmp_path):
    (tmp_path / "new.csv").write_text("id,text\n" + "".join(f"{n},{'apple song ' * 100}\n" for n in range(3)))
    page = opened(new_tab(), live)
    page.look(width=390, height=844)
    load_file(page, tmp_path / "new.csv")
    at(page, 1, 0, 3)
    for place in (2, 3):
        page.evaluate("scrollTo(0, document.body.scrollHeight)")
        page.press("n")
        at(page, place, place - 1, 3)
        box = "document.querySelector('{}').getBoundingClientRect()"
        page.wait_until(f"{box.format('#text')}.top >= 0")
        page.wait_until(f"{box.format('.suggestion')}.bottom < {box.format('#steps')}.top")


def test_a_verdict_taken_back_leaves_the_export(page, table, tmp_path):
    page.download_to(tmp_path)
    load_file(page, table)
    at(page, 1, 0)
    page.press("Enter")
    wait_for_acts(page, 1)
    page.tab_to("it.ariaLabel?.startsWith('Take back')")
    page.press("Enter")
    wait_for_acts(page, 0)
    page.wait_until("!document.querySelector('.accepted')")
    press_button(page, "Export")
    assert downloaded(tmp_path, "new-decided.csv").splitlines() == ["\ufeffid;text;accepted;accepted_here;rejected"]


def of_records(page: Page, expression: str, name: str, content: bytes) -> Any:
    """An expression over `found`, what the page reads of a file."""
    script = f"""import("/page/records.js").then(({{ readRecords, writeRecords, tagsOf }}) => {{
      const found = readRecords({json.dumps(name)}, Uint8Array.from({list(content)}));
      return {expression};
    }}).catch((error) => error.message)"""
    return page.evaluate(script)


def test_records_are_read_and_written_as_they_are(page):
    """Against Python's reader and writer of CSV."""
    rows = [["id", "text, all of it"], ["1", 'he said "a; b"'], ["", "two\nlines"], ["3", ""], ["4", "tab\there"]]
    write = "writeRecords(found, found.rows.map((_, row) => [row, { accepted: ['x', 'y'], rejected: ['a|b'] }]))"
    for delimiter in ",;\t|":
        lines = [delimiter.join(f'"{cell.replace(chr(34), chr(34) * 2)}"' for cell in row) for row in rows]
        content = "\r\n".join(lines).encode()
        read, written = of_records(page, f"[found.rows, {write}]", "a.csv", content)
        assert [list(row.values()) for row in read] == rows[1:]
        again = list(csv.reader(written.splitlines(keepends=True), delimiter=delimiter))
        assert again == [[*rows[0], "accepted", "rejected"], *([*row, "x|y", '["a|b"]'] for row in rows[1:])]
    content = b'{"id": 12345678901234567890, "text": "fig", "x": 1.0}\n"pear"\n{}\n'
    decided = ', "accepted": ["x","y"], "rejected": ["a|b"]}\n'
    start = content.decode().splitlines()[0][:-1]
    assert of_records(page, write, "a.jsonl", content) == (
        f'{start}{decided}{{"text": "pear"{decided}{{{decided.removeprefix(", ")}'
    )


@pytest.mark.parametrize(("encoding", "first"), [("utf-8", ""), ("utf-16", ""), ("utf-8-sig", "sep=;\r\n")])
def test_files_of_excel_are_read_and_exported_for_it(page, encoding, first):
    content = f"{first}id;text\r\n1;Äpfel, süß\r\n".encode(encoding)
    write = "writeRecords(found, [[0, { accepted: ['Obst'], rejected: [] }]])"
    columns, written = of_records(page, f"[found.columns, {write}]", "a.csv", content)
    mark = "" if encoding == "utf-8" else "\ufeff"
    assert columns == ["id", "text"]
    assert written == f"{mark}{first}id;text;accepted;rejected\r\n1;Äpfel, süß;Obst;\r\n"


@pytest.mark.parametrize(
    ("name", "content", "what"),
    [
        ("a.csv", b"id,text\n1,a,b\n", ("Row 1 has 3 cells where the header has 2",)),
        ("a.csv", b'id,text\n1,"a\n', ("Line 2 has a quotation mark",)),
        ("a.csv", b"text\n", ("a.csv has no rows",)),
        ("a.csv", b"id,text,text\n1,fig,pear\n", ("text",)),
        ("a.csv", "id,text\n1,fig\n2,Äpfel\n".encode("cp1252"), ("Line 3", "UTF-8")),
        ("a.csv", "id,text\n1,fig\n".encode("utf-16-le"), ("UTF-8",)),
        ("a.csv", "\ufeffid,text\n".encode("utf-16-le")[:-1], ("UTF-16LE", "UTF-8")),
        ("a.jsonl", b'{"text": "a"}\n{"text"\n', ("Line 2 is not JSON",)),
        ("a.jsonl", b"[1]\n", ("Line 1 is not an object",)),
        ("a.xlsx", b"PK\3\4", ("a.xlsx", "CSV UTF-8")),
        ("a.parquet", b"PAR1", ("a.parquet", "CSV")),
    ],
)
def test_what_cannot_be_read_or_would_be_mangled_is_refused(new_tab, live, tmp_path, name, content, what):
    (tmp_path / name).write_bytes(content)
    page = opened(new_tab(), live)
    load_file(page, tmp_path / name)
    page.wait_until("document.querySelector('#queue [role=alert]')")
    said = text_of(page, "#queue [role=alert]")
    assert all(each in said for each in what)
    assert page.evaluate("document.getElementById('queue-open').hidden")


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("a.csv", "text,Tags\na,x|y z\nb,\n", [["x", "y z"], []]),
        ("a.csv", "text;tags\na;x, y\nb;z\n", [["x", "y"], ["z"]]),
        ("a.csv", "text,tags\n" + 'a,"x, y"\n' * 20 + 'b,"p|q, z"\n', [*[["x", "y"]] * 20, ["p|q", "z"]]),
        ("a.csv", 'text,labels\na,"[""x|y"", 7]"\n', [["x|y", "7"]]),
        ("a.csv", "text,subjects\na,<http://a.b/1> http://a.b/2\n", [["http://a.b/1", "http://a.b/2"]]),
        ("a.jsonl", '{"text": "a", "tags": ["x, y", 7]}\n{"text": "b", "tags": null}\n', [["x, y", "7"], []]),
        ("a.jsonl", '{"text": "a", "subjects": [{"uri": "<http://a.b/1>", "label": "x"}]}\n', [["http://a.b/1"]]),
        ("a.csv", "text,topic\na,x\n", [[]]),
    ],
)
def test_tags_of_a_file_are_read(page, name, content, expected):
    assert of_records(page, "found.rows.map((row) => tagsOf(row, found))", name, content.encode()) == expected


def test_tags_of_a_file_are_shown_as_assigned(new_tab, live, tmp_path):
    (tmp_path / "new.csv").write_text("text,topic\napple pear fig,Fruit;pome\nsong,\n")
    page = opened(new_tab(), live)
    load_file(page, tmp_path / "new.csv")
    at(page, 1, 0, 2)
    assert page.evaluate("document.getElementById('assigned').hidden")
    page.tab_to("it.id === 'tag-column'")
    for _ in range(2):  # none, text, topic
        page.press("ArrowDown")
    page.wait_until("!document.getElementById('assigned').hidden")
    page.wait_until(READY)
    chips = "[...document.querySelectorAll('#assigned-list li')].map(it => it.textContent)"
    assert page.evaluate(chips) == ["Fruit", "pome"]
    assert page.evaluate("document.querySelector('[data-label=fruit]').className") == "suggestion assigned"
    assert "in the file" in text_of(page, "[data-label=fruit]")
    assert page.evaluate("document.querySelectorAll('.assigned').length") == 1
    page.tab_to("it.className === 'accept'")
    page.press("n")
    at(page, 2, 1, 2)
    assert page.evaluate("document.getElementById('assigned').hidden")
    check_nothing_odd(page, live)


def test_an_export_can_be_learned_from(page, tacit, saved, tmp_path):
    """By another model; its own knows the judgements already."""
    rows = [{"title": text, "accepted": "before", "label": "fruit"} for text in TEXTS]
    (tmp_path / "new.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    page.download_to(tmp_path)
    load_file(page, tmp_path / "new.jsonl")
    at(page, 1, 0)
    focus(page, "music")
    page.press("Enter")
    wait_for_acts(page, 1)
    focus(page, "cars")
    page.press("x")
    wait_for_acts(page, 2)
    press_button(page, "Export")
    downloaded(tmp_path, "new-decided.jsonl")
    assert "tacit learn MODEL new-decided.jsonl --text title" in text_of(page, "#status")
    other = shutil.copytree(saved, tmp_path / "other")
    learned = tacit("learn", other, tmp_path / "new-decided.jsonl", "--text", "title")
    assert learned.code == 0, learned.err
    judged = [each for act in Tagger.load(other).acts_ for each in act.content["judgements"]]
    assert judged == [
        {"text": TEXTS[0], "label": "music", "accepted": True},
        {"text": TEXTS[0], "label": "cars", "accepted": False},
    ]


def test_columns_are_chosen(new_tab, live, tmp_path):
    rows = [{"key": f"k{n}", "title": "apple", "recitals": "song " * 30, "tags": "x"} for n in range(3)]
    (tmp_path / "new.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    page = opened(new_tab(), live)
    load_file(page, tmp_path / "new.jsonl")
    at(page, 1, 0, 3)
    assert page.evaluate("document.getElementById('text').value") == f"apple\n{'song ' * 30}"
    page.tab_to("it.parentElement?.textContent.trim() === 'recitals'")
    page.press(" ")
    page.wait_until("document.getElementById('text').value === 'apple'")
    page.wait_until(READY)
    assert labels(page)[0] == "fruit"
