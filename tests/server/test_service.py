from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import pytest

from server.live import Live, check, serving
from tacit import Tagger, load_data
from tacit.data.vocabulary import Vocabulary
from tacit.report.write import write_report
from tacit.server.logs import JsonFormatter
from tacit.store.ledger import Ledger
from tacit.tagger.naming import start_tagger
from tagger.articles import articles

TEXTS = ["apple pear wheel", "song choir", "rain in the road", "filler1"]


def card(live: Live) -> dict[str, Any]:
    return live.get("/v1/models").json()["models"][0]


def test_suggestions_are_those_of_the_tagger(live, saved):
    tagger = Tagger.load(saved)
    for wish in ({}, {"k": 2}, {"k": 9, "threshold": "auto"}, {"threshold": "0.3"}, {"exclude": ["fruit"]}):
        expected = [
            [{"label": label, "name": label, "score": round(score, 6)} for label, score in row]
            for row in tagger.suggest(TEXTS, **wish)
        ]
        several = live.post("/v1/suggest", json={"texts": TEXTS, **wish}).json()
        assert several["model"] == "articles"
        assert [result["suggestions"] for result in several["results"]] == expected
        one = live.post("/v1/suggest", json={"text": TEXTS[0], **wish}).json()
        assert one["results"] == several["results"][:1]


def test_labels_are_found_by_all_their_names(start, saved, tmp_path):
    tagger = Tagger.load(saved)
    names, others = ["Obst", "Autos"], [["fruits", "pomes"], ["motor vehicles"]]
    tagger.vocabulary_ = Vocabulary(["http://x.org/fruit", "http://x.org/cars"], names, others)
    tagger.rename_label("fruit", "http://x.org/fruit")
    tagger.rename_label("cars", "http://x.org/cars")
    tagger.save(tmp_path / "named")
    live = start(folders={"named": tmp_path / "named"})

    def found(search):
        listed = live.get("/v1/labels", params={"search": search}).json()["labels"]
        return [(each["name"], each["matched"]) for each in listed]

    assert found("POMES") == [("Obst", "pomes")]
    assert found("vehicle") == [("Autos", "motor vehicles")]
    assert found("m") == [("music", "music"), ("Autos", "motor vehicles"), ("Obst", "pomes")]  # starts, then inside
    assert found("x.org") == []  # part of a URI is nothing that people look for
    assert found("http://x.org/c") == [("Autos", "http://x.org/cars")]
    live.post("/v1/labels", json={"name": "pomelo", "examples": ["apple"]})
    assert ("pomelo", "pomelo") in found("pome")  # what is known of names follows the acts
    judge(live, "apple", "pomelo", True)
    assert ("pomelo", "pomelo") in found("pome")
    before = card(live)["labels"]
    live.first.tagger.retire_label("pomelo")
    assert found("pomelo") == []
    assert card(live)["labels"] == before - 1


def test_reasons_name_the_words_of_the_text_and_the_labels_of_similar_ones(start, tmp_path):
    texts, tags = articles()
    Tagger(model="OneVsAll", keep_texts=True, language="en").fit(texts, tags).save(tmp_path / "kept")
    live = start(folders={"kept": tmp_path / "kept"})
    assert card(live)["example"] in texts
    why = live.post("/v1/explain", json={"text": "Two apples, an Apple and a song", "label": "fruit"}).json()
    words = {each["feature"]: each["words"] for each in why["features"]}
    assert words["appl"] == ["apples", "Apple"]
    assert all("fruit" in each["labels"] for each in why["samples"])
    own = {text: sorted(each) for text, each in zip(texts, tags, strict=True)}
    assert all(sorted(each["labels"]) == own[each["text"]] for each in why["samples"])


