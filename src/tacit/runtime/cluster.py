"""Tasks on a Dask cluster: the connection, what workers must have, and results in the order of the tasks."""

from __future__ import annotations

import hashlib
import logging
import pickle
import re
import signal
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import CancelledError
from contextlib import ExitStack, contextmanager
from itertools import islice
from multiprocessing import resource_tracker
from typing import Any

import joblib
from joblib.parallel import get_active_backend

from tacit.errors import DISTRIBUTION, ClusterError, MissingExtraError, ParameterError

Task = Mapping[str, Any]
Futures = dict[str, Any]  # what workers hold, by the digest of its content

_LOGGERS = ("asyncio", "distributed", "distributed.client", "distributed.gc", "tornado", "tornado.application")
_PACKAGES = (DISTRIBUTION, "python", "numpy", "scipy", "scikit-learn", "numba")  # whose versions can change a model
_WAIT = 30  # seconds for a scheduler to answer and for a first worker to join
_AHEAD = 4  # tasks per thread of a worker, so that none is idle while an earlier task takes longer
_LOSSES = 100  # of results with their workers, one after the other
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
    for logger in map(logging.getLogger, _LOGGERS):  # what goes wrong is raised here, in one line
        stack.callback(logger.setLevel, logger.level)
        logger.setLevel(logging.CRITICAL)
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


def check_workers() -> None:
    """Raise unless every worker of the cluster, if there is one, has our versions."""
    client = active_client()
    if client is None:
        return
    found = client.get_versions(packages=list(_PACKAGES))
    for worker, theirs in found["workers"].items():
        check_versions(worker, theirs["packages"], found["client"]["packages"])


def check_versions(worker: str, found: Mapping[str, str | None], expected: Mapping[str, str | None]) -> None:
    """Raise unless a worker has the expected versions; others could give another model."""
    for name in _PACKAGES:
        if found.get(name) != expected.get(name):
            raise ClusterError(
                f"worker {worker} has {name} {found.get(name)}, but the command has {expected.get(name)}; install the "
                "same versions everywhere"
            )


class Packed:
    """An argument as it is sent: in one piece, so that arrays are writeable and aligned on workers, as kernels need."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpacked, (_pickled(self.value),)


def _pickled(value: Any) -> bytes:
    import cloudpickle  # not needed without a cluster

    raw: bytes = cloudpickle.dumps(value, protocol=4)  # arrays of later protocols may be read-only
    return raw


def _unpacked(raw: bytes) -> Packed:
    return Packed(pickle.loads(raw))  # noqa: S301 - what our own process has pickled


def computed(
    client: Any, run: Callable[..., Any], tasks: Iterator[Task], shared: Mapping[str, Any], sent: Futures
) -> Iterator[Any]:
    """What `run` returns for each task and the shared arguments, in order; few tasks are taken ahead.

    `sent` is what workers hold of the fit so far; what they lack of the shared arguments is added to it. A result that
    is lost with its worker is computed again.
    """
    from distributed import KilledWorker

    digests = {name: hashlib.sha256(_pickled(value)).hexdigest() for name, value in shared.items()}
    running: deque[tuple[Task, Any]] = deque()
    n_lost = 0

    def submitted(task: Task) -> tuple[Task, Any]:
        arguments = _sent(client, shared, digests, sent)
        return task, client.submit(_run_on_worker, run, task, arguments, pure=False)

    try:
        while True:
            try:
                if n_lost:
                    running[0] = submitted(running[0][0])
                n_ahead = max(_AHEAD * sum(client.nthreads().values()), 1)
                running.extend(map(submitted, islice(tasks, max(n_ahead - len(running), 0))))
                if not running:
                    return
                error = running[0][1].exception()
                result = running[0][1].result() if error is None else None
            except (CancelledError, OSError, TimeoutError) as reason:
                is_there = client.status == "running" and isinstance(reason, CancelledError | TimeoutError)
                n_lost += 1
                if is_there and running and n_lost < _LOSSES and isinstance(reason, CancelledError):
                    continue
                raise _no_answer(client, is_there) from reason
            running.popleft()
            n_lost = 0
            if isinstance(error, KilledWorker):
                raise ClusterError("all workers died that ran the same task; do they have enough memory for it?")
            if error is not None:
                raise error
            yield result
    finally:
        if client.status == "running":
            client.cancel([future for _, future in running])


def _sent(client: Any, shared: Mapping[str, Any], digests: Mapping[str, str], sent: Futures) -> dict[str, Any]:
    """The shared arguments as futures, which workers pass to one another; those lost with workers are sent again."""
    missing = [
        name for name, digest in digests.items() if digest not in sent or sent[digest].status in ("cancelled", "lost")
    ]
    if missing:
        futures = client.scatter([Packed(shared[name]) for name in missing], hash=False, timeout=_WAIT)
        sent.update(zip((digests[name] for name in missing), futures, strict=True))
    return {name: sent[digest] for name, digest in digests.items()}


def _no_answer(client: Any, is_there: bool) -> ClusterError:
    what = "keeps losing its workers; start others" if is_there else "has stopped; start it again"
    what += " and repeat the command, which resumes from its checkpoint"
    return ClusterError(f"the Dask scheduler {client.scheduler.address} {what}")


def _run_on_worker(run: Callable[..., Any], task: Task, shared: Mapping[str, Packed]) -> Any:
    return run(task, {name: packed.value for name, packed in shared.items()})
