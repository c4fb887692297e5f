"""``tacit evaluate`` with its report, and ``tacit compare``."""

from __future__ import annotations

import csv
import json

import pytest

from report.samples import texts_and_tags, trained_tagger

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


def test_json_has_bands_and_intervals(tacit, model, articles):
    found = json.loads(tacit("evaluate", model, articles, *FIELDS, "--json").out)
    assert found["samples"] == 90
    low, high = found["intervals"]["P@1"]
    assert 0 < low <= found["P@1"] <= high
    assert [band["name"] for band in found["bands"]] == ["unseen", "1-5", "6-20", "21-100", ">100"]
    band = found["bands"][3]
    assert band["n_labels"] == 3
    assert band["intervals"]["R@5"][0] <= band["values"]["R@5"] <= band["intervals"]["R@5"][1]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with a model and new data, and no more."""
    trained_tagger().save(tmp_path / "model")
    with (tmp_path / "new.csv").open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["text", "labels"])
        table.writerows((text, "|".join(tags)) for text, tags in zip(*texts_and_tags(60, seed=1), strict=True))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_evaluate_writes_a_report_and_says_where(tacit, folder):
    outcome = tacit("evaluate", "model", "new.csv", "--report", "out.html")
    assert outcome.code == 0, outcome.err
    assert outcome.out.endswith("report: out.html\n")
    assert "recall@5" in outcome.out
    content = (folder / "out.html").read_text(encoding="utf-8")
    assert content.startswith("<!DOCTYPE html>")
    assert "new.csv" in content
    assert sorted(path.name for path in folder.iterdir()) == ["model", "new.csv", "out.html"]


@pytest.mark.parametrize(
    ("report", "message"),
    [
        ("new.csv", "new.csv: a report must end in .html"),
        ("nowhere/out.html", "there is no folder nowhere"),
        ("model", "must end in .html"),
    ],
)
def test_bad_paths_are_one_line_and_change_nothing(tacit, folder, report, message):
    before = (folder / "new.csv").read_bytes()
    outcome = tacit("evaluate", "model", "new.csv", "--report", report)
    assert (outcome.code, outcome.out) == (2, "")
    assert message in outcome.err
    assert outcome.err.count("\n") == 1
    assert (folder / "new.csv").read_bytes() == before
    assert sorted(path.name for path in folder.iterdir()) == ["model", "new.csv"]


def test_data_without_labels_are_one_line(tacit, folder):
    (folder / "bare.csv").write_text("text,labels\nan apple,\n")
    outcome = tacit("evaluate", "model", "bare.csv", "--report", "out.html")
    assert outcome.code == 2
    assert "bare.csv: no sample has a label" in outcome.err
    assert not (folder / "out.html").exists()


@pytest.fixture
def two_models(tacit, numeric, tmp_path):
    for name in ("Popularity", "OneVsAll"):
        assert tacit("train", numeric, "--model", name, "--no-calibrate", "--out", tmp_path / name).code == 0
    return tmp_path / "Popularity", tmp_path / "OneVsAll"


def test_a_better_model_is_told_from_a_worse_one(tacit, two_models, numeric):
    shown = tacit("compare", *two_models, numeric)
    assert shown.code == 0, shown.err
    assert "240 samples" in shown.out
    assert "B is better" in shown.out
    assert "A is better" not in shown.out
    for name in two_models:
        assert f"100% of the samples of {numeric} were in the training data of {name}:" in shown.err
    found = json.loads(tacit("compare", *two_models, numeric, "--json").out)
    assert [one["metric"] for one in found[:3]] == ["P@1", "P@3", "P@5"]
    assert found[0]["interval"][0] > 0.3
    assert found[0]["difference"] == pytest.approx(found[0]["b"] - found[0]["a"])


def test_labels_are_found_by_their_former_names(tacit, model, articles):
    def metrics() -> dict[str, float]:
        shown = tacit("evaluate", model, articles, *FIELDS, "--json")
        assert shown.code == 0
        return {name: value for name, value in json.loads(shown.out).items() if "@" in name}

    before = metrics()
    assert tacit("labels", model, "rename", "cars", "vehicles").code == 0
    assert metrics() == pytest.approx(before)
    assert tacit("labels", model, "merge", "vehicles", "fruit", "--into", "things").code == 0
    assert metrics()["P@1"] >= before["P@1"]  # cars and fruit are one label, in the data too
