from __future__ import annotations

import io
import json
import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest

import tacit as library
from planted import planted
from tacit.progress import Stopped
from tacit.removed import OPTIONS, PARAMETERS


def suggestions(out: str) -> list[list[str]]:
    return [[found["label"] for found in json.loads(line)["suggestions"]] for line in out.splitlines()]


def test_from_numbers_to_suggestions(tacit, numeric, tmp_path):
    model = tmp_path / "model"
    trained = tacit("train", numeric, "--model", "onevsall", "--out", model, "--param", "C=0.5")
    assert trained.code == 0, trained.err
    assert "trained on 240 samples and 12 labels" in trained.out
    assert library.load_model(model).model_.C == 0.5
    assert not (tmp_path / "model.partial").exists()

    suggested = suggestions(tacit("suggest", model, numeric, "-k", 3).out)
    truth = library.load_data(numeric)
    assert len(suggested) == 240
    first = [names[0] for names in suggested]
    assert np.mean([truth.Y[i, int(name.split()[1])] for i, name in enumerate(first)]) > 0.95

    evaluated = tacit("evaluate", model, numeric, "--json")
    assert json.loads(evaluated.out)["P@1"] > 0.95
    table = tacit("evaluate", model, numeric).out
    assert "PSnDCG" in table
    assert ">100" in table


def test_from_a_csv_of_ones_own_to_suggestions(tacit, articles, tmp_path, monkeypatch):
    model = tmp_path / "model"
    trained = tacit("train", articles, "--text", "title,body", "--labels", "tags", "--out", model, "--valid", "0.2")
    assert trained.code == 0, trained.err
    assert "recall@5" in trained.out
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"a pear and a plum\nthe choir\n")))
    assert suggestions(tacit("suggest", model, "-", "-k", 1).out) == [["fruit"], ["music"]]
    named = tacit("suggest", model, articles, "--text", "title", "-k", 2, "--exclude", "music,cars")
    assert suggestions(named.out) == [["fruit"]] * 90
    unlabelled = tmp_path / "new.csv"
    unlabelled.write_text("title\na song\n")
    assert suggestions(tacit("suggest", model, unlabelled, "-k", 1).out) == [["music"]]


def test_convert_and_split(tacit, numeric, tmp_path):
    assert tacit("convert", numeric, tmp_path / "data.svm").code == 0
    assert tacit("split", tmp_path / "train.txt", "--test-size", 0.25, "--out", tmp_path / "parts").code == 0
    train, test = (library.load_data(tmp_path / "parts" / name) for name in ("train.txt", "test.txt"))
    assert len(train) + len(test) == 240
    assert len(test) == pytest.approx(60, rel=0.1)
    hidden = tacit("split", numeric, "--hide", 0.5, "--out", tmp_path / "hidden")
    assert hidden.code == 0
    assert library.load_data(tmp_path / "hidden" / "train.txt").Y.nnz < 0.6 * train.Y.nnz


def test_parts_of_a_file_with_repeats_share_no_text_and_are_like_the_file(tacit, tmp_path):
    rng = np.random.default_rng(0)
    common = [[str(label) for label in range(40) if rng.random() < 0.05] or ["0"] for _ in range(700)]
    rows = [
        {"text": f"text {row}", "labels": [*tags, f"rare {row // 3}"] if row < 90 else tags}
        for row, tags in enumerate(common)
    ]
    again = [{**rows[row], "text": f" {rows[row]['text'].upper()}\n"} for row in rng.integers(0, 700, 300)]
    (tmp_path / "data.jsonl").write_text("".join(json.dumps(row) + "\n" for row in [*rows, *again]))
    done = tacit("split", tmp_path / "data.jsonl", "--out", tmp_path / "parts")
    assert done.code == 0, done.err
    assert "300 of 1,000 samples repeat others" in done.out
    train, test = (library.load_data(tmp_path / "parts" / f"{name}.jsonl") for name in ("train", "test"))
    assert len(test) == pytest.approx(200, abs=5)
    assert not {text.lower().strip() for text in train.texts} & {text.lower().strip() for text in test.texts}
    rare = [
        sum(names.startswith("rare") for names in np.array(part.label_names)[part.Y.indices]) for part in (train, test)
    ]
    assert rare[1] / sum(rare) < 0.3
    assert set(test.label_names) <= set(train.label_names)
    assert tacit("train", tmp_path / "parts" / "train.jsonl", "--out", tmp_path / "model").code == 0
    assert tacit("evaluate", tmp_path / "model", tmp_path / "parts" / "test.jsonl").err == ""


def test_parts_of_a_folder_name_its_files(tacit, tmp_path):
    documents = tmp_path / "documents"
    documents.mkdir()
    for number in range(10):
        (documents / f"d{number}.txt").write_text(f"text {number}")
        (documents / f"d{number}.key").write_text("even\n" if number % 2 == 0 else "odd\n")
    assert tacit("split", documents, "--test-size", 3, "--out", tmp_path / "parts").code == 0
    parts = [(tmp_path / "parts" / f"{part}.jsonl").read_text().splitlines() for part in ("train", "test")]
    assert list(map(len, parts)) == [7, 3]
    assert {json.loads(line)["file"] for line in parts[0] + parts[1]} == {f"d{number}.txt" for number in range(10)}


