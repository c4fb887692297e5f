"""What every request passes before it is parsed: access control, limits on its size, logging and metrics."""

from __future__ import annotations

import hmac
import re
import time
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tacit.server.logs import event, failure
from tacit.server.monitoring import Metrics
from tacit.server.problems import SAFE_HEADERS, Problem
from tacit.server.request_limits import Settings

_WITH_BODY = ("POST", "PUT", "PATCH")
_AT_MOST_ONCE = ("Host", "Content-Type", "Authorization")  # which of several counts, others may see differently
_HOST = re.compile(r"(?:\[([0-9a-f:.]+)\]|([^\[\]:]*))(?::[0-9]*)?")  # RFC 3986, 3.2.2


@dataclass(frozen=True, eq=False)
class Guard:
    """An ASGI app around another one.

    Parameters
    ----------
    app : ASGI app
        The app behind the guard.
    open_paths : frozenset of str
        Paths that need no token: the web page, which contains no data, and the health check.
    """

    app: ASGIApp
    settings: Settings
    metrics: Metrics
    open_paths: frozenset[str]

    @cached_property
    def _credentials(self) -> bytes | None:
        token = self.settings.token
        return None if token is None else b"bearer " + token.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        start = time.perf_counter()
        status = 500

        async def noting(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                present = {name for name, _ in message["headers"]}
                message["headers"] = [
                    *message["headers"],
                    *(header for header in SAFE_HEADERS if header[0] not in present),
                ]
            await send(message)

        try:
            await self._answer(scope, receive, noting)
        finally:
            self._note(scope, status, time.perf_counter() - start)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            headers = _headers_of(scope)
            self._admit(scope, headers)
            if scope["method"] in _WITH_BODY:
                receive = await self._whole_body(headers, receive)
            await self.app(scope, receive, send)
        except Problem as problem:
            response = problem.response()
            if problem.status == 401:
                response.headers["WWW-Authenticate"] = 'Bearer realm="tacit"'
            if problem.status == 413:  # the rest of the body is not read
                response.headers["Connection"] = "close"
            await response(scope, receive, send)
        except Exception as error:  # noqa: BLE001 - the caller has had a problem document
            failure("error", error, route=_route(scope))

    def _admit(self, scope: Scope, headers: dict[bytes, bytes]) -> None:
        """Raise unless the token is right or, if the service has none, the host name is allowed."""
        if self._credentials is None:
            self._check_host(headers.get(b"host", b""))
        elif scope["path"] not in self.open_paths:
            given = headers.get(b"authorization", b"")
            scheme, _, token = given.partition(b" ")
            if not hmac.compare_digest(scheme.lower() + b" " + token, self._credentials):
                raise Problem(401, "missing or wrong token; send the header 'Authorization: Bearer TOKEN'")

    def _check_host(self, host: bytes) -> None:
        hosts = self.settings.hosts
        if hosts is None:
            return
        found = _HOST.fullmatch(host.decode("latin-1").lower())
        if found is None or (found[1] or found[2]) not in hosts:
            raise Problem(421, "this host name is not allowed; allow it with the option --allow-host of tacit serve")

    async def _whole_body(self, headers: dict[bytes, bytes], receive: Receive) -> Receive:
        """Read the whole body, within its size limit, and return a `receive` that replays it."""
        most = self.settings.max_body
        declared = headers.get(b"content-length", b"0")
        if declared.isdigit() and int(declared) > most:
            raise _too_large(most)
        body = await _read(receive, most)
        pending: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

        async def replay() -> Message:
            return pending.pop() if pending else await receive()

        return replay

    def _note(self, scope: Scope, status: int, seconds: float) -> None:
        route = _route(scope)
        self.metrics.requests.labels(route, _method(scope), str(status)).inc()
        self.metrics.seconds.labels(route).observe(seconds)
        about: dict[str, Any] = scope.get("tacit.about", {})
        event("request", method=_method(scope), route=route, status=status, seconds=round(seconds, 6), **about)


def _headers_of(scope: Scope) -> dict[bytes, bytes]:
    """Headers by name; raise if one that decides about access comes twice."""
    names = [name for name, _ in scope["headers"]]
    for name in _AT_MOST_ONCE:
        if names.count(name.lower().encode()) > 1:
            raise Problem(400, f"the request has several headers '{name}'; send one")
    return dict(scope["headers"])


async def _read(receive: Receive, most: int) -> bytes:
    parts: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise Problem(400, "the connection was closed before the request was complete")
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        if size > most:
            raise _too_large(most)
        if not message.get("more_body", False):
            return b"".join(parts)


def _too_large(most: int) -> Problem:
    return Problem(413, f"a request body may have at most {most:,} bytes; send fewer or shorter texts per request")


def _route(scope: Scope) -> str:
    """The route as declared, without the values in its path: clients could otherwise create any number of counters."""
    return str(getattr(scope.get("route"), "path", "other"))


def _method(scope: Scope) -> str:
    method = str(scope["method"])
    return method if method in ("GET", "HEAD", "OPTIONS", "DELETE", *_WITH_BODY) else "other"
