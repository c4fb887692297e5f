from __future__ import annotations

import csv
import io
import json
import os
import random
import sys
from typing import Any

import pytest

import tacit as library
from tacit.progress import Stopped

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


@pytest.mark.parametrize("kind", ["jsonl", "csv"])
def test_a_file_appears_when_it_is_complete(tacit, model, many, tmp_path, monkeypatch, kind):
    out = tmp_path / "work" / f"out.{kind}"
    out.parent.mkdir()
    out.write_text("of an earlier run")
    seen = []

    def stop() -> None:
        seen.append(sorted(path.name for path in out.parent.iterdir()))
        assert out.read_text() == "of an earlier run"
        if len(seen) == 2:
            raise Stopped

    monkeypatch.setattr("tacit.cli.suggest_command.stop_if_asked", stop)
    stopped = tacit("suggest", model, many, "--out", out)
    assert stopped.code == 130
    assert stopped.err == "tacit: interrupted; nothing was written; run the same command to start again\n"
    assert seen == [[f".out.{kind}.{os.getpid()}.tmp", f"out.{kind}"]] * 2
    assert [path.name for path in out.parent.iterdir()] == [f"out.{kind}"]
    assert out.read_text() == "of an earlier run"
    monkeypatch.undo()
    assert tacit("suggest", model, many, "--out", out).code == 0
    assert len(out.read_bytes().splitlines()) == 3000 + (kind == "csv")


@pytest.mark.parametrize("option", ["--include", "--exclude"])
def test_labels_are_looked_up_also_where_there_are_no_samples(tacit, model, tmp_path, monkeypatch, option):
    def run(label: str, *options: object) -> Any:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"")))
        return tacit("suggest", model, "-", option, label, *options)

    unknown = run("fruti", "--out", tmp_path / "out.jsonl")
    assert unknown.code == 2
    assert f"{option[2:]}: unknown label 'fruti' (did you mean 'fruit'?)" in unknown.err
    assert list(tmp_path.iterdir()) == []
    assert run("fruit") == (0, "", "")


def test_lines_of_standard_input_have_limits(tacit, model, monkeypatch):
    def run(texts: bytes, *options: object) -> Any:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(texts)))
        return tacit("suggest", model, "-", "-k", 1, *options)

    long = run(b"a pear\n" + b"a" * 2000 + b"\n", "--max-line", "1K")
    assert (long.code, long.err.count("\n")) == (2, 1)
    assert "-:2: a line must have at most 1024 bytes" in long.err
    assert run(b"a pear\r\n" + b"a" * 2000).out.count("\n") == 2
    assert "-:1: must be text in utf-8, but has the byte 0xff" in run(b"a\xff\n").err


def test_memory_does_not_grow_with_the_file(model, tmp_path, monkeypatch):
    """Samples are asked for as they are written: a generator is never more than a block ahead."""
    from tacit.cli.source import SAMPLES_PER_BLOCK, stream_unlabelled

    asked = 0

    def texts(*_args, **_options):
        nonlocal asked
        for number in range(10 * SAMPLES_PER_BLOCK):
            asked = number + 1
            yield "an apple", {}

    monkeypatch.setattr("tacit.cli.source.stream_samples", texts)
    blocks = stream_unlabelled(tmp_path, library.load_model(model), format=None, text=None)
    next(blocks)
    assert asked == SAMPLES_PER_BLOCK


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


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--out", "x.txt"), "must end in .jsonl or .csv"),
        (("--out", "missing/x.csv"), "cannot be written: there is no folder missing"),
        (("--out", "."), "it is a folder"),
        (("--id", "number"), "no column 'number'; it has text"),
        (("--keep", "tex"), "no column 'tex' (did you mean 'text'?)"),
        (("--threshold", "precison=1"), "a threshold must be a number, 'auto'"),
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


def test_names_in_a_language(tacit, tmp_path):
    (tmp_path / "names.csv").write_text("uri,label_en,label_fi\nhttp://x/1,river,joki\nhttp://x/2,choir,\n")
    (tmp_path / "new.txt").write_text("a choir\nrivers\n")
    assert tacit("start", tmp_path / "names.csv", "--out", tmp_path / "model").code == 0
    run = tacit("suggest", tmp_path / "model", tmp_path / "new.txt", "-k", 1, "--language", "fi")
    assert run.code == 0, run.err
    found = [json.loads(line)["suggestions"][0] for line in run.out.splitlines()]
    assert [(each["label"], each["name"]) for each in found] == [("http://x/2", "choir"), ("http://x/1", "joki")]
    wrong = tacit("suggest", tmp_path / "model", tmp_path / "new.txt", "--language", "sv")
    assert wrong.code == 2
    assert wrong.err.strip().endswith("the vocabulary has no names in 'sv'; it has names in en, fi")


# -- rows, columns, blanks --------------------------------------------------------------------------------


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "new.csv"
    path.write_text('nr;title;date;tags\na7;"a red apple";2024-01-02;x,y\nb8;" - ";;\nc9;the car;2024-03-04;z\n')
    return path


def test_rows_and_columns_of_the_input(tacit, model, table, tmp_path):
    printed = tacit("suggest", model, table, "-k", 1, "--id", "nr", "--keep", "date, tags")
    assert printed.code == 0, printed.err
    found = [json.loads(line) for line in printed.out.splitlines()]
    assert [list(each) for each in found] == [["row", "nr", "date", "tags", "suggestions"]] * 3
    assert [(each["row"], each["nr"], each["date"]) for each in found] == [
        (1, "a7", "2024-01-02"), (2, "b8", ""), (3, "c9", "2024-03-04")
    ]  # fmt: skip
    out = tmp_path / "out.csv"
    assert tacit("suggest", model, table, "-k", 1, "--id", "nr", "--keep", "date,tags", "--out", out).code == 0
    rows = list(csv.DictReader(io.StringIO(out.read_text()), delimiter=";"))
    assert list(rows[0]) == ["row", "nr", "date", "tags", "labels", "scores"]
    assert [(row["row"], row["nr"], row["labels"]) for row in rows] == [
        ("1", "a7", "fruit"), ("2", "b8", ""), ("3", "c9", "vehicle")
    ]  # fmt: skip


def test_standard_output_by_its_name(tacit, model, table):
    plain = tacit("suggest", model, table)
    assert tacit("suggest", model, table, "--out", "-") == plain
    assert [json.loads(line)["row"] for line in plain.out.splitlines()] == [1, 2, 3]
    as_table = tacit("suggest", model, table, "--out", "-", "--to", "csv", "-k", 1)
    assert as_table.out.splitlines()[0] == "row;labels;scores"  # as in the input
    assert as_table.out.splitlines()[3].startswith("3;vehicle;")


def test_rows_without_suggestions_are_said(tacit, model, tmp_path):
    """The most frequent labels are not suggested for nothing."""
    new = tmp_path / "new.txt"
    new.write_text("a pear\n\n   \nqwertz uiop\n" + "\n" * 20)
    shown = tacit("suggest", model, new)
    found = [json.loads(line)["suggestions"] for line in shown.out.splitlines()]
    assert [bool(each) for each in found] == [True] + [False] * 23
    assert shown.err == "rows without suggestions: 23 (2, 3, 4, 5, 6, 7, 8, 9, 10, 11, …)\n"
