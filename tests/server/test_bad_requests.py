from __future__ import annotations

import json
import re
import socket
from http.client import HTTPResponse

import httpx
import psutil
import pytest

from server.live import check, serving, started

JSON = {"Content-Type": "application/json"}
TOKEN = "correct-horse-battery"


@pytest.fixture(scope="module")
def live(saved, tmp_path_factory):
    acts = tmp_path_factory.mktemp("acts") / "acts.jsonl"
    with serving({"articles": saved}, acts, max_body=20_000, max_batch=3) as client:
        yield client


A = {"text": "a"}
JUDGED = A | {"label": "fruit", "accepted": True}
BAD = [
    ("suggest", {}, 422, "either 'text' or 'texts'", "body"),
    ("suggest", A | {"texts": ["a"]}, 422, "either 'text' or 'texts'", "body"),
    ("suggest", {"texts": []}, 422, "at least 1 item", "texts"),
    ("suggest", {"texts": ["a", None]}, 422, "valid string", "texts[1]"),
    ("suggest", {"texts": ["a"] * 4}, 422, "at most 3 in a request; got 4", "texts"),
    ("suggest", A | {"k": 0}, 422, "greater than or equal to 1", "k"),
    ("suggest", A | {"k": "3"}, 422, "valid integer", "k"),
    ("suggest", A | {"kk": 3}, 422, "not permitted", "kk"),
    ("suggest", A | {"threshold": "precision=2"}, 422, "precision", "threshold"),
    ("suggest", A | {"threshold": 1e300}, 422, "less than or equal", "threshold.constrained-float"),
    ("suggest", A | {"threshold": "nan"}, 422, "threshold", "threshold"),
    ("suggest", A | {"include": ["wether"]}, 404, "did you mean 'weather'", "include"),
    ("suggest", A | {"model": "artikles"}, 404, "did you mean 'articles'", "model"),
    ("explain", A | {"label": "musik"}, 404, "did you mean 'music'", "label"),
    ("feedback", {"judgements": [JUDGED, JUDGED | {"label": "cers"}]}, 404, "'cars'", "judgements[1].label"),
    ("labels", {"name": "x", "cooccurs": {"car": 3}}, 404, "'cars'", "cooccurs.car"),
    ("labels", {"name": "x", "parent": "car"}, 404, "'cars'", "parent"),
    ("labels", {"name": "fruit"}, 409, "there is a label 'fruit' already", "name"),
    ("labels", {"name": "2026"}, 409, "'2026' cannot be scored", "name"),
    ("labels", {"name": " "}, 422, "pattern", "name"),
    ("labels", {"name": "x", "examples": ["qqq"]}, 409, "give other examples", "examples"),
    ("labels", {"name": "x", "cooccurs": {"cars": 0}}, 422, "greater than 0", "cooccurs.cars"),
    ("undo", {"id": ""}, 422, "at least 1 character", "id"),
    ("undo", {"id": "0123456789abcdef"}, 409, "no act has this id", "id"),
    ("undo", {}, 409, "there is nothing to undo", "id"),
    ("models/other/reload", {}, 404, "unknown model", "model"),
    ("nothing", {}, 404, "unknown endpoint", None),
]


@pytest.mark.parametrize(("path", "content", "status", "detail", "field"), BAD)
def test_what_is_wrong_is_named(live, path, content, status, detail, field):
    problem = check(live.post(f"/v1/{path}", json=content), status, detail, field)
    assert ("nearest" in problem) == (status == 404 and field is not None and "other" not in path)


def test_other_methods_are_not_allowed(live):
    answer = live.delete("/v1/suggest")
    check(answer, 405, "Method Not Allowed")
    assert answer.headers["allow"] == "POST"


@pytest.mark.parametrize("path", ["/page/../guard.py", "/page/%2e%2e/guard.py", "/page//etc/passwd", "/manifest.json"])
def test_files_cannot_be_reached(live, path):
    request = live.build_request("GET", "/")
    request.url = request.url.copy_with(raw_path=path.encode())
    check(live.send(request), 404, "unknown endpoint")


