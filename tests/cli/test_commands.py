from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import numpy as np
import pytest

import tacit as library
from planted import planted


@pytest.fixture
def numeric(tmp_path: Path) -> Path:
    X, Y = planted()
    names = [f"name {label}" for label in range(Y.shape[1])]
    library.save_data(library.Dataset(X, Y, names), tmp_path / "train.txt")
    return tmp_path / "train.txt"


@pytest.fixture
def articles(tmp_path: Path) -> Path:
    """A CSV file as a user has it: two text columns, tags in one cell."""
    topics = {"fruit": "apple pear plum fig", "cars": "engine wheel brake road", "music": "song chord tune choir"}
    rows = ["id,title,body,tags"]
    rng = np.random.default_rng(0)
    for number in range(90):
        tags = list(rng.choice(list(topics), size=rng.integers(1, 3), replace=False))
        words = [word for tag in tags for word in rng.choice(topics[tag].split(), size=3)]
        rows.append(f'{number},{words[0]},"{" ".join(words[1:])}, and more",{"|".join(tags)}')
    path = tmp_path / "articles.csv"
    path.write_text("\n".join(rows) + "\n")
    return path


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


def test_thresholds(tacit, numeric, tmp_path):
    model = tmp_path / "model"
    tacit("train", numeric, "--out", model)
    all_of_them = tacit("suggest", model, numeric, "-k", 12).out
    some = tacit("suggest", model, numeric, "-k", 12, "--threshold", "auto").out
    assert {len(names) for names in suggestions(all_of_them)} == {12}
    assert np.mean([len(names) for names in suggestions(some)]) == pytest.approx(2, abs=0.2)
    assert tacit("suggest", model, numeric, "--threshold", "high").code == 2


def test_valid_file(tacit, numeric, tmp_path):
    trained = tacit("train", numeric, "--model", "Popularity", "--out", tmp_path / "m", "--valid", numeric)
    assert "PSP" in trained.out


def test_convert_and_split(tacit, numeric, tmp_path):
    assert tacit("convert", numeric, tmp_path / "data.svm").code == 0
    assert tacit("split", tmp_path / "train.txt", "--test-size", 0.25, "--out", tmp_path / "parts").code == 0
    train, test = (library.load_data(tmp_path / "parts" / name) for name in ("train.txt", "test.txt"))
    assert len(train) + len(test) == 240
    assert len(test) == pytest.approx(60, rel=0.1)
    hidden = tacit("split", numeric, "--hide", 0.5, "--out", tmp_path / "hidden")
    assert hidden.code == 0
    assert library.load_data(tmp_path / "hidden" / "train.txt").Y.nnz < 0.6 * train.Y.nnz


def test_demo(tacit, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shown = tacit("demo")
    assert shown.code == 0
    for word in ("OneVsAll", "Popularity", "unseen", "PSP", "missing"):
        assert word in shown.out


def test_lists_of_models_and_data(tacit):
    assert "OneVsAll" in tacit("models").out
    assert "random_state" in tacit("models", "popularity").out
    assert "eurlex57k" in tacit("data").out
    assert "home" in tacit("data", "Bibtex").out


BAD_CALLS = {
    "no such file": ("train", "absent.txt", "--out", "m"),
    "unknown model 'OneVsAl' (did you mean 'OneVsAll'": ("train", "DATA", "--model", "OneVsAl", "--out", "m"),
    "OneVsAll has no parameter 'c'": ("train", "DATA", "--model", "OneVsAll", "--param", "c=1", "--out", "m"),
    "'C' must be float, > 0; got 0": ("train", "DATA", "--model", "OneVsAll", "--param", "C=0", "--out", "m"),
    "exists and is not a model folder": ("train", "DATA", "--out", "OCCUPIED"),
    "no such model folder": ("suggest", "absent", "DATA"),
    "Missing option '--out'": ("train", "DATA"),
    "there is no command 'trian' (did you mean 'train'": ("trian", "DATA"),
    "no data set is called 'bibtexx' (did you mean 'bibtex'": ("data", "bibtexx"),
    "train.txt:1:": ("train", "HEADERLESS", "--format", "xmc", "--out", "m"),
    "texts cannot be made": ("convert", "DATA", "out.csv"),
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


def at_stdin(monkeypatch: pytest.MonkeyPatch, content: bytes) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))


@pytest.mark.parametrize("name", ["jsonl", "csv", "fasttext", "xmc", "svmlight0"])
def test_no_record_of_standard_input_is_lost(tacit, articles, numeric, tmp_path, monkeypatch, name):
    """What shows the format is the first record, and must be read again with the others."""
    is_text = name in ("jsonl", "csv", "fasttext")
    options = ("--text", "title,body") if is_text else ()
    file, back, again = tmp_path / "file", tmp_path / f"back.{name}", tmp_path / f"again.{name}"
    assert tacit("convert", articles if is_text else numeric, file, "--to", name, *options).code == 0
    is_detected = name not in ("csv", "svmlight0")
    for given in [("--format", name)] + [()] * is_detected:
        at_stdin(monkeypatch, file.read_bytes())
        done = tacit("convert", "-", back, "--to", name, *given)
        assert done.code == 0, done.err
        assert tacit("convert", file, again, "--to", name, "--format", name).code == 0
        assert back.read_bytes() == again.read_bytes()
    at_stdin(monkeypatch, file.read_bytes())
    trained = tacit("train", "-", "--format", name, "--model", "Popularity", "--out", tmp_path / "model")
    assert f"trained on {90 if is_text else 240} samples" in trained.out, trained.err


def test_standard_input_is_read_once(tacit, articles, tmp_path, monkeypatch):
    train = ("train", "-", "--format", "csv", "--model", "Popularity", "--out", tmp_path / "model")
    at_stdin(monkeypatch, articles.read_bytes())
    refused = tacit(*train, "--valid", "-")
    assert refused.code == 2
    assert refused.err == "tacit: error: -: standard input can be read once; give a file for the other data\n"
    at_stdin(monkeypatch, b"")
    assert "standard input is empty; it must hold at least one sample" in tacit(*train).err
