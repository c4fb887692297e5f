"""An engineer with a CSV that Excel saved: from the file to suggestions that can be joined, and a model that learns."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path

import pytest

from walks.files import TOPICS, read_table, ticket, write_table

FIELDS = ("--text", "subject,message", "--labels", "topics")


@pytest.fixture
def place(tmp_path, monkeypatch) -> Path:
    rng = random.Random(0)
    rows = [{"ticket": f"T-{number:04d}", **ticket(rng), "opened": "2024-05-01"} for number in range(400)]
    write_table(tmp_path / "tickets.csv", rows, delimiter=";")
    new = [{"ticket": f"N-{number}", **ticket(rng)} for number in range(6)]
    new[3] |= {"subject": " ", "message": ""}
    write_table(tmp_path / "new.csv", [{key: row[key] for key in ("ticket", "subject", "message")} for row in new], ";")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_from_a_file_to_a_model_in_use(tacit, place):
    options = find_the_fields(tacit)
    split_train_and_evaluate(tacit, place, options)
    join_suggestions(tacit, place)
    complete_the_file(tacit, place)
    teach(tacit, place)
    run_every_night(tacit, place)


def find_the_fields(tacit) -> tuple[str, ...]:
    """Each wrong call says which option is missing, and what there is to choose from."""
    refused = tacit("train", "ticket.csv", "--out", "model")
    assert "ticket.csv: no such file (did you mean 'tickets.csv'?)" in refused.err
    refused = tacit("train", "tickets.csv", "--out", "model")
    assert "among ticket, subject, message, topics, opened; name it with text=" in refused.err
    refused = tacit("train", "tickets.csv", "--text", "subject,message", "--out", "model")
    assert (
        "the fields are ticket, subject, message, topics, opened: name that of the labels with labels=" in refused.err
    )
    refused = tacit("train", "tickets.csv", "--text", "subject,message", "--labels", "topic", "--out", "model")
    assert "has no field 'topic' (did you mean 'topics'?)" in refused.err
    assert not Path("model").exists()
    return FIELDS


def split_train_and_evaluate(tacit, place: Path, options: tuple[str, ...]) -> None:
    divided = tacit("split", "tickets.csv", *options, "--out", "parts")
    assert divided.code == 0, divided.err
    train, test = (re.search(rf"{name}: .* in (\S+)", divided.out)[1] for name in ("train", "test"))
    before = read_table(place / "tickets.csv", ";")
    parts = read_table(place / train, ";") + read_table(place / test, ";")
    assert sorted(parts, key=lambda row: row["ticket"]) == before  # nothing was lost, renamed or rewritten

    trained = tacit("train", train, *options, "--out", "model")
    assert trained.code == 0, trained.err
    assert "saved to model" in trained.out

    flattering = tacit("evaluate", "model", train, *options)
    assert f"100% of the samples of {train} were in the training data of the model" in flattering.err
    honest = tacit("evaluate", "model", test, *options, "--report", "report.html")
    assert (honest.code, honest.err) == (0, "")
    assert "P: precision" in honest.out
    assert (place / "report.html").stat().st_size > 10_000
    found = json.loads(tacit("evaluate", "model", test, *options, "--json").out)
    assert found["P@1"] > 0.9
    assert found["intervals"]["P@1"][0] > 0.8
    assert found["share_in_training"] < 0.05


def join_suggestions(tacit, place: Path) -> None:
    """The output goes back to the tickets by their own key."""
    wish = ("suggest", "model", "new.csv", "--text", "subject,message")
    refused = tacit(*wish, "--id", "tickets")
    assert "new.csv: no column 'tickets' (did you mean 'ticket'?)" in refused.err
    refused = tacit(*wish, "--id", "ticket", "--out", "suggestions.xlsx")
    assert "must end in .jsonl or .csv" in refused.err
    done = tacit(*wish, "--id", "ticket", "--threshold", "precision=0.8", "--out", "suggestions.csv")
    assert done.code == 0, done.err
    assert done.err == "rows without suggestions: 1 (4)\n"
    suggested = {row["ticket"]: row["labels"] for row in read_table(place / "suggestions.csv", ";")}
    texts = {row["ticket"]: f"{row['subject']} {row['message']}" for row in read_table(place / "new.csv", ";")}
    assert suggested.keys() == texts.keys()
    assert suggested["N-3"] == ""
    named = [(texts[key], label) for key, labels in suggested.items() for label in labels.split("|") if label]
    assert named
    assert all(set(TOPICS[label].split()) & set(text.replace(",", "").split()) for text, label in named)


def complete_the_file(tacit, place: Path) -> None:
    """A row of the list is a row of the file, and the next training takes what came out."""
    refused = tacit("find-missing", "model", "tickets.csv", *FIELDS, "--accept", "missing.csv")
    assert "--accept needs --out" in refused.err
    listed = tacit("find-missing", "model", "tickets.csv", *FIELDS, "-n", 15, "--out", "missing.csv")
    assert listed.code == 0, listed.err
    tickets, missing = read_table(place / "tickets.csv", ";"), read_table(place / "missing.csv", ";")
    for pair in missing:
        row = tickets[int(pair["row"]) - 1]
        assert pair["text"].startswith(row["subject"])
        assert pair["label"] not in row["topics"].split("|")
    write_table(
        place / "missing.csv", [pair | {"accepted": "yes" if n % 2 else "no"} for n, pair in enumerate(missing)]
    )
    done = tacit("find-missing", "model", "tickets.csv", *FIELDS, "--accept", "missing.csv", "--out", "completed.csv")
    assert done.out.endswith(f"wrote completed.csv: {len(missing) // 2} labels added\n")
    completed = read_table(place / "completed.csv", ";")
    assert [row["ticket"] for row in completed] == [row["ticket"] for row in tickets]
    changed = [n for n, (old, new) in enumerate(zip(tickets, completed, strict=True), 1) if old != new]
    assert changed == sorted({int(pair["row"]) for n, pair in enumerate(missing) if n % 2})
    assert tacit("train", "completed.csv", *FIELDS, "--out", "model", "-q") == (0, "", "")


def teach(tacit, place: Path) -> None:
    judged = [{"text": "parcel box swap", "label": "returns", "accepted": True},
              {"text": "cookie invoice", "label": "biling", "accepted": False}]  # fmt: skip
    feedback = place / "feedback.jsonl"
    feedback.write_text("".join(json.dumps(each) + "\n" for each in judged))
    assert "feedback.jsonl:2: unknown label 'biling' (did you mean 'billing'?)" in tacit("learn", "model", feedback).out
    feedback.write_text(feedback.read_text().replace("biling", "billing"))
    assert "saved to model" in tacit("learn", "model", feedback).out
    assert "2 of 2 judgements were learned before; model is unchanged" in tacit("learn", "model", feedback).out
    assert tacit("labels", "model", "rename", "website", "web").code == 0
    history = tacit("labels", "model", "history").out.splitlines()
    assert len(history) == 3
    refused = tacit("train", "completed.csv", *FIELDS, "--out", "model")
    assert "--keep-acts" in refused.err
    assert tacit("train", "completed.csv", *FIELDS, "--out", "model", "--keep-acts", "-q").code == 0
    assert len(tacit("labels", "model", "history").out.splitlines()) == 3


def run_every_night(tacit, place: Path) -> None:
    """As a job: nothing is printed unless something is wrong."""
    job = (
        "suggest",
        "model",
        "new.csv",
        "--text",
        "subject,message",
        "--id",
        "ticket",
        "--quiet",
        "--out",
        "out.jsonl",
    )
    assert tacit(*job) == (0, "", "")
    records = [json.loads(line) for line in (place / "out.jsonl").read_text().splitlines()]
    assert [(record["row"], record["ticket"]) for record in records] == [(n, f"N-{n - 1}") for n in range(1, 7)]
    assert {label["label"] for record in records for label in record["suggestions"]} <= {*TOPICS, "web"} - {"website"}
    (place / "new.csv").write_text("ticket;subject\n1;a;b\n")
    failed = tacit(*job)
    assert (failed.code, failed.out, failed.err.count("\n")) == (2, "", 1)
    assert "new.csv:2: must have 2 cells, as the header; got 3" in failed.err
