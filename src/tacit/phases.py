"""Timing of the phases of a training, on which estimates are based.

Phases are recorded inside `recorded` only. Of nested phases only the outermost is recorded.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import NamedTuple

FIT, CALIBRATE = "fit", "calibrate"


class Lap(NamedTuple):
    """One run of a phase over a number of samples: wall and processor time."""

    phase: str
    n_samples: int
    seconds: float
    cpu_seconds: float


_laps: ContextVar[list[Lap] | None] = ContextVar("tacit_laps", default=None)


@contextmanager
def recorded() -> Iterator[list[Lap]]:
    """Record all phases inside the block, in the order in which they end."""
    laps: list[Lap] = []
    token = _laps.set(laps)
    try:
        yield laps
    finally:
        _laps.reset(token)


@contextmanager
def phase(name: str, n_samples: int) -> Iterator[None]:
    """Context of one phase of a training."""
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