BAD_CALLS = {
    "no such file": ("train", "absent.txt", "--out", "m"),
    "unknown model 'OneVsAl' (did you mean 'OneVsAll'": ("train", "DATA", "--model", "OneVsAl", "--out", "m"),
    "OneVsAll has no parameter 'c'": ("train", "DATA", "--model", "OneVsAll", "--param", "c=1", "--out", "m"),
    "'C' must be float, > 0; got 0": ("train", "DATA", "--model", "OneVsAll", "--param", "C=0", "--out", "m"),
    "exists and is not a model folder": ("train", "DATA", "--out", "OCCUPIED"),
    "no such model folder": ("suggest", "absent", "DATA"),
    "Missing option '--out'": ("train", "DATA"),
    "unknown command 'trian' (did you mean 'train'": ("trian", "DATA"),
    "is called 'eurlex57' (did you mean 'eurlex57k'": ("data", "eurlex57"),
    "train.txt:1:": ("train", "HEADERLESS", "--format", "xmc", "--out", "m"),
    "which the data set lacks": ("convert", "DATA", "out.csv"),
    "unknown model 'OneVsAl'": ("tune", "DATA", "--model", "OneVsAl"),
    "got 'Q@5'": ("tune", "DATA", "--model", "FastXML", "--target", "Q@5"),
    "such as 90s, 10m or 2h; got 'soon'": ("tune", "DATA", "--model", "FastXML", "--budget", "soon"),
    "Popularity has nothing to tune": ("tune", "absent.txt", "--model", "Popularity"),
    "absent.txt: no such file": ("tune", "absent.txt", "--model", "FastXML"),
    "absent: no such model folder": ("inspect", "absent"),
    "gone: no such model folder": ("compare", "gone", "gone", "DATA"),
    "'n_jobs' must be int or None, not 0; got 0": ("train", "DATA", "--jobs", "0", "--out", "m"),
    "'target' is a parameter of the whole tagger": (
        *("train", "DATA", "--model", "Blend", "--param", "target=PSP@1", "--out", "m"),
    ),
    "valid must be a file, or a share": ("train", "DATA", "--valid", "1.5", "--out", "m"),
    "test_size must be a share above 0": ("split", "DATA", "--test-size", "1.5", "--out", "m"),
    "did you mean 'parquet'?": ("split", "DATA", "--to", "parquett", "--out", "m"),
    "cannot be a folder for files": ("split", "DATA", "--out", "DATA"),
}


@pytest.mark.parametrize("message", BAD_CALLS)
def test_bad_calls_are_one_line_and_change_nothing(tacit, numeric, tmp_path, monkeypatch, message):
    occupied = tmp_path / "occupied"
    occupied.mkdir()
    (occupied / "thesis.txt").write_text("years of work")
    headerless = tmp_path / "sub" / "train.txt"
    headerless.parent.mkdir()
    headerless.write_text("1 0:1 2:1\n")
    places = {"DATA": numeric, "OCCUPIED": occupied, "HEADERLESS": headerless}
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    outcome = tacit(*(places.get(argument, argument) for argument in BAD_CALLS[message]))
    assert outcome.code == 2
    assert message in outcome.err
    assert outcome.err.startswith("tacit: error: ")
    assert outcome.err.count("\n") == 1
    assert list(work.iterdir()) == []


# -- interruptions ----------------------------------------------------------------------------------------


@pytest.fixture
def stop_after(monkeypatch):
    """Let training be interrupted after a number of tasks."""

    def stop(n_tasks: int) -> None:
        n_calls = 0

        def asked() -> None:
            nonlocal n_calls
            n_calls += 1
            if n_calls > n_tasks:
                raise Stopped

        monkeypatch.setattr("tacit.progress.stop_if_asked", asked)

    return stop


def test_an_interrupted_training_says_what_is_kept_and_resumes(tacit, numeric, tmp_path, stop_after):
    partial, model = tmp_path / "model.partial", tmp_path / "model"
    train = ("train", numeric, "--model", "FastXML", "--param", "n_trees=6", "--no-calibrate", "--jobs", "1")
    stop_after(0)
    stopped = tacit(*train, "--out", model, "--quiet")
    assert stopped.code == 130
    assert stopped.err == "tacit: interrupted; nothing was finished; run the same command to start again\n"
    assert not partial.exists()
    stop_after(4)
    stopped = tacit(*train, "--out", model, "--quiet")
    assert stopped.code == 130
    assert stopped.err == (
        f"tacit: interrupted; finished tasks are kept in {partial}; run the same command to resume\n"
    )
    stop_after(1000)
    resumed = tacit(*train, "--out", model)
    assert resumed.code == 0
    assert f"resuming: 4 of 6 trees are in {partial}" in resumed.err.splitlines()
    assert not partial.exists()
    fresh = tacit(*train, "--out", tmp_path / "fresh")
    assert "resuming" not in fresh.err
    assert {file.name for file in model.iterdir()} == {file.name for file in (tmp_path / "fresh").iterdir()}


