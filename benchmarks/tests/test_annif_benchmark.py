"""The comparison with Annif: its rows, its scores, what it keeps, and the step that tacit runs."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pytest

from benchmarks import annif
from benchmarks.peers import PeerError

TOPICS = {"a": "bees", "b": "bread", "c": "rivers", "d": "unseen things"}
MEASURED = {"versions": {"annif": "1"}, "sentences": "a regular expression", "request_ms": 9.0, "request_cpu_ms": 8.0,
            "model_mb": 7.0, "train_cpu": 6.0}  # fmt: skip


def uri(label: str) -> str:
    return f"http://example.org/{label}"


def write_set(folder: Path, **parts: list[tuple[str, str]]) -> Path:
    """A set in the form of yso-finna-en: texts with a letter for each label."""
    folder.mkdir()
    names = "".join(f"{label}\t{uri(label)}\t{name}\tmore\n" for label, name in TOPICS.items())
    (folder / "labels.tsv").write_text(names)
    for part, rows in parts.items():
        with gzip.open(folder / f"{part}.jsonl.gz", "wt") as file:
            file.writelines(json.dumps({"text": text, "labels": list(labels)}) + "\n" for text, labels in rows)
    return folder


class FakeRunner:
    """Suggests the same for every text and remembers what it was asked to do."""

    def __init__(self):
        self.steps: list[tuple[str, str, str]] = []
        self.is_broken = False

    def __call__(self, adapter, step, home, options):
        self.steps.append((adapter, step, options["project"]))
        if self.is_broken:
            raise PeerError("broken")
        n_texts = len(Path(options["texts"]).read_text().splitlines()) if step == "suggest" else 0
        return {**MEASURED, "suggested": [[uri("a"), uri("b")]] * n_texts}


@pytest.fixture
def small(tmp_path, monkeypatch):
    """A set of 20 training rows, 4 of them the development part."""
    for name, value in {"N_ALL": 20, "N_TEST_ALL": 6, "N_TEST": 4, "DEV": slice(10, 14)}.items():
        monkeypatch.setattr(annif, name, value)
    train = [(f"text\t{row}\n of  it", "ab" if row % 2 else "a") for row in range(20)]
    return write_set(tmp_path / "yso-finna-en", train=train, test=[("asked", "ad")] * 6)


@pytest.fixture
def runner():
    return FakeRunner()


@pytest.fixture
def bench(small, tmp_path, runner):
    return annif.Bench(small, tmp_path / "kept", is_dev=False, jobs=1, runner=runner)


def test_a_development_part_is_not_trained_on(small):
    dev = set(annif.tested_rows(is_dev=True))
    assert len(dev) == 4
    assert not dev & set(annif.train_rows(20, is_dev=True))
    assert dev < set(annif.train_rows(20, is_dev=False))
    assert len(annif.train_rows(20, is_dev=True)) == 16
    np.testing.assert_array_equal(annif.train_rows(10, is_dev=True), annif.train_rows(10, is_dev=False))


def corpus(path: Path, *rows: str) -> annif.Corpus:
    path.write_text("".join(f"text\t{' '.join(f'<{uri(label)}>' for label in row)}\n" for row in rows))
    return annif.Corpus(path)


def test_scores(tmp_path):
    trained = corpus(tmp_path / "train.tsv", *["a"] * 7, "b", "ab")
    tested = corpus(tmp_path / "test.tsv", "ab", "d", "bc")
    found = annif.score([[uri("a"), uri("e"), uri("b")], [], [uri("a"), uri("b")]], tested, trained)
    expected = {
        "P@1": 1 / 3,
        "P@3": (2 + 0 + 1) / 9,
        "P@5": (2 + 0 + 1) / 15,
        "R@5": (2 + 0 + 1) / 5,
        "unseen": 0 / 2,  # c and d
        "1-5": 2 / 2,  # b twice
        "6-20": 1 / 1,  # a
    }
    assert found == pytest.approx({name: 100 * value for name, value in expected.items()})


def test_what_is_measured_is_kept(bench, runner):
    first = bench.measure("ensemble", 5)
    assert runner.steps == [("annif", "train", "mllm"), ("annif", "train", "omikuji"), ("annif", "suggest", "ensemble")]
    assert first["train_cpu"] == 2 * MEASURED["train_cpu"]
    assert len(first["loads"]) == 3
    assert bench.measure("ensemble", 5) == first
    bench.measure("mllm", 5)
    assert runner.steps[3:] == [("annif", "suggest", "mllm")]


def test_table(small, tmp_path, runner, monkeypatch, capsys):
    monkeypatch.setenv("TACIT_DATA", str(small.parent))
    monkeypatch.setattr(annif, "run_adapter", lambda environment: runner)
    annif.main("--rows", "10", "--all", "--dev", "--markdown", "--folder", str(tmp_path / "kept"))
    notes, _, table = capsys.readouterr().out.partition("\n\n")
    assert "sentences are split by a regular expression" in notes
    assert "rows of train that no system has seen" in notes
    headings, _, *rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in table.splitlines()]
    assert headings == list(annif.HEADINGS)
    assert [row[:2] for row in rows] == [
        ["10", "Annif omikuji"], ["10", "Annif mllm"], ["10", "Annif ensemble"], ["10", "tacit"], ["16", "tacit"],
    ]  # fmt: skip
    assert rows[2][2:4] == [rows[0][2], "100.0"]
    assert rows[2][-4:] == ["12 s", "7 MB", "9.0 ms", "8.0 ms"]


@pytest.mark.slow
def test_step_of_tacit(tmp_path):
    """The script that runs tacit, as it is run beside Annif."""
    rows = [(f"about {TOPICS[label]} {number}", label) for number in range(100) for label in "abc"]
    source = write_set(tmp_path / "set", train=rows)
    train, vocabulary = tmp_path / "train.tsv", tmp_path / "vocabulary.tsv"
    annif.write_corpus(source, "train", np.arange(300), train)
    annif.write_vocabulary(source, vocabulary)
    run, home = annif.run_adapter(tmp_path), tmp_path / "home"
    options = {"project": "tacit", "vocabulary": str(vocabulary)}
    assert run("tagger", "train", home, {**options, "train": str(train), "jobs": 1})["train_cpu"] > 0
    found = run("tagger", "suggest", home, {**options, "texts": str(train)})
    assert [labels[0] for labels in found["suggested"]] == [uri(label) for _, label in rows]
    assert min(found["model_mb"], found["request_ms"], found["request_cpu_ms"]) > 0
    with pytest.raises(PeerError, match=r"tagger failed \(exit 1\)"):
        run("tagger", "suggest", tmp_path / "nowhere", {**options, "texts": str(train)})
