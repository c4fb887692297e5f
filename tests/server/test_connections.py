"""Callers who connect and send nothing, or too much, or too slowly."""

from __future__ import annotations

import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from http.client import HTTPResponse

import pytest

from server.live import hold_up
from tacit.server.connections import MAX_HEAD, _affordable
from tacit.server.request_limits import Limits, Settings

HEAD = b"POST /v1/suggest HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
BODY = b'{"text": "apple"}'
WHOLE = HEAD + b"Content-Length: %d\r\n\r\n" % len(BODY) + BODY


def connect(live):
    return socket.create_connection((live.base_url.host, live.base_url.port), timeout=30)


def said(caller):
    """All that a caller is told until the service hangs up."""
    parts = []
    while part := caller.recv(65_536):
        parts.append(part)
    return b"".join(parts)


def closed(live, reason):
    lines = live.get("/metrics").text.splitlines()
    start = f'tacit_closed_connections_total{{reason="{reason}"}} '
    return sum(float(line.removeprefix(start)) for line in lines if line.startswith(start))


@pytest.mark.parametrize(
    ("sent", "told"),
    [
        (b"", b""),
        (b"POST /v1/sug", b"HTTP/1.1 408"),
        (HEAD, b"HTTP/1.1 408"),
        (HEAD + b"Content-Length: 100\r\n\r\n{", b"HTTP/1.1 408"),
        (HEAD + b"Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n", b"HTTP/1.1 408"),
    ],
    ids=["nothing", "half a line", "half a head", "half a body", "a chunk"],
)
def test_a_request_that_does_not_come(start, sent, told):
    live = start(settings=Settings(request_timeout=0.2))
    with connect(live) as caller:
        caller.sendall(sent)
        answer = said(caller)
    assert answer[: len(told)] == told
    assert bool(answer) == bool(told)
    assert closed(live, "too slow") == 1


def test_a_second_request_that_does_not_come(start):
    live = start(settings=Settings(request_timeout=0.2))
    with connect(live) as caller:
        caller.sendall(WHOLE)
        assert caller.recv(65_536).startswith(b"HTTP/1.1 200")
        time.sleep(0.4)  # between requests a caller may be silent for longer
        caller.sendall(WHOLE)
        assert caller.recv(65_536).startswith(b"HTTP/1.1 200")
        caller.sendall(WHOLE[:-1])
        assert said(caller).startswith(b"HTTP/1.1 408")


