"""Run the service: in this process, or in several workers of uvicorn that share its socket.

Workers share the ledger of each model (`tacit.tagger.home`), a mapped copy of its arrays, which the system keeps in
memory once, and a folder for these copies and the counters of Prometheus.
"""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
import socket
import tempfile
import threading
from collections.abc import Callable, Mapping
from functools import partial
from multiprocessing.queues import SimpleQueue
from pathlib import Path
from typing import Any

import uvicorn
from starlette.types import ASGIApp
from uvicorn.supervisors.multiprocess import SIGNALS, Multiprocess

from tacit.cli.startup import quick_start
from tacit.errors import ParameterError, TacitError
from tacit.server.logs import event, write_logs
from tacit.server.request_limits import COUNTERS, ServicePlan

_BACKLOG = 4096  # connections waiting to be accepted; the system may allow fewer
_NEW_OBJECTS = 50_000  # between garbage collections; with Python's 700 they double the time to parse a large body
_KEEP_ALIVE = 75  # seconds; longer than most proxies keep a connection
_HUNG = 10  # seconds without a sign of life, after which a worker is replaced
_ENDING = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT") if hasattr(signal, name)]
_REFUSED = 2  # exit code of a worker that has reported why it cannot serve
_SPAWN = multiprocessing.get_context("spawn")  # as uvicorn starts its workers

Counts = Mapping[str, int]  # labels of each model
Ready = Callable[[str, Counts], None]  # takes the address, too


def serve(plan: ServicePlan, *, host: str, port: int, n_workers: int = 1, ready: Ready) -> None:
    """Serve models until this process is told to stop; `ready` is called when they are loaded."""
    with _listening(host, port) as listening:
        announce = partial(ready, _address_of(host, listening))
        if n_workers == 1:
            config = configured(partial(_app, plan, announce), plan.patience)
            config.load()
            uvicorn.Server(config).run(sockets=[listening])
            return
        with tempfile.TemporaryDirectory(prefix="tacit-serve-") as counters:
            os.environ[COUNTERS] = counters
            try:
                ended_by = _Workers(plan, listening, n_workers, announce).run_until_told()
            finally:
                del os.environ[COUNTERS]
    signal.raise_signal(ended_by)  # now that all is closed, end as if nobody had listened for it


def configured(app: Callable[[], ASGIApp], patience: float, n_workers: int = 1) -> uvicorn.Config:
    """A configuration of uvicorn for an app that a function makes; it shuts down within about `patience` seconds."""
    return uvicorn.Config(
        app,
        factory=True,
        workers=n_workers,
        http="tacit.server.connections:Connection",
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        backlog=_BACKLOG,
        timeout_keep_alive=_KEEP_ALIVE,
        timeout_graceful_shutdown=round(patience) + 5,
        timeout_worker_healthcheck=_HUNG,
    )


def _listening(host: str, port: int) -> socket.socket:
    """A socket that queues connections, before anything is loaded; an error says why it cannot."""
    taken = None
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        taken = socket.socket(family, kind, protocol)
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        taken.bind(address)
        taken.listen(_BACKLOG)
    except OSError as error:
        if taken is not None:
            taken.close()
        reason = error.strerror or error
        raise ParameterError(f"cannot listen on {host}:{port}: {reason}; choose another --host or --port") from error
    return taken


def _address_of(host: str, listening: socket.socket) -> str:
    """The address to show to people."""
    shown = f"[{host}]" if ":" in host else host
    return f"http://{shown}:{listening.getsockname()[1]}/"


