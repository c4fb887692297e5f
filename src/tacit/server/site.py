"""The web page: static files without any data."""

from __future__ import annotations

import hashlib
from importlib.resources import files
from typing import Any

from fastapi import APIRouter, Request, Response

_FILES = {
    "/": ("index.html", "text/html"),
    "/page/style.css": ("style.css", "text/css"),
    "/page/app.js": ("app.js", "text/javascript"),
    "/page/service.js": ("service.js", "text/javascript"),
}
PATHS = frozenset(_FILES)

#: A browser may load the files above, talk to this service, and nothing else.
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


def page_routes() -> APIRouter:
    """A route for each file."""
    routes = APIRouter(include_in_schema=False)
    for path, (name, media_type) in _FILES.items():
        content = files("tacit.server").joinpath("page", name).read_bytes()
        routes.add_api_route(path, _serving(content, media_type), methods=["GET"], response_class=Response)
    return routes


def _serving(content: bytes, media_type: str) -> Any:
    tag = f'"{hashlib.sha256(content).hexdigest()[:16]}"'
    headers = {"ETag": tag, "Cache-Control": "no-cache", "Content-Security-Policy": _POLICY}

    async def serve(request: Request) -> Response:
        if request.headers.get("if-none-match") == tag:
            return Response(None, 304, headers)
        return Response(content, 200, headers, f"{media_type}; charset=utf-8")

    return serve
