from __future__ import annotations

import shlex

import pytest

import tacit as library


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
    source = ("--text", "title,body", "--labels", "tags")
    judged = () if valid is None else ("--valid", articles if valid == "DATA" else valid)
    options = ("--search", "n_neighbors=5,20", "--budget", "0.2s", "--target", "P@1", "--out", tmp_path / "model")
    shown = tacit("tune", articles, "--model", "ExMLDS1", *source, *judged, *options)
    assert shown.code == 0, shown.err
    assert "saved to" in shown.out.replace("\n", " ")
    assert library.Tagger.load(tmp_path / "model").suggest(["a plum and a fig"], k=1)[0][0].label == "fruit"


def test_tune_tries_features_of_texts(tacit, articles, tmp_path):
    source = ("--text", "title,body", "--labels", "tags", "--valid", articles)
    shown = tacit("tune", articles, "--model", "OneVsAll", *source, "--budget", "20s")
    assert shown.code == 0, shown.err
    assert all(f"features={name}" in shown.out for name in ("words+prefixes", "words+characters", "words+bigrams"))
    fixed = ("--features", "words+bigrams", "--budget", "0.2s", "--out", tmp_path / "model")
    shown = tacit("tune", articles, "--model", "OneVsAll", *source, *fixed)
    assert "features=" not in shown.out
    tagger = library.Tagger.load(tmp_path / "model")
    assert tagger.features == tagger.vectorizer_.features == "words+bigrams"
    assert tagger.suggest(["a plum and a fig"], k=1)[0][0].label == "fruit"
