"""How long the phases of a training take, for whoever asks: the estimate of a training goes by them.

A phase is noted only inside `recorded`, and only the outermost one: the fits within a fit are part of it.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import NamedTuple

FIT, CALIBRATE = "fit", "calibrate"


class Lap(NamedTuple):
    """One run of a phase over so many samples: wall and processor time."""

    phase: str
    n_samples: int
    seconds: float
    cpu_seconds: float


_laps: ContextVar[list[Lap] | None] = ContextVar("tacit_laps", default=None)


@contextmanager
def recorded() -> Iterator[list[Lap]]:
    """The laps of all phases inside the block, in the order in which they end."""
    laps: list[Lap] = []
    token = _laps.set(laps)
    try:
        yield laps
    finally:
        _laps.reset(token)


@contextmanager
def phase(name: str, n_samples: int) -> Iterator[None]:
    """Around one phase of a training, for so many samples."""
    laps = _laps.get()
    if laps is None:
        yield
        return
    token = _laps.set(None)
    began, cpu_began = time.perf_counter(), time.process_time()
    try:
        yield
    finally:
        _laps.reset(token)
        laps.append(Lap(name, n_samples, time.perf_counter() - began, time.process_time() - cpu_began))
