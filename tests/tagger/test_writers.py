"""Several processes at one model, and processes that are killed: nothing acknowledged is lost, nothing is damaged.

Each worker is a process that does what it is told in a loop and writes down what was acknowledged. The long runs,
the same at the full count, are for ``make attack``.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import tacit
from tacit.store.ledger import Ledger
from tagger.articles import articles

TESTS = Path(__file__).parents[1]
LONG_RUN = pytest.mark.skipif(not os.environ.get("TACIT_ATTACK"), reason="a long run: make attack")

#: A worker: its name, the model folder, how often, and what to do. It prints a line for each act acknowledged.
WORKER = """
import sys
from pathlib import Path
import tacit
from tacit.cli.commands import cli
from tagger.articles import articles

name, folder, times, what = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]), sys.argv[4]

def command(*arguments):
    cli([str(argument) for argument in arguments], standalone_mode=False)

def library(label):
    tagger = tacit.Tagger.load(folder)
    tagger.add_label(label, examples=["apple " + label])
    tagger.save(folder)

def add_label(label):
    command("add-label", folder, label, "--example", "apple pear")

def learn(label):
    file = folder.parent / f"{name}.jsonl"
    file.write_text('{"text": "%s", "label": "fruit", "accepted": true}\\n' % label)
    command("learn", folder, file)

def labels(label):
    add_label(label + " first")
    command("labels", folder, "rename", label + " first", label)

def update(label):
    tagger = tacit.Tagger.load(folder)
    try:
        tagger.update(["wheel " + label], [[label]])
        tagger.save(folder)
    except tacit.errors.ModelFileError as error:
        assert "another process has replaced the model" in str(error), error
        raise SystemExit(0) from None

ways = {"library": library, "add-label": add_label, "learn": learn, "labels": labels, "update": update}
for number in range(times):
    label = f"{name}{number}"
    ways[what](label)
    print("done", label, flush=True)
"""


def worker(name: str, folder: Path, times: int, what: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", WORKER, name, str(folder), str(times), what]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(TESTS), *sys.path])}
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env)


def acknowledged(process: subprocess.Popen[str]) -> list[str]:
    """What a worker was told is done; that it was not killed by an error."""
    out, err = process.communicate(timeout=600)
    assert process.returncode in (0, -signal.SIGKILL), err
    return [line.removeprefix("done ") for line in out.splitlines() if line.startswith("done ")]


def known_to(folder: Path) -> set[str]:
    """Names of labels, and texts judged, that a model knows."""
    tagger = tacit.Tagger.load(folder)
    assert tagger.suggest(["apple"])
    judged = {each["text"] for act in tagger.acts_ for each in act.content.get("judgements", ())}
    return {str(name) for name in tagger.classes_} | judged


def files_of(folder: Path) -> list[str]:
    return sorted(file.name.partition("-")[0] for file in folder.iterdir())


@pytest.fixture(scope="module")
def saved(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("writers") / "model"
    tacit.Tagger(model="Popularity", keep_texts=True).fit(*articles(40)).save(folder)
    return folder


@pytest.fixture
def model(saved, tmp_path) -> Path:
    return Path(shutil.copytree(saved, tmp_path / "model"))


FILES = {"acts.jsonl", "acts.jsonl.lock", "acts.jsonl.samples", "arrays", "manifest.json"}
PAIRS = [("library", "library"), ("library", "add-label"), ("learn", "add-label"), ("labels", "learn")]


@pytest.mark.parametrize(
    ("pair", "times"),
    [*((pair, 6) for pair in PAIRS[1::2]), *(pytest.param(pair, 50, marks=LONG_RUN) for pair in PAIRS)],
)
def test_two_writers_at_once(model, pair, times):
    """Two processes write at once while this one reads: nothing is lost, and nobody fails."""
    writers = [worker(name, model, times, what) for name, what in zip("ab", pair, strict=True)]
    n_read = 0
    while any(process.poll() is None for process in writers):
        assert tacit.Tagger.load(model).suggest(["apple"])
        n_read += 1
        time.sleep(0.02)
    done = [label for process in writers for label in acknowledged(process)]
    assert len(done) == 2 * times
    assert n_read >= times
    assert set(done) <= known_to(model)
    assert set(files_of(model)) <= FILES


@pytest.mark.parametrize("times", [10, pytest.param(200, marks=LONG_RUN)])
def test_a_service_and_the_command_line_at_once(model, times):
    """Acts through HTTP while commands write to the same folder."""
    from server.live import serving

    other = worker("a", model, times, "add-label")
    with serving({"model": model}) as live:
        for number in range(times):
            answer = live.post("/v1/labels", json={"name": f"s{number}", "examples": ["a plum"]})
            assert answer.status_code == 201, answer.text
            assert f"s{number}" in live.suggest("a plum", k=1000)
        done = acknowledged(other)
        assert live.post("/v1/models/model/reload", json={}).status_code == 200
        named = {label["label"] for label in live.get("/v1/labels", params={"limit": 1000}).json()["labels"]}
    wanted = {*done, *(f"s{number}" for number in range(times))}
    assert len(wanted) == 2 * times
    assert wanted <= named
    assert wanted <= known_to(model)


@pytest.mark.skipif(os.name == "nt", reason="there is no SIGKILL")
@pytest.mark.parametrize(
    ("what", "times"),
    [("learn", 2), ("update", 2), *(pytest.param(each, 70, marks=LONG_RUN) for each in ("library", "learn", "update"))],
)
def test_killed_writers_lose_nothing(model, what, times):
    """Kill a writer at a random moment, again and again; then write once more, and look at what is there."""
    rng = random.Random(times)
    promised: list[str] = []
    for number in range(times):
        process = worker(f"k{number}x", model, 1000, what)
        assert process.stdout is not None
        promised.append(next(line for line in process.stdout if line.startswith("done ")).split()[1])  # it has begun
        time.sleep(rng.uniform(0, 0.15))
        process.send_signal(signal.SIGKILL)
        promised += acknowledged(process)
        missing = set(promised) - known_to(model)
        assert not missing, f"lost after kill {number}: {missing}"
    tagger = tacit.Tagger.load(model)
    tagger.add_label("last", examples=["apple last"])
    tagger.save(model)
    assert {*promised, "last"} <= known_to(model)
    assert set(files_of(model)) <= FILES
    assert len(list(model.glob("*.safetensors"))) == 1


def test_a_folder_copied_while_it_is_written_is_a_model(model, tmp_path):
    process = worker("w", model, 40, "library")
    n_copies = 0
    while process.poll() is None:
        known = len(Ledger(model / "acts.jsonl").read().acts)
        copied = Path(shutil.copytree(model, tmp_path / "copy", dirs_exist_ok=True))
        assert len(tacit.Tagger.load(copied).acts_) >= known
        n_copies += 1
        time.sleep(0.02)
    assert len(acknowledged(process)) == 40
    assert n_copies > 5
