"""Timing of the phases of a training, on which estimates are based.

Phases are recorded inside `recorded` only, and steps inside phases. Of nested ones only the outermost is recorded.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import NamedTuple

FIT, CALIBRATE = "fit", "calibrate"


class Lap(NamedTuple):
    """One run of a phase over a number of samples: wall and processor time, and processor time by step."""

    phase: str
    n_samples: int
    seconds: float
    cpu_seconds: float
    steps: Sequence[tuple[str, float]] = ()


_laps: ContextVar[list[Lap] | None] = ContextVar("tacit_laps", default=None)
_steps: ContextVar[dict[str, float] | None] = ContextVar("tacit_steps", default=None)


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
    steps: dict[str, float] = {}
    token, token_of_steps = _laps.set(None), _steps.set(steps)
    began, cpu_began = time.perf_counter(), time.process_time()
    try:
        yield
    finally:
        _laps.reset(token)
        _steps.reset(token_of_steps)
        times = time.perf_counter() - began, time.process_time() - cpu_began
        laps.append(Lap(name, n_samples, *times, tuple(steps.items())))


@contextmanager
def step(name: str) -> Iterator[None]:
    """Context of one step of a phase."""
    steps = _steps.get()
    if steps is None:
        yield
        return
    token, cpu_began = _steps.set(None), time.process_time()
    try:
        yield
    finally:
        _steps.reset(token)
        steps[name] = steps.get(name, 0.0) + time.process_time() - cpu_began
