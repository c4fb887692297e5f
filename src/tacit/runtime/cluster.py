"""Tasks on a Dask cluster: the connection, what workers must have, and results in the order of the tasks."""

from __future__ import annotations

import hashlib
import logging
import os
import pickle
import re
import signal
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import CancelledError
from contextlib import ExitStack, contextmanager
from functools import cached_property
from itertools import islice
from multiprocessing import resource_tracker
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import numpy.typing as npt
from joblib.parallel import get_active_backend

from tacit._version import __version__
from tacit.errors import DISTRIBUTION, ClusterError, MissingExtraError, ParameterError

Task = Mapping[str, Any]
Futures = dict[str, Any]  # what workers hold, by fingerprint

_LOUD = ("asyncio", "distributed", "tornado")  # loggers
_PACKAGES = (DISTRIBUTION, "python", "numpy", "scipy", "scikit-learn", "numba")  # whose versions can change a model
_WAIT = 30  # seconds for a scheduler to answer and for a first worker to join
_SMALL = 1 << 16  # bytes; smaller arguments travel with each task
_AHEAD = 4  # tasks per thread of a worker, so that none is idle while an earlier task takes longer
_LOSSES = 100  # results that may be lost with their workers
_ALIGNMENT = 16  # bytes, as NumPy has it
_KEPT = {"distributed.nanny.pre-spawn-environ.MALLOC_TRIM_THRESHOLD_": 1 << 26}  # else every array is of new pages


@contextmanager
def on_cluster(address: str | None) -> Iterator[None]:
    """Run all tasks inside the block on a Dask cluster.

    Parameters
    ----------
    address : str, optional
        The address of a scheduler, such as ``tcp://10.0.0.1:8786``, or ``local:4`` for four worker processes on this
        machine that end with the block. None: no cluster.

    Raises
    ------
    ClusterError
        If the scheduler does not answer, or a worker has other versions of tacit and its libraries than this process.
    """
    if address is None:
        yield
        return
    with ExitStack() as stack:
        stack.enter_context(joblib.parallel_config("dask", client=_connected(address, stack)))
        check_workers()
        yield


def _connected(address: str, stack: ExitStack) -> Any:
    local = re.fullmatch(r"local:([1-9]\d*)", address)
    if local is None and not re.match(r"\w+://.", address):
        raise ParameterError(
            f"cluster must be the address of a scheduler, tcp://host:8786, or local:4; got '{address}'"
        )
    try:
        import dask
        from distributed import Client, LocalCluster
    except ImportError:
        raise MissingExtraError("a cluster", "dask") from None
    stack.enter_context(_silent())
    where: Any = address
    if local is not None:
        options = {"n_workers": int(local[1]), "threads_per_worker": 1, "memory_limit": 0, "dashboard_address": None}
        with _without_interrupts(), dask.config.set(_KEPT):
            where = stack.enter_context(LocalCluster(**options, silence_logs=logging.CRITICAL))
    try:
        client = Client(where, timeout=_WAIT, set_as_default=False)
        stack.callback(client.close, timeout=1)
        client.wait_for_workers(1, timeout=_WAIT)
    except (OSError, TimeoutError) as error:
        missing = "has no workers; start some" if isinstance(error, TimeoutError) else "does not answer; start it"
        raise ClusterError(f"the Dask scheduler {address} {missing}, or name another one") from error
    return client


@contextmanager
def _silent() -> Iterator[None]:
    """Silence Dask's loggers inside the block: what goes wrong is raised here, in one line."""
    names = {*_LOUD, *logging.root.manager.loggerDict}
    loggers = [logging.getLogger(name) for name in names if name.partition(".")[0] in _LOUD]
    before = {logger: logger.level for logger in loggers}
    for logger in loggers:
        logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        for logger, level in before.items():
            logger.setLevel(level)


@contextmanager
def _without_interrupts() -> Iterator[None]:
    """Let threads and processes that start in the block never see Ctrl-C, which a terminal sends to all of them."""
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    resource_tracker.ensure_running()  # which would otherwise lift the block in the thread that starts it
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def active_client() -> Any:
    """The client of the cluster that joblib is configured to use, or None."""
    backend, _ = get_active_backend()
    return backend.client if type(backend).__name__ == "DaskDistributedBackend" else None


def check_workers(path: Path | None = None) -> None:
    """Raise unless every worker of the cluster, if there is one, has our versions and can read `path`."""
    client = active_client()
    if client is None:
        return
    found = client.get_versions(packages=list(_PACKAGES))
    for worker, theirs in found["workers"].items():
        check_versions(worker, theirs["packages"], found["client"]["packages"])
    for worker, can_read in {} if path is None else client.run(os.path.exists, str(path)).items():
        if not can_read:
            raise ClusterError(f"worker {worker} cannot read {path}; put it on a disk that all workers see")


