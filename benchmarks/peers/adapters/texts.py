"""What adapters that learn from texts share; imported by their own interpreters, so it needs nothing but Python.

Adapters are called with a step, a folder for the model and options in JSON. ``train`` learns from the corpus and the
vocabulary that the options name, both as Annif has them; ``suggest`` answers for another corpus. The last line that a
step prints is what it measured, in JSON.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from measures import cpu_seconds, megabytes_of

K = 5
N_SINGLE = 200  # requests whose time is taken
N_WARM = 50  # requests before them

Options = dict[str, Any]
Suggest = Callable[[list[str]], list[list[str]]]


def run(
    prepare: Callable[[Path, Options], Options],
    train: Callable[[Path, Options], None],
    load: Callable[[Path, Options], tuple[Suggest, Iterable[Path]]],
) -> None:
    """Run one step of a system and print what was measured.

    Parameters
    ----------
    prepare : callable
        ``(folder, options)``: what must happen once before either step and is not measured. Returns what is to be
        known about the system, such as versions.
    train : callable
        ``(folder, options)`` reads the corpus, trains and saves the model.
    load : callable
        ``(folder, options)``: a function from texts to the K best labels of each, and the files of the model.
    """
    step, folder, options = sys.argv[1], Path(sys.argv[2]), json.loads(sys.argv[3])
    about = prepare(folder, options)
    if step == "train":
        found = _measure_training(lambda: train(folder, options))
    else:
        suggest, files = load(folder, options)
        found = _measure_suggestions(suggest, texts_of(options["texts"]))
        found["model_mb"] = megabytes_of(files)
    print(json.dumps({**about, **found}))


def texts_of(path: str) -> list[str]:
    """The texts of a corpus in TSV."""
    with Path(path).open(encoding="utf-8") as file:
        return [line.partition("\t")[0] for line in file]


def _measure_training(train: Callable[[], None]) -> dict[str, float]:
    wall, cpu = time.perf_counter(), cpu_seconds()
    train()
    return {
        "train_cpu": cpu_seconds() - cpu,
        "train_wall": time.perf_counter() - wall,
    }


def _measure_suggestions(suggest: Suggest, texts: list[str]) -> dict[str, Any]:
    """The texts of the warm-up are the last, those whose time is taken the first."""
    for text in texts[-N_WARM:]:
        suggest([text])
    walls, cpus = zip(*(_timed(suggest, text) for text in texts[:N_SINGLE]), strict=True)
    return {
        "request_ms": 1000 * statistics.median(walls),
        "request_cpu_ms": 1000 * statistics.median(cpus),
        "suggested": suggest(texts),
    }


def _timed(suggest: Suggest, text: str) -> tuple[float, float]:
    """Wall and CPU seconds of a request."""
    wall, cpu = time.perf_counter(), time.process_time()
    suggest([text])
    return time.perf_counter() - wall, time.process_time() - cpu
