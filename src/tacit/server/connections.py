"""Connections: their maximum number, timeouts for slow clients, and cheap rejections.

A client that connects and sends nothing, or a request byte by byte, must not keep others from connecting. When all
connections are in use, a new one replaces the one whose request the service has awaited longest: among clients that
have never sent a complete request, or among those that have, whichever group is larger.
"""

from __future__ import annotations

import asyncio
import importlib.util
import logging
import re
from collections import deque
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import httptools
from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from tacit.server.logs import event
from tacit.server.monitoring import Metrics
from tacit.server.problems import SAFE_HEADERS, Problem, busy
from tacit.server.request_limits import Settings

MAX_HEAD = 65_536  # bytes before the body
_PIECE = 1024  # bytes parsed at a time: whatever a client pipelines, a few dozen requests wait for an answer
_SPARE_FILES = 200  # for models, logs and connections that are being closed
_SECONDS_BETWEEN_REPORTS = 1.0


class Connections:
    """All connections of a service.

    Parameters
    ----------
    routes : sequence of str
        Routes that share a queue, such as ``/v1/projects/{project_id}/suggest``.
    is_full : function
        Takes the number of complete, unanswered requests to these routes and returns whether a further one would be
        rejected anyway. If so, it is rejected before its body is read.
    """

    def __init__(
        self, settings: Settings, metrics: Metrics, routes: Sequence[str], is_full: Callable[[int], bool]
    ) -> None:
        self.most = _affordable(settings.max_connections)
        self.patience = settings.request_timeout
        self._is_full = is_full
        self._n_unanswered = 0
        patterns = {route: re.sub(r"\{\w+\}", "[^/]+", route) for route in routes}
        self._routes = {route: re.compile(f"{pattern}(\\?.*)?".encode()) for route, pattern in patterns.items()}
        self._refused = {route: metrics.requests.labels(route, "POST", "429") for route in routes}
        self.strangers: dict[Connection, None] = {}  # whose first request is awaited, the longest awaited first
        self.known: dict[Connection, None] = {}  # whose next request is awaited
        self._metrics = metrics
        self._unreported: dict[str, int] = {}

    def make_room(self) -> None:
        """Close the connection of the larger group whose request has been awaited longest."""
        awaited = max(self.strangers, self.known, key=len)
        longest = next(iter(awaited))
        del awaited[longest]
        longest.transport.abort()
        self.count("too many connections")

    def refuses(self, url: bytes) -> bool:
        """Whether a request is rejected before its body is read; if so, it is counted."""
        route = self._route_of(url)
        if route is None or not self._is_full(self._n_unanswered):
            return False
        self._refused[route].inc()
        self._report("refused")
        return True

    def change(self, url: bytes, by: int) -> None:
        """Note that a request is complete (+1), or has been answered (-1)."""
        if self._route_of(url) is not None:
            self._n_unanswered += by

    def _route_of(self, url: bytes) -> str | None:
        return next((route for route, pattern in self._routes.items() if pattern.fullmatch(url)), None)

    def count(self, reason: str) -> None:
        """Count a connection that was closed without an answer."""
        self._metrics.closed.labels(reason).inc()
        self._report(reason)

    def _report(self, what: str) -> None:
        """Log an event; events within one second share a line."""
        if not self._unreported:
            asyncio.get_running_loop().call_later(_SECONDS_BETWEEN_REPORTS, self._write)
        self._unreported[what] = self._unreported.get(what, 0) + 1

    def _write(self) -> None:
        event("turned away", logging.WARNING, **{what.replace(" ", "_"): n for what, n in self._unreported.items()})
        self._unreported = {}


