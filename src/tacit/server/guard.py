"""What every request passes before it is parsed: access control, limits of its body, logging and metrics."""

from __future__ import annotations

import hmac
import re
import time
from dataclasses import dataclass

import anyio
from fastapi import FastAPI
from starlette.types import Message, Receive, Scope, Send

from tacit.server.logs import event, failure
from tacit.server.monitoring import Metrics
from tacit.server.problems import Problem
from tacit.server.request_limits import Settings

_METHODS = ("GET", "POST", "HEAD", "OPTIONS", "PUT", "PATCH", "DELETE")  # clients could otherwise make up counters
_HOST = re.compile(r"(?:\[([0-9a-f:.]+)\]|([^\[\]:]*))(?::[0-9]*)?")  # RFC 3986, 3.2.2
_TAKE_FORMS = re.compile(r"/v1/projects/[^/]+/suggest")
_OPEN = ("/", "/healthz", "/openapi.json")  # need no token, as the files of the page: they contain no data


@dataclass(frozen=True, eq=False)
class Guard:
    """An ASGI app around another one."""

    app: FastAPI
    settings: Settings
    metrics: Metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        start, status = time.perf_counter(), 500

        async def note_status(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._answer(scope, receive, note_status)
        finally:
            self._note(scope, status, time.perf_counter() - start)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            headers = dict(scope["headers"])
            self._admit(scope["path"], headers)
            if scope["method"] == "POST":
                _check_type(scope["path"], headers.get(b"content-type", b"").decode("latin-1"))
                receive = await self._with_body(receive)
            await self.app(scope, receive, send)
        except Problem as problem:
            await problem.response()(scope, receive, send)
        except Exception as error:  # noqa: BLE001 - the client has had a problem document
            failure("error", error, route=_route(scope))

    def _admit(self, path: str, headers: dict[bytes, bytes]) -> None:
        """Raise unless the token is right or, if the service has none, the host name is allowed."""
        token, hosts = self.settings.token, self.settings.hosts
        if token is not None:
            scheme, _, given = headers.get(b"authorization", b"").partition(b" ")
            is_right = scheme.lower() == b"bearer" and hmac.compare_digest(given, token.encode())
            if not is_right and path not in _OPEN and not path.startswith("/page/"):
                detail = "missing or wrong token; send the header 'Authorization: Bearer TOKEN'"
                raise Problem(401, detail, headers={"WWW-Authenticate": 'Bearer realm="tacit"'})
        elif hosts is not None:
            found = _HOST.fullmatch(headers.get(b"host", b"").decode("latin-1").lower())
            if found is None or (found[1] or found[2]) not in hosts:
                raise Problem(421, "this host name is not allowed; allow it with: tacit serve --allow-host NAME")

    async def _with_body(self, receive: Receive) -> Receive:
        """Read the whole body, within its limits of size and time, and return a `receive` that repeats it."""
        body, seconds, most = bytearray(), self.settings.request_timeout, self.settings.max_body
        message: Message = {"more_body": True}
        try:
            with anyio.fail_after(seconds):
                while message.get("more_body"):
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        raise Problem(400, "the connection was closed before the request was complete")
                    body += message.get("body", b"")
                    if len(body) > most:
                        detail = f"a request body may have at most {most:,} bytes; send fewer or shorter texts at once"
                        raise Problem(413, detail, headers={"Connection": "close"})
        except TimeoutError:
            detail = f"a request body must be complete within {seconds:g} s; see --request-timeout"
            raise Problem(408, detail, headers={"Connection": "close"}) from None
        pending: list[Message] = [{"type": "http.request", "body": bytes(body), "more_body": False}]

        async def repeat() -> Message:
            return pending.pop() if pending else await receive()

        return repeat

    def _note(self, scope: Scope, status: int, seconds: float) -> None:
        route, method = _route(scope), scope["method"] if scope["method"] in _METHODS else "other"
        self.metrics.requests.labels(route, method, str(status)).inc()
        self.metrics.seconds.labels(route).observe(seconds)
        about = scope.get("tacit.about", {})
        event("request", method=method, route=route, status=status, seconds=round(seconds, 6), **about)


def _check_type(path: str, given: str) -> None:
    """Raise unless a body is what its endpoint takes: forms, which pages of other sites can send, change nothing."""
    wanted = "application/x-www-form-urlencoded" if _TAKE_FORMS.fullmatch(path) else "application/json"
    if given.partition(";")[0].strip().lower() != wanted:
        raise Problem(415, f"the Content-Type of the request body must be {wanted}; got '{given[:200]}'")


def _route(scope: Scope) -> str:
    """The route as declared, without the values in its path: clients could otherwise create any number of counters."""
    return str(getattr(scope.get("route"), "path", "other"))