def post_raw(live, body):
    return live.post("/v1/suggest", content=body, headers=JSON)


@pytest.mark.parametrize("body", [b"", b"{", b'{"text": "a"', b"\xff\xfe{}", b"[" * 9000, b"5", b"null", b"[]"])
def test_malformed_json_is_a_400(live, body):
    answer = post_raw(live, body)
    assert answer.status_code in (400, 422)
    check(answer, answer.status_code, "", "body" if answer.status_code == 422 else None)


def test_lone_surrogates_and_strange_numbers(live):
    check(post_raw(live, b'{"text": "a\\ud800"}'), 422, "unicode", "text")
    for judgement in (JUDGED | {"text": "\ud800"}, JUDGED | {"label": "\ud800"}):
        content = json.dumps({"judgements": [judgement]})
        answer = live.post("/v1/feedback", content=content, headers=JSON)
        assert answer.status_code == 422
    assert post_raw(live, b'{"text": "a", "threshold": NaN}').status_code == 422
    assert post_raw(live, b'{"text": "\\u0000", "threshold": -1e8}').status_code == 200


def test_what_is_too_large_is_not_read(live):
    check(post_raw(live, json.dumps({"text": "a" * 30_000}).encode()), 413, "20,000 bytes")

    def chunks():
        for _ in range(100):
            yield b"a" * 1000

    check(live.post("/v1/suggest", content=chunks(), headers=JSON), 413, "20,000 bytes")
    assert live.suggest("song")


def filled(head, item, tail, size=1_990_000):
    """JSON of a size, with many items; ``#`` in an item is its number."""
    parts = []
    while size > 0:
        parts.append(item.replace("#", str(len(parts))))
        size -= len(parts[-1]) + 1
    return head + ",".join(parts) + tail


LONG = "x" * 1_900_000
LEARN, BATCH = "/v1/projects/articles/learn", "/v1/projects/articles/suggest-batch"
COSTLY = [
    ("/v1/feedback", filled('{"judgements": [', '{"text": 1, "label": "", "accepted": 2, "x": 3}', "]}")),
    ("/v1/feedback", filled('{"judgements": [', '{"text": "", "label": "fruit", "accepted": true}', "]}")),
    ("/v1/feedback", filled('{"judgements": [{', '"#": 1', "}]}")),
    ("/v1/suggest", filled('{"texts": [', '"a"', "]}")),
    ("/v1/suggest", filled('{"texts": [', '"\\ud800"', "]}")),
    ("/v1/suggest", filled("{", '"#": 1', "}")),
    ("/v1/suggest", filled('{"text": "a", "include": [', '"#"', "]}")),
    ("/v1/suggest", filled("[", "[[[[[]]]]]", "]")),
    ("/v1/suggest", filled("{" + ", ".join(f'"{LONG[:90_000]}{i}": 1' for i in range(9)), ', "#": 1', "}", 90)),
    ("/v1/suggest", json.dumps({"text": "a", LONG: 1})),
    ("/v1/suggest", json.dumps({"text": "a", "\N{GRINNING FACE}" * 150_000: 1})),
    ("/v1/suggest", json.dumps({"text": "a", "threshold": "9" * 1_000_000})),
    ("/v1/suggest", json.dumps({"text": "a", "threshold": "precision=0." + "0" * 1_000_000 + "1"})),
    ("/v1/suggest", '{"text": "a", "threshold": ' + "9" * 1_000_000 + "}"),
    ("/v1/suggest", json.dumps({"text": "a", "model": LONG})),
    ("/v1/suggest", json.dumps({"text": "a", "exclude": [LONG[:500]]})),
    ("/v1/labels", json.dumps({"name": "new", "cooccurs": {LONG[:500]: 1}})),
    ("/v1/labels", filled('{"name": "new", "cooccurs": {', '"#": -1', "}}")),
    ("/v1/labels", filled('{"name": "new", "cooccurs": {', '"#": 1', "}}")),
    (LEARN, filled("[", '{"text": ""}', "]")),
    (LEARN, filled('[{"text": "", "subjects": [', "{}", "]}]")),
    (BATCH, filled('{"documents": [', "{}", "]}")),
]


