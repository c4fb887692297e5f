"""``docs/reproduction.md``, written from the results in the cache."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from reproduce.papers import PAPERS, Entry
from reproduce.report import Report
from reproduce.tables import Options
from tacit.store.atomic import replacing

PATH = Path(__file__).parents[1] / "docs" / "reproduction.md"
_START = """# The papers, reproduced
The tables, figures and theorems of the three papers behind tacit: what they print beside what comes out here. This page
is written by `python -m reproduce docs`; do not edit it.

`make reproduce` lists all entries; `make reproduce ARGS="exmlds table4"` runs one, and `tacit reproduce exmlds
table4` does the same in a clone of the repository. The columns are **printed** in the paper, **the paper's method and
settings, run here**, and **tacit's default**: the mean of several seeds, ± the largest standard deviation among the
metrics of a row, in percent unless said otherwise, and CPU seconds of training on one core. A row *holds* if the
paper's method, run here, is within 1.5 points of every printed figure of the row. Results are kept in a cache folder,
so a table that was stopped goes on where it was; this page shows the newest result of the same data, settings and
protocol, also where the model's code has changed since. Sets that are not here are left out. *Not run* means that the
time was not spent, *not built* that the method is not in this repository; figures without ± are of one seed. Settings
are in `reproduce/<paper>/settings.py`, each with the sentence of the paper that it is from.
"""


def write(options: Options, path: Path = PATH) -> None:
    """Write the page."""
    lines = [_START]
    for name, (title, entries) in PAPERS.items():
        lines.append(f"\n## {name}: {title}\n")
        for entry in entries:
            lines.extend(_section(entry, entry.report(options)))
    with replacing(path) as draft:
        draft.write_text("\n".join(lines).rstrip() + "\n", encoding="utf-8")


def _section(entry: Entry, report: Report) -> Iterator[str]:
    yield f"### {entry.name}: {entry.title}\n"
    shown = report.without_empty_columns()
    if shown.rows:
        yield "| " + " | ".join(shown.header) + " |"
        yield "|" + "---|" * len(shown.header)
        last = ""
        for row in shown.rows:
            first, *rest = (cell.replace("|", "\\|") for cell in row)
            yield "| " + " | ".join(["" if first == last else first, *rest]) + " |"
            last = first
        yield ""
    yield from (f"- {note}" for note in report.notes)
    if report.notes:
        yield ""
    yield from (f"**{line}**" if place == 0 else line for place, line in enumerate(report.judgement))
    if report.judgement:
        yield ""
    yield discussion(entry) + "\n"


def discussion(entry: Entry) -> str:
    """The paragraph of an entry, from the file `discussion.md` of its paper."""
    text = (Path(__file__).parent / entry.paper / "discussion.md").read_text(encoding="utf-8")
    sections = dict(part.split("\n", 1) for part in text.split("\n## ")[1:])
    return sections[entry.name].strip()
