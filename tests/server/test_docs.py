"""What the pages on the service say is true."""

from __future__ import annotations

import configparser
import csv
import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from server.live import started
from tacit.cli.serve import serve
from tacit.store.ledger import Ledger
from tagger.articles import articles

ROOT = Path(__file__).parents[2]
PAGES = ["docs/service.md", "docs/deployment.md", "deploy/tacit.service", "deploy/Containerfile", "deploy/nginx.conf"]
OPTIONS = {option for parameter in serve.params for option in (*parameter.opts, *parameter.secondary_opts)}


def test_requests_of_the_docs_work(live):
    text = (ROOT / "docs/service.md").read_text(encoding="utf-8")
    requests = re.findall(r"```\n(POST) (\S+)\n(\{.*?)\n```", text, re.DOTALL)
    assert len(requests) == 5
    for method, path, body in requests:
        answer = live.request(method, path, json=json.loads(body))
        assert answer.is_success, answer.text


def test_from_a_csv_to_the_page(tmp_path):
    rows = [(text.split()[0], text, "|".join(tags)) for text, tags in zip(*articles(), strict=True)]
    with (tmp_path / "articles.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("title", "body", "tags"), *rows])
    block = (ROOT / "docs/service.md").read_text(encoding="utf-8").split("```")[1].strip().splitlines()
    assert block[0].startswith("pip install")
    train, run = (shlex.split(line)[1:] for line in block[1:])
    subprocess.run([sys.executable, "-m", "tacit", *train], check=True, cwd=tmp_path, capture_output=True)
    with started(*run, cwd=tmp_path) as (_, address):
        assert "<h1>tacit</h1>" in httpx.get(address, timeout=60).text
        answer = httpx.post(f"{address}v1/suggest", json={"text": "a song and a drum"}, timeout=60).json()
        judged = {"text": "a song and a drum", "label": "music", "accepted": True}
        recorded = httpx.post(f"{address}v1/feedback", json={"judgements": [judged]}, timeout=60)
    assert answer["results"][0]["suggestions"][0]["label"] == "music"
    assert recorded.status_code == 201, recorded.text
    assert Ledger(tmp_path / "model" / "acts.jsonl").read().acts[0].labels() == ["music"]
    assert {path.name for path in tmp_path.iterdir()} == {"articles.csv", "model"}


def test_addresses_of_the_docs_are_those_of_the_service(live):
    text = (ROOT / "docs/service.md").read_text(encoding="utf-8")
    listed = {(method.lower(), path) for method, path in re.findall(r"^\| `(GET|POST) ([^?`]+)", text, re.MULTILINE)}
    described = live.get("/openapi.json").json()["paths"]
    known = {(method, path) for path, methods in described.items() for method in methods}
    assert listed == known | {("get", "/openapi.json")}


@pytest.mark.parametrize("page", PAGES)
def test_options_that_are_named_exist(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    commands = [line for line in text.replace("\\\n", " ").splitlines() if re.search(r"tacit\W+serve", line)]
    named = {word for line in commands for word in re.findall(r"--[a-z-]+", line.split("serve", 1)[1])}
    named |= set(re.findall(r"`(--[a-z-]+)", text))
    assert named - {"--read-only", "--tmpfs"} <= OPTIONS
    if page != "deploy/nginx.conf":
        assert commands


def test_the_unit_is_well_formed():
    unit = configparser.ConfigParser(strict=False, interpolation=None)
    unit.optionxform = str
    unit.read(ROOT / "deploy/tacit.service")
    assert set(unit) == {"DEFAULT", "Unit", "Service", "Install"}
    command = shlex.split(unit["Service"]["ExecStart"])
    assert command[1] == "serve"
    assert unit["Service"]["DynamicUser"] == "yes"
    assert unit["Service"]["Restart"] == "always"
