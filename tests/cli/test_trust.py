"""``tacit compare``, ``inspect``, ``tune`` and ``train --dry-run``."""

from __future__ import annotations

import json
import re
import shlex
import time
from pathlib import Path

import numpy as np
import pytest

import tacit as library
from planted import planted


@pytest.fixture
def numeric(tmp_path: Path) -> Path:
    X, Y = planted()
    library.save_data(library.Dataset(X, Y, [f"name {label}" for label in range(Y.shape[1])]), tmp_path / "train.txt")
    return tmp_path / "train.txt"


@pytest.fixture
def articles(tmp_path: Path) -> Path:
    words = {"fruit": "apple pear plum fig", "cars": "engine wheel brake road", "music": "song chord tune choir"}
    rng = np.random.default_rng(0)
    rows = ["text,tags"]
    for _ in range(90):
        tag = str(rng.choice(list(words)))
        rows.append(f"{' '.join(rng.choice(words[tag].split(), size=3))},{tag}")
    path = tmp_path / "articles.csv"
    path.write_text("\n".join(rows) + "\n")
    return path


# -- compare ----------------------------------------------------------------------------------------------


@pytest.fixture
def two_models(tacit, numeric, tmp_path):
    for name in ("Popularity", "OneVsAll"):
        assert tacit("train", numeric, "--model", name, "--no-calibrate", "--out", tmp_path / name).code == 0
    return tmp_path / "Popularity", tmp_path / "OneVsAll"


def test_a_better_model_is_told_from_a_worse_one(tacit, two_models, numeric):
    shown = tacit("compare", *two_models, numeric)
    assert shown.code == 0, shown.err
    assert "240 samples" in shown.out
    assert "B is better in every metric." in shown.out
    found = json.loads(tacit("compare", *two_models, numeric, "--json").out)
    assert [one["metric"] for one in found[:3]] == ["P@1", "P@3", "P@5"]
    assert found[0]["interval"][0] > 0.3
    assert found[0]["difference"] == pytest.approx(found[0]["b"] - found[0]["a"])


def test_a_model_is_not_told_from_itself(tacit, two_models, numeric):
    assert "No clear difference between the two models" in tacit("compare", two_models[0], two_models[0], numeric).out


def test_a_tagger_compares_with_a_bare_model(tacit, two_models, numeric, tmp_path):
    data = library.load_data(numeric)
    library.OneVsAll().fit(data.X, data.Y, label_names=data.label_names).save(tmp_path / "bare")
    assert "No clear difference" in tacit("compare", two_models[1], tmp_path / "bare", numeric).out


# -- inspect ----------------------------------------------------------------------------------------------


def test_a_tagger_tells_what_it_was_trained_on(tacit, articles, tmp_path):
    model = tmp_path / "model"
    tacit("train", articles, "--text", "text", "--labels", "tags", "--out", model, "--seed", 3, "--param", "C=0.5")
    shown = tacit("inspect", model)
    assert shown.code == 0, shown.err
    for word in ("OneVsAll", "texts", "fingerprint", "versions", "numpy", "held out", "21-100", "PSnDCG"):
        assert word in shown.out
    found = json.loads(tacit("inspect", model, "--json").out)
    assert (found["samples"], found["labels"], found["seed"]) == (90, 3, 3)
    assert found["parameters"]["C"] == 0.5
    assert sum(found["labels_by_band"].values()) == 3
    assert found["size in bytes"] == sum(file.stat().st_size for file in model.iterdir())
    assert found["changes"] == []


def test_the_fingerprint_tells_data_apart_and_models_not(tacit, articles, tmp_path):
    facts = []
    for name, options in (("a", ()), ("b", ("--param", "C=0.5"))):
        tacit("train", articles, "--text", "text", "--labels", "tags", "--out", tmp_path / name, *options)
        facts.append(json.loads(tacit("inspect", tmp_path / name, "--json").out))
    assert facts[0]["fingerprint of the data"] == facts[1]["fingerprint of the data"]
    assert facts[0]["checksum"] != facts[1]["checksum"]


def test_changes_since_training_are_listed(tacit, articles, tmp_path):
    model = tmp_path / "model"
    tacit("train", articles, "--text", "text", "--labels", "tags", "--out", model)
    tagger = library.Tagger.load(model)
    tagger.rename_label("cars", "motoring")
    tagger.save(model)
    assert "1. renamed 'cars' to 'motoring'" in tacit("inspect", model).out