def _app(plan: ServicePlan, ready: Callable[[Counts], None]) -> ASGIApp:
    """The service with its models, loaded by this process."""
    with quick_start():
        from tacit.server.app import build_app
        from tacit.server.monitoring import Metrics
        from tacit.server.served_models import Models, Served
        from tacit.store import atomic

        atomic.maps_copies = os.name != "nt"  # where mapped files cannot be truncated
        atomic.shared_copies = Path(os.environ[COUNTERS]) if COUNTERS in os.environ else None
        metrics, models = Metrics(), Models()
        for name, folder in plan.folders.items():
            models[name] = Served(name, folder, plan.acts.get(name), plan.limits[name], metrics)
        app = build_app(models, plan.settings, metrics, watch=plan.watch)
    gc.set_threshold(_NEW_OBJECTS)
    write_logs()
    for name, served in models.items():
        event("loaded", model=name, acts=served.n_acts, left_out=served.left_out)
    ready({name: served.tagger.n_suggested_ for name, served in models.items()})
    return app


# -- several workers --------------------------------------------------------------------------------------


def _app_of_worker(plan: ServicePlan, reports: SimpleQueue[tuple[int, Counts | str]]) -> ASGIApp:
    """The service in a worker, which ends with its supervisor; it reports that it is ready, or why it cannot be."""
    threading.Thread(target=_end_with_supervisor, daemon=True).start()
    own = os.getpid()
    try:
        return _app(plan, lambda n_labels: reports.put((own, n_labels)))
    except TacitError as error:
        reports.put((own, str(error)))
        raise SystemExit(_REFUSED) from None


def _end_with_supervisor() -> None:
    supervisor = multiprocessing.parent_process()
    if supervisor is not None:
        supervisor.join()
        os.kill(os.getpid(), signal.SIGTERM)


class _Workers(Multiprocess):
    """uvicorn's supervisor, which also says when all workers are ready, or why they cannot be."""

    def __init__(
        self, plan: ServicePlan, listening: socket.socket, n_workers: int, ready: Callable[[Counts], None]
    ) -> None:
        self._reports: SimpleQueue[tuple[int, Counts | str]] = _SPAWN.SimpleQueue()
        self._loaded: set[int] = set()  # processes that have their models
        self._announce = ready
        self._problem: str | None = None
        self._ended_by = signal.SIGTERM
        self._handlers = {number: signal.getsignal(number) for number in SIGNALS}
        app = partial(_app_of_worker, plan, self._reports)
        super().__init__(configured(app, plan.patience, n_workers), [listening])

    def run_until_told(self) -> signal.Signals:
        """Keep workers running until there is a signal to end; returns it."""
        try:
            self.run()
        finally:
            for number, handler in self._handlers.items():
                signal.signal(number, handler)
        if self._problem is not None:
            raise TacitError(self._problem)
        return self._ended_by

    def handle_signals(self) -> None:
        """End at Ctrl-C, SIGTERM or when the terminal is closed, where uvicorn would start new workers."""
        for number in self.signal_queue:
            if number in _ENDING:
                self._ended_by = signal.Signals(number)
                self.should_exit.set()
        self.signal_queue.clear()

    def keep_subprocess_alive(self) -> None:
        """Called twice a second."""
        dead = [worker for worker in self.processes if worker.exitcode is not None]
        while not self._reports.empty():
            self._take(*self._reports.get())
        loading = [worker for worker in self.processes if worker.pid not in self._loaded]
        for worker in dead:
            if worker in loading:  # the next one would only die, too
                reason = f"a worker ended with exit code {worker.exitcode} while it loaded the models"
                self._problem = self._problem or reason
        if self._problem is not None:
            self.should_exit.set()
        elif dead or not loading:
            before = list(self.processes)
            super().keep_subprocess_alive()
            for worker in before:
                if worker not in self.processes:
                    _note_death(worker)

    def _take(self, process: int, report: Counts | str) -> None:
        """Note the report of a worker; those that replace others send one, too."""
        if isinstance(report, str):
            self._problem = report
            return
        self._loaded.add(process)
        if len(self._loaded) == self.processes_num:
            write_logs()
            self._announce(report)


def _note_death(worker: Any) -> None:
    from prometheus_client.multiprocess import mark_process_dead

    event("worker ended", pid=worker.pid, code=worker.exitcode)
    mark_process_dead(worker.pid, os.environ[COUNTERS])  # type: ignore[no-untyped-call]
