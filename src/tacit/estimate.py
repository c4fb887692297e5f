"""What training will take, before it starts: time, memory and size of the model; and how to stay within a limit.

A model is fitted on growing parts of the data in a process of its own, and what the parts took is carried on to all
of it by a power law. Nothing here knows any model: a new one is estimated like the others.
"""

from __future__ import annotations

import functools
import json
import math
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np
from joblib import effective_n_jobs
from scipy import sparse
from sklearn.base import clone

from tacit.checks import as_features
from tacit.errors import ParameterError, TacitError
from tacit.labels import read_labels
from tacit.parameters import check_parameters
from tacit.probe import Measurement, data_bytes, resident_bytes, write_task
from tacit.progress import announce

if TYPE_CHECKING:
    from tacit.base import Estimator

_WARM_UP = 100  # samples of a first fit, which compiles kernels or loads them
_FIRST_PART = 500  # samples of the smallest part that is measured
_GROWTH = 2  # of a part over the one before
_LARGEST_SHARE = 0.25  # of the samples in the largest part
_LEAST_SECONDS = 5.0  # that probes may take however short the training: less tells too little
_LOOK_AHEAD = 1.3  # power of the number of samples by which the next probe is expected to take longer
_PATIENCE = 60.0  # seconds after which a probe that has not answered is given up
#: Least and largest power of the number of samples. Training is at best linear; a flatter curve is overhead.
_POWERS = {"cpu_seconds": (0.9, 2.0), "memory_bytes": (0.6, 1.1), "model_bytes": (0.0, 1.25)}
_LARGEST_SIZE = 2**62  # bytes; what the system can be told of
_RESERVE = 32 << 20  # bytes below a limit that are left to small allocations: stacks of threads, Python's own
_WATCH_SECONDS = 0.02
_AGAIN_SECONDS = 0.25  # an interruption is lost where Python ignores errors, as in callbacks of its garbage collector
_COUNTS = ("n_jobs", "n_trees", "n_learners")  # parameters that memory grows evenly with, the harmless one first


# -- sizes ------------------------------------------------------------------------------------------------


def parse_size(text: str | int) -> int:
    """Bytes of a size such as ``"8G"``, ``"500M"`` or ``"1.5GiB"``; units are powers of 1024."""
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]?)i?b?\s*", str(text), re.IGNORECASE)
    size = float(match[1]) * 1024 ** " kmgt".index(match[2].lower() or " ") if match else 0
    if size >= _LARGEST_SIZE:
        raise ParameterError(f"a size must be below {_LARGEST_SIZE >> 40:,}T, which no machine has; got '{text}'")
    if size <= 0.5:
        raise ParameterError(f"a size is a number with K, M, G or T, such as 8G or 500M; got '{text}'")
    return round(size)


def format_size(size: float) -> str:
    """A number of bytes for people, such as ``"1.4 GB"``; units are powers of 1024."""
    power = min(int(math.log(size, 1024)), 4) if size >= 1 else 0
    value = size / 1024**power
    return f"{value:.{0 if power == 0 or value >= 10 else 1}f} {('bytes', 'KB', 'MB', 'GB', 'TB')[power]}"


def format_seconds(seconds: float) -> str:
    """A time for people, such as ``"35 s"`` or ``"2 h 10 min"``."""
    if seconds < 10:
        return f"{seconds:.1f} s"
    if seconds < 120:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 120 else f"{minutes // 60} h {minutes % 60} min"


