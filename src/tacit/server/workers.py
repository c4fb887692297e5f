"""Several processes that serve the same models at one address, and the process that watches over them.

Workers share the ledger of each model (`tacit.tagger.home`), its memory-mapped arrays, which the system keeps in memory
once, and a folder of counters for Prometheus. On Linux each worker has a socket of its own at the same address, and
the system spreads connections over them. This process keeps those sockets, so that connections wait while a worker
that died is started again.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import socket
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from multiprocessing.connection import Connection, wait
from pathlib import Path
from types import FrameType
from typing import Any

from tacit.cli.startup import quick_start
from tacit.errors import ParameterError, TacitError
from tacit.server.limits import Limits, Settings
from tacit.server.logs import event, write_logs

COUNTERS = "PROMETHEUS_MULTIPROC_DIR"  # the environment variable that prometheus_client reads when it is imported
_PAUSE = 1.0  # seconds before a worker that died is started again
_SPAWN = multiprocessing.get_context("spawn")  # a fork would copy locks that threads of libraries hold


@dataclass(frozen=True)
class ServicePlan:
    """What is served. Folders, limits and ledgers (by default in the folder) are by the name that clients use."""

    folders: Mapping[str, Path]
    limits: Mapping[str, Limits]
    settings: Settings
    acts: Mapping[str, Path]
    watch: bool


Ready = Callable[[str, Mapping[str, int]], None]  # takes the address, and the number of labels of each model


def serve(plan: ServicePlan, *, host: str, port: int, n_workers: int, ready: Ready) -> None:
    """Serve models by several processes until this one is told to stop."""
    with ExitStack() as stack:
        sockets = _sockets(host, port, n_workers, stack)
        counters = stack.enter_context(tempfile.TemporaryDirectory(prefix="tacit-serve-"))
        stop = stack.enter_context(_signals())
        start = partial(_Worker, plan, counters)
        heard = _supervise(start, sockets, stop, lambda n_labels: ready(address_of(host, sockets[0]), n_labels))
    signal.raise_signal(heard)  # now that all is closed, end as if nobody had listened for it


def address_of(host: str, listening: socket.socket) -> str:
    """The address to show to people."""
    shown = f"[{host}]" if ":" in host else host
    return f"http://{shown}:{listening.getsockname()[1]}/"


def bound(host: str, port: int, *, is_shared: bool = False) -> socket.socket:
    """A socket bound to an address, before anything is loaded; an error says why it cannot be bound."""
    taken = None
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        taken = socket.socket(family, kind, protocol)
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT if is_shared else socket.SO_REUSEADDR, 1)
        taken.bind(address)
    except OSError as error:
        if taken is not None:
            taken.close()
        reason = error.strerror or error
        raise ParameterError(f"cannot listen on {host}:{port}: {reason}; choose another --host or --port") from error
    return taken


def _sockets(host: str, port: int, n_workers: int, stack: ExitStack) -> list[socket.socket]:
    """A socket for each worker; the same for all where the system does not spread connections over several."""
    first = stack.enter_context(bound(host, port))  # an error if anybody else, even of this user, has the address
    if sys.platform != "linux":
        return [first] * n_workers
    port = first.getsockname()[1]
    first.close()
    return [stack.enter_context(bound(host, port, is_shared=True)) for _ in range(n_workers)]


@contextmanager
def _signals() -> Iterator[Connection]:
    """Where the signals to stop, Ctrl-C and SIGTERM, can be read."""
    near, far = _SPAWN.Pipe(duplex=False)

    def tell(number: int, _frame: FrameType | None) -> None:
        far.send(signal.Signals(number))

    before = {number: signal.signal(number, tell) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield near
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        near.close()
        far.close()


# -- in the process that watches --------------------------------------------------------------------------


class _Worker:
    """A worker process, seen from the process that watches."""

    def __init__(self, plan: ServicePlan, counters: str, listening: socket.socket) -> None:
        self.pipe, far = _SPAWN.Pipe()
        self.counters = counters
        self.listening = listening
        self.process = _SPAWN.Process(target=_work, args=(plan, counters, listening, far))
        self.process.start()
        far.close()
        self.n_labels: Mapping[str, int] | None = None  # of each model, when they are loaded

    def hear(self) -> None:
        """Take what the worker has to say, if anything; raise if it cannot serve."""
        try:
            heard = self.pipe.recv() if self.n_labels is None and self.pipe.poll() else None
        except EOFError:
            self.process.join()
            code = self.process.exitcode
            raise TacitError(f"a worker ended with exit code {code} while it loaded the models; see the log") from None
        if isinstance(heard, str):
            raise TacitError(heard)
        self.n_labels = heard or self.n_labels


def _supervise(
    start: Callable[[socket.socket], _Worker],
    sockets: list[socket.socket],
    stop: Connection,
    ready: Callable[[Mapping[str, int]], None],
) -> signal.Signals:
    """Keep a worker running at each socket until there is a signal; returns it."""
    workers: list[_Worker] = []
    try:
        workers += map(start, sockets)
        is_announced = False
        while stop not in wait([stop, *(each for worker in workers for each in _of_interest(worker))]):
            for place, worker in enumerate(workers):
                worker.hear()  # one that dies before it could serve would only die again
                if worker.n_labels is not None and not worker.process.is_alive():
                    _note_death(worker)
                    if stop.poll(_PAUSE):
                        break
                    workers[place] = start(worker.listening)
            first = workers[0].n_labels
            if first is not None and not is_announced and all(worker.n_labels for worker in workers):
                write_logs()
                ready(first)
                is_announced = True
        heard: signal.Signals = stop.recv()
        return heard
    finally:
        for worker in workers:
            worker.process.terminate()  # requests in progress are finished
        for worker in workers:
            worker.process.join()


def _of_interest(worker: _Worker) -> tuple[Any, ...]:
    return (worker.pipe,) if worker.n_labels is None else (worker.process.sentinel,)


def _note_death(worker: _Worker) -> None:
    from prometheus_client.multiprocess import mark_process_dead

    event("worker ended", pid=worker.process.pid, code=worker.process.exitcode)
    mark_process_dead(worker.process.pid, worker.counters)  # type: ignore[no-untyped-call]


# -- in a worker ------------------------------------------------------------------------------------------


def _work(plan: ServicePlan, counters: str, listening: socket.socket, pipe: Connection) -> None:
    """Serve models at a socket until SIGTERM, or until the process that watches is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches all processes; the one that watches passes it on
    threading.Thread(target=_end_with, args=(pipe,), daemon=True).start()
    os.environ[COUNTERS] = counters
    with quick_start():
        from tacit.server.run import serve_at
    try:
        serve_at(plan, listening, pipe.send)
    except TacitError as error:
        pipe.send(str(error))


def _end_with(pipe: Connection) -> None:
    """Wait until the other end of a pipe is closed, then stop."""
    try:
        pipe.recv()
    except (EOFError, OSError):
        os.kill(os.getpid(), signal.SIGTERM)
