"""Pages that say they are run by a test: every block of them is, in order, in an empty folder."""

from __future__ import annotations

import contextlib
import csv
import importlib.util
import json
import random
import re
import shlex
import sys
from pathlib import Path

import click
import pytest

from pages import DOCS, blocks_of, commands_of, run_command
from server.live import started
from tacit.cli.commands import cli
from tacit.data.save import save_data
from tacit.data.synthetic import make_dataset
from walks.files import ticket, write_table

README = DOCS.parent / "README.md"
PAGES = ["vocabularies.md", "from-annif.md", "cluster.md"]
SERVED = "http://127.0.0.1:8000/"
HAS_RDF = importlib.util.find_spec("pyoxigraph") is not None


class Run:
    """What the blocks of a page printed, by command, and what Python blocks left behind."""

    def __init__(self, monkeypatch, capfd):
        self.monkeypatch, self.capfd = monkeypatch, capfd
        self.printed: dict[str, str] = {}
        self.names: dict[str, object] = {}

    def page(self, name: str, folder: Path) -> None:
        """Run all blocks; a service runs on until the last of them."""
        self.monkeypatch.chdir(folder)
        for variable in ("NO_PROXY", "no_proxy"):
            self.monkeypatch.setenv(variable, "127.0.0.1")
        with contextlib.ExitStack() as services:
            address = SERVED
            for kind, block in blocks_of(DOCS / name):
                if kind == "python":
                    code = compile(block.replace(SERVED, address), name, "exec")
                    self._keep(block, exec, code, self.names)
                    continue
                if kind in ("text", "toml"):
                    continue
                if ".ttl" in block and not HAS_RDF:
                    continue
                for command in commands_of(block):
                    if command.startswith("tacit serve"):
                        words = shlex.split(command, comments=True)[1:]
                        _, address = services.enter_context(started(*words, cwd=folder))
                    else:
                        self._keep(command, run_command, command, self.monkeypatch)

    def _keep(self, key, function, *arguments):
        self.capfd.readouterr()
        function(*arguments)
        self.printed[key] = self.capfd.readouterr().out

    def of(self, start: str) -> str:
        """What the first block or command with this start printed."""
        return next(printed for key, printed in self.printed.items() if key.startswith(start))


@pytest.fixture
def run(monkeypatch, capfd):
    return Run(monkeypatch, capfd)


def labels_in(line: str) -> list[str]:
    return [found["label"] for found in json.loads(line)["suggestions"]]


def test_vocabularies(tmp_path, run):
    run.page("vocabularies.md", tmp_path)
    if HAS_RDF:
        assert labels_in(run.of("echo")) == ["http://example.org/p1", "http://example.org/p2"]
    several = next(printed for command, printed in run.printed.items() if command.endswith("--language fi"))
    assert '"name": "lämpöpumput"' in several
    assert labels_in(run.of('echo "feeding of zebra')) == ["zebra fish"]
    found, *why = run.of("import tacit").splitlines()
    untagged = f"c{run.names['NAMES'].index(run.names['untagged'])}"
    assert f"label='{untagged}'" in found
    assert "its name" in why[1]
    assert [line.split("  ")[2].split()[0] for line in run.of("tacit labels model history").splitlines()] == [
        "added", "renamed", "retired",
    ]  # fmt: skip


def test_from_annif(tmp_path, run):
    run.page("from-annif.md", tmp_path)
    assert labels_in(run.of("echo"))[0] == "http://example.org/bees"
    assert run.of("from annif_client").split()[:2] == ["http://example.org/bees", "bees"]
    assert (tmp_path / "report.html").exists()


def test_own_models(tmp_path, run, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", ".")
    monkeypatch.setenv("TACIT_IMPORT", "centroids")
    monkeypatch.syspath_prepend(tmp_path)
    run.page("own-models.md", tmp_path)
    assert "'fruit'" in run.of("import tacit")
    assert labels_in(run.of("echo"))[0] == "fruit"
    del sys.modules["centroids"]


def test_readme(tmp_path, run):
    """Its commands and its Python, on files and texts that are made here."""
    rng = random.Random(0)
    rows = [{"article_id": str(number), **ticket(rng)} for number in range(300)]
    for row in rows:
        row["title"], row["body"], row["tags"] = row.pop("subject"), row.pop("message"), row.pop("topics")
    write_table(tmp_path / "articles.csv", rows)
    write_table(tmp_path / "new.csv", [{key: row[key] for key in ("article_id", "title", "body")} for row in rows[:9]])
    made = make_dataset(n_samples=200, n_features=80, n_labels=12, seed=0)
    for name in ("train", "test"):
        save_data(made.dataset(getattr(made, name)), tmp_path / f"{name}.txt")
    run.names |= {
        "texts": ["light and lenses", "old kings", "a lens", "a war"] * 9,
        "tags": [["optics"], ["history"]] * 18,
    }
    run.page("../README.md", tmp_path)
    with (tmp_path / "suggestions.csv").open(encoding="utf-8") as file:
        assert [row["article_id"] for row in csv.DictReader(file)] == [row["article_id"] for row in rows[:9]]
    assert "How good is" in (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "'PSP@5': " in run.of("import tacit")
    assert "photonics" in run.names["tagger"].classes_


def test_readme_shows_what_suggest_gives():
    kind, block = blocks_of(README)[0]
    assert kind == "text"
    *_, header, row = csv.reader(block.splitlines())
    assert header == ["row", "labels", "names", "scores"]
    assert [len(cell.split("|")) for cell in row] == [1, 3, 3, 3]
    for command in re.findall(r"tacit ((?:train|suggest) .*)", block):
        name, *words = shlex.split(command)
        known = _options(cli.get_command(click.Context(cli), name))
        assert {word for word in words if word.startswith("-") and word != "-"} <= known


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of the cluster's own libraries
def test_cluster(tmp_path, run):
    pytest.importorskip("distributed", reason="needs the extra 'dask'")
    run.page("cluster.md", tmp_path)
    assert "Suggestion(label=" in run.of("import tacit")


@pytest.mark.parametrize("page", PAGES)
def test_commands_and_options_exist(page):
    text = (DOCS / page).read_text(encoding="utf-8")
    context = click.Context(cli)
    options = {name: _options(cli.get_command(context, name)) for name in cli.list_commands(context)}
    named = re.findall(r"`tacit ([a-z-]+)([^`]*)`", text)
    assert named
    for command, rest in named:
        assert set(re.findall(r"(?<!\S)--?[a-z]\S*", rest)) <= options[command], command
    of_annif = {"--limit", "--cached", "--backend-param"}
    assert set(re.findall(r"`(--[a-z-]+)", text)) <= set.union(of_annif, *options.values())


def _options(command):
    return {option for parameter in command.params for option in (*parameter.opts, *parameter.secondary_opts)}
