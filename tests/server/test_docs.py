"""What the pages on the service say is true."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tacit.cli.serve import serve

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
