"""The service as an ASGI app."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

from fastapi import FastAPI
from starlette.types import ASGIApp

from tacit._version import __version__
from tacit.errors import TacitError
from tacit.server.annif_api import annif
from tacit.server.connections import Connections
from tacit.server.guard import Guard
from tacit.server.logs import event, failure
from tacit.server.monitoring import Metrics
from tacit.server.problems import answer_problems
from tacit.server.request_limits import Settings
from tacit.server.routes import api
from tacit.server.schemas import ProblemDocument
from tacit.server.served_models import Models
from tacit.server.site import PATHS, page_routes

_SECONDS_BETWEEN_LOOKS = 2.0
_OF_SUGGESTIONS = (
    "/v1/suggest",
    "/v1/projects/{project_id}/suggest",
    "/v1/projects/{project_id}/suggest-batch",
)
_DESCRIPTION = """Suggests labels for texts, with a trained tacit model.

Errors are problem documents (RFC 9457). Where the service has a token, send it as `Authorization: Bearer TOKEN`."""


def build_app(models: Models, settings: Settings, metrics: Metrics, *, watch: bool = True) -> ASGIApp:
    """The service; with `watch`, it checks the model folders regularly and loads models that have changed."""

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[dict[str, Connections]]:
        watching = asyncio.create_task(_watch(models)) if watch else None
        event("started", models=list(models))
        yield {"connections": Connections(settings, metrics, _OF_SUGGESTIONS, models.are_full)}
        if watching is not None:
            watching.cancel()
            with suppress(asyncio.CancelledError):
                await watching
        for served in models.values():
            await served.close()
        event("stopped")

    app = FastAPI(
        title="tacit",
        version=__version__,
        description=_DESCRIPTION,
        docs_url=None,  # FastAPI's page loads scripts from other sites
        redoc_url=None,
        lifespan=lifespan,
        redirect_slashes=False,
    )
    app.state.models = models
    app.state.metrics = metrics
    app.state.settings = settings
    app.include_router(api)
    app.include_router(annif)
    app.include_router(page_routes())
    answer_problems(app)
    _describe(app, settings)
    return Guard(app, settings, metrics, open_paths=PATHS | {"/healthz", "/openapi.json"})


def _describe(app: FastAPI, settings: Settings) -> None:
    """Add to the OpenAPI description what all endpoints share."""
    document: dict[str, Any] = app.openapi()
    schemas = document["components"]["schemas"]
    schemas[ProblemDocument.__name__] = ProblemDocument.model_json_schema()
    for name in ("HTTPValidationError", "ValidationError"):  # of FastAPI; ours are problem documents
        schemas.pop(name, None)
    if settings.token is not None:
        document["components"]["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
        document["security"] = [{"token": []}]


async def _watch(models: Models) -> None:
    """Reload models whose folder has changed; after a failure a folder is tried again when it changes again."""
    failed: dict[str, Any] = {}
    while True:
        await asyncio.sleep(_SECONDS_BETWEEN_LOOKS)
        for name, served in models.items():
            await served.catch_up()
            served.set_gauges()
            signature = await asyncio.to_thread(served.folder_signature)
            served.notice_damage(signature)
            if signature in (served.signature, failed.get(name), ()):
                continue
            try:
                await served.reload()
            except TacitError:
                failed[name] = signature
            except Exception as error:  # noqa: BLE001 - such as a full queue: tried again soon
                failure("reload failed", error, model=name)
            else:
                event("reloaded", model=name, left_out=served.left_out, level=logging.INFO)