def test_a_bare_model_is_inspected_too(tacit, tmp_path):
    X, Y = planted()
    library.PfastXML(n_trees=2, propensities=np.full(Y.shape[1], 0.5)).fit(X, Y).save(tmp_path / "m")
    shown = tacit("inspect", tmp_path / "m")
    assert shown.code == 0, shown.err
    assert "estimator" in shown.out
    assert "array of shape (12,)" in shown.out
    assert json.loads(tacit("inspect", tmp_path / "m", "--json").out)["fingerprint of the data"] is None


# -- tune -------------------------------------------------------------------------------------------------


def test_tune_prints_a_command_that_trains(tacit, numeric, tmp_path):
    options = ("--search", "C=0.1:1", "--param", "loss=logistic", "--budget", "0.2s", "--target", "PSP@1")
    shown = tacit("tune", numeric, "--model", "onevsall", *options)
    assert shown.code == 0, shown.err
    assert "defaults" in shown.out
    command = shlex.split(shown.out.replace("\n", " ").split("train with: tacit ")[1])
    command[command.index("--out") + 1] = str(tmp_path / "model")
    assert tacit(*command).code == 0
    assert library.load_model(tmp_path / "model").model_.loss == "logistic"


@pytest.mark.parametrize("valid", ["0.25", "DATA", None])
def test_tune_trains_on_texts(tacit, articles, tmp_path, valid):
    source = ("--text", "text", "--labels", "tags")
    judged = () if valid is None else ("--valid", articles if valid == "DATA" else valid)
    options = ("--search", "n_neighbors=5,20", "--budget", "1s", "--target", "P@1", "--out", tmp_path / "model")
    shown = tacit("tune", articles, "--model", "ExMLDS1", *source, *judged, *options)
    assert shown.code == 0, shown.err
    assert "saved to" in shown.out.replace("\n", " ")
    assert library.Tagger.load(tmp_path / "model").suggest(["a plum and a fig"], k=1)[0][0].label == "fruit"


BAD_CALLS = {
    "unknown model 'OneVsAl'": ("tune", "DATA", "--model", "OneVsAl"),
    "got 'Q@5'": ("tune", "DATA", "--model", "FastXML", "--target", "Q@5"),
    "must be a time such as 90s, 10m or 2h; got 'soon'": ("tune", "DATA", "--model", "FastXML", "--budget", "soon"),
    "OneVsAll has no parameter 'c'": ("tune", "DATA", "--model", "OneVsAll", "--search", "c=1:2"),
    "name=low:high or name=a,b,…; got 'C=2:1'": ("tune", "DATA", "--model", "OneVsAll", "--search", "C=2:1"),
    "'C' must be float, > 0; got -1.0": ("tune", "DATA", "--model", "OneVsAll", "--search", "C=-1:1"),
    "Popularity has nothing to tune": ("tune", "absent.txt", "--model", "Popularity"),
    "no such file": ("tune", "absent.txt", "--model", "FastXML"),
    "absent: no such model folder": ("inspect", "absent"),
    "gone: no such model folder": ("compare", "gone", "gone", "DATA"),
}


@pytest.mark.parametrize("message", BAD_CALLS)
def test_bad_calls_are_one_line(tacit, numeric, tmp_path, monkeypatch, message):
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    outcome = tacit(*(numeric if argument == "DATA" else argument for argument in BAD_CALLS[message]))
    assert outcome.code == 2
    assert message in outcome.err
    assert outcome.err.count("\n") == 1
    assert list(work.iterdir()) == []


# -- train --dry-run --------------------------------------------------------------------------------------


def test_a_dry_run_says_what_training_would_take_and_writes_nothing(tacit, articles, tmp_path):
    fields = ("--text", "text", "--labels", "tags")
    shown = tacit("train", articles, *fields, "--out", tmp_path / "model", "--dry-run", "--valid", "0.2")
    assert shown.code == 0
    assert re.search(r"OneVsAll is expected to take about .* s, .* MB of memory, a model of .* KB", shown.out)
    assert not list(tmp_path.glob("model*"))


def test_a_dry_run_counts_reading_and_preparing_the_data(tacit, numeric, tmp_path, monkeypatch):
    from tacit.data.load import load_data
    from tacit.estimate import Estimate
    from tacit.tagger import training

    def slowly(function):
        def slow(*arguments, **options):
            time.sleep(0.6)
            return function(*arguments, **options)

        return slow

    monkeypatch.setattr("tacit.cli.source.load_data", slowly(load_data))
    monkeypatch.setattr(training, "prepare", slowly(training.prepare))
    monkeypatch.setattr(training, "estimate_of", lambda *_: Estimate(5.0, 1 << 20, 1 << 20))
    shown = tacit("train", numeric, "--out", tmp_path / "model", "--dry-run")
    assert 6.1 < float(re.search(r"about ([\d.]+) s", shown.out)[1]) < 8
