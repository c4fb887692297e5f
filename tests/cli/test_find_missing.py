from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

import tacit as library
from tagger.articles import articles


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Texts some of whose tags are left out, and a model trained on them."""
    place = tmp_path_factory.mktemp("missing")
    texts, tags = articles(240)
    recorded = [names[:1] if row % 4 == 0 else names for row, names in enumerate(tags)]
    records = [{"text": text, "labels": names} for text, names in zip(texts, recorded, strict=True)]
    (place / "train.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    library.Tagger(model="OneVsAll", calibrate=False).fit(texts, recorded).save(place / "model")
    return place


def test_pairs_are_found_and_written_back(tacit, folder, tmp_path):
    _, tags = articles(240)
    listed = tmp_path / "missing.csv"
    found = tacit("find-missing", folder / "model", folder / "train.jsonl", "-n", 12, "--out", listed)
    assert found.code == 0, found.err
    assert found.out.splitlines()[-1] == "12 pairs"
    rows = list(csv.DictReader(listed.read_text().splitlines()))
    assert list(rows[0]) == ["row", "label", "probability", "evidence", "text"]
    assert sum(row["label"] in tags[int(row["row"]) - 1] for row in rows) >= 11

    more = tacit("find-missing", folder / "model", folder / "train.jsonl", "--accept", listed, "--out",
                 tmp_path / "more.jsonl")  # fmt: skip
    assert more.code == 0, more.err
    before, after = (library.load_data(path) for path in (folder / "train.jsonl", tmp_path / "more.jsonl"))
    assert after.texts == before.texts
    assert after.Y.nnz == before.Y.nnz + 12
    column = after.label_names.index(rows[0]["label"])
    assert after.Y[int(rows[0]["row"]) - 1, column] == 1


def test_json_lines_on_stdout_and_verdicts(tacit, folder, tmp_path):
    found = tacit("find-missing", folder / "model", folder / "train.jsonl", "-n", 3)
    pairs = [json.loads(line) for line in found.out.splitlines()]
    assert len(pairs) == 3
    assert found.err.endswith("\n3 pairs\n")
    known = tacit("find-missing", folder / "model", folder / "train.jsonl", "-n", 3, "--missing", 0.1)
    assert "3 pairs; about " in known.err
    for pair, accepted in zip(pairs, (True, False, True), strict=True):
        pair["accepted"] = accepted
    (tmp_path / "judged.jsonl").write_text("".join(json.dumps(pair) + "\n" for pair in pairs))
    written = tacit("find-missing", folder / "model", folder / "train.jsonl", "--accept", tmp_path / "judged.jsonl",
                    "--out", tmp_path / "more.csv")  # fmt: skip
    assert written.out.splitlines()[-1] == f"wrote {tmp_path / 'more.csv'}: 2 labels added"


def test_a_new_label_may_be_accepted(tacit, folder, tmp_path):
    (tmp_path / "judged.csv").write_text("row,label\n1,brand new\n1,brand new\n")
    out = tmp_path / "more.jsonl"
    tacit("find-missing", folder / "model", folder / "train.jsonl", "--accept", tmp_path / "judged.csv", "--out", out)
    assert "brand new" in json.loads(out.read_text().splitlines()[0])["labels"]


def test_accepted_labels_are_added_to_the_file_as_it_is(tacit, folder, tmp_path):
    content = "nr;heading;topics;date\n1;a red apple;fruit,red;2024\n2;the car;;2025\n"
    (tmp_path / "a.csv").write_text(content)
    (tmp_path / "judged.csv").write_text("row,label\n2,cars\n2,red\n")
    fields = ("--text", "heading", "--labels", "topics")
    tagger = library.Tagger.load(folder / "model")
    tagger.card_["text_columns"] = ["heading"]
    tagger.save(tmp_path / "model")
    accept = ("find-missing", tmp_path / "model", tmp_path / "a.csv", "--accept", tmp_path / "judged.csv")
    done = tacit(*accept, "--labels", "topics", "--out", tmp_path / "b.csv")
    assert done.code == 0, done.err
    plain = (tmp_path / "b.csv").read_text().replace('"', "")
    assert plain == content.replace("2;the car;;2025", "2;the car;red,cars;2025")
    assert "trained on 2 samples" in tacit("train", tmp_path / "b.csv", *fields, "--out", tmp_path / "m").out


BAD_CALLS = {
    "--accept needs --out": ("MODEL", "DATA", "--accept", "good.csv"),
    "bad.csv:3: must name a row from 1 to 240": ("MODEL", "DATA", "--accept", "bad.csv", "--out", "x.csv"),
    "list.txt": ("MODEL", "DATA", "--accept", "list.txt", "--out", "x.csv"),
    "no such file": ("MODEL", "absent.csv"),
    "no such model folder": ("absent", "DATA"),
    "is not in the range 0<x<1": ("MODEL", "DATA", "--missing", "1"),
}


@pytest.mark.parametrize("message", BAD_CALLS)
def test_bad_calls_are_one_line_and_write_nothing(tacit, folder, tmp_path, monkeypatch, message):
    (tmp_path / "good.csv").write_text("row,label\n1,cars\n")
    (tmp_path / "bad.csv").write_text("row,label\n240,cars\n241,cars\n")
    (tmp_path / "list.txt").write_text("row 1: cars\n")
    monkeypatch.chdir(tmp_path)
    places = {"MODEL": folder / "model", "DATA": folder / "train.jsonl"}
    outcome = tacit("find-missing", *(places.get(argument, argument) for argument in BAD_CALLS[message]))
    assert outcome.code == 2
    assert message in outcome.err
    assert outcome.err.count("\n") == 1
    assert not (tmp_path / "x.csv").exists()


def test_columns_that_identify_a_sample_are_written(tacit, folder, tmp_path):
    records = [json.loads(line) for line in (folder / "train.jsonl").read_text().splitlines()]
    numbered = [record | {"nr": f"n{row}", "date": row} for row, record in enumerate(records)]
    (tmp_path / "data.jsonl").write_text("".join(json.dumps(record) + "\n" for record in numbered))
    listed = tmp_path / "missing.csv"
    call = ("find-missing", folder / "model", tmp_path / "data.jsonl", "-n", 3, "--out", listed)
    assert tacit(*call, "--id", "nr", "--keep", "date").code == 0
    rows = list(csv.DictReader(listed.read_text().splitlines()))
    assert list(rows[0]) == ["row", "nr", "date", "label", "probability", "evidence", "text"]
    assert all(row["nr"] == f"n{int(row['row']) - 1}" for row in rows)
    for options, message in ((("--id", "number"), "no column 'number'"), (("--keep", "label"), "of its own")):
        refused = tacit(*call, *options)
        assert (refused.code, message in refused.err) == (2, True)
