"""What training will take, before it starts: time, memory and size of the model; and how to stay within a limit.

A training is tried out on growing parts of the data in a process of its own, and what its phases took is carried on to
all of the data (`tacit.growth`). Nothing here knows any model: a new one is estimated like the others.
"""

from __future__ import annotations

import functools
import json
import math
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np
from joblib import effective_n_jobs
from sklearn.base import clone

from tacit.checks import as_features
from tacit.errors import TacitError
from tacit.growth import Extent, amount_at, extent_of, seconds_at
from tacit.labels import positives, read_labels
from tacit.memory import memory_limit, peak_bytes, resident_bytes
from tacit.parameters import Role, check_parameters, with_role
from tacit.phases import FIT, Lap
from tacit.probe import Measurement, Task, write_task
from tacit.progress import announce
from tacit.sizes import format_seconds, format_size, parse_size

if TYPE_CHECKING:
    from tacit.base import Estimator

__all__ = [
    "Estimate",
    "estimate",
    "estimate_task",
    "format_seconds",
    "format_size",
    "memory_limit",
    "parse_size",
    "within_memory",
]

_WARM_UP = 100  # samples of a first training, which loads kernels
_FIRST_PART = 500  # samples of the smallest part that is measured
_GROWTHS = (4, 2)  # of a part over the one before: the larger while parts are cheap
_CHEAP_SECONDS = 1.5  # of a part that is cheap; and of all parts, however short the training
_LARGEST_SHARE = 0.5  # of the samples in the largest part ...
_LEAST_LARGEST = 2000  # ... but so many samples, where there are
_SHARE = 0.15  # of the time predicted that probing may take
_LOOK_AHEAD = 1.2  # power of the number of samples by which the next part is expected to take longer
_LEAST_PARTS = 2
_PATIENCE = 60.0  # seconds after which a probe that has not answered is given up


@dataclass(frozen=True)
class Estimate:
    """What training is expected to take.

    Attributes
    ----------
    seconds : float
        Wall time of everything that is done, without the compilation of kernels on their first use.
    memory_bytes : int
        Peak memory of this process: what it holds now, the data among it, and what training adds.
    model_bytes : int
        Size of the saved model.
    is_lower_bound : bool
        Whether not even the smallest part was done in time, so that all this is the least that training takes.
    """

    seconds: float
    memory_bytes: int
    model_bytes: int
    is_lower_bound: bool = False

    def __str__(self) -> str:
        if self.is_lower_bound:
            return f"more than {format_seconds(self.seconds)}, and memory that cannot be told"
        return (
            f"about {format_seconds(self.seconds)}, {format_size(self.memory_bytes)} of memory, "
            f"a model of {format_size(self.model_bytes)}"
        )

    def after(self, seconds: float) -> Estimate:
        """The estimate with the time of what is done before."""
        return replace(self, seconds=self.seconds + seconds)


def estimate(model: Estimator, X: Any, Y: Any, *, max_seconds: float = 20.0) -> Estimate:
    """What ``model.fit(X, Y)`` and saving it will take, from trainings on small parts of the data.

    Parameters
    ----------
    model : Estimator
        A registered model; it is not changed.
    X, Y
        As for `fit`.
    max_seconds : float
        Time that the probes may take at most. They stop earlier where they have taken their share of what they
        predict.
    """
    check_parameters(model)
    task = Task(model, as_features(X), read_labels(Y))
    return estimate_task(task, [(FIT, task.X.shape[0])], max_seconds=max_seconds)


