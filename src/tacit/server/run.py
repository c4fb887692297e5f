"""Run the service as a process."""

from __future__ import annotations

import socket
from collections.abc import Callable, Mapping
from pathlib import Path

import uvicorn
from starlette.types import ASGIApp

from tacit.cli.startup import quick_start
from tacit.errors import ParameterError
from tacit.server.app import build_app
from tacit.server.connections import Connections
from tacit.server.limits import Limits, Settings
from tacit.server.logs import event, write_logs
from tacit.server.metrics import Metrics
from tacit.server.models import Models, Served

_BACKLOG = 4096  # connections waiting to be accepted; the system may allow fewer
_AT_A_TIME = 64  # connections accepted before others are served
_KEEP_ALIVE = 75  # seconds; longer than most proxies keep a connection
_OF_SUGGESTIONS = (
    "/v1/suggest",
    "/v1/projects/{project_id}/suggest",
    "/v1/projects/{project_id}/suggest-batch",
)


def serve(
    folders: Mapping[str, Path],
    limits: Mapping[str, Limits],
    settings: Settings,
    *,
    host: str,
    port: int,
    acts: Mapping[str, Path],
    watch: bool,
    ready: Callable[[str, Models], None],
) -> None:
    """Serve the models in `folders` until the process is told to stop; `ready` is called with the address.

    Folders, limits and ledgers (`acts`; by default in the model folder) are given by the name that clients use.
    """
    metrics = Metrics()
    models = Models()
    with _listening(host, port) as listening:
        with quick_start():
            for name, folder in folders.items():
                models[name] = Served(name, folder, acts.get(name), limits[name], metrics)
            app = build_app(models, settings, metrics, watch=watch)
        write_logs()
        for name, served in models.items():
            event("loaded", model=name, acts=served.n_acts, left_out=served.left_out)
        listening.listen(_BACKLOG)  # from here on connections are queued rather than refused
        shown = f"[{host}]" if ":" in host else host
        ready(f"http://{shown}:{listening.getsockname()[1]}/", models)
        patience = max(limit.timeout for limit in limits.values())
        server(app, models, settings, metrics, patience).run(sockets=[listening])


def server(app: ASGIApp, models: Models, settings: Settings, metrics: Metrics, patience: float) -> uvicorn.Server:
    """A uvicorn server for an app; it shuts down within about `patience` seconds of being told to."""
    connections = Connections(settings, metrics, _OF_SUGGESTIONS, models.are_full)
    config = uvicorn.Config(
        app,
        http=connections,  # type: ignore[arg-type] # uvicorn calls it like a class
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        lifespan="on",
        backlog=_AT_A_TIME,
        timeout_keep_alive=_KEEP_ALIVE,
        timeout_graceful_shutdown=round(patience) + 5,
        ws="none",
    )
    return _Server(config)


class _Server(uvicorn.Server):
    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen with a backlog longer than the number of connections accepted at a time."""
        await super().startup(sockets)
        for listening in sockets or []:
            listening.listen(_BACKLOG)


def _listening(host: str, port: int) -> socket.socket:
    """A socket bound to an address, before anything is loaded; an error says why it cannot be bound."""
    taken = None
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        taken = socket.socket(family, kind, protocol)
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        taken.bind(address)
    except OSError as error:
        if taken is not None:
            taken.close()
        reason = error.strerror or error
        raise ParameterError(f"cannot listen on {host}:{port}: {reason}; choose another --host or --port") from error
    return taken
