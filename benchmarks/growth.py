"""How time, memory and speed grow with labels and with samples: `LabelTree`, `OneVsAll` and PECOS XR-Linear.

Usage: ``python -m benchmarks growth [--labels N…] [--samples N…] [--busy] [--markdown] [--write]``

The data are synthetic. Systems are run as ``python -m benchmarks peers`` runs them: in turns, each step in a process of
its own on an idle machine. Results are kept, so that the same command continues what was interrupted.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.peers.__main__ import add_conditions, conditions
from benchmarks.peers.environments import CACHE, machine
from benchmarks.peers.load import MachineBusyError
from benchmarks.peers.pages import PAGE, canvas, save_figure, write_block
from benchmarks.peers.runs import Bench
from benchmarks.peers.sets import Matrices
from benchmarks.peers.systems import SYSTEMS
from benchmarks.peers.tables import Runs, Table, as_markdown, as_text, load_during, medians, names_in, rounded
from tacit.core.labels import label_counts
from tacit.data.synthetic import make_dataset

NAMES = ("pecos", "LabelTree", "OneVsAll")
LABELS = (1_000, 4_000, 16_000, 64_000, 256_000)
SAMPLES = (4_000, 16_000, 64_000, 256_000)
N_SAMPLES, N_LABELS = 50_000, 4_000  # of what does not grow
N_FEATURES, N_TEST = 50_000, 5_000
EXPONENT = 0.6  # of the frequencies of labels: with 1, the default, most of 256,000 labels would have no sample
COLUMNS = {
    "train CPU s": "train_cpu",
    "wall s": "train_wall",
    "train MB": "train_mb",
    "model MB": "model_mb",
    "rows/s, 1 thread": "rows_per_second",
    "one row, ms": "row_ms",
    "P@1": "P@1",
}
PANELS = {"train_cpu": "CPU seconds of training", "train_mb": "MB of training", "rows_per_second": "rows/s, one thread"}


@dataclass(frozen=True)
class Size:
    """Training samples and labels of a synthetic set; `axis` names what grows."""

    axis: str
    n_samples: int
    n_labels: int

    @property
    def grown(self) -> int:
        """The number that grows."""
        return self.n_labels if self.axis == "labels" else self.n_samples

    def load(self) -> Matrices:
        """Rows with all of their labels."""
        n_rows = self.n_samples + N_TEST
        options: dict[str, Any] = {
            "exponent": EXPONENT,
            "hide": False,
            "unseen_share": 0.0,
            "test_share": N_TEST / n_rows,
        }
        data = make_dataset(n_rows, N_FEATURES, self.n_labels, **options)
        return data.X[data.train], data.Y[data.train], data.X[data.test], data.Y[data.test]


@dataclass(frozen=True)
class Grown:
    """What was measured on one size, of whose labels `n_seen` are in train."""

    size: Size
    n_seen: int
    runs: Runs


def sizes(labels: Sequence[int], samples: Sequence[int]) -> Iterator[Size]:
    """Growing labels, then growing samples."""
    yield from (Size("labels", N_SAMPLES, n) for n in labels)
    yield from (Size("samples", n, N_LABELS) for n in samples)


def grow(chosen: argparse.Namespace) -> Iterator[Grown]:
    """The runs of each size; a system without result on a smaller size is not tried."""
    names: dict[str, Sequence[str]] = {}
    for size in sizes(sorted(chosen.labels), sorted(chosen.samples)):
        name = f"growth-{size.n_samples}x{N_FEATURES}x{size.n_labels}"
        bench = Bench(name, chosen.folder.absolute(), size.load, conditions(chosen))
        runs = bench.runs(names.get(size.axis, chosen.systems), chosen.runs)
        names[size.axis] = names_in(runs)
        yield Grown(size, int(np.count_nonzero(label_counts(bench.labels[0]))), runs)


def table(found: Sequence[Grown], axis: str) -> Table:
    """A row for each size and system."""
    rows: Table = [("samples", "labels", "in train", "", *COLUMNS, "other load")]
    for one in found:
        for name in names_in(one.runs) if one.size.axis == axis else ():
            numbers = (f"{number:,}" for number in (one.size.n_samples, one.size.n_labels, one.n_seen))
            values = medians(one.runs, name)
            load = max(load_during(run[name]) for run in one.runs if name in run)
            cells = (_cell(values[column]) for column in COLUMNS.values())
            rows.append((*numbers, SYSTEMS[name].title, *cells, f"{load:.1f}"))
    return rows


def _cell(value: float) -> str:
    return f"{value:.2f}" if value < 10 else rounded(value)


def draw(found: Sequence[Grown], names: Sequence[str]) -> None:
    """Write docs/figures/growth.svg: a row of panels for each axis, a line for each system."""
    axes = list(dict.fromkeys(one.size.axis for one in found))
    figure, panels = canvas(len(axes), len(PANELS), 9.6, 2.9 * len(axes))
    for axis, row in zip(axes, panels, strict=True):
        for (column, title), panel in zip(PANELS.items(), row, strict=True):
            for name in names:
                points = _line(found, axis, name, column)
                panel.plot([x for x, _ in points], [y for _, y in points], "o-", label=SYSTEMS[name].title.strip("`"))
            panel.set(xscale="log", yscale="log", xlabel=axis, title=title)
            panel.grid(alpha=0.3)
    panels[0][0].legend(fontsize=8, frameon=False)
    save_figure(figure, "growth")


def _line(found: Sequence[Grown], axis: str, name: str, column: str) -> list[tuple[int, float]]:
    measured = [one for one in found if one.size.axis == axis and name in names_in(one.runs)]
    return [(one.size.grown, medians(one.runs, name)[column]) for one in measured]


def text(found: Sequence[Grown], chosen: argparse.Namespace) -> str:
    """Both tables with what a reader must know."""
    show = as_markdown if chosen.markdown or chosen.write else as_text
    intro = (
        f"{machine()}. Training on {chosen.threads} threads, ranking by {conditions(chosen).clock} time; runs: "
        f"{chosen.runs}. Labels grow with {N_SAMPLES:,} samples, samples with {N_LABELS:,} labels; "
        f"{N_FEATURES:,} features, {N_TEST:,} test rows. Sizes for which a step took more than "
        f"{chosen.timeout:,.0f} s are left out."
    )
    axes = dict.fromkeys(one.size.axis for one in found)
    return "\n\n".join([intro, *(show(table(found, axis)) for axis in axes)])


def parser() -> argparse.ArgumentParser:
    """The options."""
    options = argparse.ArgumentParser("python -m benchmarks growth", description=str(__doc__).partition("\n")[0])
    options.add_argument("--labels", type=int, nargs="*", default=LABELS, help="(%(default)s)")
    options.add_argument("--samples", type=int, nargs="*", default=SAMPLES, help="(%(default)s)")
    options.add_argument("--systems", nargs="+", choices=SYSTEMS, default=NAMES, help="(%(default)s)")
    options.add_argument("--runs", type=int, default=1, help="(%(default)s)")
    options.add_argument("--markdown", action="store_true", help="print the tables for docs")
    options.add_argument("--write", action="store_true", help="write the tables and the figure into docs")
    options.add_argument("--folder", type=Path, default=CACHE / "results", help="for results (%(default)s)")
    add_conditions(options)
    return options


def main(*arguments: str) -> None:
    """Print the tables."""
    chosen = parser().parse_args(arguments)
    try:
        found = list(grow(chosen))
    except MachineBusyError as error:
        sys.exit(str(error))
    print(text(found, chosen))
    if chosen.write:
        draw(found, chosen.systems)
        picture = "![Time, memory and speed over the number of labels and of samples](figures/growth.svg)"
        write_block(PAGE, "growth", f"{picture}\n\n{text(found, chosen)}")


if __name__ == "__main__":
    main(*sys.argv[1:])
