"""Pictures of the page and of a report in a real browser, for README and docs: ``make pictures``.

A model of EU law (EURLEX57K, a part of its training texts) is trained, evaluated and served; needs TACIT_DATA, Chromium
and Pillow, which comes with the extra `plots`.
"""

from __future__ import annotations

import gzip
import io
import json
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from PIL import Image

from server.browser import CHROMIUM, Page, chromium
from server.live import Live, serving
from server.using import READY, load_file, opened, suggest, wait_for_acts
from tacit import Tagger, load_data
from tacit.report.write import write_report

OUT = Path(__file__).parents[1] / "docs" / "pictures"
_TRAINED_ON = 4  # every fourth text of the training part
_N_EVALUATED, _N_QUEUED = 1000, 40
_SCALE = 1.5  # pixels of a picture per pixel of the page
_COLOURS = 32
_DESK, _PHONE = (1120, 760), (390, 800)
_ABOUT = "fishing off Angola"  # the text that is shown


def main() -> None:
    """Make all pictures."""
    data = os.environ.get("TACIT_DATA")
    if data is None or CHROMIUM is None:
        sys.exit("pictures need Chromium, and TACIT_DATA with eurlex57k")
    OUT.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _train(Path(data) / "eurlex57k", folder)
        with serving({"eurovoc": folder / "eurovoc"}) as live, chromium(folder / "browser") as new_tab:
            for picture in (empty, suggestions, why, phone, queue, report):
                _shoot(picture, new_tab(), live, folder)


def _train(data: Path, folder: Path) -> None:
    """A model with its report, and a file of texts to work through."""
    for part, step, most in (("train", _TRAINED_ON, None), ("test", 1, _N_EVALUATED)):
        rows = islice(_rows(data / f"{part}.jsonl.gz"), 0, most and step * most, step)
        _write(folder / f"{part}.jsonl", ({"text": row["title"], "labels": row["concepts"]} for row in rows))
    new = (row for row in _rows(data / "test.jsonl.gz") if "fish" in row["title"])
    queued = ({"celex": row["celex_id"], "title": row["title"]} for row in islice(new, _N_QUEUED))
    _write(folder / "new-acts.jsonl", queued)
    train, test = (load_data(folder / f"{part}.jsonl") for part in ("train", "test"))
    tagger = Tagger("OneVsAll", keep_texts=True, vocabulary=data / "eurovoc_en.json")
    tagger.fit(train.texts, train.Y, label_names=train.label_names).save(folder / "eurovoc")
    write_report(folder / "eurovoc" / "report.html", tagger, test, model_name="eurovoc", data_name="test.jsonl")


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        for line in file:
            row = json.loads(line)
            yield {**row, "title": " ".join(row["title"].split())}


def _write(path: Path, rows: Iterator[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def _shoot(picture: Callable[[Page, Live, Path], None], page: Page, live: Live, folder: Path) -> None:
    picture(page, live, folder)
    path = OUT / f"{picture.__name__}.png"
    page.screenshot(path)
    with Image.open(io.BytesIO(path.read_bytes())) as image:
        image.convert("RGB").quantize(_COLOURS, dither=Image.Dither.NONE).save(path, optimize=True)
    print(f"{path.name}: {path.stat().st_size / 1000:.0f} kB")


# -- what the pictures show -------------------------------------------------------------------------------


def empty(page: Page, live: Live, _: Path) -> None:
    """The page before there is a text."""
    _look(page, _DESK)
    opened(page, live)


def suggestions(page: Page, live: Live, _: Path) -> None:
    """Suggestions for a text, one of them accepted."""
    _suggest(page, live, _DESK)
    page.press("Enter")
    wait_for_acts(page, 1)
    page.press("ArrowDown")


def why(page: Page, live: Live, _: Path) -> None:
    """The reasons for a suggestion."""
    _suggest(page, live, _DESK)
    _explain(page)


def phone(page: Page, live: Live, _: Path) -> None:
    """The same on a phone, in the dark."""
    _suggest(page, live, _PHONE, dark=True)
    _explain(page)


def queue(page: Page, live: Live, folder: Path) -> None:
    """A file that is being worked through, in the dark."""
    _look(page, _DESK, dark=True)
    opened(page, live)
    load_file(page, folder / "new-acts.jsonl")
    for place in (1, 2, 3):
        page.wait_until(f"document.getElementById('queue-place').textContent.startsWith('text {place} ')")
        page.wait_until(READY)
        page.press("n")
    page.wait_until("document.getElementById('queue-place').textContent.startsWith('text 4 ')")
    page.wait_until(READY)


def report(page: Page, live: Live, _: Path) -> None:
    """The top of the report."""
    _look(page, (_DESK[0], 1000))
    page.open(f"{live.base_url}/v1/models/eurovoc/report")
    page.wait_until("document.readyState === 'complete' && document.querySelectorAll('h2').length > 5")


def _suggest(page: Page, live: Live, size: tuple[int, int], *, dark: bool = False) -> None:
    _look(page, size, dark=dark)
    test = Path(os.environ["TACIT_DATA"]) / "eurlex57k" / "test.jsonl.gz"
    suggest(opened(page, live), next(row["title"] for row in _rows(test) if _ABOUT in row["title"]))


def _explain(page: Page) -> None:
    page.press("w")
    page.wait_until("document.querySelector('.similar')")


def _look(page: Page, size: tuple[int, int], *, dark: bool = False) -> None:
    page.look(width=size[0], height=size[1], dark=dark, scale=_SCALE)
    page.call("Emulation.setScrollbarsHidden", hidden=True)


if __name__ == "__main__":
    main()
