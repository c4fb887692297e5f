"""Estimates of a training before it starts: time, memory and model size; and how to stay within a memory limit.

The model is trained on growing samples of the data in a separate process, and the measurements are extrapolated to all
data (`tacit.growth`). Nothing here depends on the model: a new one is estimated like the others.
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
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np
from joblib import effective_n_jobs
from sklearn.base import clone

from tacit.errors import TacitError
from tacit.features import read_features
from tacit.growth import Extent, amount_at, extent_of, seconds_by_step, size_at
from tacit.labels import positives, read_labels
from tacit.memory import entries_at_once, held_bytes, is_large_on_disk, peak_bytes
from tacit.parameters import Role, check_parameters, with_role
from tacit.phases import FIT, Lap
from tacit.probe import Measurement, Task, write_task
from tacit.progress import announce
from tacit.sizes import format_seconds, format_size

if TYPE_CHECKING:
    from tacit.base import Estimator

_WARM_UP = 100  # samples of a first training, which loads kernels
_FIRST_PART = 500  # samples of the smallest part that is measured
_GROWTHS = (4, 2)  # factors from one part to the next; the larger while parts are cheap
_CHEAP_SECONDS = 2.0  # for a cheap part, and for all parts together, however short the training
_LARGEST_SHARE = 0.5  # of all samples in the largest part ...
_LEAST_LARGEST = 2000  # ... but at least this many samples, if there are
_LARGEST_ENTRIES = 1e7  # features of the largest part, which is copied to another process
_BYTES_PER_ENTRY = 40  # of a matrix on disk, while it is worked on
_SHARE = 0.15  # of the predicted time that the probe may take
_LOOK_AHEAD = 1.2  # the time of the next part is expected to grow with this power of its samples
_LEAST_PARTS = 2
_OF_MODEL = "state.model_."  # names of the arrays of a tagger that its model has
_PATIENCE = 60.0  # seconds of processor time that a part may take, ...
_LONGEST = 10  # ... and times as much to wait for it on a busy machine
_TOO_HIGH = 1.25  # estimates of memory can be too high by this factor, ...
_LEAST_TRUSTED = 0.01  # ... and by any factor if no larger share of the samples was tried


@dataclass(frozen=True)
class Estimate:
    """The expected cost of a training.

    Attributes
    ----------
    seconds : float
        Wall time of all phases, without the compilation of kernels on their first use.
    memory_bytes : int
        Peak memory of this process: what it holds now, including the data, and what training adds.
    model_bytes : int
        Size of the saved model.
    is_lower_bound : bool
        Whether not even the smallest part finished in time, so that the values are lower bounds.
    share_tried : float
        Share of the samples in the largest part that was tried.
    """

    seconds: float
    memory_bytes: int
    model_bytes: int
    is_lower_bound: bool = False
    share_tried: float = 1.0

    def __str__(self) -> str:
        if self.is_lower_bound:
            return f"more than {format_seconds(self.seconds)}, and memory that cannot be told"
        return (
            f"about {format_seconds(self.seconds)}, {format_size(self.memory_bytes)} of memory, "
            f"a model of {format_size(self.model_bytes)}"
        )

    def after(self, seconds: float) -> Estimate:
        """The estimate with the time of preceding work added."""
        return replace(self, seconds=self.seconds + seconds)


def estimate(model: Estimator, X: Any, Y: Any, *, max_seconds: float = 20.0) -> Estimate:
    """The expected cost of ``model.fit(X, Y)`` and of saving the model, from trainings on small parts of the data.

    Parameters
    ----------
    model : Estimator
        A registered model; it is not changed.
    X, Y
        As for `fit`.
    max_seconds : float
        Maximum time of these trainings; processor time, on a busy machine. They stop earlier after 15 % of the
        predicted time.
    """
    check_parameters(model)
    task = Task(model, read_features(X), read_labels(Y))
    return estimate_task(task, [(FIT, task.X.shape[0])], max_seconds=max_seconds)


def estimate_task(task: Task, schedule: Sequence[tuple[str, int]], *, max_seconds: float = 20.0) -> Estimate:
    """The expected cost of a training with a schedule: its phases, and the number of samples of each."""
    on_disk = is_large_on_disk()
    held, peak = held_bytes(), 0 if on_disk else peak_bytes()  # before the memory that the estimate itself takes
    Y = positives(task.labels.matrix)
    rows = _random_rows(task.X, Y)
    part = functools.cache(lambda n: extent_of(task.X[rows[:n]], Y[rows[:n]]))
    with tempfile.TemporaryDirectory(prefix="tacit-") as folder:
        with _probe(folder) as measure:  # starts while the task is written
            write_task(Path(folder), replace(task.rows(rows), on_disk=on_disk), Y.shape[0])
            goal = _Goal(extent_of(task.X, Y), schedule, part)
            measured = _measure_parts(measure, goal, len(rows), max_seconds)
        if measured and measured[0].has_compiled:  # cached from now on; another process measures how long loading takes
            with _probe(folder) as measure:
                measured = _measure_parts(measure, goal, len(rows), max_seconds, may_compile=True)
    if len(measured) < 2:
        return Estimate(_PATIENCE * max(Y.shape[0] / _FIRST_PART, 1), held, 0, is_lower_bound=True)
    model_bytes = goal.model_bytes(measured)
    added = measured[0].start_bytes + goal.memory_bytes(measured[1:])
    if on_disk:  # parts work on fewer entries at a time
        added += _BYTES_PER_ENTRY * entries_at_once() * effective_n_jobs(task.model.n_jobs)
    if sum(name == FIT for name, _ in schedule) > 1:  # the first model is in memory while another is fitted
        added += model_bytes
    return Estimate(
        goal.seconds(measured),
        max(held + round(added), peak),
        round(model_bytes),
        share_tried=measured[-1].n_samples / Y.shape[0],
    )


def _random_rows(X: Any, Y: Any) -> Any:
    """The rows of the largest part in random order, starting with one that has a label."""
    n_rows = Y.shape[0]
    n_affordable = max(int(_LARGEST_ENTRIES * n_rows / max(X.nnz, 1)), _FIRST_PART)
    n_largest = min(n_rows, max(math.ceil(_LARGEST_SHARE * n_rows), _LEAST_LARGEST), n_affordable)
    rows = np.random.default_rng(0).permutation(n_rows)
    labelled = np.flatnonzero(np.diff(Y.indptr)[rows] > 0)
    if len(labelled):
        rows[[0, labelled[0]]] = rows[[labelled[0], 0]]
    return rows[:n_largest]


@dataclass(frozen=True, eq=False)
class _Goal:
    """What measurements are extrapolated to: all data, and the phases of the training."""

    extent: Extent
    schedule: Sequence[tuple[str, int]]
    part: Callable[[int], Extent]  # the extent of the first n samples

    def seconds(self, measured: Sequence[Measurement]) -> float:
        """Wall time of a training on all data; the first measurement includes the loading of kernels."""
        first, parts = measured[0], measured[1:]
        extents = [self.part(one.n_samples) for one in parts]
        rest = [one.seconds - sum(lap.seconds for lap in one.laps) for one in parts]
        loaded = amount_at(self.part(first.n_samples), extents, [one.effort for one in parts])  # had kernels been there
        total = max(first.effort - loaded, 0.0) + amount_at(self.extent, extents, rest)
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

    def memory_bytes(self, measured: Sequence[Measurement]) -> float:
        """Bytes of memory for all data."""
        extents = [self.part(one.n_samples) for one in measured]
        return amount_at(self.extent, extents, [one.memory_bytes for one in measured])

    def model_bytes(self, measured: Sequence[Measurement]) -> float:
        """Bytes of the model of all data: each array grows by a law of its own, and so does the rest.

        Parts save a model that was fitted without their held-out samples; of all data it is the one fitted with them.
        """
        extents = [self.part(one.n_samples) for one in measured]
        fitted = [self.part(one.n_fitted) for one in measured]
        names = measured[-1].array_bytes
        rest = [one.model_bytes - sum(one.array_bytes.get(name, 0) for name in names) for one in measured]
        total = amount_at(self.extent, extents, rest)
        for name in names:
            sizes = [one.array_bytes.get(name, 0) for one in measured]
            total += size_at(self.extent, fitted if name.startswith(_OF_MODEL) else extents, sizes)
        return total


def _lap_at(where: Extent, known: Sequence[tuple[Lap, Extent]]) -> float:
    """Wall time of a phase: extrapolated processor time, which other load disturbs less, and time that it waits.

    Of several threads, wall time is the measured share of processor time. Waiting grows by a law of its own: for other
    processes all the time, but for the disk as often with few samples as with many, where results of tasks are kept.
    """
    last = known[-2:]
    rate = sum(lap.seconds for lap, _ in last) / max(sum(lap.cpu_seconds for lap, _ in last), 1e-6)
    waits = [max(lap.seconds - lap.cpu_seconds, 0.0) for lap, _ in last]
    extents, seconds = [extent for _, extent in known], [lap.cpu_seconds for lap, _ in known]
    working = seconds_by_step(where, extents, seconds, [dict(lap.steps) for lap, _ in known])
    return min(rate, 1.0) * working + amount_at(where, extents[-2:], waits)


def _measure_parts(
    measure: Callable[[int], Measurement | None],
    goal: _Goal,
    n_largest: int,
    max_seconds: float,
    *,
    may_compile: bool = False,
) -> list[Measurement]:
    """Measurements of growing parts, until there are enough or the time is spent.

    The first is of the training that loads kernels; it is the only one if kernels were compiled without `may_compile`.
    """
    first = measure(min(n_largest, _WARM_UP))
    if first is None:
        return []
    if first.has_compiled and not may_compile:
        return [first]
    measured, size = [first], min(n_largest, _FIRST_PART)
    while (latest := measure(size)) is not None:
        measured.append(latest)
        left = min(max(_SHARE * goal.seconds(measured), _CHEAP_SECONDS), max_seconds)
        left -= sum(one.effort for one in measured)
        cheap = [each for each in _GROWTHS if latest.effort * each < _CHEAP_SECONDS]
        growth = next((each for each in cheap if latest.effort * each**_LOOK_AHEAD < left), _GROWTHS[-1])
        is_affordable = latest.effort * growth**_LOOK_AHEAD < left
        if size == n_largest or not (is_affordable or len(measured) <= _LEAST_PARTS):
            break
        size = min(size * growth, n_largest)
    return measured


@contextmanager
def _probe(folder: str) -> Iterator[Callable[[int], Measurement | None]]:
    """A function that trains on the first n samples in another process and returns None if that takes too long."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    with tempfile.TemporaryFile("w+") as errors:
        command = [sys.executable, "-m", "tacit.probe", folder, str(_PATIENCE)]
        pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": errors}
        process = subprocess.Popen(command, text=True, env=environment, **pipes)  # noqa: S603 - our own module
        try:
            yield functools.partial(_ask, process, errors)
        finally:
            process.kill()
            process.communicate()  # unlike `with process`, does not fail if the process has closed its pipes