def test_a_folder_of_somebody_else_is_not_removed(tacit, numeric, tmp_path):
    thesis = tmp_path / "model.partial" / "thesis.txt"
    thesis.parent.mkdir()
    thesis.write_text("years of work")
    train = ("train", numeric, "--model", "Popularity", "--out")
    assert tacit(*train, tmp_path / "model").code == 0
    assert thesis.read_text() == "years of work"
    (tmp_path / "other.partial").write_text("a file")
    refused = tacit(*train, tmp_path / "other")
    assert refused.code == 2
    assert "the checkpoint cannot be written" in refused.err


# -- what cannot be read or written ------------------------------------------------------------------------


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_a_model_of_named_pipes(tacit, numeric, tmp_path):
    """Nobody writes into them, so who opens one waits forever."""
    model = tmp_path / "model"
    library.Tagger.around(library.Popularity().fit(*planted())).save(model)
    names = [file.name for file in model.iterdir() if not file.name.endswith(".lock")]
    for name in {*names, "acts.jsonl"}:
        copy = shutil.copytree(model, tmp_path / "copy")
        (copy / name).unlink(missing_ok=True)
        os.mkfifo(copy / name)
        outcome = tacit("suggest", copy, numeric)
        assert outcome.code == 2
        assert outcome.err.startswith(f"tacit: error: {copy / name}: m")  # must be a file, or missing
        assert outcome.err.count("\n") == 1
        shutil.rmtree(copy)


@pytest.fixture
def full_disk():
    """Inside the block no file can grow beyond a kibibyte, which stands for a full disk."""
    resource = pytest.importorskip("resource", reason="no such limits here")

    @contextmanager
    def limited() -> Iterator[None]:
        before = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1024, before[1]))
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)

    return limited


def test_a_full_disk(tacit, articles, tmp_path, full_disk):
    words = (articles, "--text", "title,body")
    model, out, new = tmp_path / "model", tmp_path / "out.jsonl", tmp_path / "new.csv"
    new.write_text(articles.read_text().replace("and more", "and others"))
    for name in ("OneVsAll", "Popularity"):  # with parts to keep, and without
        train = ("train", *words, "--model", name, "--no-calibrate", "--out", model, "--quiet")
        assert tacit(*train).code == 0  # kernels are compiled and kept
        before = {file.name: file.read_bytes() for file in model.iterdir()}
        with full_disk():
            failed = [tacit(*train), tacit("suggest", model, *words, "--out", out)]
            if name == "Popularity":
                failed.append(tacit("update", model, new, *words[1:]))
        for outcome in failed:
            assert outcome.code == 2
            assert "File too large" in outcome.err
            assert outcome.err.startswith("tacit: error: ")
            assert outcome.err.count("\n") == 1
        assert "cannot be written" in failed[1].err
        assert {file.name: file.read_bytes() for file in model.iterdir()} == before
        assert not out.exists()


def test_no_command_overwrites_what_it_reads(tacit, articles, tmp_path):
    fields = ("--text", "title,body", "--labels", "tags")
    before = articles.read_bytes()
    train = articles.with_name("train.csv")
    train.write_bytes(before)
    assert tacit("train", articles, *fields, "--out", tmp_path / "model", "-q").code == 0
    (tmp_path / "list.csv").write_text("row,label\n1,cars\n")
    for command in (
        ("suggest", tmp_path / "model", articles, "--text", "title,body", "--out", articles),
        ("convert", articles, *fields, articles),
        ("split", train, *fields, "--out", tmp_path),
        ("find-missing", tmp_path / "model", articles, *fields, "--out", articles),
        ("find-missing", tmp_path / "model", articles, *fields, "--accept", tmp_path / "list.csv", "--out", articles),
    ):
        shown = tacit(*command)
        assert shown.code == 2
        assert "is the file that is read; name another one to write" in shown.err
    assert articles.read_bytes() == train.read_bytes() == before


@pytest.mark.parametrize("name", OPTIONS)
def test_removed_options_name_their_replacement(tacit, name):
    ended = tacit(*name.split())
    assert ended.code == 2
    assert len(ended.err.splitlines()) == 1
    assert OPTIONS[name].removeprefix("nothing: ") in ended.err


def test_removed_parameters_name_their_replacement(tacit, tmp_path):
    (tmp_path / "a.txt").write_text("2 2 2\n0 0:1\n1 1:1\n")
    ended = tacit(
        "train", tmp_path / "a.txt", "--model", "PfastreXML", "--param", "tail=exact", "--out", tmp_path / "m"
    )
    assert ended.code == 2
    assert PARAMETERS["tail"] in ended.err
