"""The service as a process."""

from __future__ import annotations

import socket
from collections.abc import Callable, Mapping
from pathlib import Path

import uvicorn

from tacit.errors import ParameterError
from tacit.server.app import build_app
from tacit.server.limits import Limits, Settings
from tacit.server.logs import event, write_logs
from tacit.server.metrics import Metrics
from tacit.server.models import Models, Served

_BACKLOG = 1024
_KEEP_ALIVE = 75  # seconds; longer than most proxies keep a connection


def serve(
    folders: Mapping[str, Path],
    limits: Mapping[str, Limits],
    settings: Settings,
    *,
    host: str,
    port: int,
    feedback: Path | None,
    watch: bool,
    ready: Callable[[str, Models], None],
) -> None:
    """Serve the models in `folders` until the process is told to stop; `ready` is told the address.

    Parameters
    ----------
    folders : mapping of str to Path
        Model folders by the name that callers use.
    limits : mapping of str to Limits
        Limits of each model.
    feedback : Path, optional
        Folder for the logs of what people teach; by default each lies beside its model.
    """
    listening = _listening(host, port)
    write_logs()
    metrics = Metrics()
    models = Models()
    for name, folder in folders.items():
        models[name] = Served(name, folder, log_path(name, folder, feedback), limits[name], metrics)
        event("loaded", model=name, acts=models[name].n_acts, left_out=models[name].left_out)
    config = uvicorn.Config(
        build_app(models, settings, metrics, watch=watch),
        log_config=None,
        access_log=False,
        server_header=False,
        lifespan="on",
        backlog=_BACKLOG,
        timeout_keep_alive=_KEEP_ALIVE,
        timeout_graceful_shutdown=round(max(limit.timeout for limit in limits.values())) + 5,
        ws="none",
    )
    shown = f"[{host}]" if ":" in host else host
    ready(f"http://{shown}:{listening.getsockname()[1]}/", models)
    uvicorn.Server(config).run(sockets=[listening])


def log_path(name: str, folder: Path, feedback: Path | None) -> Path:
    """Where what people teach a model is recorded."""
    if feedback is not None:
        return feedback / f"{name}.feedback.jsonl"
    folder = folder.resolve()
    return folder.with_name(f"{folder.name}.feedback.jsonl")


def _listening(host: str, port: int) -> socket.socket:
    """A socket at an address, or an error that says why not; taken before anything is loaded."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        taken = socket.socket(family, kind, protocol)
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        taken.bind(address)
    except OSError as error:
        reason = error.strerror or error
        raise ParameterError(f"cannot listen at {host}:{port}: {reason}; choose another --host or --port") from error
    taken.set_inheritable(True)
    return taken
