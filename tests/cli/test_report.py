from __future__ import annotations

import csv
import json

import pytest

from report.samples import texts_and_tags, trained_tagger


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


def test_json_stays_json_with_a_report(tacit, folder):
    outcome = tacit("evaluate", "model", "new.csv", "--json", "--report", "out.html")
    assert json.loads(outcome.out) == json.loads(tacit("evaluate", "model", "new.csv", "--json").out)
    assert "report: out.html" in outcome.err


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
