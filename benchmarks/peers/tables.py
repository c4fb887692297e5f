"""Medians over runs, ratios within runs, and tables of both."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence

from benchmarks.peers.systems import SYSTEMS, Result

ANCHOR = "pecos"  # to which ratios are
SHORT = ("pecos", "parabel", "bonsai", "napkinxc", "LabelTree", "OneVsAll")  # for README
RATIOS = {
    "train CPU": "train_cpu",
    "train wall": "train_wall",
    "train memory": "train_mb",
    "model": "model_mb",
    "rank memory": "rank_mb",
    "rows/s": "rows_per_second",
    "rows/s, threads": "rows_per_second_threads",
    "one row": "row_ms",
    "p95": "row_p95_ms",
}
FIGURES = (*RATIOS.values(), "first_row_s", "P@1", "P@3", "P@5", "PSP@1", "PSP@3", "PSP@5")

Runs = Sequence[dict[str, Result]]
Table = list[tuple[str, ...]]


def names_in(runs: Runs) -> list[str]:
    """The systems of which there is a result, in the order of the table of systems."""
    return [name for name in SYSTEMS if any(name in run for run in runs)]


def medians(runs: Runs, name: str) -> dict[str, float]:
    """The median of each figure over the runs of a system."""
    return {figure: statistics.median(run[name][figure] for run in runs if name in run) for figure in FIGURES}


def ratios(runs: Runs, name: str, figure: str) -> list[float]:
    """What a system has of a figure by what the anchor has in the same run, for each run that has both."""
    return [run[name][figure] / run[ANCHOR][figure] for run in runs if name in run and ANCHOR in run]


def figures_table(runs: Runs, n_threads: int) -> Table:
    """Medians."""
    ranking = ("rows/s, 1 thread", f"{n_threads} threads", "one row, ms", "p95")
    headings = ("", "version", "train CPU s", "wall s", "train MB", "model MB", "rank MB", *ranking, "first row, s")
    table: Table = [(*headings, "P@1/3/5", "PSP@1/3/5", "other load")]
    for name in names_in(runs):
        found = medians(runs, name)
        version = next(run[name]["version"] for run in runs if name in run)
        table.append(
            (
                SYSTEMS[name].title,
                "" if SYSTEMS[name].is_ours else version,
                *(rounded(found[figure]) for figure in ("train_cpu", "train_wall", "train_mb", "model_mb", "rank_mb")),
                *(rounded(found[figure]) for figure in ("rows_per_second", "rows_per_second_threads")),
                *(f"{found[figure]:.2f}" for figure in ("row_ms", "row_p95_ms", "first_row_s")),
                *_accuracy(found),
                f"{max(load_during(run[name]) for run in runs if name in run):.1f}",
            )
        )
    return table


def short_table(runs: Runs) -> Table:
    """Medians of the main figures of the main systems, for README."""
    table: Table = [("", "train CPU", "memory", "model", "rows/s, 1 thread", "one row", "P@1/3/5", "PSP@1/3/5")]
    for name in names_in(runs):
        if name not in SHORT:
            continue
        found = medians(runs, name)
        table.append(
            (
                SYSTEMS[name].title,
                f"{rounded(found['train_cpu'])} s",
                *(f"{rounded(found[figure])} MB" for figure in ("train_mb", "model_mb")),
                rounded(found["rows_per_second"]),
                f"{found['row_ms']:.2f} ms",
                *_accuracy(found),
            )
        )
    return table


def _accuracy(found: dict[str, float]) -> list[str]:
    return ["/".join(f"{found[f'{metric}@{k}']:.1f}" for k in (1, 3, 5)) for metric in ("P", "PSP")]


def ratios_table(runs: Runs) -> Table:
    """Medians of the ratios, for all systems but the anchor."""
    table: Table = [("", *RATIOS)]
    for name in names_in(runs):
        found = [ratios(runs, name, figure) for figure in RATIOS.values()]
        if name != ANCHOR and all(found):
            table.append((SYSTEMS[name].title, *(f"{statistics.median(values):.2f}" for values in found)))
    return table


def spread(runs: Runs) -> float:
    """The largest share by which a ratio of one run is off the median, over all systems and ratios."""
    shares = [0.0]
    for name in names_in(runs):
        for figure in RATIOS.values():
            found = ratios(runs, name, figure)
            shares += [abs(value / statistics.median(found) - 1) for value in found]
    return max(shares)


def load_before(found: Result) -> float:
    """The highest load by other processes before one of the steps."""
    return max(float(before) for before, _ in found["loads"])


def load_during(found: Result) -> float:
    """The highest load by other processes during one of the steps."""
    return max(float(during) for _, during in found["loads"])


def conditions_of(runs: Runs, n_threads: int, clock: str) -> str:
    """How was measured, in a sentence."""
    times = "once" if len(runs) == 1 else f"{len(runs)} times, of which the median is shown"
    return f"Training on {n_threads} threads, ranking by {clock} time; systems took turns {times}."


def notes(title: str, runs: Runs, n_threads: int, clock: str) -> list[str]:
    """What a reader must know to judge the tables."""
    found = [result for run in runs for result in run.values()]
    before, during = max(map(load_before, found)), max(map(load_during, found))
    busy = ["The machine was busy: wall times, and figures for several threads, mean little."] if clock == "CPU" else []
    manuals = {SYSTEMS[name].package: SYSTEMS[name].manual for name in names_in(runs) if SYSTEMS[name].manual}
    return [
        f"{title}. {conditions_of(runs, n_threads, clock)}",
        f"Other processes kept at most {before:.2f} cores busy before a step, {during:.2f} on average during one.",
        *busy,
        f"Ratios are to {SYSTEMS[ANCHOR].title} in the same run; single runs are up to {100 * spread(runs):.0f} % off.",
        f"Run as their manuals say: {', '.join(f'{package} ({url})' for package, url in manuals.items())}.",
    ]


def rounded(value: float) -> str:
    """Three digits at most, unless they are before the point."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}"


def as_text(table: Table) -> str:
    """A table in columns."""
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    lines = [zip(row, widths, strict=True) for row in table]
    return "\n".join("  ".join(_aligned(cell, width, n) for n, (cell, width) in enumerate(line)) for line in lines)


def _aligned(cell: str, width: int, column: int) -> str:
    return cell.rjust(width) if column else cell.ljust(width)


def as_markdown(table: Table) -> str:
    """A table for docs."""
    headings, *rows = table
    return "\n".join(_line(cells) for cells in (headings, ("---",) * len(headings), *rows))


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |".replace("|  |", "| |")
