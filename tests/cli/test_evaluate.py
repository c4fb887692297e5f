from __future__ import annotations

import json

import pytest

import tacit as library

FIELDS = ("--text", "title,body", "--labels", "tags")


@pytest.fixture
def model(tacit, articles, tmp_path):
    assert tacit("train", articles, *FIELDS, "--out", tmp_path / "model", "-q").code == 0
    return tmp_path / "model"


def test_samples_that_the_model_was_trained_on_are_recognised(tacit, model, articles, tmp_path):
    shown = tacit("evaluate", model, articles, *FIELDS)
    assert f"100% of the samples of {articles} were in the training data" in shown.err
    assert shown.err.count("\n") == 1
    as_json = tacit("evaluate", model, articles, *FIELDS, "--json")
    assert json.loads(as_json.out)["share_in_training"] == 1
    other = tmp_path / "other.csv"
    new = ["x1,clutch,gear and more,cars", "x2,violin,string and more,music", "x3,quince,medlar,fruit"]
    other.write_text("\n".join(["id,title,body,tags", *new]) + "\n")
    assert tacit("evaluate", model, other, *FIELDS).err == ""
    other.write_text("\n".join([*articles.read_text().splitlines()[:2], *new]) + "\n")  # one of four
    assert "25% of the samples of" in tacit("evaluate", model, other, *FIELDS).err


def test_a_share_that_was_held_out_is_no_training_data(tacit, articles, tmp_path):
    rows = articles.read_text().splitlines()
    cells = [row.split(",") for row in rows[1:]]
    articles.write_text("\n".join([rows[0], *(f"{n},{row[1]},word{n},{row[-1]}" for n, row in enumerate(cells))]))
    tacit("train", articles, *FIELDS, "--valid", 0.2, "--out", tmp_path / "model")
    assert "80% of the samples of" in tacit("evaluate", tmp_path / "model", articles, *FIELDS).err


@pytest.mark.parametrize("options", [(), ("--features", "words+prefixes"), ("--language", "none"), ("--no-calibrate",)])
def test_whatever_the_features(tacit, articles, tmp_path, options):
    tacit("train", articles, *FIELDS, "--out", tmp_path / "model", *options)
    assert "100% of the samples" in tacit("evaluate", tmp_path / "model", articles, *FIELDS).err


def test_features_are_recognised_by_their_values(tacit, numeric, tmp_path):
    tacit("train", numeric, "--model", "Popularity", "--out", tmp_path / "model")
    assert "100% of the samples" in tacit("evaluate", tmp_path / "model", numeric).err
    data = library.load_data(numeric)
    data.X.data *= 1.5
    library.save_data(data, tmp_path / "other.txt")
    assert tacit("evaluate", tmp_path / "model", tmp_path / "other.txt").err == ""


def test_json_has_bands_and_intervals(tacit, model, articles):
    found = json.loads(tacit("evaluate", model, articles, *FIELDS, "--json").out)
    assert found["samples"] == 90
    low, high = found["intervals"]["P@1"]
    assert 0 < low <= found["P@1"] <= high
    assert [band["name"] for band in found["bands"]] == ["unseen", "1-5", "6-20", "21-100", ">100"]
    band = found["bands"][3]
    assert band["n_labels"] == 3
    assert band["intervals"]["R@5"][0] <= band["values"]["R@5"] <= band["intervals"]["R@5"][1]
    assert sum(each["values"]["P@1"] for each in found["bands"]) == pytest.approx(found["P@1"])
