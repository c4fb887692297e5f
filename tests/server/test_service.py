from __future__ import annotations

import json
import logging
import os

import pytest

from planted import planted
from server.live import serving
from tacit import Tagger
from tacit.errors import FileError, ParameterError
from tacit.server.limits import Limits, Settings
from tacit.server.logs import JsonLines
from tagger.articles import articles

TEXTS = ["apple pear wheel", "song choir", "rain in the road", "filler1"]


def test_suggestions_are_those_of_the_tagger(live, saved):
    tagger = Tagger.load(saved)
    wishes = [
        {},
        {"k": 2},
        {"k": 9, "threshold": "auto"},
        {"threshold": 0.3},
        {"threshold": "precision=0.8"},
        {"include": ["music", "cars"]},
        {"exclude": ["fruit"], "damp_head": 0.7},
    ]
    for wish in wishes:
        expected = [
            [{"label": label, "name": label, "score": round(score, 6)} for label, score in row]
            for row in tagger.suggest(TEXTS, **wish)
        ]
        several = live.post("/v1/suggest", json={"texts": TEXTS, **wish}).json()
        assert several["model"] == "articles"
        assert [result["suggestions"] for result in several["results"]] == expected
        one = live.post("/v1/suggest", json={"text": TEXTS[0], **wish}).json()
        assert one["results"] == several["results"][:1]


def test_models_labels_and_reasons(live):
    (card,) = live.get("/v1/models").json()["models"]
    assert (card["name"], card["kind"], card["labels"], card["acts"]) == ("articles", "OneVsAll", 4, 0)
    found = live.get("/v1/labels", params={"search": "R", "limit": 2}).json()
    assert found["total"] == 3  # cars, fruit, weather; no name starts with it, so the most frequent come first
    assert len(found["labels"]) == 2
    assert found["labels"][0]["count"] >= found["labels"][1]["count"]
    why = live.post("/v1/explain", json={"text": "a pear and a storm", "label": "fruit"}).json()
    assert why["features"][0]["feature"] == "pear"
    assert 0 < why["score"] <= 1


def test_labels_have_the_names_of_the_vocabulary(start, saved, tmp_path):
    from tacit.data.vocabulary import Vocabulary

    tagger = Tagger.load(saved)
    tagger.vocabulary_ = Vocabulary(["fruit", "cars"], ["Obst", "Autos"])
    tagger.save(tmp_path / "named")
    live = start(folders={"named": tmp_path / "named"})
    answer = live.post("/v1/suggest", json={"text": "pear", "include": ["Obst"]}).json()
    assert [(each["label"], each["name"]) for each in answer["results"][0]["suggestions"]] == [("fruit", "Obst")]
    assert live.get("/v1/labels", params={"search": "aut"}).json()["labels"][0]["label"] == "cars"


def test_several_models_each_with_its_own(start, saved, model, tmp_path):
    texts, tags = articles(seed=5)
    Tagger(model="Popularity").fit(texts, tags).save(tmp_path / "plain")
    live = start(folders={"articles": model, "plain": tmp_path / "plain"})
    assert [card["kind"] for card in live.get("/v1/models").json()["models"]] == ["OneVsAll", "Popularity"]
    answer = live.post("/v1/suggest", json={"text": "song", "model": "plain"}).json()
    assert answer["model"] == "plain"
    assert live.post("/v1/labels", json={"name": "pome", "examples": ["apple"], "model": "plain"}).status_code == 201
    assert "pome" not in live.suggest("apple", k=9)


# -- teaching ---------------------------------------------------------------------------------------------


def judge(live, text, label, accepted, times=1):
    judgement = {"text": text, "label": label, "accepted": accepted}
    return live.post("/v1/feedback", json={"judgements": [judgement] * times})


def test_feedback_is_learned_at_once_and_taken_back(live):
    before = live.suggest("filler1")
    answer = judge(live, "filler1", "music", True, times=5)
    assert answer.status_code == 201
    assert live.suggest("filler1")[0] == "music"
    judge(live, "filler2", "fruit", True)
    undone = live.post("/v1/undo", json={"id": answer.json()["id"]}).json()
    assert undone["act"].startswith("took back: accepted 'music'")
    assert live.suggest("filler1") == before
    assert live.post("/v1/undo", json={}).json()["act"] == "took back: accepted 'fruit'"
    nothing = live.post("/v1/undo", json={})
    assert nothing.status_code == 409
    assert "nothing to take back" in nothing.json()["detail"]


def test_a_label_is_added_and_taken_back(live):
    added = live.post("/v1/labels", json={"name": "pome", "examples": ["apple pear"], "cooccurs": {"fruit": 20}})
    assert added.status_code == 201
    assert added.json()["act"] == "added 'pome'"
    assert "pome" in live.suggest("apple", k=3)
    assert live.get("/v1/labels", params={"search": "pom"}).json()["labels"][0]["added"]
    assert judge(live, "apple", "pome", True).status_code == 201
    assert live.post("/v1/undo", json={"id": added.json()["id"]}).status_code == 200
    assert "pome" not in live.suggest("apple", k=9)
    assert judge(live, "apple", "pome", True).status_code == 422


