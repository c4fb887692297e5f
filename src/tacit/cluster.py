"""Tasks on a Dask cluster: the connection, what workers must have, and workers and schedulers that die."""

from __future__ import annotations

import asyncio
import importlib.metadata
import logging
import os
import platform
import re
import signal
from collections.abc import Callable, Collection, Iterator, Mapping
from concurrent.futures import CancelledError
from contextlib import ExitStack, contextmanager, suppress
from functools import lru_cache, partial
from itertools import islice
from multiprocessing import resource_tracker
from pathlib import Path
from typing import Any

import joblib
import numpy as np
from joblib.parallel import get_active_backend

from tacit._version import __version__
from tacit.errors import DISTRIBUTION, ClusterError, MissingExtraError, ParameterError
from tacit.memory import keep_freed, return_freed
from tacit.publish import Published, Shared, forget, load, remove_part, write_part

Task = Mapping[str, Any]
Call = tuple[int, Task]  # with its number
Run = Callable[[int, Task, Shared], tuple[int, Any]]

_LOUD = ("asyncio", "distributed", "tornado")  # loggers
_WAIT = 30  # seconds for a scheduler to answer and for a first worker to join
_EMPTY_WAITS = 3  # of that length for other workers, when all have died
_CLOSE = 1.0  # seconds for a client to take its leave
_TASKS_PER_THREAD = 2  # one that runs and one that waits: more would wait at one worker while another has none
_WAITING = 8  # results that wait for an earlier one, per task that is sent ahead
_TRIES = 3  # of a task whose workers died; each time, Dask itself tries several workers
_LOSSES = 100  # how often the data of a task may be lost, with all the workers that had them
_SENDINGS = 6  # of the same data to workers that do not take them
_LEAST_SPEED = 1e7  # bytes per second of a network that works


# -- connection -------------------------------------------------------------------------------------------


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
        from distributed import Client, LocalCluster
    except ImportError:
        raise MissingExtraError("a cluster", "dask") from None
    stack.enter_context(_silent())
    where: Any = address
    if local is not None:
        workers = {"n_workers": int(local[1]), "threads_per_worker": 1, "memory_limit": 0}
        with _without_interrupts():
            where = stack.enter_context(LocalCluster(**workers, dashboard_address=None, silence_logs=logging.CRITICAL))
    try:
        client = Client(where, timeout=_WAIT, set_as_default=False)
        stack.callback(client.close, timeout=_CLOSE)
        client.wait_for_workers(1, timeout=_WAIT)
    except (OSError, TimeoutError) as error:
        missing = "has no workers; start some" if isinstance(error, TimeoutError) else "does not answer; start it"
        raise ClusterError(f"the Dask scheduler {address} {missing}, or name another one") from error
    return client


@contextmanager
def _silent() -> Iterator[None]:
    """Silence Dask's loggers inside the block: what goes wrong is raised here, in one line."""
    names = {"asyncio", "tornado", "distributed", *logging.root.manager.loggerDict}
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


# -- what workers must have -------------------------------------------------------------------------------


@lru_cache(maxsize=1)
def versions() -> dict[str, str]:
    """Versions that can change a model."""
    libraries = {name: importlib.metadata.version(name) for name in ("numpy", "scipy", "scikit-learn", "numba")}
    return {"tacit": __version__, "Python": ".".join(platform.python_version_tuple()[:2])} | libraries


def check_workers(path: Path | None = None) -> None:
    """Raise unless every worker of the cluster, if there is one, has our versions and can read `path`."""
    client = active_client()
    if client is None:
        return

    def found() -> tuple[dict[str, str] | None, bool]:  # workers without tacit can run it, too: sent as code
        try:
            from tacit.cluster import versions

            return versions(), path is None or path.exists()
        except ImportError:
            return None, False

    for worker, (theirs, can_read) in client.run(found).items():
        check_versions(worker, theirs, versions())
        if not can_read:
            raise ClusterError(f"worker {worker} cannot read {path}; put it on a disk that all workers see")


def check_versions(worker: str, found: Mapping[str, str] | None, expected: Mapping[str, str]) -> None:
    """Raise unless a worker has the expected versions; None: it has no tacit."""
    if found is None:
        raise ClusterError(f"worker {worker} cannot import tacit; install {DISTRIBUTION} {__version__} there")
    for name, version in expected.items():
        if found.get(name) != version:
            raise ClusterError(
                f"worker {worker} has {name} {found.get(name)}, but the command has {version}; other versions could "
                "give another model: install the same ones everywhere"
            )


# -- running ----------------------------------------------------------------------------------------------