def check_versions(worker: str, found: Mapping[str, str | None], expected: Mapping[str, str | None]) -> None:
    """Raise unless a worker has the expected versions."""
    if found.get(DISTRIBUTION) is None:
        raise ClusterError(f"worker {worker} cannot import tacit; install {DISTRIBUTION} {__version__} there")
    for name in _PACKAGES:
        if found.get(name) != expected.get(name):
            raise ClusterError(
                f"worker {worker} has {name} {found.get(name)}, but the command has {expected.get(name)}; other "
                "versions could give another model: install the same ones everywhere"
            )


class Packed:
    """An argument as it is sent: its arrays apart, so that a worker has them writeable and aligned, as kernels need."""

    def __init__(self, value: Any) -> None:
        import cloudpickle  # not needed without a cluster

        self.value = value
        buffers: list[pickle.PickleBuffer] = []
        self._rest = cloudpickle.dumps(value, protocol=5, buffer_callback=buffers.append)
        self._arrays = [np.frombuffer(buffer.raw(), np.uint8) for buffer in buffers]

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpacked, (self._rest, self._arrays)

    @property
    def n_bytes(self) -> int:
        """Bytes to send."""
        return len(self._rest) + sum(array.nbytes for array in self._arrays)

    @cached_property
    def fingerprint(self) -> str:
        """Digest of the content."""
        digest = hashlib.sha256(self._rest)
        for array in self._arrays:
            digest.update(array.data)
        return digest.hexdigest()


def _unpacked(rest: bytes, arrays: list[npt.NDArray[np.uint8]]) -> Packed:
    packed = Packed.__new__(Packed)
    packed._rest, packed._arrays = rest, [_aligned(array) for array in arrays]
    packed.value = pickle.loads(rest, buffers=packed._arrays)  # noqa: S301 - what our own process has pickled
    return packed


def _aligned(array: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
    return array if array.flags.writeable and array.ctypes.data % _ALIGNMENT == 0 else array.copy()


def computed(
    client: Any, run: Callable[..., Any], tasks: Iterator[Task], shared: Mapping[str, Any], sent: Futures
) -> Iterator[Any]:
    """What `run` returns for each task and the shared arguments, in order; few tasks are taken ahead.

    `sent` is what workers hold of the fit so far; large arguments are added to it.
    """
    packed = {name: Packed(value) for name, value in shared.items()}
    running: deque[tuple[Task, Any]] = deque()

    def submitted(task: Task) -> tuple[Task, Any]:
        arguments = {name: _sent(client, value, sent) for name, value in packed.items()}
        return task, client.submit(_run_on_worker, run, task, arguments, pure=False)

    try:
        while True:
            with _talking(client):
                n_ahead = max(_AHEAD * sum(client.nthreads().values()), 1)
                running.extend(map(submitted, islice(tasks, max(n_ahead - len(running), 0))))
                if not running:
                    return
                result = _result(client, *running.popleft(), submitted)
            if isinstance(result, BaseException):
                raise result
            yield result
    finally:
        if client.status == "running":
            client.cancel([future for _, future in running])


def _result(client: Any, task: Task, future: Any, submitted: Callable[[Task], tuple[Task, Any]]) -> Any:
    """The result of a task, or its error; a result that is lost with its worker is computed again."""
    from distributed import KilledWorker

    for _ in range(_LOSSES):
        try:
            error = future.exception()
            if error is None:
                return future.result()
        except CancelledError:
            if client.status != "running":
                raise
            _, future = submitted(task)
            continue
        if isinstance(error, KilledWorker):
            return ClusterError("all workers died that ran the same task; do they have enough memory for it?")
        return error
    raise CancelledError


def _sent(client: Any, value: Packed, sent: Futures) -> Any:
    """What tasks carry of an argument: itself if it is small, or else a future, which workers pass to one another."""
    if value.n_bytes < _SMALL:
        return value
    name = value.fingerprint
    if name not in sent or sent[name].status in ("cancelled", "lost"):  # with the workers that had it
        sent[name] = client.scatter(value, hash=False, timeout=_WAIT)
    return sent[name]


@contextmanager
def _talking(client: Any) -> Iterator[None]:
    """Say in one line what to do if the cluster does not answer or keeps losing its workers."""
    try:
        yield
    except (CancelledError, OSError, TimeoutError) as error:
        is_there = client.status == "running" and isinstance(error, CancelledError | TimeoutError)
        what = "keeps losing its workers; start others" if is_there else "has stopped; start it again"
        raise ClusterError(
            f"the Dask scheduler {client.scheduler.address} {what} and repeat the command, which resumes from its "
            "checkpoint"
        ) from error


def _run_on_worker(run: Callable[..., Any], task: Task, shared: Mapping[str, Packed]) -> Any:
    return run(task, {name: packed.value for name, packed in shared.items()})
