"""Several workers that serve the same models."""

from __future__ import annotations

import os
import signal
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import httpx
import psutil
import pytest

from server.live import started
from tacit import Tagger
from tacit.store.ledger import Ledger

N_CLIENTS = 50
N_RESTARTS = 20 if os.environ.get("TACIT_ATTACK") else 3  # a start takes seconds
PATIENCE = 60.0
pytestmark = pytest.mark.skipif(os.name == "nt", reason="several workers need Linux or macOS")


def workers_of(process) -> set[int]:
    """The processes that serve, once there are two; a further child of Python's own keeps track of shared memory."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        children = psutil.Process(process.pid).children()
        alive = [child for child in children if child.status() != psutil.STATUS_ZOMBIE]
        found = {child.pid for child in alive if "spawn_main" in " ".join(child.cmdline())}
        if len(found) == 2:
            return found
        time.sleep(0.1)
    raise AssertionError("there are no two workers")


def suggested(client: httpx.Client, text: str, **wish: object) -> list[str]:
    answer = client.post("/v1/suggest", json={"text": text, **wish})
    assert answer.status_code == 200, answer.text
    return [found["label"] for found in answer.json()["results"][0]["suggestions"]]


def counted(address: str, name: str) -> float:
    lines = httpx.get(f"{address}metrics", timeout=PATIENCE).text.splitlines()
    return sum(float(line.rpartition(" ")[2]) for line in lines if line.startswith(name))


def test_what_one_worker_is_taught_all_know_when_it_is_acknowledged(model):
    """Clients ask all the time; after each acknowledged act, new connections reach both workers and see it."""
    tagger = Tagger.load(model)
    usual = {text: [found.label for found in tagger.suggest([text])[0]] for text in ("apple pear", "song choir drum")}
    is_over, n_right = threading.Event(), [0] * N_CLIENTS

    with started("serve", model, "--workers", 2) as (process, address):

        def ask(number: int) -> None:
            with httpx.Client(base_url=address, timeout=PATIENCE) as client:
                while not is_over.is_set():
                    for text, labels in usual.items():
                        found = [label for label in suggested(client, text) if not label.startswith("new")]
                        assert found == labels[: len(found)]
                        n_right[number] += 1

        with ThreadPoolExecutor(N_CLIENTS) as pool:
            asking = [pool.submit(ask, number) for number in range(N_CLIENTS)]
            try:
                told = [taught_and_seen(address, number) for number in range(4)]
            finally:
                is_over.set()
            for each in asking:
                each.result()
        assert all(n_right)
        assert [act.id for act in Ledger(model / "acts.jsonl").read().acts] == told
        n_asked = counted(address, 'tacit_requests_total{method="POST",route="/v1/suggest",status="200"}')
        assert n_asked == sum(n_right) + 8 * len(told)  # of both workers together
        assert counted(address, "tacit_acts{") == len(told)
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE) == 0


def taught_and_seen(address: str, number: int) -> str:
    """Add a label; the id of that act. Each of the connections reaches either worker."""
    label = f"new {number}"
    taught = httpx.post(f"{address}v1/labels", json={"name": label, "examples": ["apple pear"]}, timeout=PATIENCE)
    assert taught.status_code == 201, taught.text
    for _ in range(8):
        with httpx.Client(base_url=address, timeout=PATIENCE) as client:
            assert suggested(client, "apple pear", include=[label]) == [label]
    return str(taught.json()["id"])


def test_a_worker_that_dies_is_started_again(model):
    with started("serve", model, "--workers", 2) as (process, address):
        before = workers_of(process)
        os.kill(min(before), signal.SIGKILL)
        for _ in range(8):  # the other one answers
            with httpx.Client(base_url=address, timeout=PATIENCE) as client:
                assert suggested(client, "apple pear", k=1) == ["fruit"]
        while min(before) in (after := workers_of(process)):
            time.sleep(0.1)
        assert len(after & before) == 1
        assert counted(address, "tacit_texts_total") == 8
        process.send_signal(signal.SIGHUP)  # the terminal is closed
        assert process.wait(PATIENCE) == 0


@pytest.mark.parametrize(("n_workers", "code"), [(1, -signal.SIGTERM), (2, 0)])
def test_the_service_can_be_restarted_at_once(model, n_workers, code):
    """Connections that were open, also in the middle of a request, do not keep the address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    for _ in range(N_RESTARTS):
        with (
            started("serve", model, "--workers", n_workers, port=port) as (process, address),
            ExitStack() as connections,
        ):
            for place in range(8):
                client = connections.enter_context(httpx.Client(base_url=address, timeout=PATIENCE))
                assert suggested(client, "apple pear", k=1) == ["fruit"]
                half = connections.enter_context(socket.create_connection(("127.0.0.1", port)))
                half.sendall(b"POST /v1/suggest HTTP/1.1"[: 9 * place])
            process.send_signal(signal.SIGTERM)
            assert process.wait(PATIENCE) == code