class Connection(HttpToolsProtocol):
    """One connection, made by uvicorn. Each request must be complete within the timeout."""

    def __init__(self, app_state: dict[str, Any], **given: Any) -> None:
        super().__init__(app_state=app_state, **given)
        self._all: Connections = app_state["connections"]
        self._deadline: asyncio.TimerHandle | None = None
        self._head_size = 0
        self._unparsed = bytearray()
        self._unanswered: deque[bytes] = deque()  # URLs of requests that have come as a whole

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """A client has connected."""
        super().connection_made(transport)
        self.flow = _Flow(transport, self._unparsed)
        self._all.strangers[self] = None
        self._expect()
        if len(self.connections) > self._all.most:
            self._all.make_room()

    def connection_lost(self, exc: Exception | None) -> None:
        """Either side has closed the connection."""
        self._arrived()
        while self._unanswered:
            self._all.change(self._unanswered.popleft(), -1)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Read on."""
        self._unparsed += data
        self._parse()

    def _parse(self) -> None:
        """Parse what has come, until a request waits for the one before it; then nothing more is read, either."""
        while self._unparsed and not self.pipeline and not self.transport.is_closing():
            if self._head_size > MAX_HEAD:
                self._hang_up(Problem(431, f"request headers may have at most {MAX_HEAD:,} bytes"), "head too large")
                return
            piece = bytes(self._unparsed[:_PIECE])
            del self._unparsed[:_PIECE]
            self._head_size += len(piece)
            super().data_received(piece)
        if self.pipeline and not self.transport.is_closing():
            self.flow.pause_reading()

    def on_message_begin(self) -> None:
        """A request begins."""
        super().on_message_begin()
        self._expect()

    def on_headers_complete(self) -> None:
        """Reject a request for which there is no room, or begin to answer it."""
        if not self.url.startswith(b"/"):
            self._take_host_of_target()
        is_free = self.cycle is None or self.cycle.response_complete
        if is_free and self._all.refuses(self.url):
            self.cycle = _ANSWERED  # the body is discarded
            self.transport.write(_BUSY)
            if not self.parser.should_keep_alive():
                self.transport.close()
            return
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """A part of the body has arrived."""
        self._head_size = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        """The request is complete."""
        super().on_message_complete()
        self._arrived()
        if self.cycle.response_complete:
            self._all.known[self] = None
        else:
            self._unanswered.append(self.url)
            self._all.change(self.url, 1)

    def on_response_complete(self) -> None:
        """The response has been sent; wait for the next request, unless it is already here."""
        if self._unanswered:
            self._all.change(self._unanswered.popleft(), -1)
        if not self.pipeline and not self.transport.is_closing():
            self._all.known[self] = None
        super().on_response_complete()
        self._parse()

    def _take_host_of_target(self) -> None:
        """Replace the Host header by the host of an absolute target such as ``http://localhost/`` (RFC 9112, 3.2.2)."""
        host = httptools.parse_url(self.url).host
        if host is not None:
            host = b"[%b]" % host if b":" in host else host
            self.headers[:] = [(name, host if name == b"host" else value) for name, value in self.headers]

    def _expect(self) -> None:
        if self._deadline is None:
            self._deadline = self.loop.call_later(self._all.patience, self._give_up)

    def _arrived(self) -> None:
        self._head_size = 0
        self._all.strangers.pop(self, None)
        self._all.known.pop(self, None)
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _give_up(self) -> None:
        self._deadline = None
        if self.pipeline:  # it is not read before the one ahead of it is answered
            self._expect()
            return
        slow = Problem(408, f"a request must be complete within {self._all.patience:g} s; see --request-timeout")
        self._hang_up(slow if self.scope is not None else None, "too slow")

    def _hang_up(self, problem: Problem | None, reason: str) -> None:
        """Close the connection; a client whose request has begun and has no response yet is told why."""
        if self.transport.is_closing():
            return
        if problem is not None and not (self.cycle is not None and self.cycle.response_started):
            self.transport.write(_packed(problem, close=True))
        self.transport.close()
        self._all.count(reason)


class _Flow(FlowControl):
    """Flow control that does not resume reading while there is something to parse."""

    def __init__(self, transport: asyncio.Transport, unparsed: bytearray) -> None:
        super().__init__(transport)
        self._unparsed = unparsed

    def resume_reading(self) -> None:
        """Called by uvicorn whenever a request is awaited or answered."""
        if not self._unparsed:
            super().resume_reading()


def _affordable(wanted: int) -> int:
    """The number of connections that the limit of open files allows, after raising that limit if possible."""
    if importlib.util.find_spec("resource") is None:  # Windows
        return wanted
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = wanted + _SPARE_FILES
    if 0 <= soft < needed:
        soft = needed if hard < 0 else min(needed, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    return wanted if soft < 0 else max(1, min(wanted, soft - _SPARE_FILES))


def _packed(problem: Problem, *, close: bool) -> bytes:
    """A problem as the bytes of an HTTP response."""
    response = problem.response()
    headers = [*response.raw_headers, *SAFE_HEADERS, *([(b"connection", b"close")] if close else [])]
    lines = b"".join(b"%s: %s\r\n" % pair for pair in headers)
    return STATUS_LINE[problem.status] + lines + b"\r\n" + bytes(response.body)


_BUSY = _packed(busy("too many requests are queued; try again in a moment"), close=False)
_ANSWERED: Any = SimpleNamespace(response_started=True, response_complete=True, message_event=asyncio.Event())