# -- estimate ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Estimate:
    """What training is expected to take.

    Attributes
    ----------
    seconds : float
        Wall time of `fit`, without the compilation of kernels on their first use.
    memory_bytes : int
        Peak memory of this process: what it holds now, the data among it, and what `fit` adds.
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


def estimate(model: Estimator, X: Any, Y: Any, *, max_seconds: float = 20.0) -> Estimate:
    """What ``model.fit(X, Y)`` will take, from fits on small parts of the data.

    Parameters
    ----------
    model : Estimator
        A registered model; it is not changed.
    X, Y
        As for `fit`.
    max_seconds : float
        Time that the probes may take at most. They stop earlier where they have taken a twentieth of the time they
        predict.
    """
    check_parameters(model)
    features, labels = as_features(X), read_labels(Y).matrix
    rows = _random_rows(labels)
    n_samples = features.shape[0]
    with _probe(model, features[rows], labels[rows], n_samples) as measure:
        measured = _measure_parts(measure, n_samples, len(rows), max_seconds)
    if not measured:
        return Estimate(_PATIENCE * max(n_samples / _FIRST_PART, 1), resident_bytes(), 0, is_lower_bound=True)
    return Estimate(
        _seconds(measured, n_samples),
        resident_bytes() + round(_extrapolated(measured, "memory_bytes", n_samples)),
        round(_extrapolated(measured, "model_bytes", n_samples)),
    )


def _random_rows(Y: sparse.csr_matrix) -> Any:
    """Rows of the largest part in random order, one that has a label first."""
    n_rows = Y.shape[0]
    n_largest = min(n_rows, max(math.ceil(_LARGEST_SHARE * n_rows), 4 * _FIRST_PART))
    rows = np.random.default_rng(0).permutation(n_rows)
    labelled = np.flatnonzero(np.diff(Y.indptr)[rows] > 0)
    if len(labelled):
        rows[[0, labelled[0]]] = rows[[labelled[0], 0]]
    return rows[:n_largest]


def _measure_parts(measure: Any, n_samples: int, n_largest: int, max_seconds: float) -> list[Measurement]:
    """Measurements of growing parts, until they are enough or have taken long enough."""
    size = min(n_largest, _FIRST_PART)
    if measure(min(size, _WARM_UP)) is None:
        return []
    measured: list[Measurement] = []
    while (latest := measure(size)) is not None:
        measured.append(latest)
        spent = sum(one.seconds for one in measured)
        share = 0.05 * _seconds(measured, n_samples)
        size *= _GROWTH
        ahead = latest.seconds * _GROWTH**_LOOK_AHEAD
        if size > n_largest or (len(measured) > 1 and spent + ahead > min(max(share, _LEAST_SECONDS), max_seconds)):
            break
    return measured


def _seconds(measured: Sequence[Measurement], n_samples: int) -> float:
    """Wall time: processor time, which other work on the machine disturbs less, at the rate the probes got it."""
    rate = sum(one.seconds for one in measured) / max(sum(one.cpu_seconds for one in measured), 1e-9)
    return rate * _extrapolated(measured, "cpu_seconds", n_samples)


def _extrapolated(measured: Sequence[Measurement], what: str, n_samples: int) -> float:
    """The power law through the last measurements, at `n_samples`."""
    sizes = np.array([one.n_samples for one in measured[-3:]], np.float64)
    values = np.maximum([getattr(one, what) for one in measured[-3:]], 1e-9)
    power = 1.0
    if len(sizes) > 1:
        power = float(np.clip(np.polyfit(np.log(sizes), np.log(values), 1)[0], *_POWERS[what]))
    return float(values[-1] * (n_samples / sizes[-1]) ** power)


@contextmanager
def _probe(
    model: Estimator, X: sparse.csr_matrix, Y: sparse.csr_matrix, n_samples: int
) -> Iterator[Callable[[int], Measurement | None]]:
    """A function that fits the model on the first samples in another process; None when that takes too long."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    with tempfile.TemporaryDirectory(prefix="tacit-") as folder, tempfile.TemporaryFile("w+") as errors:
        write_task(Path(folder), model, X, Y, n_samples)
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
        return Measurement(**answer)
    if gave_up:
        return None
    errors.seek(0)
    raise TacitError(f"the process that tries the model out ended early: {' '.join(errors.read().split()[-30:])}")


# -- limits -----------------------------------------------------------------------------------------------


def within_memory(model: Estimator, X: Any, Y: Any, limit: int, expected: Estimate | None = None) -> Estimator:
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
        What `estimate` gave for `model`, where it is known.
    """
    needed = (expected or estimate(model, X, Y)).memory_bytes
    changes = []
    for name in _COUNTS:
        count = _count(model, name)
        if needed <= limit or count == 1:
            continue
        smallest: Estimator = clone(model).set_params(**{name: 1})
        least = estimate(smallest, X, Y).memory_bytes
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
    """How many tasks run at a time, or how many trees or learners there are; 1 where there are no such things."""
    if name == "n_jobs":
        return int(effective_n_jobs(model.n_jobs))
    return int(getattr(model, name, 1))


@contextmanager
def memory_limit(limit: int | None) -> Iterator[None]:
    """Inside the block this process gets at most `limit` bytes: more is a TacitError, not a killed process.

    Only Linux keeps such a limit; elsewhere, and with None, the block is as it would be without.
    """
    if limit is None or sys.platform != "linux":
        yield
        return
    import resource

    held = data_bytes()
    if held + 2 * _RESERVE > limit:
        raise TacitError(
            f"{format_size(limit)} of memory are too few: this process holds {format_size(held)} before it begins; "
            f"allow at least {format_size(held + 4 * _RESERVE)}"
        )
    before = resource.getrlimit(resource.RLIMIT_DATA)
    lift = functools.partial(resource.setrlimit, resource.RLIMIT_DATA, before)
    watch = _Watch(limit - _RESERVE, lift)
    is_deaf = watch.is_main and signal.getsignal(signal.SIGINT) is signal.SIG_IGN  # as in the background of a script
    if is_deaf:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    resource.setrlimit(resource.RLIMIT_DATA, (limit, before[1]))
    try:
        watch.start()
        yield
        watch.stop()
    except (MemoryError, KeyboardInterrupt) as error:
        watch.stop()
        if isinstance(error, KeyboardInterrupt) and not watch.tripped:
            raise
        raise TacitError(
            f"more than the allowed {format_size(limit)} of memory are needed; allow more, train on fewer samples, or "
            "choose a smaller model (see: tacit models)"
        ) from error
    finally:
        watch.stop()
        lift()
        if is_deaf:
            signal.signal(signal.SIGINT, signal.SIG_IGN)


class _Watch(threading.Thread):
    """Interrupts the main thread when the process comes near its limit in small steps.

    An allocation that is too large is refused by the system, which is an error where it was asked for. Without the
    watch, small ones would be refused too, among them what a thread needs to start: Python then waits for it forever.
    """

    def __init__(self, most_bytes: int, lift: Callable[[], None]) -> None:
        super().__init__(daemon=True)
        self.most_bytes = most_bytes
        self.lift = lift
        self.tripped = False
        self.is_main = threading.current_thread() is threading.main_thread()
        self._over = threading.Event()

    def run(self) -> None:
        """Look at the memory of this process until the watch is stopped."""
        while not self._over.wait(_AGAIN_SECONDS if self.tripped else _WATCH_SECONDS):
            if self.tripped or (data_bytes() > self.most_bytes and self.is_main):
                self.tripped = True
                self.lift()
                signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    def stop(self) -> None:
        """End the watch; a second time does nothing."""
        self._over.set()
        if self.ident is not None:
            self.join()
