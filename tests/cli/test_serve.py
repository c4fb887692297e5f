from __future__ import annotations

import socket
import sys
from pathlib import Path

import pytest

import tacit as library
from tacit.server.request_limits import LOCAL_HOSTS, Settings
from tagger.articles import articles


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("serve")
    library.Tagger(model="Popularity").fit(*articles()).save(place / "model")
    return place


@pytest.fixture
def run(monkeypatch):
    """What would be served, instead of serving it."""
    calls = []
    monkeypatch.setattr("tacit.server.run.serve", lambda settings, **options: calls.append((settings, options)))
    return calls


def test_one_model_on_this_machine_alone(tacit, run, folder):
    assert tacit("serve", folder / "model").code == 0
    ((settings, options),) = run
    assert settings == Settings({"model": folder / "model"}, token=None, hosts=LOCAL_HOSTS)
    assert (options["host"], options["port"], options["n_workers"]) == ("127.0.0.1", 8000, 1)


def test_several_models_with_names_limits_and_a_token(tacit, run, folder, tmp_path, monkeypatch):
    (tmp_path / "token").write_text("correct-horse\n")
    model = folder / "model"
    outcome = tacit(
        "serve", model, "--name", f"other={model}", "--max-batch", "7", "--timeout", "3", "--host", "0.0.0.0",
        "--token-file", tmp_path / "token",
    )  # fmt: skip
    assert outcome.code == 0, outcome.err
    folders = {"model": model, "other": model}
    assert run[0][0] == Settings(folders, token="correct-horse", hosts=None, max_batch=7, timeout=3)
    monkeypatch.setenv("TACIT_TOKEN", "from-the-environment")
    tacit("serve", model, "--allow-host", "Tags.Example")
    assert run[1][0].token == "from-the-environment"
    assert run[1][0].hosts == LOCAL_HOSTS | {"tags.example"}


BAD_CALLS = {
    "give at least one model folder": (),
    "0.0.0.0 is reachable by others: set a token": ("MODEL", "--host", "0.0.0.0"),
    "a token must have at least 8 printable": ("MODEL", "--token", "short"),
    "absent: no such file": ("MODEL", "--token-file", "absent"),
    "two models are called 'model'": ("MODEL", "MODEL"),
    "--name must be NAME=MODEL; got 'x'": ("--name", "x"),
    "letters, digits, '.', '_' and '-'; got 'a b'": ("--name", "a b=MODEL"),
    "--acts must be NAME=FILE; got 'a'": ("MODEL", "--name", "b=MODEL", "--acts", "a"),
    "--acts: unknown model 'c'": ("MODEL", "--name", "b=MODEL", "--acts", "c=a"),
    "No such option '--feedback'": ("MODEL", "--feedback", "logs"),
    "Invalid value for '--timeout'": ("MODEL", "--timeout", "-1"),
}


@pytest.mark.parametrize("message", BAD_CALLS)
def test_bad_calls_are_one_line(tacit, run, folder, tmp_path, monkeypatch, message):
    monkeypatch.chdir(tmp_path)
    outcome = tacit("serve", *(folder / "model" if each == "MODEL" else each for each in BAD_CALLS[message]))
    assert outcome.code == 2
    assert message in outcome.err
    assert outcome.err.strip().count("\n") == 0
    assert not run


def test_acts_may_be_recorded_elsewhere(tacit, run, folder):
    model = folder / "model"
    for given, expected in [
        (("--acts", "a.jsonl"), {"model": Path("a.jsonl")}),
        (("--acts", "model=a.jsonl"), {"model": Path("a.jsonl")}),
        (("--acts", "a=b.jsonl"), {"model": Path("a=b.jsonl")}),
        (("--name", f"b={model}", "--acts", "b=a.jsonl"), {"b": Path("a.jsonl")}),
        (("--name", f"b={model}", "--acts", "b=a", "--acts", "model=b"), {"b": Path("a"), "model": Path("b")}),
    ]:
        outcome = tacit("serve", model, *given)
        assert outcome.code == 0, outcome.err
        assert run.pop()[0].acts == expected


def test_a_model_that_cannot_be_taught_is_told_with_what_to_do(tacit, folder, monkeypatch):
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("tacit.store.ledger.FileLock.acquire", refuse)
    outcome = tacit("serve", folder / "model", "--port", 0)
    assert outcome.code == 2
    assert "cannot be written; record acts elsewhere with --acts FILE" in outcome.err
    assert outcome.err.strip().count("\n") == 0


def test_everyone_is_let_in_if_that_is_said(tacit, run, folder):
    assert tacit("serve", folder / "model", "--host", "0.0.0.0", "--insecure").code == 0
    assert run[0][0].token is run[0][0].hosts is None


def test_models_that_are_not_there_and_addresses_that_are_taken(tacit, folder, tmp_path):
    missing = tacit("serve", tmp_path / "absent", "--port", 0)
    assert missing.code == 2
    assert "no such model folder" in missing.err
    assert not list(tmp_path.iterdir())
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        outcome = tacit("serve", folder / "model", "--port", port, "--acts", tmp_path / "acts.jsonl")
    assert outcome.code == 2
    assert f"cannot listen on 127.0.0.1:{port}" in outcome.err
    assert not list(tmp_path.iterdir())


def test_a_missing_extra_is_named(tacit, folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    outcome = tacit("serve", folder / "model")
    assert outcome.code == 2
    assert "pip install 'tacit-labels[serve]'" in outcome.err