def computed(
    client: Any,
    run: Run,
    calls: Iterator[Call],
    shared: Shared,
    published: Published,
    n_waiting: Callable[[], int] | None = None,
) -> Iterator[tuple[int, Any]]:
    """What `run` returns for each call, in the order in which they are done.

    The results that wait for earlier ones, `n_waiting`, are limited to `_WAITING` times those that are sent ahead.
    """
    from distributed import KilledWorker

    running: dict[Any, tuple[Call, int]] = {}
    is_of_task = False  # whether an error is

    def submit(call: Call, n_tries: int = 1) -> None:
        future = client.submit(_run_on_worker, run, call, versions(), *references, pure=False)
        running[future] = call, n_tries

    try:
        references = _references(client, shared, published)
        while True:
            _revive(client)
            n_sent = _room(client)
            if n_waiting is None or n_waiting() < _WAITING * n_sent:
                for call in islice(calls, max(n_sent - len(running), 0)):
                    submit(call)
            if not running:
                return
            future = _first_done(client, running)
            call, n_tries = running.pop(future)
            try:
                result = future.result()
            except (CancelledError, KilledWorker) as error:  # workers died that had what it needs, or that ran it
                if client.status != "running" or n_tries == (_TRIES if isinstance(error, KilledWorker) else _LOSSES):
                    raise
                references = _references(client, shared, published)
                submit(call, n_tries + 1)
                continue
            except OSError:
                is_of_task = future.status == "error"
                raise
            yield result
    except KilledWorker as error:
        raise ClusterError("all workers died that ran the same task; do they have enough memory for it?") from error
    except (CancelledError, OSError) as error:
        if is_of_task:
            raise
        is_there = client.status == "running" and isinstance(error, CancelledError)
        what = "keeps losing its workers; start others" if is_there else "has stopped; start it again"
        raise ClusterError(
            f"the Dask scheduler {client.scheduler.address} {what} and repeat the command, which resumes from its "
            "checkpoint"
        ) from error
    finally:
        if client.status == "running":
            client.cancel(list(running))


def _first_done(client: Any, running: Collection[Any]) -> Any:
    """A task that is done, failed or lost."""
    from distributed import as_completed

    n_waits = 0
    while n_waits < _EMPTY_WAITS:
        with suppress(asyncio.TimeoutError, TimeoutError):
            return next(as_completed(running, loop=client.loop, timeout=_WAIT))
        _revive(client)
        n_waits = 0 if client.nthreads() else n_waits + 1
    raise ClusterError(f"the Dask scheduler {client.scheduler.address} has lost all its workers; start some")


def _revive(client: Any) -> None:
    """Let a cluster of this process replace workers that it has given up: those that do not start again in time."""
    if hasattr(client.cluster, "worker_spec"):
        client.cluster.scale(len(client.cluster.worker_spec))


def _room(client: Any) -> int:
    """How many tasks the cluster should have: some for each thread, and one where workers are still to come."""
    n_threads: int = sum(client.nthreads().values())
    return max(_TASKS_PER_THREAD * n_threads, 1)


def _references(client: Any, shared: Shared, published: Published) -> tuple[Any, ...]:
    """What tasks carry of `shared`: the names of its parts, then files if all workers see ours, or else futures."""
    published.at_end["workers"] = partial(_clear, client)
    if published.are_files is None:
        published.are_files = _see_files(client)
    names, parts = published.put(shared.value, write_part if published.are_files else partial(_send, client, published))
    if not published.are_files:  # then the workers send them to one another
        published.brought = [
            client.submit(_receive, *parts, workers=[worker], pure=False) for worker in client.nthreads()
        ]
    return names, *parts


def _see_files(client: Any) -> bool:
    """Whether all workers can read the files that this process writes."""
    probe = write_part("probe", memoryview(b"tacit"))
    try:
        return all(client.run(partial(os.access, probe, os.R_OK), on_error="ignore").values())  # of a dying one
    finally:
        remove_part(probe)


def _send(client: Any, published: Published, _name: str, part: memoryview) -> Any:
    """Send a part to one worker: directly, or through the scheduler where workers cannot be reached."""
    data = np.frombuffer(part, np.uint8)
    for _ in range(_SENDINGS):
        scatter = partial(client.scatter, data, hash=False, direct=published.is_direct, asynchronous=True)
        _revive(client)
        # Dask itself would wait forever for a dead worker; one that dies later is not known to its scheduler.
        with suppress(OSError, KeyError, asyncio.TimeoutError, TimeoutError):
            return client.sync(scatter, callback_timeout=_WAIT + part.nbytes / _LEAST_SPEED)
        published.is_direct = False
        if client.status != "running":
            break
    raise ClusterError(f"no worker of the Dask scheduler {client.scheduler.address} takes the data; start some")


def _receive(*_parts: Any) -> None:
    """Do nothing but have the parts."""


def _clear(client: Any) -> None:
    """Let all workers drop what they have loaded."""
    if client.status == "running":
        with suppress(OSError):
            client.run(_forget, on_error="ignore")


def _forget() -> None:
    forget()
    return_freed()


def _run_on_worker(run: Run, call: Call, expected: dict[str, str], names: tuple[str, ...], *parts: Any) -> Any:
    from distributed import get_worker

    keep_freed()
    worker = get_worker().address
    check_versions(worker, versions(), expected)  # for workers that joined later
    try:
        shared = load(names, parts)
    except OSError as error:
        raise ClusterError(f"worker {worker} cannot read what tasks share ({error}); see docs/cluster.md") from error
    return run(*call, shared)
