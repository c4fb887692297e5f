"""Where acts are recorded: copies of a ledger in use, acts per second, and the time to load many.

Usage: ``python -m benchmarks.ledger``. While a process records acts as fast as it can, the folder is copied again and
again, file by file, as ``cp -r`` does. A copy should hold all acts that were recorded before it was begun. SQLite, in
its two modes of keeping a transaction safe, stands beside our file of checksummed lines.
"""

from __future__ import annotations

import multiprocessing
import shutil
import sqlite3
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import tacit
from tacit.store.acts import Act
from tacit.store.ledger import START, Ledger
from tacit.tagger import home

SECONDS = 20  # of copying
N_ACTS = 100_000
TEXT = "a text that somebody judged, of about four hundred characters " * 6


def act() -> Act:
    """A judgement."""
    return Act("judge", {"judgements": [{"text": TEXT, "label": "fruit", "accepted": True}]})


def lines_writer(folder: Path) -> Callable[[], None]:
    """Records one act at a time in a ledger."""
    ledger, mark = Ledger(folder / "acts.jsonl"), [START]

    def record() -> None:
        with ledger.locked() as writing:
            mark[0] = writing.append([act()], "base", mark[0])

    return record


def lines_reader(folder: Path) -> int:
    """How many acts a ledger holds."""
    return len(Ledger(folder / "acts.jsonl").read().acts)


def sqlite_writer(mode: str) -> Callable[[Path], Callable[[], None]]:
    """Records one act at a time in a table, in a mode in which a commit survives a power cut.

    The file is opened for each act, as it is when commands write it.
    """

    def open_it(folder: Path) -> Callable[[], None]:
        def record() -> None:
            connection = sqlite3.connect(folder / "acts.sqlite", isolation_level=None)
            connection.execute(f"PRAGMA journal_mode = {mode}")
            connection.execute("PRAGMA synchronous = EXTRA")
            connection.execute("CREATE TABLE IF NOT EXISTS acts (number INTEGER PRIMARY KEY, content TEXT)")
            connection.execute("INSERT INTO acts (content) VALUES (?)", (str(act().to_json()),))
            connection.close()

        return record

    return open_it


def sqlite_reader(folder: Path) -> int:
    """How many acts a table holds that is whole."""
    connection = sqlite3.connect(folder / "acts.sqlite")
    try:
        if connection.execute("PRAGMA quick_check").fetchone() != ("ok",):
            raise sqlite3.DatabaseError("not whole")
        return int(connection.execute("SELECT count(*) FROM acts").fetchone()[0])
    finally:
        connection.close()


def _write(open_it: Callable[[Path], Callable[[], None]], folder: Path, done: Any, stop: Any) -> None:
    record = open_it(folder)
    while not stop.value:
        record()
        done.value += 1


def copies(open_it: Callable[[Path], Callable[[], None]], read: Callable[[Path], int]) -> str:
    """How many copies could not be read, or lacked acts that had been recorded before."""
    context = multiprocessing.get_context("fork")
    with tempfile.TemporaryDirectory() as place:
        folder, done, stop = Path(place, "model"), context.Value("q", 0), context.Value("b", 0)
        folder.mkdir()
        writer = context.Process(target=_write, args=(open_it, folder, done, stop))
        writer.start()
        while not done.value:
            time.sleep(0.01)
        n_copies = unreadable = lacking = 0
        start = time.perf_counter()
        while time.perf_counter() - start < SECONDS:
            n_copies += 1
            before = done.value
            shutil.rmtree(Path(place, "copy"), ignore_errors=True)
            try:
                lacking += read(Path(shutil.copytree(folder, Path(place, "copy")))) < before
            except (sqlite3.Error, OSError, tacit.TacitError, shutil.Error):
                unreadable += 1
        rate = done.value / SECONDS
        stop.value = 1
        writer.join()
    return f"{unreadable} of {n_copies} copies unreadable, {lacking} lacking acts; {rate:,.0f} acts recorded a second"


def loading() -> None:
    """The time to load a tagger with many acts, most of them judgements."""
    rng = np.random.default_rng(0)
    words = [f"word{i}" for i in range(2000)]
    texts = [" ".join(rng.choice(words, 40)) for _ in range(2000)]
    tags = [[f"label {i % 50}"] for i in range(2000)]
    with tempfile.TemporaryDirectory() as place:
        tacit.Tagger("OneVsAll", calibrate=False).fit(texts, tags).save(Path(place, "model"))
        tagger = tacit.Tagger.load(Path(place, "model"))
        judged = ({"text": texts[i % 2000], "label": f"label {i % 50}", "accepted": i % 3 == 0} for i in range(N_ACTS))
        acts = [Act("judge", {"judgements": [each]}) for each in judged]
        start = time.perf_counter()
        home.commit(tagger, acts)
        print(f"recording {N_ACTS:,} acts at once: {time.perf_counter() - start:.1f} s")
        for what in ("with", "without"):
            best = min(_seconds(lambda: tacit.Tagger.load(Path(place, "model"))) for _ in range(3))
            print(f"loading them {what} the file of samples: {best:.1f} s")
            Path(place, "model", "acts.jsonl.samples").unlink(missing_ok=True)


def _seconds(function: Callable[[], object]) -> float:
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def main() -> None:
    """Print everything."""
    print("checksummed lines:", copies(lines_writer, lines_reader))
    for mode in ("DELETE", "WAL"):
        print(f"SQLite, {mode}:", copies(sqlite_writer(mode), sqlite_reader))
    loading()


if __name__ == "__main__":
    main()
