"""Clients that send too much, or too slowly."""

from __future__ import annotations

import socket
from contextlib import ExitStack, suppress

import pytest

HEAD = b"POST /v1/suggest HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
BODY = b'{"text": "apple"}'
WHOLE = HEAD + b"Content-Length: %d\r\n\r\n" % len(BODY) + BODY


def connect(live):
    return socket.create_connection((live.base_url.host, live.base_url.port), timeout=30)


def received(client):
    """All that a client is sent until the service closes the connection."""
    parts = []
    while part := client.recv(65_536):
        parts.append(part)
    return b"".join(parts)


@pytest.mark.parametrize("sent", [b"Content-Length: 100\r\n\r\n{", b"Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n"])
def test_a_body_that_does_not_come(start, sent):
    live = start(request_timeout=0.2)
    with connect(live) as client:
        client.sendall(WHOLE + HEAD + sent)
        answer = received(client)
    assert answer.startswith(b"HTTP/1.1 200")
    assert b"HTTP/1.1 408" in answer


def test_headers_without_end(live):
    more = b"X-More: " + b"x" * 10_000 + b"\r\n"
    with connect(live) as client, suppress(ConnectionError):
        client.sendall(HEAD)
        for _ in range(20):
            client.sendall(more)
        assert received(client).startswith(b"HTTP/1.1 400")
    assert live.suggest("apple")


def test_more_connections_than_allowed(start):
    live = start(max_connections=10)
    with ExitStack() as silent:
        for _ in range(12):
            last = silent.enter_context(connect(live))
        last.sendall(WHOLE)
        assert last.recv(65_536).startswith(b"HTTP/1.1 503")
    assert live.suggest("apple")


def test_requests_that_do_not_await_answers(live):
    with connect(live) as client:
        client.sendall(WHOLE * 19 + WHOLE.replace(b"Host", b"Connection: close\r\nHost"))
        assert received(client).count(b'"label":"fruit"') == 20