def _ask(process: subprocess.Popen[str], errors: IO[str], n_samples: int) -> Measurement | None:
    alarm = threading.Timer(_LONGEST * _PATIENCE, process.kill)
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
        if answer is None:
            return None
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
    """A model whose training is expected to stay within `limit` bytes: `model`, or a copy that needs less memory.

    First fewer tasks run in parallel, which only takes longer; then the model gets fewer trees or learners, if it has
    any. Changes are announced. If nothing helps, a TacitError says so, unless the estimate may just be too high: then
    it is for `tacit.memory.memory_limit` to stop the training. A guess from a tiny part of the samples neither changes
    the model nor refuses it.

    Parameters
    ----------
    model, X, Y
        As for `estimate`.
    limit : int
        Maximum memory of this process, in bytes; see `tacit.sizes.parse_size`.
    expected : Estimate, optional
        The estimate for `model`, if it is known.
    estimated : callable, optional
        Estimates another model, if more than its `fit` counts.
    """

    def estimate_of(other: Estimator) -> Estimate:
        return estimate(other, X, Y) if estimated is None else estimated(other)

    expected = estimate_of(model) if expected is None else expected
    needed = expected.memory_bytes
    is_trusted = expected.share_tried > _LEAST_TRUSTED
    changes = []
    for name in ("n_jobs", *(with_role(type(model), Role.MULTIPLIES_MEMORY) if is_trusted else ())):
        count = _count(model, name)
        if needed <= limit or count == 1:
            continue
        smallest: Estimator = clone(model).set_params(**{name: 1})
        least = min(estimate_of(smallest).memory_bytes, needed)
        # Memory is taken to be linear in the number.
        fitting = 1 + max(0, int((limit - least) * (count - 1) / max(needed - least, 1)))
        model = clone(model).set_params(**{name: min(fitting, count - 1)})
        needed = min(limit, needed) if least <= limit else least
        changes.append(f"{name} {getattr(model, name)} instead of {count}")
    is_near = needed <= _TOO_HIGH * limit
    if not is_near and is_trusted:
        raise TacitError(
            f"{type(model).__name__} needs about {format_size(needed)} of memory for these data at the least, but "
            f"{format_size(limit)} are allowed; allow more, train on fewer samples, or choose a smaller model (see: "
            "tacit models)"
        )
    if changes:
        announce(f"to stay within {format_size(limit)}: {', '.join(changes)}")
    if needed > limit:
        why = "" if is_near else f", as that is a guess from {expected.share_tried:.2%} of the samples"
        announce(f"{format_size(needed)} of memory are expected; {format_size(limit)} may be enough{why}")
    return model


def _count(model: Estimator, name: str) -> int:
    """The number of parallel tasks, of trees or of learners."""
    if name == "n_jobs":
        return int(effective_n_jobs(model.n_jobs))
    return int(getattr(model, name))
