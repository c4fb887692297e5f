"""The command of the comparison with other systems."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

import benchmarks.peers
from benchmarks.peers.environments import CACHE, machine
from benchmarks.peers.load import MachineBusyError
from benchmarks.peers.pages import PAGE, README, canvas, save_figure, write_block
from benchmarks.peers.runs import Bench, Conditions
from benchmarks.peers.sets import SETS, data_folder, first_rows
from benchmarks.peers.systems import SYSTEMS, TOO_SLOW
from benchmarks.peers.tables import (
    Runs,
    as_markdown,
    as_text,
    conditions_of,
    figures_table,
    medians,
    names_in,
    notes,
    ratios_table,
    short_table,
)

DEFAULT_SETS = ("eurlex57k", "yso-finna-en")
SHOWN = "eurlex57k"  # the set of the figure, and of the table in README
TICKS = (5, 10, 20, 50, 100, 200, 400)  # of the time of training


def parser() -> argparse.ArgumentParser:
    """The options."""
    options = argparse.ArgumentParser(
        "python -m benchmarks peers", description=str(benchmarks.peers.__doc__).partition("\n")[0]
    )
    options.add_argument("--sets", nargs="+", choices=SETS, default=DEFAULT_SETS, help="(%(default)s)")
    options.add_argument("--systems", nargs="+", choices=SYSTEMS, help="those that the set is meant for unless told")
    options.add_argument("--runs", type=int, default=3, help="(%(default)s)")
    options.add_argument("--rows", type=int, help="of train and of test, to try the command (all)")
    options.add_argument("--markdown", action="store_true", help="print the tables for docs")
    options.add_argument("--write", action="store_true", help="write the tables and the figure into docs and README")
    options.add_argument("--folder", type=Path, default=CACHE / "results", help="for results (%(default)s)")
    add_conditions(options)
    return options


def add_conditions(options: argparse.ArgumentParser) -> None:
    """The options for how is measured."""
    options.add_argument("--threads", type=int, default=2, help="of training (%(default)s)")
    options.add_argument("--busy", action="store_true", help="measure although other processes are at work")
    options.add_argument("--wait", type=float, default=30, metavar="MINUTES", help="for an idle machine (%(default)s)")
    options.add_argument("--timeout", type=float, default=TOO_SLOW, metavar="SECONDS", help="of a step (%(default)s)")


def conditions(chosen: argparse.Namespace) -> Conditions:
    """As chosen."""
    return Conditions(chosen.threads, chosen.busy, chosen.wait, chosen.timeout)


def compare(name: str, chosen: argparse.Namespace) -> None:
    """Print the tables of one set, and write them if asked to."""
    source, few = SETS[name], "" if chosen.rows is None else f"-{chosen.rows}"
    bench = Bench(
        f"{name}{few}",
        chosen.folder.absolute(),
        lambda: first_rows(source.load(data_folder()), chosen.rows),
        conditions(chosen),
    )
    runs = bench.runs(chosen.systems or source.systems, chosen.runs)
    if not any(runs):
        print(f"{source.title}: nothing was measured", end="\n\n")
        return
    tables = [figures_table(runs, chosen.threads), ratios_table(runs)]
    about = notes(f"{source.title}: {bench.shape}", runs, chosen.threads, bench.conditions.clock)
    show = as_markdown if chosen.markdown else as_text
    print("\n\n".join(["\n".join(about), *map(show, tables)]), end="\n\n", flush=True)
    if chosen.write:
        text = "\n\n".join([" ".join([f"{machine()}.", *about]), *map(as_markdown, tables)])
        write_block(PAGE, f"peers {name}", text)
        if name == SHOWN:
            how = conditions_of(runs, chosen.threads, bench.conditions.clock)
            busy = " Other processes were at work." if chosen.busy else ""
            write_block(README, f"peers {name}", f"{as_markdown(short_table(runs))}\n\n{how}{busy}")
            draw(runs)


def draw(runs: Runs) -> None:
    """Write docs/figures/label-tree-time.svg: P@1 and PSP@1 against the time of training."""
    figure, ((left, right),) = canvas(1, 2, 8.6, 3.2)
    for axes, metric in ((left, "P@1"), (right, "PSP@1")):
        for number, name in enumerate(names_in(runs)):
            system, found = SYSTEMS[name], medians(runs, name)
            style = {"markersize": 8, "markeredgecolor": "black"} if system.is_ours else {"markersize": 7}
            mark, colour = "o" if system.is_ours else "X", f"C{number % 10}"
            label = system.title.replace("`", "")
            axes.plot(found["train_cpu"], found[metric], mark, color=colour, label=label, **style)
        axes.set(xscale="log", xlabel="CPU seconds of training", ylabel=metric)
        axes.set_xticks(TICKS, [str(tick) for tick in TICKS])
        axes.minorticks_off()
        axes.grid(alpha=0.3)
        axes.margins(x=0.1, y=0.1)
    right.legend(loc="center left", bbox_to_anchor=(1.02, 0.5), fontsize=8, frameon=False)
    save_figure(figure, "label-tree-time")


def main(*arguments: str) -> None:
    """Print the tables."""
    chosen = parser().parse_args(arguments)
    if "TACIT_DATA" not in os.environ:
        print("set TACIT_DATA to the folder with the public benchmark sets to run this benchmark")
        return
    average = ", ".join(f"{load:.2f}" for load in os.getloadavg())
    print(f"{machine()}; load average at the start {average}{' (--busy)' if chosen.busy else ''}", end="\n\n")
    try:
        for name in chosen.sets:
            compare(name, chosen)
    except MachineBusyError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main(*sys.argv[1:])