def test_nothing_is_lost_over_a_restart_and_learn_saves_it(saved, model, tmp_path, tacit_command):
    with serving({"articles": model}, tmp_path) as live:
        live.post("/v1/labels", json={"name": "pome", "examples": ["apple pear"]})
        judge(live, "filler1", "music", True, times=5)
        judge(live, "filler1", "cars", True, times=5)
        live.post("/v1/undo", json={})
        taught = live.suggest("filler1"), live.suggest("apple", k=9)
    with serving({"articles": model}, tmp_path) as live:
        assert (live.suggest("filler1"), live.suggest("apple", k=9)) == taught
        assert live.get("/v1/models").json()["models"][0]["acts"] == 2
        log = next(tmp_path.glob("*.feedback.jsonl"))
        done = tacit_command("learn", model, log)
        assert done.startswith(f"learned 2 new acts of {log}"), done
        assert live.post("/v1/models/articles/reload", json={}).json()["acts"] == 0
        assert (live.suggest("filler1"), live.suggest("apple", k=9)) == taught
        assert live.post("/v1/undo", json={}).status_code == 409  # it is in the model now
    assert tacit_command("learn", model, log).startswith("learned 0 new acts")
    assert "pome" in [found.label for found in Tagger.load(model).suggest(["apple"], k=9)[0]]


@pytest.fixture
def tacit_command(monkeypatch, capsys):
    from tacit.cli.main import main

    def run(*arguments):
        monkeypatch.setattr("sys.argv", ["tacit", *map(str, arguments)])
        main()
        return capsys.readouterr().out

    return run


def test_feedback_that_cannot_be_written_is_refused(live, monkeypatch):
    def full(_):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        refused = judge(live, "filler1", "music", True)
    assert refused.status_code == 507
    assert "/" not in refused.json()["detail"]  # no path
    assert judge(live, "filler1", "music", True).json()["id"] == 1
    assert live.first._log.contents().in_force()[0].number == 1


# -- models that change -----------------------------------------------------------------------------------


def test_a_model_is_loaded_anew_when_its_folder_changes(start, model, monkeypatch):
    monkeypatch.setattr("tacit.server.app._SECONDS_BETWEEN_LOOKS", 0.02)
    live = start(watch=True)
    tagger = Tagger.load(model)
    tagger.rename_label("music", "sounds")
    tagger.save(model)
    while "sounds" not in (labels := live.suggest("song")):
        assert "music" in labels
    (model / "manifest.json").write_text("{")
    while 'outcome="failed"' not in live.get("/metrics").text:
        assert "sounds" in live.suggest("song")
    assert "sounds" in live.suggest("song")
    refused = live.post("/v1/models/articles/reload", json={})
    assert refused.status_code == 409
    assert str(model) not in refused.text


# -- what cannot be served --------------------------------------------------------------------------------


def test_models_of_features_are_refused(tmp_path):
    Tagger(model="OneVsAll").fit(*planted()).save(tmp_path / "numbers")
    with (
        pytest.raises(ParameterError, match="needs a model trained on texts"),
        serving({"numbers": tmp_path / "numbers"}, tmp_path),
    ):
        pass


def test_a_log_has_one_writer(live, model, tmp_path):
    with pytest.raises(FileError, match="written by another service"), serving({"articles": model}, tmp_path / "logs"):
        pass


def test_limits_are_numbers_above_zero():
    assert Limits().changed("timeout", "2.5").timeout == 2.5
    with pytest.raises(ParameterError, match="there is no limit 'max_batches' \\(did you mean 'max_batch'"):
        Limits().changed("max_batches", "1")
    with pytest.raises(ParameterError, match="max_batch must be a number; got 'x'"):
        Limits().changed("max_batch", "x")
    with pytest.raises(ParameterError, match="timeout must be above 0; got 0"):
        Limits().changed("timeout", "0")


# -- what is written down ---------------------------------------------------------------------------------


def test_logs_and_metrics_hold_no_texts(start, caplog):
    live = start(settings=Settings(token="correct-horse"))
    live.headers["Authorization"] = "Bearer correct-horse"
    secret = "zebra"
    with caplog.at_level(logging.INFO, "tacit.server"):
        live.suggest(f"a {secret} and a pear")
        judge(live, f"a {secret} song", "music", True)
        live.post("/v1/labels", json={"name": secret})
        live.get("/v1/labels", params={"search": secret})
        live.get(f"/{secret}")
    lines = [json.loads(JsonLines().format(record)) for record in caplog.records]
    first = next(line for line in lines if line.get("route") == "/v1/suggest")
    assert (first["event"], first["status"], first["texts"], first["model"]) == ("request", 200, 1, "articles")
    assert secret not in json.dumps(lines)
    text = live.get("/metrics").text
    assert secret not in text
    assert 'tacit_requests_total{route="/v1/suggest",method="POST",status="200"} 1' in text
    assert 'tacit_requests_total{route="other",method="GET",status="404"} 1' in text
    assert 'tacit_judgements_total{model="articles",accepted="true"} 1' in text
    assert 'tacit_ranked_texts_count{model="articles"} 1' in text


def test_a_mistake_is_told_without_its_trace(live, monkeypatch, caplog):
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("the secret zebra")

    monkeypatch.setattr(Tagger, "suggest", broken)
    answer = live.post("/v1/suggest", json={"text": "a"})
    assert answer.status_code == 500
    assert answer.headers["content-type"] == "application/problem+json"
    assert "zebra" not in answer.text
    assert "RuntimeError" not in answer.text
    live.get("/healthz")  # over the same connection, so that the request before is through
    (record,) = [record for record in caplog.records if record.getMessage() == "error"]
    assert record.about["error"] == "RuntimeError"
    assert "zebra" not in str(record.about)
