"""The service under load and faults."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import httpx
import pytest

from server.live import hold_up, started
from tacit import Tagger
from tacit.store.ledger import Ledger
from tagger.articles import articles

TEXTS = ["apple pear", "song choir drum", "rain wind", "engine road", "grape tune storm"]
N_CLIENTS = 6
LONG_RUN = pytest.mark.skipif(not os.environ.get("TACIT_ATTACK"), reason="a long run: make attack")


def test_a_full_service_turns_away_and_recovers(start, monkeypatch):
    live = start(max_waiting=2)

    def ask(text):
        return live.post("/v1/suggest", json={"text": text})

    with monkeypatch.context() as patch, ThreadPoolExecutor(8) as clients:
        may_go, is_busy = hold_up(patch)
        first = clients.submit(ask, "apple")
        assert is_busy.wait(30)
        others = [clients.submit(ask, text) for text in TEXTS]
        while sum(other.done() for other in others) < 3:  # two may wait, the rest is turned away
            time.sleep(0.005)
        turned_away = [other.result() for other in others if other.done()]
        assert live.get("/healthz").status_code == 200
        may_go.set()
        assert first.result().status_code == 200
        assert sorted(other.result().status_code for other in others) == [200, 200, 429, 429, 429]
    assert {answer.headers["retry-after"] for answer in turned_away} == {"1"}
    assert live.suggest("apple")


def test_a_model_is_swapped_under_load(live, saved, model):
    """Each answer is that of the model before or after a swap."""
    bases = [Tagger.load(saved), Tagger(model="OneVsAll").fit(*articles(seed=1))]
    expected = [[(label, round(score, 6)) for label, score in base.suggest(["song road"])[0]] for base in bases]
    is_over, seen = threading.Event(), []

    def answer():
        found = live.post("/v1/suggest", json={"text": "song road"}).json()["results"][0]["suggestions"]
        return [(each["label"], each["score"]) for each in found]

    def ask():
        while not is_over.is_set():
            seen.append(answer())

    with ThreadPoolExecutor(4) as clients:
        asking = [clients.submit(ask) for _ in range(4)]
        try:
            for place in (1, 0, 1):
                bases[place].save(model, acts="keep")
                assert live.post("/v1/models/articles/reload", json={}).status_code == 200
                assert answer() == expected[place]
        finally:
            is_over.set()
        for each in asking:
            each.result()
    assert all(each in expected for each in seen)


def test_stopping_finishes_what_runs(start, monkeypatch):
    live = start()
    may_go, is_busy = hold_up(monkeypatch)
    with ThreadPoolExecutor(1) as clients:
        asking = clients.submit(live.suggest, "apple")
        assert is_busy.wait(30)
        live.server.should_exit = True
        may_go.set()
        assert "fruit" in asking.result()


def acknowledged_until_killed(address: str, process: subprocess.Popen, enough: int) -> list[list[str]]:
    """Send feedback from several clients, kill the service in the middle of it; gives the ids that each was told."""
    told: list[list[str]] = [[] for _ in range(N_CLIENTS)]

    def send(ids: list[str]) -> None:
        with suppress(httpx.TransportError), httpx.Client(base_url=address, timeout=60) as client:
            while True:
                judgement = {"text": f"apple {len(ids)}", "label": random.choice(["fruit", "cars"]), "accepted": True}
                ids.append(client.post("/v1/feedback", json={"judgements": [judgement]}).json()["id"])
                if sum(map(len, told)) >= enough:
                    process.kill()

    with ThreadPoolExecutor(N_CLIENTS) as clients:
        list(clients.map(send, told))
    process.wait()
    return told


@pytest.mark.parametrize("times", [2, pytest.param(20, marks=LONG_RUN)])
def test_feedback_survives_being_killed(model, times):
    path = model / "acts.jsonl"
    ids: list[str] = []
    for _ in range(times):
        with started("serve", model) as (process, address):
            told = acknowledged_until_killed(address, process, enough=random.randint(5, 40))
        found = [act.id for act in Ledger(path).read().acts]
        assert found[: len(ids)] == ids  # what was there before stays as it was
        new = found[len(ids) :]
        for one in told:  # all that was acknowledged is there, in the order in which each client sent it
            assert [name for name in new if name in set(one)] == one
        assert len(new) <= sum(map(len, told)) + N_CLIENTS  # besides, at most what was being sent
        assert len(set(found)) == len(found)
        ids = found
        whole = path.read_bytes()
        path.write_bytes(whole + whole.splitlines(keepends=True)[-1][: random.randint(1, 50)])  # torn
    with started("serve", model) as (process, address):
        assert httpx.get(f"{address}v1/models", timeout=60).json()["models"][0]["acts"] == len(ids)
        judged = {"text": "apple", "label": "fruit", "accepted": True}
        last = httpx.post(f"{address}v1/feedback", json={"judgements": [judged]}, timeout=60).json()
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == -signal.SIGTERM  # after all was finished, as is the custom
    contents = Ledger(path).read()
    assert [act.id for act in contents.acts] == [*ids, last["id"]]
    assert contents.mark.end == path.stat().st_size  # the torn line is gone
    left = {file.name for file in model.iterdir()} - {"acts.jsonl.samples"}
    assert left == {"manifest.json", next(model.glob("arrays-*")).name, "acts.jsonl", "acts.jsonl.lock"}
