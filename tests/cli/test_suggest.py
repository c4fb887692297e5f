from __future__ import annotations

import csv
import io
import json
import random
import subprocess
import sys

import pytest

import tacit as library

TEXTS = ["a red apple", "a green pear", "the fast car", "a slow car", "apple and pear"] * 4
TAGS = [["fruit", "red|green"], ["fruit"], ["vehicle"], ["vehicle"], ["fruit"]] * 4


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp("stream") / "model"
    library.Tagger(model="OneVsAll").fit(TEXTS, TAGS).save(path)
    return path


@pytest.fixture
def many(tmp_path):
    path = tmp_path / "many.jsonl"
    path.write_text("".join(json.dumps({"text": f"{TEXTS[i % 5]} {i}"}) + "\n" for i in range(3000)))
    return path


def test_an_interrupted_file_is_continued(tacit, model, many, tmp_path):
    whole, cut = tmp_path / "whole.jsonl", tmp_path / "cut.jsonl"
    assert tacit("suggest", model, many, "--out", whole).code == 0
    lines = whole.read_bytes().splitlines(keepends=True)
    assert len(lines) == 3000
    (tmp_path / "cut.jsonl.partial").write_bytes(b"".join(lines[:1500]) + lines[1500][:9])
    assert tacit("suggest", model, many, "--out", cut).code == 0
    assert cut.read_bytes() == whole.read_bytes()
    assert not (tmp_path / "cut.jsonl.partial").exists()


def test_csv_reads_back_as_labels(tacit, model, many, tmp_path):
    out = tmp_path / "out.csv"
    assert tacit("suggest", model, many, "-k", 2, "--out", out).code == 0
    rows = list(csv.DictReader(io.StringIO(out.read_text())))
    assert len(rows) == 3000
    assert json.loads(rows[0]["labels"]) == ["fruit", "red|green"]  # a name with a bar makes a JSON list
    assert rows[2]["labels"].split("|")[0] == "vehicle"
    (tmp_path / "again.csv.partial").write_bytes(b"".join(out.read_bytes().splitlines(keepends=True)[:7]))
    assert tacit("suggest", model, many, "-k", 2, "--out", tmp_path / "again.csv").code == 0
    assert (tmp_path / "again.csv").read_bytes() == out.read_bytes()


def test_memory_does_not_grow_with_the_file(model, tmp_path, monkeypatch):
    """Samples are asked for as they are written: a generator is never more than a block ahead."""
    from tacit.cli.source import SAMPLES_PER_BLOCK, stream_unlabelled

    asked = 0

    def texts(*_args, **_options):
        nonlocal asked
        for number in range(10 * SAMPLES_PER_BLOCK):
            asked = number + 1
            yield "an apple"

    monkeypatch.setattr("tacit.data.texts.stream_texts", texts)
    blocks = stream_unlabelled(tmp_path, library.load_model(model), data_format=None, text=None)
    next(blocks)
    assert asked == SAMPLES_PER_BLOCK


def test_standard_input_in_any_text_format(model):
    def run(content, *options):
        command = [sys.executable, "-m", "tacit", "suggest", str(model), "-", "-k", "1", *options]
        done = subprocess.run(command, input=content, capture_output=True, text=True, timeout=60, check=True)
        return [json.loads(line)["suggestions"][0]["label"] for line in done.stdout.splitlines()]

    assert run("a pear\nthe car\n") == ["fruit", "vehicle"]
    assert run('{"text": "a pear"}\n{"text": "the car"}\n', "--format", "jsonl") == ["fruit", "vehicle"]


def test_how_many_labels_come(tacit, tmp_path):
    """Five without a threshold; with one, all that reach it."""
    rng = random.Random(0)
    words = [f"word{chr(97 + number)}" for number in range(12)]
    tags = [rng.sample(words, 6) for _ in range(120)]
    many_labels, data = tmp_path / "model", tmp_path / "new.txt"
    library.Tagger(model="OneVsAll").fit([" ".join(names) for names in tags], tags).save(many_labels)
    data.write_text(" ".join(words[:6]) + "\n")

    def n_found(*options):
        outcome = tacit("suggest", many_labels, data, *options)
        assert outcome.code == 0, outcome.err
        return len(json.loads(outcome.out)["suggestions"])

    assert n_found() == 5
    assert n_found("-k", 7) == 7
    assert n_found("--threshold", 0) == 12
    assert n_found("--threshold", 0, "-k", 7) == 7
    tagger = library.Tagger.load(many_labels)
    for threshold, n_labels in (("0.5", 6), ("auto", 6), ("recall=0.9", 6), ("labels=7", 7)):
        (expected,) = tagger.suggest([data.read_text()], threshold=threshold)
        assert n_found("--threshold", threshold) == len(expected) == n_labels
        assert n_found("--threshold", threshold, "-k", 2) == 2
    assert n_found("--threshold", 1.1) == 0


def test_choices_by_former_names(tacit, model, many, tmp_path):
    tagger = library.Tagger.load(model)
    tagger.rename_label("vehicle", "cars")
    tagger.retire_label("red|green")
    tagger.save(tmp_path / "taught")

    def found(*options):
        out = tacit("suggest", tmp_path / "taught", many, *options).out
        return {each["label"] for line in out.splitlines() for each in json.loads(line)["suggestions"]}

    assert found() == {"cars", "fruit"}
    assert found("--include", "vehicle") == {"cars"}
    assert found("--exclude", "vehicle") == {"fruit"}
    for option in ("--include", "--exclude"):
        refused = tacit("suggest", tmp_path / "taught", many, option, "red|green")
        assert refused.code == 2
        assert "the label 'red|green' was retired; undo that first, or name another label" in refused.err
        assert refused.err.count("\n") == 1


def test_choices_from_a_file(tacit, model, many, tmp_path):
    (tmp_path / "names.txt").write_text("vehicle\nred|green\n")
    out = tacit("suggest", model, many, "-k", 5, "--include", f"@{tmp_path / 'names.txt'}").out
    assert {found["label"] for found in json.loads(out.splitlines()[0])["suggestions"]} == {"vehicle", "red|green"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--out", "x.txt"), "must end in .jsonl or .csv"),
        (("--out", "missing/x.csv"), "cannot be written: No such file or directory"),
        (("--threshold", "precison=1"), "a threshold is a number, 'auto'"),
        (("--include", "frut"), "unknown label 'frut' (did you mean 'fruit'"),
        (("--include", "@missing.txt"), "missing.txt: no such file"),
        (("--damp-head", "2"), "'--damp-head'"),
    ],
)
def test_bad_calls(tacit, model, many, tmp_path, monkeypatch, options, message):
    monkeypatch.chdir(tmp_path)
    outcome = tacit("suggest", model, many, *options)
    assert outcome.code == 2
    assert message in outcome.err
    assert outcome.err.count("\n") == 1


def test_nothing_is_left_of_a_run_that_never_began(tacit, model, tmp_path):
    tacit("suggest", model, tmp_path / "missing.csv", "--out", tmp_path / "x.csv")
    assert list(tmp_path.iterdir()) == []