def test_a_head_without_end(live):
    more = b"X-More: " + b"x" * 10_000 + b"\r\n"
    with connect(live) as caller, suppress(ConnectionError):
        caller.sendall(HEAD)
        for _ in range(2 * MAX_HEAD // len(more)):
            caller.sendall(more)
            time.sleep(0.001)
        assert said(caller).startswith(b"HTTP/1.1 431")
    assert closed(live, "head too large") == 1


def test_more_connections_than_allowed(start):
    """The silent make room: those who ask are answered, on the connections they have and on new ones."""
    live = start(settings=Settings(max_connections=50))
    is_over = threading.Event()

    def flood(sent):
        while not is_over.is_set():
            with connect(live) as caller:
                try:
                    caller.sendall(sent)
                    caller.settimeout(0.2)
                    said(caller)
                except OSError:
                    pass
            is_over.wait(0.1)

    with ThreadPoolExecutor(100) as attackers, ExitStack() as kept:
        for number in range(100):
            attackers.submit(flood, HEAD + b"Content-Length: 1000\r\n\r\n" if number % 3 == 0 else b"")
        try:
            honest = []
            for place in range(200):
                if place < 5:
                    honest.append(kept.enter_context(connect(live)))
                caller = honest[place % 5]
                caller.sendall(WHOLE)
                with HTTPResponse(caller) as answer:
                    answer.begin()
                    assert answer.status == 200
                    answer.read()
                assert live.get("/healthz").status_code == 200
        finally:
            is_over.set()
    assert closed(live, "too many connections") > 20


ROUTES = {
    "/v1/suggest": "/v1/suggest",
    "/v1/projects/articles/suggest": "/v1/projects/{project_id}/suggest",
    "/v1/projects/articles/suggest-batch?limit=3": "/v1/projects/{project_id}/suggest-batch",
}


@pytest.mark.parametrize("path", ROUTES)
def test_a_refusal_before_the_body(start, monkeypatch, path):
    """A full service does not read what it will refuse; the connection stays of use."""
    live = start(limits=Limits(max_waiting=1))
    may_go, is_busy = hold_up(monkeypatch)
    with ThreadPoolExecutor(2) as others, connect(live) as caller:
        first = others.submit(live.suggest, "apple")
        assert is_busy.wait(30)
        second = others.submit(live.suggest, "apple")
        while not live.models.are_full(0):
            time.sleep(0.001)
        caller.sendall(WHOLE[: -len(BODY)].replace(b"/v1/suggest", path.encode(), 1))
        answer = caller.recv(65_536)
        assert answer.startswith(b"HTTP/1.1 429")
        assert b"retry-after: 1" in answer
        assert b"nosniff" in answer
        may_go.set()
        assert first.result() == second.result()
        caller.sendall(BODY + WHOLE)
        assert caller.recv(65_536).startswith(b"HTTP/1.1 200")
    counted = f'tacit_requests_total{{method="POST",route="{ROUTES[path]}",status="429"}} 1.0'
    assert counted in live.get("/metrics").text


ENDLESS = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"


def test_requests_that_do_not_await_answers(live):
    """They are read no faster than they are answered, in order, bodies and all."""
    requests, n_pending, is_over = (ENDLESS * 99 + WHOLE) * 100, [], threading.Event()

    def watch():
        while not is_over.wait(0.001):
            n_pending.extend(len(each.pipeline) for each in list(live.server.server_state.connections))

    with connect(live) as caller, ThreadPoolExecutor(2) as others:
        others.submit(watch)
        sent = others.submit(caller.sendall, requests)
        try:
            with caller.makefile("rb") as answers:
                for number in range(2000):
                    length = 0
                    assert answers.readline() == b"HTTP/1.1 200 OK\r\n"
                    while (line := answers.readline()) != b"\r\n":
                        length = int(line.split()[1]) if line.startswith(b"content-length") else length
                    assert (b"fruit" in answers.read(length)) == (number % 100 == 99)
        finally:
            is_over.set()
            caller.shutdown(socket.SHUT_RDWR)
        assert sent.exception() is None or isinstance(sent.exception(), OSError)
    assert max(n_pending) <= 50
    assert live.suggest("apple")


def test_a_request_may_wait_for_the_one_before_it(start, monkeypatch):
    """The time to receive it does not run while it is not read."""
    live = start(settings=Settings(request_timeout=0.2))
    may_go, is_busy = hold_up(monkeypatch)
    with connect(live) as caller:
        caller.sendall(WHOLE + WHOLE[:-1])
        assert is_busy.wait(30)
        time.sleep(0.5)
        caller.sendall(WHOLE[-1:])
        may_go.set()
        with caller.makefile("rb") as answers:
            told = b""
            while told.count(b"HTTP/1.1 200") < 2:
                told += answers.read1(65_536) or b"HTTP/1.1 closed"
                assert b"closed" not in told


def test_no_more_connections_than_the_system_grants(monkeypatch):
    resource = pytest.importorskip("resource")
    limits = {"now": (256, 1024)}
    monkeypatch.setattr(resource, "getrlimit", lambda _: limits["now"])
    monkeypatch.setattr(resource, "setrlimit", lambda _, new: limits.update(now=new))
    assert _affordable(500) == 500
    assert limits["now"] == (700, 1024)
    assert _affordable(5000) == 824
    assert limits["now"] == (1024, 1024)
