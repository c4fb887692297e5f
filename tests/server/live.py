"""A service that runs beside the tests, in a thread of its own."""

from __future__ import annotations

import contextlib
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import uvicorn

from tacit import Tagger
from tacit.server.app import build_app
from tacit.server.request_limits import Settings
from tacit.server.run import configured
from tacit.server.served_models import Models, Served

PATIENCE = 60.0


class Live(httpx.Client):
    """A client of a running service; `models` are those that it serves."""

    models: Models
    server: uvicorn.Server

    @property
    def first(self) -> Served:
        return self.models.find(None)

    def suggest(self, text: str, **wish: Any) -> list[str]:
        """Labels of a text."""
        answer = self.post("/v1/suggest", json={"text": text, **wish})
        assert answer.status_code == 200, answer.text
        return [found["label"] for found in answer.json()["results"][0]["suggestions"]]


def check(answer: httpx.Response, status: int, detail: str, field: str | None = None) -> dict[str, Any]:
    """The problem document that a request was answered with; it has a status, and names a field if one is wrong."""
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    problem = answer.json()
    assert problem["status"] == status
    assert problem["title"]
    assert detail in problem["detail"]
    assert (problem["errors"][0]["field"] if field else problem.get("errors")) == field
    return problem


def hold_up(patch: pytest.MonkeyPatch) -> tuple[threading.Event, threading.Event]:
    """Let suggestions wait until the first event is set; the second is set when one of them has begun."""
    may_go, is_busy, suggest = threading.Event(), threading.Event(), Tagger.suggest

    def slow(tagger: Tagger, *arguments: Any, **options: Any) -> Any:
        is_busy.set()
        assert may_go.wait(30)
        return suggest(tagger, *arguments, **options)

    patch.setattr(Tagger, "suggest", slow)
    return may_go, is_busy


@contextlib.contextmanager
def serving(folders: dict[str, Path], acts: Path | None = None, **settings: Any) -> Iterator[Live]:
    """Serve models until the block ends; then what waits is finished.

    What they are taught is recorded in their folders, or in the file `acts` if there is but one.
    """
    chosen = Settings(folders, {} if acts is None else dict.fromkeys(folders, acts), **settings)
    app = build_app(chosen)
    running = uvicorn.Server(configured(chosen, app))
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        thread = threading.Thread(target=running.run, args=([taken],))
        thread.start()
        address = f"http://127.0.0.1:{taken.getsockname()[1]}"
        try:
            with Live(base_url=address, timeout=PATIENCE, transport=httpx.HTTPTransport(retries=20)) as client:
                client.models, client.server = app.app.state.models, running
                yield client
        finally:
            running.should_exit = True
            thread.join(PATIENCE)
            assert not thread.is_alive()


@contextlib.contextmanager
def started(*arguments: object, cwd: Path | None = None, port: int = 0) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """``tacit`` with these arguments as a process of its own, by default at a port that is free, and its address."""
    command = [sys.executable, "-m", "tacit", *map(str, arguments), "--port", str(port)]
    process = subprocess.Popen(command, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    assert process.stdout is not None
    try:
        yield process, next(line.split()[0] for line in process.stdout if line.startswith("http://"))
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
