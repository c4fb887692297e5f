"""The web page: static files without any data."""

from __future__ import annotations

import hashlib
from importlib.resources import files

from fastapi import APIRouter, Request, Response

_TYPES = {".css": "text/css", ".js": "text/javascript"}


def _page_files() -> dict[str, tuple[str, bytes]]:
    """Media type and content of the files of the web page, by path."""
    found = {}
    for file in files("tacit.server").joinpath("page").iterdir():
        suffix = "." + file.name.rpartition(".")[2]
        if suffix in _TYPES:
            found[f"/page/{file.name}"] = (_TYPES[suffix], file.read_bytes())
    return found


_FILES = {"/": ("text/html", files("tacit.server").joinpath("page", "index.html").read_bytes()), **_page_files()}
PATHS = frozenset(_FILES)

#: A browser may load the files above, talk to this service, and nothing else.
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
#: A report has its style inside, and loads nothing.
REPORT_POLICY = {
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
}


def page_routes() -> APIRouter:
    """A route for each file."""
    routes = APIRouter(include_in_schema=False)
    for path in sorted(PATHS):
        routes.add_api_route(path, _serve, methods=["GET"], response_class=Response)
    return routes


async def _serve(request: Request) -> Response:
    media_type, content = _FILES[request.scope["route"].path]
    tag = f'"{hashlib.sha256(content).hexdigest()[:16]}"'
    headers = {"ETag": tag, "Cache-Control": "no-cache", "Content-Security-Policy": _POLICY}
    if request.headers.get("if-none-match") == tag:
        return Response(None, 304, headers)
    return Response(content, 200, headers, f"{media_type}; charset=utf-8")
