"""``tacit train`` and ``tacit tune``."""

from __future__ import annotations

import json
import re
import shlex
import sys

import pytest

import tacit as library
from tacit import tuning


def test_a_dry_run_says_what_training_would_take_and_writes_nothing(tacit, articles, tmp_path):
    fields = ("--text", "title,body", "--labels", "tags")
    shown = tacit("train", articles, *fields, "--out", tmp_path / "model", "--dry-run", "--valid", "0.2")
    assert shown.code == 0
    assert re.search(r"(?m)^OneVsAll takes roughly .* s, .* [MG]B of memory, a model of .* KB \(.*\)$", shown.out)
    assert not list(tmp_path.glob("model*"))


def test_a_label_without_samples_is_suggested_by_its_cooccurrence(tacit, articles, tmp_path):
    (tmp_path / "pairs.tsv").write_text("jam\tfruit\t40\njam\tcars\t1\nfruit\tfruit\t45\ncars\tcars\t45\n")
    source = (articles, "--text", "title,body", "--labels", "tags", "--cooccurrence", tmp_path / "pairs.tsv")
    trained = tacit("train", *source, "--model", "MomentMatching", "--out", tmp_path / "model")
    assert trained.code == 0
    assert "that no sample has: 1, such as 'jam'" in trained.out
    (tmp_path / "new.txt").write_text("apple pear plum fig\nengine wheel brake road\n")
    shown = tacit("suggest", tmp_path / "model", tmp_path / "new.txt", "-k", "4")
    answers = [json.loads(line)["suggestions"] for line in shown.out.splitlines()]
    assert {each["label"] for each in answers[0][:2]} == {"fruit", "jam"}
    fruit, cars = ({each["label"]: each["score"] for each in answer} for answer in answers)
    assert fruit["jam"] > 2 * cars["jam"]


def test_tune_prints_a_command_that_trains(tacit, numeric, tmp_path):
    options = ("--param", "loss=logistic", "--budget", "0.2s", "--target", "PSP@1")
    shown = tacit("tune", numeric, "--model", "onevsall", *options)
    assert shown.code == 0, shown.err
    assert "defaults" in shown.out
    command = shlex.split(shown.out.replace("\n", " ").split("train with: tacit ")[1])
    command[command.index("--out") + 1] = str(tmp_path / "model")
    assert tacit(*command).code == 0
    assert library.load_model(tmp_path / "model").model_.loss == "logistic"


@pytest.mark.parametrize("valid", ["0.25", "DATA", None])
def test_tune_searches_on_texts(tacit, articles, valid):
    judged = () if valid is None else ("--valid", articles if valid == "DATA" else valid)
    options = ("--features", "words+prefixes", "--budget", "0.2s", "--target", "P@1")
    shown = tacit("tune", articles, "--model", "ExMLDS1", "--text", "title,body", *judged, *options)
    assert shown.code == 0, shown.err
    assert "--features words+prefixes" in shown.out.replace("\n", " ")


def test_tune_resumes_from_its_storage(tacit, numeric, tmp_path, monkeypatch):
    options = ("--model", "OneVsAll", "--trials", "3", "--storage", tmp_path / "trials.db")
    first = tacit("tune", numeric, *options)
    assert first.code == 0, first.err
    monkeypatch.setattr(tuning, "evaluate", None)
    assert tacit("tune", numeric, *options) == first
    shown = tacit("tune", numeric, *options[:-1], numeric)
    assert shown.code == 2
    assert "choose another file" in shown.err
    monkeypatch.setitem(sys.modules, "optuna", None)
    shown = tacit("tune", tmp_path / "nothing.csv", "--model", "OneVsAll")
    assert shown.code == 2
    assert "tuning needs the extra 'tune'" in shown.err


def test_training_ends_with_what_needs_the_training_data(tacit, articles, numeric, tmp_path):
    """`update` would say so too late: after the texts have gone."""
    command = ("train", articles, "--text", "title,body", "--labels", "tags", "--model")
    *_, last = tacit(*command, "OneVsAll", "--out", tmp_path / "a").out.splitlines()
    assert all(word in last for word in ("tacit update", "similar texts", "--keep-texts"))
    *_, last = tacit(*command, "Popularity", "--out", tmp_path / "b").out.splitlines()
    assert "tacit update" not in last
    assert "--keep-texts" in last
    *_, last = tacit("train", numeric, "--model", "MLLCS", "--out", tmp_path / "c").out.splitlines()
    assert "learn new labels (tacit update)" in last
    assert "--keep-texts" not in tacit(*command, "OneVsAll", "--keep-texts", "--out", tmp_path / "d").out
    assert "--keep-texts" not in tacit("--quiet", *command, "OneVsAll", "--out", tmp_path / "e").out