def estimate_task(task: Task, schedule: Sequence[tuple[str, int]], *, max_seconds: float = 20.0) -> Estimate:
    """What a training will take, whose phases have so many samples each; see `estimate`."""
    held, peak = resident_bytes(), peak_bytes()  # before anything is done that training does not do
    Y = positives(task.labels.matrix)
    rows = _random_rows(Y)
    part = functools.cache(lambda n: extent_of(task.X[rows[:n]], Y[rows[:n]]))
    with tempfile.TemporaryDirectory(prefix="tacit-") as folder:
        with _probe(folder) as measure:  # starts while the task is written
            write_task(Path(folder), task.rows(rows), Y.shape[0])
            goal = _Goal(extent_of(task.X, Y), schedule, part)
            measured = _measure_parts(measure, goal, len(rows), max_seconds)
        if measured and measured[0].has_compiled:  # they are cached now: another process tells what loading takes
            with _probe(folder) as measure:
                measured = _measure_parts(measure, goal, len(rows), max_seconds, may_compile=True)
    if len(measured) < 2:
        return Estimate(_PATIENCE * max(Y.shape[0] / _FIRST_PART, 1), held, 0, is_lower_bound=True)
    model_bytes = goal.amount("model_bytes", measured)
    added = measured[0].start_bytes + goal.amount("memory_bytes", measured[1:])
    if sum(name == FIT for name, _ in schedule) > 1:  # the first model is kept while another is fitted
        added += model_bytes
    return Estimate(goal.seconds(measured), max(held + round(added), peak), round(model_bytes))


def _random_rows(Y: Any) -> Any:
    """Rows of the largest part in random order, one that has a label first."""
    n_rows = Y.shape[0]
    n_largest = min(n_rows, max(math.ceil(_LARGEST_SHARE * n_rows), _LEAST_LARGEST))
    rows = np.random.default_rng(0).permutation(n_rows)
    labelled = np.flatnonzero(np.diff(Y.indptr)[rows] > 0)
    if len(labelled):
        rows[[0, labelled[0]]] = rows[[labelled[0], 0]]
    return rows[:n_largest]


@dataclass(frozen=True, eq=False)
class _Goal:
    """All of the data, the phases that a training on them has, and how large parts of them are."""

    extent: Extent
    schedule: Sequence[tuple[str, int]]
    part: Callable[[int], Extent]

    def seconds(self, measured: Sequence[Measurement]) -> float:
        """Wall time of a training on all data; the first measurement is of the one that loaded kernels."""
        first, parts = measured[0], measured[1:]
        extents = [self.part(one.n_samples) for one in parts]
        rest = [one.seconds - sum(lap.seconds for lap in one.laps) for one in parts]
        total = max(first.seconds - parts[0].seconds, 0.0) + amount_at(self.extent, extents, rest)
        for name, n_samples in self.schedule:
            known = [
                (lap, extent._replace(n_samples=lap.n_samples))
                for one, extent in zip(parts, extents, strict=True)
                for lap in one.laps
                if lap.phase == name
            ]
            if known:
                total += _lap_at(self.extent._replace(n_samples=n_samples), known)
        return total

    def amount(self, what: str, measured: Sequence[Measurement]) -> float:
        """Bytes of memory, or of the model, for all data."""
        extents = [self.part(one.n_samples) for one in measured]
        return amount_at(self.extent, extents, [getattr(one, what) for one in measured])


def _lap_at(where: Extent, known: Sequence[tuple[Lap, Extent]]) -> float:
    """Wall time of a phase: the law of processor time, which other work disturbs less, at the rate it was given."""
    last = [lap for lap, _ in known[-2:]]
    rate = sum(lap.seconds for lap in last) / max(sum(lap.cpu_seconds for lap in last), 1e-6)
    return rate * seconds_at(where, [extent for _, extent in known], [lap.cpu_seconds for lap, _ in known])


def _measure_parts(
    measure: Callable[[int], Measurement | None],
    goal: _Goal,
    n_largest: int,
    max_seconds: float,
    *,
    may_compile: bool = False,
) -> list[Measurement]:
    """Measurements of growing parts, until they are enough or have taken long enough.

    The first is of the training that loads kernels; it is the only one if it had to compile some and may not.
    """
    began = time.perf_counter()
    first = measure(min(n_largest, _WARM_UP))
    if first is None:
        return []
    if first.has_compiled and not may_compile:
        return [first]
    measured, size = [first], min(n_largest, _FIRST_PART)
    while (latest := measure(size)) is not None:
        measured.append(latest)
        growth = next((each for each in _GROWTHS if latest.effort * each < _CHEAP_SECONDS), _GROWTHS[-1])
        more = growth**_LOOK_AHEAD
        is_cheap = sum(one.effort for one in measured) + latest.effort * more < _CHEAP_SECONDS
        ends = time.perf_counter() - began + latest.seconds * more
        is_affordable = ends < min(_SHARE * goal.seconds(measured), max_seconds)
        if size == n_largest or not (is_cheap or is_affordable or len(measured) <= _LEAST_PARTS):
            break
        size = min(size * growth, n_largest)
    return measured


