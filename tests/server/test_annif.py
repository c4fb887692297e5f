"""Annif's own client works with the service, and gets what the tagger says."""

from __future__ import annotations

import io
import re
import time
from pathlib import Path

import pytest
from annif_client import AnnifClient

import tacit
from server.live import check
from tacit import Tagger
from tacit.data.vocabulary import Vocabulary
from tacit.store.ledger import Ledger
from tagger.articles import articles

FORM = {"Content-Type": "application/x-www-form-urlencoded"}
TEXTS = ["apple pear wheel", "song choir", "rain in the road", "filler1"]


@pytest.fixture(autouse=True)
def _direct(monkeypatch):
    """The client goes to this machine without a proxy."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("no_proxy", "127.0.0.1")


def annif(live):
    return AnnifClient(f"{live.base_url}/v1/")


def expected(tagger, text, **wish):
    return [
        {"uri": label, "label": label, "notation": None, "score": round(score, 6)}
        for label, score in tagger.suggest([text], **wish)[0]
    ]


@pytest.fixture
def tagger(saved):
    return Tagger.load(saved)


@pytest.fixture
def client(live):
    return annif(live)


def test_information_on_service_and_projects(client, live):
    assert client.api_info == {"title": "tacit", "version": tacit.__version__}
    (project,) = client.projects
    assert client.get_project("articles") == project
    assert time.strptime(project.pop("modification_time"), "%Y-%m-%dT%H:%M:%SZ") <= time.gmtime()
    assert project == {
        "project_id": "articles",
        "name": "articles",
        "language": "und",
        "backend": {"backend_id": "OneVsAll"},
        "vocab": {"vocab_id": "articles", "languages": [], "size": 4, "loaded": True},
        "vocab_language": None,
        "is_trained": True,
    }


def test_suggestions_are_those_of_the_tagger(client, live, tagger):
    for text in (*TEXTS, "apple & pear = plum + 100 % «fig»;\nsong 🎵"):
        assert client.suggest("articles", text) == expected(tagger, text, k=10)
    assert client.analyze("articles", io.StringIO(TEXTS[0]), limit=2) == expected(tagger, TEXTS[0], k=2)
    assert client.suggest("articles", TEXTS[0], threshold=0.3) == expected(tagger, TEXTS[0], k=10, threshold=0.3)
    assert client.suggest("articles", TEXTS[0], limit=0) == []
    assert client.suggest("articles", TEXTS[0], limit=2**31 - 1) == expected(tagger, TEXTS[0], k=10)
    assert f'tacit_texts_total{{model="articles"}} {len(TEXTS) + 4}.0' in live.get("/metrics").text


def test_without_a_threshold_scores_below_zero_are_kept(start, tmp_path):
    plain = Tagger(model="OneVsAll", calibrate=False).fit(*articles())
    plain.save(tmp_path / "plain")
    found = annif(start(folders={"plain": tmp_path / "plain"})).suggest("plain", "apple", threshold=0)
    assert found == expected(plain, "apple", k=10)
    assert min(each["score"] for each in found) < 0


def test_the_example_of_the_docs_runs(start, model):
    page = Path(__file__).parents[2] / "docs/service.md"
    (example,) = re.findall(r"```python\n(from annif_client.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    live = start(folders={"model": model})
    exec(example.replace("http://127.0.0.1:8000", str(live.base_url)), {})


def test_batches_are_in_order_and_keep_their_identifiers(client, tagger):
    documents = [{"text": text, "document_id": f"doc-{place}"} for place, text in enumerate(TEXTS)]
    documents[2] = {"text": TEXTS[2], "metadata": {"title": "ignored"}}
    found = client.suggest_batch("articles", documents, limit=3, threshold=0.01)
    assert [each["document_id"] for each in found] == ["doc-0", "doc-1", None, "doc-3"]
    assert [each["results"] for each in found] == [expected(tagger, text, k=3, threshold=0.01) for text in TEXTS]
    assert client.suggest_batch("articles", []) == []


def test_a_language_and_unknown_fields_change_nothing(live, tagger):
    form = {"text": TEXTS[0], "language": "sv", "metadata_title": "A title", "limit": "1"}
    answer = live.post("/v1/projects/articles/suggest", data=form)
    assert answer.json() == {"results": expected(tagger, TEXTS[0], k=1)}
    body = {"documents": [{"text": TEXTS[0]}], "further": True}
    answer = live.post("/v1/projects/articles/suggest-batch", params={"language": "sv", "limit": 1}, json=body)
    assert answer.json() == [{"document_id": None, "results": expected(tagger, TEXTS[0], k=1)}]


def test_learned_subjects_are_accepted_judgements(live, model):
    client = annif(live)
    before = {each["uri"]: each["score"] for each in client.suggest("articles", "road")}
    documents = [
        {"text": "road", "subjects": [{"uri": "fruit", "label": "Fruit"}, {"uri": "weather"}]},
        {"text": "road tyre", "subjects": [{"uri": "fruit"}], "metadata": {}},
        {"text": "nothing", "subjects": []},
    ]
    assert client.learn("articles", documents).status_code == 204
    after = {each["uri"]: each["score"] for each in client.suggest("articles", "road")}
    assert after["fruit"] > before["fruit"]
    (act,) = Ledger(model / "acts.jsonl").read().acts
    assert act.kind == "judge"
    judged = [(each["text"], each["label"], each["accepted"]) for each in act.content["judgements"]]
    assert judged == [("road", "fruit", True), ("road", "weather", True), ("road tyre", "fruit", True)]


def test_an_unknown_subject_is_named_and_nothing_is_learned(live):
    documents = [{"text": "a"}, {"text": "road", "subjects": [{"uri": "fruit"}, {"uri": "froot"}]}]
    answer = live.post("/v1/projects/articles/learn", json=documents)
    problem = check(answer, 404, "unknown label 'froot' (did you mean 'fruit'?)", "[1].subjects[1].uri")
    assert problem["nearest"] == ["fruit"]
    too_many = [{"text": "road", "subjects": [{"uri": "fruit"}] * 65}]
    check(live.post("/v1/projects/articles/learn", json=too_many), 422, "at most 64", "subjects")
    check(live.post("/v1/projects/articles/learn", json={"text": "a"}), 422, "valid list", "body")
    check(live.post("/v1/projects/articles/learn", json=[{"subjects": []}]), 422, "required", "[0].text")
    assert live.first.n_acts == 0


def test_subjects_have_the_uris_names_and_notations_of_the_vocabulary(start, tagger, tmp_path):
    tagger.vocabulary_ = Vocabulary(
        ["634", "http://example.org/cars", "m1"],
        ["Obst", "cars", "Musik"],
        [["fruit", "urn:example:fruit"], ["Autos"], ["music"]],
    )
    tagger.language = "de"
    tagger.save(tmp_path / "named")
    live = start(folders={"named": tmp_path / "named"})
    client = annif(live)
    found = {each["label"]: (each["uri"], each["notation"]) for each in client.suggest("named", "pear")}
    assert found == {
        "Obst": ("urn:example:fruit", "634"),
        "cars": ("http://example.org/cars", None),
        "Musik": ("m1", None),
        "weather": ("weather", None),
    }
    subjects = [{"uri": uri} for uri, _ in found.values()]
    assert client.learn("named", [{"text": "pear", "subjects": subjects}]).status_code == 204
    assert sorted(live.first.tagger.acts_[0].labels()) == ["cars", "fruit", "music", "weather"]
    project = client.get_project("named")
    assert (project["language"], project["vocab_language"]) == ("de", "de")
    assert project["vocab"] == {"vocab_id": "named", "languages": ["de"], "size": 3, "loaded": True}


def test_unknown_projects(client):
    for ask in (
        lambda: client.get_project("article"),
        lambda: client.suggest("article", "a"),
        lambda: client.learn("article", [{"text": "a", "subjects": []}]),
    ):
        with pytest.raises(ValueError, match="unknown model 'article' .did you mean 'articles'"):
            ask()


@pytest.mark.parametrize(
    ("form", "detail", "field"),
    [
        ({}, "required", "text"),
        ({"text": "a", "limit": "-1"}, "greater than or equal to 0", "limit"),
        ({"text": "a", "threshold": "1.5"}, "less than or equal to 1", "threshold"),
        ({"text": "a", "threshold": "nan"}, "finite number", "threshold"),
    ],
)
def test_wrong_fields_of_forms_and_queries_are_named(live, form, detail, field):
    check(live.post("/v1/projects/articles/suggest", data=form, headers=FORM), 422, detail, field)
    if "text" in form:
        query = {name: value for name, value in form.items() if name != "text"}
        answer = live.post("/v1/projects/articles/suggest-batch", params=query, json={"documents": [{"text": "a"}]})
        check(answer, 422, detail, field)


def test_wrong_bodies_are_named(live):
    address = "/v1/projects/articles/suggest"
    for body in (b"text=\xff", b"&".join([b"a=b"] * 101), b"text=%ED%A0%80"):
        check(live.post(address, content=body, headers=FORM), 400, "not a form")
    for documents, detail, field in (
        ([{"text": "a"}] * 33, "at most 32", "documents"),
        ([{"text": "a"}, {}], "required", "documents[1].text"),
    ):
        check(live.post(f"{address}-batch", json={"documents": documents}), 422, detail, field)
