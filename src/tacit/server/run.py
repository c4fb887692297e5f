"""Run the service as a process."""

from __future__ import annotations

import gc
import socket
from collections.abc import Callable, Mapping

import uvicorn
from starlette.types import ASGIApp

from tacit.cli.startup import quick_start
from tacit.server.app import build_app
from tacit.server.connections import Connections
from tacit.server.limits import Settings
from tacit.server.logs import event, write_logs
from tacit.server.metrics import Metrics
from tacit.server.models import Models, Served
from tacit.server.workers import Ready, ServicePlan, address_of, bound

_BACKLOG = 4096  # connections waiting to be accepted; the system may allow fewer
_AT_A_TIME = 64  # connections accepted before others are served
_NEW_OBJECTS = (
    50_000  # before garbage is looked for; with Python's 700, half of the time to parse a large body goes there
)
_KEEP_ALIVE = 75  # seconds; longer than most proxies keep a connection
_OF_SUGGESTIONS = (
    "/v1/suggest",
    "/v1/projects/{project_id}/suggest",
    "/v1/projects/{project_id}/suggest-batch",
)


def serve(plan: ServicePlan, *, host: str, port: int, ready: Ready) -> None:
    """Serve models by this process until it is told to stop; `ready` is called when they are loaded."""
    with bound(host, port) as listening:
        serve_at(plan, listening, lambda n_labels: ready(address_of(host, listening), n_labels))


def serve_at(plan: ServicePlan, listening: socket.socket, ready: Callable[[Mapping[str, int]], None]) -> None:
    """Serve models at a socket; `ready` is called with the number of labels of each."""
    metrics = Metrics()
    models = Models()
    with quick_start():
        for name, folder in plan.folders.items():
            models[name] = Served(name, folder, plan.acts.get(name), plan.limits[name], metrics)
        app = build_app(models, plan.settings, metrics, watch=plan.watch)
    gc.set_threshold(_NEW_OBJECTS)
    write_logs()
    for name, served in models.items():
        event("loaded", model=name, acts=served.n_acts, left_out=served.left_out)
    listening.listen(_BACKLOG)  # from here on connections are queued rather than refused
    ready({name: len(served.tagger.classes_) for name, served in models.items()})
    patience = max(limit.timeout for limit in plan.limits.values())
    server(app, models, plan.settings, metrics, patience).run(sockets=[listening])


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
