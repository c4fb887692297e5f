"""What ``tacit train --dry-run`` says against what ``tacit train`` then takes: time, peak memory, size of the model.

Usage: ``TACIT_DATA=… python -m benchmarks.estimates [SET…]``. Both commands run in turn, as a user would run them, up
to three times while that is short; of each the run counts that other work disturbed least, the one with the
least time. The ratios are expected / real; any beyond a factor of 1.5 ends the run with exit code 1. *Probing* is what
the dry run took beyond reading and vectorising the data, which is measured by itself; it should be at most 3 s, or a
fifth of the time expected. *Cores* are processor time by wall time of the real run: below 1, the machine was busy.
"""

from __future__ import annotations

import gzip
import itertools
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from tacit.sizes import format_seconds, format_size, parse_size

FACTOR = 1.5
ROUNDS, ROUNDS_SECONDS = 3, 40.0
_TEXT = ("--text", "title,recitals", "--labels", "concepts")


class Set(NamedTuple):
    """A data file in TACIT_DATA, how many lines of it (None: all), and arguments of ``tacit train``."""

    file: str
    n_lines: int | None = None
    arguments: tuple[str, ...] = ()


SETS = {
    "bibtex": Set("bibtex/train.txt"),
    "bibtex ExMLDS1": Set("bibtex/train.txt", None, ("--model", "ExMLDS1")),
    "delicious": Set("delicious/train.txt"),
    "rcv1sub1 PfastreXML": Set("rcv1sub1/train.txt", None, ("--model", "PfastreXML")),
    "eurlex57k dev": Set("eurlex57k/dev.jsonl.gz", None, _TEXT),
    "yso-finna-en 10,000": Set("yso-finna-en/train.jsonl.gz", 10_000),
    "delicious test SLEEC": Set("delicious/test.txt", None, ("--model", "SLEEC")),
    "eurlex57k test FastXML": Set("eurlex57k/test.jsonl.gz", None, (*_TEXT, "--model", "FastXML")),
    "yso-finna-en test LabelTree": Set("yso-finna-en/test.jsonl.gz", None, ("--model", "LabelTree")),
}
#: Measured first when the rules were finished.
FRESH = {
    "bibtex test FastXML": Set("bibtex/test.txt", None, ("--model", "FastXML")),
    "eurlex57k test titles": Set(
        "eurlex57k/test.jsonl.gz", None, ("--text", "title", "--labels", "concepts", "--model", "LabelTree")
    ),
}
_READ = """
import sys, tacit
from tacit.tagger import training
fields = dict(zip(sys.argv[2::2], sys.argv[3::2]))
data = tacit.load_data(sys.argv[1], text=fields.get("--text"), labels=fields.get("--labels"))
samples = data.X if data.texts is None else data.texts
training.prepare(tacit.Tagger("Popularity"), samples, data.Y, data.label_names)
"""
_SAID = re.compile(r"about (?:(\d+) h )?(?:(\d+) min|([\d.]+) s), ([\d.]+ \w+) of memory, a model of ([\d.]+ \w+)")


class Run(NamedTuple):
    """What a process took, and what it wrote."""

    seconds: float
    cpu_seconds: float
    peak_bytes: int
    output: str


def run(*arguments: object) -> Run:
    """Run Python, and wait for it alone."""
    with tempfile.TemporaryFile("w+") as output:
        began = time.perf_counter()
        process = subprocess.Popen([sys.executable, *map(str, arguments)], stdout=output, stderr=subprocess.STDOUT)
        _, status, used = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - began
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        text = output.read()
    if process.returncode:
        raise SystemExit(text)
    return Run(seconds, used.ru_utime + used.ru_stime, 1024 * used.ru_maxrss, text)


def expected(output: str) -> tuple[float, int, int]:
    """Seconds, memory and size of the model that a dry run has said."""
    found = _SAID.search(output)
    if found is None:
        raise SystemExit(f"the dry run said: {output}")
    hours, minutes, seconds, memory, model = found.groups()
    total = 3600 * int(hours or 0) + 60 * int(minutes or 0) + float(seconds or 0)
    return total, *(parse_size(size.removesuffix("bytes")) for size in (memory, model))


def lines_of(where: Set, folder: Path) -> Path:
    """The data file, or a copy of its first lines."""
    path = Path(os.environ["TACIT_DATA"]) / where.file
    if where.n_lines is None:
        return path
    part = folder / "part.jsonl"
    with gzip.open(path, "rt", encoding="utf-8") as file:
        part.write_text("".join(itertools.islice(file, where.n_lines)), encoding="utf-8")
    return part


def measure(name: str, where: Set) -> bool:
    """Print a line of the table; whether every ratio is within the factor."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        data = lines_of(where, folder)
        fields = where.arguments if "--text" in where.arguments else ()
        reads, dries, reals = in_turns(
            ("-c", _READ, data, *fields),
            ("-m", "tacit", "train", data, *where.arguments, "--out", folder / "model", "--dry-run"),
            ("-m", "tacit", "train", data, *where.arguments, "--out", folder / "model"),
        )
        size = sum(file.stat().st_size for file in (folder / "model").iterdir())
    said = min(expected(dry.output) for dry in dries)
    real = min(reals)
    took = (real.seconds, real.peak_bytes, size)
    ratios = [one / other for one, other in zip(said, took, strict=True)]
    is_near = all(1 / FACTOR <= ratio <= FACTOR for ratio in ratios)
    shown = zip(said, took, ratios, (format_seconds, format_size, format_size), strict=True)
    cells = [f"{text(one)} / {text(other)} = {ratio:.2f}" for one, other, ratio, text in shown]
    probing = min(dries).seconds - min(reads).seconds
    cells += [f"{probing:.1f} s ({100 * probing / real.seconds:.0f} %)", f"{real.cpu_seconds / real.seconds:.1f}"]
    print(line(name, [*cells, "" if is_near else "OUTSIDE"]), flush=True)
    return is_near


def in_turns(*commands: tuple[object, ...]) -> list[list[Run]]:
    """Runs of each command, after one another, again while that is short."""
    began = time.perf_counter()
    runs: list[list[Run]] = [[] for _ in commands]
    for _ in range(ROUNDS):
        for done, arguments in zip(runs, commands, strict=True):
            done.append(run(*arguments))
        if time.perf_counter() - began > ROUNDS_SECONDS:
            break
    return runs


def line(name: str, cells: list[str]) -> str:
    """A line of the table."""
    return (f"{name:<28}" + "".join(f"{cell:<27}" for cell in cells)).rstrip()


def main() -> None:
    """Measure the sets named on the command line, or all."""
    every = SETS | FRESH
    wanted = [name for name in sys.argv[1:] if name in every] or list(every)
    print(line("set", ["time, expected / real", "peak memory", "model", "probing (of real time)", "cores"]), flush=True)
    if not all([measure(name, every[name]) for name in wanted]):  # noqa: C419 - all of them are measured
        sys.exit(1)


if __name__ == "__main__":
    main()
