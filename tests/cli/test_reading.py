"""Files as people have them, through the commands."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from data.samples import needs_openpyxl
from tacit.data.load import load_data
from tagger.articles import articles

HEADER = ["Nr", "Headline", "Lead", "Topics", ""]
FIELDS = ("--text", "Headline,Lead", "--labels", "Topics")


def rows_of(n: int) -> list[list[str]]:
    """Rows as Excel has them, every twelfth without labels."""
    texts, tags = articles(n)
    return [
        [str(row), f"Über – {row}", text, "" if row % 12 == 5 else ", ".join(labels), ""]
        for row, (text, labels) in enumerate(zip(texts, tags, strict=True))
    ]


def excel_csv(path: Path, rows: list[list[str]], encoding: str, before: str = "") -> Path:
    with path.open("w", newline="", encoding=encoding) as file:
        file.write(before)
        csv.writer(file, delimiter=";", lineterminator="\r\n").writerows([HEADER, *rows])
    return path


def workbook(path: Path, rows: list[list[str]]) -> Path:
    from openpyxl import Workbook

    book = Workbook()
    for row in [HEADER, *rows]:
        book.active.append([cell or None for cell in row])
    book.save(path)
    return path


@pytest.mark.parametrize("kind", ["sep", "cp1252", pytest.param("xlsx", marks=needs_openpyxl)])
def test_files_of_excel_go_through_the_commands(tacit, tmp_path, kind):
    rows, options = rows_of(180), ()
    data = tmp_path / ("a.xlsx" if kind == "xlsx" else "a.csv")
    if kind == "xlsx":
        workbook(data, rows)
    elif kind == "cp1252":
        excel_csv(data, rows, kind)
        refused = tacit("train", data, *FIELDS, "--out", tmp_path / "m")
        assert "must be text in utf-8" in refused.err
        assert "encoding= (for most files of Excel it is cp1252)" in refused.err
        options = ("--encoding", "cp1252")
    else:
        excel_csv(data, rows, "utf-8-sig")
    model = tmp_path / "m"
    trained = tacit("train", data, *FIELDS, *options, "--model", "OneVsAll", "--out", model)
    assert trained.code == 0, trained.err
    line = "labels: column Topics, separated by ',' (4 labels, "
    assert trained.out.startswith(line)
    assert "; 15 rows without labels, left out" in trained.out.splitlines()[0]
    assert "trained on 165 samples and 4 labels" in trained.out

    evaluated = tacit("evaluate", model, data, "--labels", "Topics", *options, "--json")
    assert evaluated.err.startswith(line)
    assert json.loads(evaluated.out)["samples"] == 165

    out = tmp_path / "out.csv"
    assert tacit("suggest", model, data, *options, "-k", 2, "--id", "Nr", "--out", out).code == 0
    delimiter = "," if kind == "xlsx" else ";"
    assert out.read_bytes().startswith(f"\ufeffrow{delimiter}Nr{delimiter}labels{delimiter}".encode())
    found = list(csv.DictReader(out.read_text("utf-8-sig").splitlines(), delimiter=delimiter))
    assert [row["Nr"] for row in found] == [row[0] for row in rows]

    missing = tmp_path / "missing.csv"
    listed = tacit("find-missing", model, data, "--labels", "Topics", *options, "-n", 20, "--out", missing)
    assert listed.code == 0, listed.err
    assert "15 rows without labels, also ranked" in listed.out
    pairs = list(csv.DictReader(missing.read_text("utf-8-sig").splitlines(), delimiter=delimiter))
    untagged = [pair for pair in pairs if not rows[int(pair["row"]) - 1][3]]
    assert len(untagged) >= 10
    truth = articles(180)[1]
    is_right = [pair["label"] in truth[int(rows[int(pair["row"]) - 1][0])] for pair in untagged]
    assert sum(is_right) > 0.9 * len(is_right)

    more = tmp_path / ("more.xlsx" if kind == "xlsx" else "more.csv")
    accepted = tacit("find-missing", model, data, *FIELDS, *options, "--accept", missing, "--out", more)
    assert accepted.code == 0, accepted.err
    before, after = (
        load_data(path, text="Lead", labels="Topics", encoding=(options or (None,))[-1]) for path in (data, more)
    )
    assert after.Y.sum() == before.Y.sum() + 20


def test_rows_without_labels_may_be_negatives(tacit, tmp_path):
    data = excel_csv(tmp_path / "a.csv", rows_of(60), "utf-8")
    trained = tacit("train", data, *FIELDS, "--untagged", "negative", "--model", "OneVsAll", "--out", tmp_path / "m")
    assert "5 rows without labels, counted as having none" in trained.out.splitlines()[0]
    assert "trained on 60 samples" in trained.out
