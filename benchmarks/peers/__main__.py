"""The command of the comparison with other systems."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

import benchmarks.peers
from benchmarks.peers.environments import CACHE, machine
from benchmarks.peers.load import MachineBusyError
from benchmarks.peers.runs import Bench, Conditions
from benchmarks.peers.sets import SETS, data_folder, first_rows
from benchmarks.peers.systems import SYSTEMS, TOO_SLOW
from benchmarks.peers.tables import as_markdown, as_text, figures_table, notes, ratios_table

DEFAULT_SETS = ("eurlex57k", "yso-finna-en")


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


def compare(name: str, chosen: argparse.Namespace) -> str:
    """The tables of one set."""
    source, few = SETS[name], "" if chosen.rows is None else f"-{chosen.rows}"
    bench = Bench(
        f"{name}{few}",
        chosen.folder.absolute(),
        lambda: first_rows(source.load(data_folder()), chosen.rows),
        conditions(chosen),
    )
    runs = bench.runs(chosen.systems or source.systems, chosen.runs)
    if not any(runs):
        return f"{source.title}: nothing was measured"
    show = as_markdown if chosen.markdown else as_text
    parts = [show(figures_table(runs, chosen.threads)), show(ratios_table(runs))]
    return "\n\n".join(["\n".join(notes(source.title, runs, chosen.threads, bench.shape)), *parts])


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
            print(compare(name, chosen), end="\n\n", flush=True)
    except MachineBusyError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main(*sys.argv[1:])