def test_a_refused_request_costs_little(model):
    """Time, answer and what it echoes do not grow with the number or the length of what is wrong."""
    with started("serve", model) as (process, address), httpx.Client(base_url=address) as client:
        service = psutil.Process(process.pid)
        for path, body in COSTLY:
            seconds = []
            for _ in range(3):
                before = sum(service.cpu_times()[:2])
                answer = client.post(path, content=body.encode(), headers=JSON, timeout=60)
                seconds.append(sum(service.cpu_times()[:2]) - before)
            assert 400 <= answer.status_code < 500, (path, body[:100])
            assert len(answer.json().get("errors", ())) <= 10
            assert len(answer.content) <= 16_384, (path, body[:100])
            assert LONG[:201] not in answer.text, (path, body[:100])
            assert "9" * 201 not in answer.text
            assert "0" * 201 not in answer.text
            assert min(seconds) <= 0.2, (path, body[:100], seconds)
        assert service.memory_info().rss < 1e9


@pytest.mark.parametrize(
    ("request_line", "headers", "status"),
    [
        ("GET /v1/models", ["Host: localhost:1"], 200),
        ("GET /v1/models", ["Host: LOCALHOST"], 200),
        ("GET /v1/models", ["Host: [::1]:8000"], 200),
        ("GET /v1/models", ["Host: [::1]"], 200),
        ("GET /v1/models", ["Host: [::1].evil.example"], 421),
        ("GET /v1/models", ["Host: [localhost]"], 421),
        ("GET /v1/models", ["Host: localhost:80.evil.example"], 421),
        ("GET /v1/models", ["Host: localhost, evil.example"], 421),
        ("GET /v1/models", ["Host: evil@localhost"], 421),
        ("GET /v1/models", ["Host: evil.example", "Host: localhost"], 400),
        ("GET /v1/models", [], 400),
        ("GET http://localhost/v1/models", ["Host: localhost"], 404),
        ("OPTIONS *", ["Host: evil.example"], 421),
        ("POST /v1/undo", ["Host: localhost", "Content-Type: application/json, text/plain"], 415),
    ],
)
def test_hosts_and_types_are_read_exactly(live, request_line, headers, status):
    with socket.create_connection((live.base_url.host, live.base_url.port), timeout=30) as client:
        head = [f"{request_line} HTTP/1.1", *headers, "Content-Length: 0", "Connection: close"]
        client.sendall("\r\n".join([*head, "", ""]).encode())
        with HTTPResponse(client) as answer:
            answer.begin()
            assert answer.status == status


def test_a_token_is_needed_for_all_but_the_page(start):
    live = start(token=TOKEN)
    described = live.get("/openapi.json").json()
    for path, methods in described["paths"].items():
        for method in methods:
            answer = live.request(method, path.replace("{name}", "articles"))
            if path == "/healthz":
                assert answer.status_code == 200
            else:
                check(answer, 401, "Authorization")
                assert answer.headers["www-authenticate"].startswith("Bearer")
    page = live.get("/")
    assert page.headers["x-frame-options"] == "DENY"
    assert """http-equiv="Content-Security-Policy" content="default-src 'none';""" in page.text
    for path in re.findall(r'(?:src|href)="(/page/[^"]+)"', page.text):
        assert live.get(path).status_code == 200
    for wrong in ("", "Bearer", f"Bearer {TOKEN}x", f"Basic {TOKEN}", f"Bearer  {TOKEN}", "Bearer café"):
        headers = httpx.Headers([(b"Authorization", wrong.encode())])
        check(live.get("/v1/models", headers=headers), 401, "Authorization")
    right = {"Authorization": f"bearer {TOKEN}", "Host": "any.example"}
    assert live.get("/v1/models", headers=right).status_code == 200
    assert described["components"]["securitySchemes"]["token"]["scheme"] == "bearer"
