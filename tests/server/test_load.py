"""The service under load and faults."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import threading
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from server.live import started
from tacit import Tagger
from tacit.server.feedback import read_log
from tacit.server.limits import Limits

TEXTS = ["apple pear", "song choir drum", "rain wind", "engine road", "grape tune storm"]


def test_answers_are_right_whoever_asks_at_the_same_time(live, saved):
    tagger = Tagger.load(saved)
    wishes = [{}, {"k": 2}, {"exclude": ["fruit"]}]
    expected = {
        (text, place): [found.label for found in tagger.suggest([text], **wish)[0]]
        for text in TEXTS
        for place, wish in enumerate(wishes)
    }

    def ask(key):
        text, place = key
        return live.suggest(text, **wishes[place]) == expected[key]

    with ThreadPoolExecutor(16) as clients:
        assert all(clients.map(ask, list(expected) * 20))
    together = live.get("/metrics").text.split('tacit_ranked_texts_bucket{model="articles",le="1"} ')[1].split("\n")[0]
    assert int(together) < 300  # some were ranked together


def test_a_full_service_turns_away_and_recovers(start, monkeypatch):
    live = start(limits=Limits(max_waiting=2))
    may_go, is_busy, suggest = threading.Event(), threading.Event(), Tagger.suggest

    def slow(tagger, *arguments, **options):
        is_busy.set()
        assert may_go.wait(30)
        return suggest(tagger, *arguments, **options)

    def ask(text):
        return live.post("/v1/suggest", json={"text": text})

    with monkeypatch.context() as patch, ThreadPoolExecutor(8) as clients:
        patch.setattr(Tagger, "suggest", slow)
        first = clients.submit(ask, "apple")
        assert is_busy.wait(30)
        others = [clients.submit(ask, text) for text in TEXTS]
        while sum(other.done() for other in others) < 3:  # two may wait, the rest is turned away
            pass
        turned_away = [other.result() for other in others if other.done()]
        assert live.get("/healthz").status_code == 200
        may_go.set()
        assert first.result().status_code == 200
        assert sorted(other.result().status_code for other in others) == [200, 200, 429, 429, 429]
    assert {answer.headers["retry-after"] for answer in turned_away} == {"1"}
    assert live.suggest("apple")


def test_a_model_is_swapped_under_load(live, model):
    taggers = [Tagger.load(model), Tagger.load(model)]
    taggers[1].rename_label("music", "sounds")
    may_answer = {tuple(found.label for found in tagger.suggest(["song"])[0]) for tagger in taggers}
    is_over = threading.Event()

    def ask():
        seen = set()
        while not is_over.is_set():
            seen.add(tuple(live.suggest("song")))
        return seen

    with ThreadPoolExecutor(4) as clients:
        asking = [clients.submit(ask) for _ in range(4)]
        for swap in range(6):
            taggers[(swap + 1) % 2].save(model)
            assert live.post("/v1/models/articles/reload", json={}).status_code == 200
        is_over.set()
        assert set.union(*(each.result() for each in asking)) == may_answer


def test_stopping_finishes_what_runs(start, monkeypatch):
    live = start()
    may_go, is_busy, suggest = threading.Event(), threading.Event(), Tagger.suggest

    def slow(tagger, *arguments, **options):
        is_busy.set()
        assert may_go.wait(30)
        return suggest(tagger, *arguments, **options)

    monkeypatch.setattr(Tagger, "suggest", slow)
    with ThreadPoolExecutor(1) as clients:
        asking = clients.submit(live.suggest, "apple")
        assert is_busy.wait(30)
        live.server.should_exit = True
        may_go.set()
        assert "fruit" in asking.result()


def acknowledged_until_killed(address: str, process: subprocess.Popen, enough: int, tag: str) -> list[str]:
    """Send feedback from several clients, kill the service in the middle of it, and give what was acknowledged."""
    sent, lock = [], threading.Lock()

    def send(client_number):
        number = 0
        with httpx.Client(base_url=address, timeout=60) as client:
            while True:
                text = f"apple {tag}-{client_number}-{number}"
                number += 1
                judgement = {"text": text, "label": random.choice(["fruit", "cars"]), "accepted": bool(number % 2)}
                try:
                    answer = client.post("/v1/feedback", json={"judgements": [judgement]})
                except httpx.TransportError:
                    return
                if answer.status_code == 201:
                    with lock:
                        sent.append(text)
                        if len(sent) == enough:
                            os.kill(process.pid, signal.SIGKILL)

    with ThreadPoolExecutor(6) as clients:
        list(clients.map(send, range(6)))
    process.wait()
    return sent


def kill_and_check(model, logs, times):
    command = ("serve", model, "--feedback", logs, "--no-watch")
    promised = []
    for time in range(times):
        with started(*command) as (process, address):
            promised += acknowledged_until_killed(address, process, enough=random.randint(5, 40), tag=str(time))
        log = read_log(logs / "articles.feedback.jsonl")
        kept = {each["text"] for record in log.records for each in record.content["judgements"]}
        assert not set(promised) - kept
    with started(*command) as (process, address):
        card = httpx.get(f"{address}v1/models", timeout=60).json()["models"][0]
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == -signal.SIGTERM  # after all was finished, as is the custom
    lines = (logs / "articles.feedback.jsonl").read_bytes().splitlines()
    assert card["acts"] == len(lines) - 1 >= len(promised)
    assert [json.loads(line)["record"]["number"] for line in lines] == list(range(len(lines)))


@pytest.mark.skipif(os.name == "nt", reason="there is no SIGKILL")
def test_feedback_survives_being_killed(model, tmp_path):
    kill_and_check(model, tmp_path, 1)


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="there is no SIGKILL")
def test_feedback_survives_being_killed_twenty_times(model, tmp_path):
    kill_and_check(model, tmp_path, 20)
