"""Run the service: in this process, or in several workers of uvicorn that share its socket."""

from __future__ import annotations

import gc
import os
import socket
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from functools import partial
from typing import Any

import uvicorn
from uvicorn.supervisors.multiprocess import Multiprocess

from tacit.cli.startup import quick_start
from tacit.errors import ParameterError
from tacit.server.logs import event, write_logs
from tacit.server.request_limits import COUNTERS, Settings

_BACKLOG = 4096  # connections waiting to be accepted; the system may allow fewer
_NEW_OBJECTS = 50_000  # between garbage collections; with Python's 700 they double the time to parse a large body
_HEADERS = [
    ("X-Content-Type-Options", "nosniff"),
    ("X-Frame-Options", "DENY"),
    ("Referrer-Policy", "no-referrer"),
    ("Cache-Control", "no-store"),
]

Ready = Callable[[str, Mapping[str, int]], None]  # takes the address, and the number of labels of each model


def serve(settings: Settings, *, host: str, port: int, n_workers: int = 1, ready: Ready) -> None:
    """Serve models until this process is told to stop; `ready` is called when they are loaded.

    Of several workers, this process is the supervisor; it loads the models once to see that they can be.
    """
    with _listening(host, port) as listening, _shared_counters() if n_workers > 1 else nullcontext():
        app = _app(settings)
        models = app.app.state.models
        shown = f"[{host}]" if ":" in host else host
        n_labels = {name: served.tagger.n_suggested_ for name, served in models.items()}
        ready(f"http://{shown}:{listening.getsockname()[1]}/", n_labels)
        if n_workers == 1:
            uvicorn.Server(configured(settings, app)).run(sockets=[listening])
            return
        del app, models
        config = configured(settings, partial(_app, settings), factory=True, workers=n_workers)
        _Workers(config, [listening]).run()


@contextmanager
def _shared_counters() -> Iterator[None]:
    with tempfile.TemporaryDirectory(prefix="tacit-serve-") as folder:
        os.environ[COUNTERS] = folder
        try:
            yield
        finally:
            del os.environ[COUNTERS]


def configured(settings: Settings, app: Any, **options: Any) -> uvicorn.Config:
    """A configuration of uvicorn."""
    return uvicorn.Config(
        app,
        http="h11",  # which limits the size of headers, and reads pipelined requests one by one
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        headers=_HEADERS,
        backlog=_BACKLOG,
        limit_concurrency=settings.max_connections,
        timeout_keep_alive=75,  # longer than most proxies keep a connection
        timeout_graceful_shutdown=round(settings.timeout) + 5,
        timeout_worker_healthcheck=10,
        **options,
    )


class _Workers(Multiprocess):
    """uvicorn's supervisor, which ends when the terminal is closed, where uvicorn would start new workers."""

    def handle_hup(self) -> None:
        """Called after SIGHUP."""
        self.should_exit.set()


def _listening(host: str, port: int) -> socket.socket:
    """A socket that queues connections, before anything is loaded; an error says why it cannot."""
    try:
        return socket.create_server(
            (host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET, backlog=_BACKLOG
        )
    except OSError as error:
        reason = error.strerror or error
        raise ParameterError(f"cannot listen on {host}:{port}: {reason}; choose another --host or --port") from error


def _app(settings: Settings) -> Any:
    """The service with its models, loaded by this process."""
    with quick_start():
        from tacit.server.app import build_app

        app = build_app(settings)
    gc.set_threshold(_NEW_OBJECTS)
    write_logs()
    for name, served in app.app.state.models.items():
        event("loaded", model=name, acts=served.n_acts, left_out=served.left_out)
    return app
