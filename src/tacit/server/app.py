"""The service as an ASGI app."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from fastapi import Depends, FastAPI
from fastapi.responses import FileResponse
from fastapi.security import HTTPBearer
from fastapi.staticfiles import StaticFiles

from tacit._version import __version__
from tacit.server.annif_api import annif
from tacit.server.guard import Guard
from tacit.server.logs import event
from tacit.server.monitoring import Metrics
from tacit.server.problems import Problem, answer_problems
from tacit.server.request_limits import Settings
from tacit.server.routes import api
from tacit.server.served_models import Models, Served

_SECONDS_BETWEEN_LOOKS = 2.0
_PAGE = Path(__file__).parent / "page"
_DESCRIPTION = """Suggests labels for texts, with a trained tacit model.

Errors are problem documents (RFC 9457). Where the service has a token, send it as `Authorization: Bearer TOKEN`."""


def build_app(settings: Settings) -> Guard:
    """The service, with its models loaded; while it runs, it reloads models whose folder has changed."""
    metrics = Metrics()
    models = Models((name, Served(name, settings, metrics)) for name in settings.folders)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        watching = asyncio.create_task(_watch(models))
        event("started", models=list(models))
        yield
        watching.cancel()
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
        # `Guard` checks the token: this is for the description.
        dependencies=[Depends(HTTPBearer(auto_error=False, scheme_name="token"))] if settings.token else [],
    )
    app.state.models = models
    app.state.metrics = metrics
    app.include_router(api)
    app.include_router(annif)
    app.add_api_route("/", _page, include_in_schema=False)
    app.mount("/page", StaticFiles(directory=_PAGE))
    answer_problems(app)
    return Guard(app, settings, metrics)


async def _page() -> FileResponse:
    return FileResponse(_PAGE / "index.html")


async def _watch(models: Models) -> None:
    while True:
        await asyncio.sleep(_SECONDS_BETWEEN_LOOKS)
        for served in models.values():
            await served.catch_up()
            if served.is_replaced:
                with suppress(Problem):  # it is logged
                    await served.reload()