def test_models_say_how_good_they_are_and_have_a_report(live, model, saved, tmp_path):
    tagger = Tagger.load(saved)
    told = card(live)
    assert (told["samples"], told["calibration_samples"]) == (160, tagger.calibration_.trade.n_samples)
    assert told["metrics"]["P@1"] == pytest.approx(tagger.card_["held_out_metrics"]["P@1"], abs=1e-6)
    assert told["calibration_error"] == pytest.approx(tagger.calibration_.error, abs=1e-6)
    assert told["calibration_spread"] == pytest.approx(tagger.calibration_.spread, abs=1e-6)
    assert not told["report"]
    assert tagger.knows([told["example"]]).all()
    assert live.get("/v1/models/articles/report").status_code == 404
    rows = [{"text": text, "labels": each} for text, each in zip(*articles(40, seed=2), strict=True)]
    (tmp_path / "test.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    test = load_data(tmp_path / "test.jsonl")
    write_report(model / "report.html", tagger, test)
    answer = live.get("/v1/models/articles/report")
    assert card(live)["report"]
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert "How good is OneVsAll?" in answer.text
    assert "script-src" not in answer.headers["content-security-policy"]
    assert answer.headers["content-security-policy"].startswith("default-src 'none'")
    other = Tagger(model="OneVsAll").fit(*articles(seed=9))
    write_report(model / "report.html", other, test)  # on a model that is not the one served
    assert live.get("/v1/models/articles/report").status_code == 404


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


def teach(live):
    live.post("/v1/labels", json={"name": "pome", "examples": ["apple pear"]})
    judge(live, "filler1", "music", True, times=5)
    judge(live, "filler1", "cars", True, times=5)
    live.post("/v1/undo", json={})


def labels_of(model: Path, text: str) -> list[str]:
    return [found.label for found in Tagger.load(model).suggest([text], k=9)[0]]


def test_feedback_is_learned_at_once_and_taken_back(live):
    before = live.suggest("filler1")
    answer = judge(live, "filler1", "music", True, times=5)
    assert answer.status_code == 201
    assert live.suggest("filler1")[0] == "music"
    judge(live, "filler2", "fruit", True)
    undone = live.post("/v1/undo", json={"id": answer.json()["id"]}).json()
    assert undone["id"] == answer.json()["id"]
    assert undone["act"].startswith("took back: judged 5 suggestions, 5 accepted, of 'music' for ")
    assert live.suggest("filler1") == before
    assert live.post("/v1/undo", json={}).json()["act"].startswith("took back: accepted 'fruit'")
    nothing = live.post("/v1/undo", json={})
    assert nothing.status_code == 409
    assert "nothing to undo" in nothing.json()["detail"]


def test_a_label_is_added_and_taken_back(live):
    added = live.post("/v1/labels", json={"name": "pome", "examples": ["apple pear"], "cooccurs": {"fruit": 20}})
    assert added.status_code == 201
    assert added.json()["act"] == "added 'pome' from 1 co-occurring label, 1 example"
    assert "pome" in live.suggest("apple", k=3)
    assert live.get("/v1/labels", params={"search": "pom"}).json()["labels"][0]["added"]
    assert judge(live, "apple", "pome", True).status_code == 201
    assert live.post("/v1/undo", json={"id": added.json()["id"]}).status_code == 200
    assert "pome" not in live.suggest("apple", k=9)
    assert judge(live, "apple", "pome", True).status_code == 404


def test_acts_in_force_are_listed(live, model):
    assert live.get("/v1/acts").json() == {"model": "articles", "total": 0, "acts": []}
    judge(live, "filler1", "music", True)
    added = live.post("/v1/labels", json={"name": "pome", "examples": ["apple pear"]}).json()
    judge(live, "filler2", "cars", False)
    live.post("/v1/undo", json={"id": added["id"]})
    found = live.get("/v1/acts").json()
    assert [each["act"] for each in found["acts"]] == [
        "rejected 'cars' for 'filler2'",
        "accepted 'music' for 'filler1'",
    ]
    assert found["total"] == card(live)["acts"] == 2
    assert live.get("/v1/acts", params={"offset": 1, "limit": 1}).json()["acts"] == found["acts"][1:]
    acts = Ledger(model / "acts.jsonl").read().acts
    assert {each["id"]: each["time"] for each in found["acts"]}.items() <= {act.id: act.time for act in acts}.items()


def test_acts_are_told_with_the_names_of_the_vocabulary(start, saved, tmp_path):
    tagger = Tagger.load(saved)
    tagger.vocabulary_ = Vocabulary(["fruit", "cars"], ["Obst", "Autos"])
    tagger.save(tmp_path / "named")
    live = start(folders={"named": tmp_path / "named"})
    judge(live, "filler1", "fruit", True)
    assert live.get("/v1/acts").json()["acts"][0]["act"] == "accepted 'Obst' for 'filler1'"
    live.first.tagger.rename_label("fruit", "Früchte")
    assert live.get("/v1/acts").json()["acts"][0]["act"] == "renamed 'Obst' to 'Früchte'"
    answer = live.post("/v1/suggest", json={"text": "pear", "include": ["Früchte"]}).json()
    assert [(each["label"], each["name"]) for each in answer["results"][0]["suggestions"]] == [("fruit", "Früchte")]


def test_nothing_is_lost_over_a_restart(model):
    with serving({"articles": model}) as live:
        teach(live)
        taught = live.suggest("filler1"), live.suggest("apple", k=9)
    with serving({"articles": model}) as live:
        assert (live.suggest("filler1"), live.suggest("apple", k=9)) == taught
        assert card(live)["acts"] == 2
        assert live.post("/v1/undo", json={}).json()["act"].startswith("took back: judged 5 suggestions")
    assert Tagger.load(model).history() == ["added 'pome' from 1 example"]
    assert "pome" in labels_of(model, "apple")


def full(*_: object, **__: object) -> None:
    raise OSError(28, "No space left on device")


@pytest.mark.parametrize("is_elsewhere", [False, True])
def test_acts_that_cannot_be_written_are_refused(start, model, tmp_path, monkeypatch, is_elsewhere):
    path = tmp_path / "elsewhere.jsonl" if is_elsewhere else model / "acts.jsonl"
    live = start(acts=path if is_elsewhere else None)
    first = live.post("/v1/labels", json={"name": "pome", "examples": ["apple pear"]}).json()
    before, suggested = path.read_bytes(), live.suggest("filler1")
    for target in ("os.fsync", "tacit.store.ledger.FileLock.acquire"):
        with monkeypatch.context() as patch:
            patch.setattr(target, full)
            answers = [
                judge(live, "filler1", "music", True, times=5),
                live.post("/v1/labels", json={"name": "drums", "examples": ["drum"]}),
                live.post("/v1/undo", json={}),
            ]
        for answer in answers:
            assert "/" not in check(answer, 507, "not recorded")["detail"]  # no path
        assert path.read_bytes() == before
        assert live.suggest("filler1") == suggested
        assert "drums" not in live.suggest("drum", k=9)
    second = judge(live, "filler1", "music", True, times=5).json()
    assert [act.id for act in Ledger(path).read().acts] == [first["id"], second["id"]]
    assert live.suggest("filler1")[0] == "music"


# -- acts of others ---------------------------------------------------------------------------------------


def suggestions(live: Live) -> Any:
    return live.post("/v1/suggest", json={"texts": [*TEXTS, "apple"], "k": 9}).json()


def contents_of(folder: Path) -> dict[str, tuple[bytes, int]]:
    return {file.name: (file.read_bytes(), file.stat().st_mtime_ns) for file in folder.iterdir()}


def reloaded(live: Live) -> dict[str, Any]:
    answer = live.post("/v1/models/articles/reload", json={})
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_what_others_record_is_known_at_once_and_after_a_reload(live, model, tacit):
    judge(live, "filler1", "music", True, times=5)
    tacit("labels", model, "rename", "cars", "vehicles")
    tagger = Tagger.load(model)
    tagger.add_label("pome", examples=["apple pear"])
    tagger.save(model)
    assert {"vehicles", "pome"} <= set(live.suggest("wheel", k=9))
    assert reloaded(live)["acts"] == 3
    assert live.suggest("wheel")[0] == "vehicles"
    assert live.suggest("filler1")[0] == "music"
    undone = live.post("/v1/undo", json={}).json()
    assert undone["act"] == "took back: added 'pome' from 1 example"  # whoever did it
    assert undone["id"] == tagger.acts_[-1].id
    assert "pome" not in live.suggest("apple", k=9)
    assert "'vehicles'" in tacit("labels", model, "undo").out
    assert live.suggest("wheel")[0] == "cars"
    ledger = model / "acts.jsonl"
    ledger.write_bytes(ledger.read_bytes() + b'{"sum":"0"}\nx\n')  # damaged: what is known stays
    assert live.suggest("wheel")[0] == "cars"


def test_former_names_are_understood_and_retired_ones_told(live, model, tacit):
    tacit("labels", model, "rename", "cars", "vehicles")
    tacit("labels", model, "merge", "fruit", "weather", "--into", "nature")
    tacit("labels", model, "retire", "music")
    assert live.suggest("wheel", include=["cars", "fruit"], k=9) == ["vehicles", "nature"]
    assert live.suggest("wheel", exclude=["cars"], k=9) == ["nature"]
    assert live.post("/v1/explain", json={"text": "a wheel", "label": "cars"}).json()["label"] == "vehicles"
    added = live.post("/v1/labels", json={"name": "pome", "cooccurs": {"weather": 9}, "parent": "cars"})
    assert added.json()["act"] == "added 'pome' from 1 co-occurring label, its parent 'vehicles'"
    refused = live.post("/v1/labels", json={"name": "x", "cooccurs": {"music": 9}})
    assert (refused.status_code, refused.json()["errors"][0]["field"]) == (409, "cooccurs.music")


def test_acts_elsewhere_leave_the_model_alone_and_come_home_once(start, model, tmp_path, tacit):
    before, path = contents_of(model), tmp_path / "acts.jsonl"
    live = start(acts=path)
    teach(live)
    assert reloaded(live)["acts"] == 2
    taught = suggestions(live)
    with serving({"articles": model}, path) as again:
        assert suggestions(again) == taught
    assert contents_of(model) == before
    assert tacit("learn", model, path).out.startswith(f"learned 4 new acts from {path}; saved to {model}")
    assert tacit("learn", model, path).out.startswith("learned 0 new acts")
    assert contents_of(model)["manifest.json"] == before["manifest.json"]
    assert reloaded(live)["acts"] == 2  # not twice
    assert suggestions(live) == taught
    with serving({"articles": model}) as home:
        assert suggestions(home) == taught
    live.post("/v1/undo", json={})
    judge(live, "filler2", "fruit", True)
    assert tacit("learn", model, path).out.startswith("learned 2 new acts")
    assert Tagger.load(model).history() == ["added 'pome' from 1 example", "accepted 'fruit' for 'filler2'"]


# -- models that change -----------------------------------------------------------------------------------


def test_a_model_is_loaded_anew_when_its_folder_changes(start, model, monkeypatch):
    monkeypatch.setattr("tacit.server.app._SECONDS_BETWEEN_LOOKS", 0.02)
    live = start()
    judge(live, "filler1", "music", True)
    assert not live.first.is_replaced  # by an act
    Tagger(model="OneVsAll").fit(TEXTS, [["sounds"], ["tunes"], ["noises"], ["sounds"]]).save(model, acts="discard")
    while "sounds" not in live.suggest("song choir", k=9):
        assert live.get("/healthz").status_code == 200
    (model / "manifest.json").write_text("{")
    while 'outcome="failed"' not in live.get("/metrics").text:
        assert "sounds" in live.suggest("song", k=9)
    assert "sounds" in live.suggest("song", k=9)
    refused = live.post("/v1/models/articles/reload", json={})
    assert refused.status_code == 409
    assert str(model) not in refused.text


# -- what is written down ---------------------------------------------------------------------------------


def test_logs_and_metrics_hold_no_texts(start, caplog):
    live = start(token="correct-horse")
    live.headers["Authorization"] = "Bearer correct-horse"
    secret = "zebra"
    with caplog.at_level(logging.INFO, "tacit.server"):
        live.suggest(f"a {secret} and a pear")
        judge(live, f"a {secret} song", "music", True)
        live.post("/v1/labels", json={"name": secret})
        live.get("/v1/labels", params={"search": secret})
        live.get(f"/{secret}")
    lines = [json.loads(JsonFormatter().format(record)) for record in caplog.records]
    first = next(line for line in lines if line.get("route") == "/v1/suggest")
    assert (first["event"], first["status"], first["model"]) == ("request", 200, "articles")
    assert secret not in json.dumps(lines)
    text = live.get("/metrics").text
    assert secret not in text
    assert 'tacit_requests_total{method="POST",route="/v1/suggest",status="200"} 1.0' in text
    assert 'tacit_requests_total{method="GET",route="other",status="404"} 1.0' in text
    assert 'tacit_ranked_texts_count{model="articles"} 1.0' in text


def test_a_mistake_is_told_without_its_trace(live, monkeypatch, caplog):
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("the secret zebra")

    monkeypatch.setattr(Tagger, "suggest", broken)
    answer = live.post("/v1/suggest", json={"text": "a"})
    check(answer, 500, "internal error")
    assert "zebra" not in answer.text
    assert "RuntimeError" not in answer.text
    live.get("/healthz")  # over the same connection, so that the request before is through
    (record,) = [record for record in caplog.records if record.getMessage() == "error"]
    assert record.about["error"] == "RuntimeError"
    assert "zebra" not in str(record.about)


def test_names_in_the_language_asked_for(start, tmp_path):
    translations = {"en": ["river", "choir"], "fi": ["joki", ""]}
    names = Vocabulary(["http://x/1", "http://x/2"], ["river", "choir"], translations=translations)
    start_tagger(names, "en").save(tmp_path / "named")
    live = start(folders={"named": tmp_path / "named"})
    found = live.post("/v1/suggest", json={"text": "rivers of a choir", "k": 2, "language": "fi"}).json()
    shown = {each["label"]: each["name"] for each in found["results"][0]["suggestions"]}
    assert shown == {"http://x/1": "joki", "http://x/2": "choir"}
    wrong = live.post("/v1/suggest", json={"text": "a", "language": "sv"})
    assert (wrong.status_code, wrong.json()["errors"][0]["field"]) == (404, "language")
    assert "it has names in en, fi" in wrong.json()["detail"]
    path = "/v1/projects/named/suggest"
    form = live.post(path, data={"text": "rivers", "limit": 1, "language": "fi"}).json()["results"][0]
    assert (form["uri"], form["label"]) == ("http://x/1", "joki")
    assert live.post(path, data={"text": "rivers", "language": "sv"}).status_code == 404
    assert live.get("/v1/projects/named").json()["vocab"]["languages"] == ["en", "fi"]