@contextmanager
def _probe(folder: str) -> Iterator[Callable[[int], Measurement | None]]:
    """A function that trains on the first samples in another process; None when that takes too long."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    with tempfile.TemporaryFile("w+") as errors:
        command = [sys.executable, "-m", "tacit.probe", folder]
        pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": errors}
        process = subprocess.Popen(command, text=True, env=environment, **pipes)  # noqa: S603 - our own module
        try:
            yield functools.partial(_ask, process, errors)
        finally:
            process.kill()
            process.communicate()  # unlike `with process`, ends well when the process has closed its side


def _ask(process: subprocess.Popen[str], errors: IO[str], n_samples: int) -> Measurement | None:
    alarm = threading.Timer(_PATIENCE, process.kill)
    alarm.start()
    try:
        print(n_samples, file=process.stdin, flush=True)
        line = process.stdout.readline() if process.stdout is not None else ""
    except BrokenPipeError:
        line = ""
    finally:
        gave_up = not alarm.is_alive()
        alarm.cancel()
    if line:
        answer = json.loads(line)
        if "error" in answer:
            raise TacitError(answer["error"])
        return Measurement(**{**answer, "laps": [Lap(*lap) for lap in answer["laps"]]})
    if gave_up:
        return None
    errors.seek(0)
    raise TacitError(f"the process that tries the model out ended early: {' '.join(errors.read().split()[-30:])}")


def within_memory(
    model: Estimator,
    X: Any,
    Y: Any,
    limit: int,
    expected: Estimate | None = None,
    *,
    estimated: Callable[[Estimator], Estimate] | None = None,
) -> Estimator:
    """A model whose training is expected to stay within `limit` bytes: `model`, or a copy that does less at a time.

    First fewer tasks run at a time, which changes nothing but the time; then the model gets fewer trees or learners,
    where it has them. What was changed is announced. A TacitError says what would fit where nothing helps.

    Parameters
    ----------
    model, X, Y
        As for `estimate`.
    limit : int
        Most memory of this process, in bytes; see `parse_size`.
    expected : Estimate, optional
        What is expected of `model`, where it is known.
    estimated : callable, optional
        What is expected of another model, where more than its `fit` counts.
    """

    def memory_of(other: Estimator) -> int:
        return (estimate(other, X, Y) if estimated is None else estimated(other)).memory_bytes

    needed = memory_of(model) if expected is None else expected.memory_bytes
    changes = []
    for name in ("n_jobs", *with_role(type(model), Role.MULTIPLIES_MEMORY)):  # the harmless one first
        count = _count(model, name)
        if needed <= limit or count == 1:
            continue
        smallest: Estimator = clone(model).set_params(**{name: 1})
        least = memory_of(smallest)
        # Between one and all of them memory grows evenly.
        fitting = 1 + max(0, int((limit - least) * (count - 1) / max(needed - least, 1)))
        model = clone(model).set_params(**{name: min(fitting, count - 1)})
        needed = min(limit, needed) if least <= limit else least
        changes.append(f"{name} {getattr(model, name)} instead of {count}")
    if needed > limit:
        raise TacitError(
            f"{type(model).__name__} needs about {format_size(needed)} of memory for these data at the least, but "
            f"{format_size(limit)} are allowed; allow more, train on fewer samples, or choose a smaller model (see: "
            "tacit models)"
        )
    if changes:
        announce(f"to stay within {format_size(limit)}: {', '.join(changes)}")
    return model


def _count(model: Estimator, name: str) -> int:
    """How many tasks run at a time, or how many trees or learners there are."""
    if name == "n_jobs":
        return int(effective_n_jobs(model.n_jobs))
    return int(getattr(model, name))
