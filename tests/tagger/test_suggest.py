"""One way to suggest: library, command line and service answer a wish identically, to the digit."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import tacit
from server.live import Live, serving
from tacit.cli.commands import cli
from tacit.data.vocabulary import Vocabulary
from tacit.tagger.calibration import Trade
from tagger.articles import articles

TEXTS, TAGS = articles(300)
PROBE = [*articles(30, seed=5).texts, 'a quotation: "song", and a comma', "words never seen"]
VOCABULARY = Vocabulary(["cars", "music"], ["motor vehicles", "sounds"], [["automobiles"], ["tunes"]])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model with a history: labels renamed, merged, added, judged and retired."""
    place = tmp_path_factory.mktemp("suggest")
    tagger = tacit.Tagger(model="OneVsAll", vocabulary=VOCABULARY).fit(TEXTS, TAGS)
    tagger.add_label("pome", examples=["apple pear", "pear apple pear"])
    tagger.add_label("jam", cooccurs={"fruit": 30})
    tagger.add_label("telex", examples=["filler1 filler2"])
    tagger.rename_label("weather", "climate")
    tagger.learn([("plum fig", "fruit", False), ("a road song", "automobiles", True)])
    tagger.merge_labels(["jam", "pome"], into="preserves")
    tagger.retire_label("telex")
    tagger.save(place / "model")
    (place / "probe.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in PROBE))
    return place


@pytest.fixture(scope="module")
def live(folder: Path) -> Iterator[Live]:
    with serving({"model": folder / "model"}) as service:
        yield service


Answer = list[list[tuple[str, float]]] | str

WISHES: dict[str, dict[str, Any]] = {
    "nothing said": {},
    "k": {"k": 2},
    "a threshold": {"threshold": 0.4},
    "a low threshold, no limit": {"threshold": 0.001},
    "the stored threshold": {"threshold": "auto"},
    "precision": {"threshold": "precision=0.8"},
    "f1": {"threshold": "f1"},
    "out of reach": {"threshold": "recall=1.5"},
    "damped with a target": {"damp_head": 1.0, "threshold": "precision=0.7", "k": 2},
    "included by current names": {"include": ["climate", "preserves"]},
    "included by a former name": {"include": ["weather"]},
    "included by an alternative name": {"include": ["automobiles", "sounds"]},
    "excluded by a former name": {"exclude": ["weather"], "threshold": 0.01},
    "included and excluded": {"include": ["fruit", "weather", "tunes"], "exclude": ["climate"]},
    "included, retired": {"include": ["telex"]},
    "unknown": {"include": ["friut"]},
}


def by_library(folder: Path, wish: dict[str, Any]) -> Answer:
    tagger = tacit.Tagger.load(folder / "model")
    try:
        found = tagger.suggest(PROBE, **wish)
    except tacit.TacitError as error:
        return str(error)
    return [[(each.label, round(each.score, 6)) for each in row] for row in found]


def by_command_line(folder: Path, wish: dict[str, Any]) -> Answer:
    arguments = ["suggest", str(folder / "model"), str(folder / "probe.jsonl")]
    for name, value in wish.items():
        text = ",".join(value) if isinstance(value, list) else str(value)
        arguments += ["-k" if name == "k" else f"--{name.replace('_', '-')}", text]
    outcome = CliRunner().invoke(cli, arguments)
    if outcome.exception is not None:
        assert isinstance(outcome.exception, tacit.TacitError)
        return str(outcome.exception)
    rows = [json.loads(line)["suggestions"] for line in outcome.stdout.splitlines()]
    return [[(each["label"], each["score"]) for each in row] for row in rows]


def by_service(live: Live, wish: dict[str, Any]) -> Answer:
    answer = live.post("/v1/suggest", json={"texts": PROBE, **wish})
    if answer.status_code != 200:
        assert answer.status_code in (404, 409, 422)
        (problem,) = answer.json()["errors"]  # the service names the field beside the message
        return problem["message"] if problem["field"] == "threshold" else f"{problem['field']}: {problem['message']}"
    return [[(each["label"], each["score"]) for each in row["suggestions"]] for row in answer.json()["results"]]


@pytest.mark.parametrize("wish", WISHES)
def test_all_answer_alike(folder, live, wish):
    expected = by_library(folder, WISHES[wish])
    assert by_command_line(folder, WISHES[wish]) == expected
    assert by_service(live, WISHES[wish]) == expected


def test_a_retired_label_is_the_same_error_everywhere(folder, live):
    tagger = tacit.Tagger.load(folder / "model")
    message = "the label 'telex' was retired; undo that first, or name another label"
    for act in (
        lambda: tagger.suggest(PROBE, include=["telex"]),
        lambda: tagger.explain("a", "telex"),
        lambda: tagger.rename_label("telex", "x"),
        lambda: tagger.learn([("a", "telex", True)]),
        lambda: tagger.column("telex"),
    ):
        with pytest.raises(tacit.TacitError, match=message):
            act()
    for address, body in (
        ("suggest", {"text": "a", "include": ["telex"]}),
        ("explain", {"text": "a", "label": "telex"}),
        ("feedback", {"judgements": [{"text": "a", "label": "telex", "accepted": True}]}),
    ):
        assert live.post(f"/v1/{address}", json=body).json()["detail"] == message


# -- thresholds ---------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def rich() -> tuple[tacit.Tagger, list[str], list[list[str]]]:
    """A tagger of texts with up to twelve labels each, so that five are not enough; and fresh texts."""
    rng = np.random.default_rng(0)

    def draw(n: int) -> tuple[list[str], list[list[str]]]:
        texts, tags = [], []
        for _ in range(n):
            topics = rng.choice(40, size=rng.integers(4, 13), replace=False)
            named = [topic for topic in topics if rng.random() < 0.9] + list(rng.integers(0, 40, 6))  # some by chance
            texts.append(" ".join(["and", *(f"w{topic}x{rng.integers(3)}" for topic in named)]))
            tags.append([f"t{topic}" for topic in topics])
        return texts, tags

    return tacit.Tagger(model="OneVsAll").fit(*draw(1200), validation=draw(1000)), *draw(1000)


@pytest.mark.parametrize(
    ("target", "measure"), [("recall=0.8", "recall"), ("labels=7", "labels"), ("precision=0.75", "precision")]
)
def test_a_target_is_met_without_saying_k(rich, target, measure):
    tagger, texts, tags = rich
    found = tagger.suggest(texts, threshold=target)
    right = sum(len({each.label for each in row} & set(true)) for row, true in zip(found, tags, strict=True))
    reached = {
        "recall": right / sum(map(len, tags)),
        "labels": np.mean([len(row) for row in found]),
        "precision": right / max(sum(map(len, found)), 1),
    }[measure]
    assert reached == pytest.approx(float(target.partition("=")[2]), rel=0.05)


def test_no_limit_with_a_threshold(rich):
    tagger, texts, _ = rich
    everything = tagger.suggest(texts, k=40)
    for threshold in (0.3, 0.05, 0.002):
        expected = [[each for each in row if each.score >= threshold] for row in everything]
        found = tagger.suggest(texts, threshold=threshold)
        assert [[each.label for each in row] for row in found] == [[each.label for each in row] for row in expected]
    assert max(map(len, tagger.suggest(texts, threshold=0.002))) > 20
    assert {len(row) for row in tagger.suggest(texts)} == {5}
    assert tagger.rank(texts[:3], k=4, threshold=0.3).labels.shape == (3, 4)


@pytest.mark.parametrize("target", ["precision=1", "labels=500"])
def test_a_target_that_cannot_be_met_is_said(rich, target, caplog):
    tagger, texts, tags = rich
    with pytest.raises(tacit.TacitError, match=r"out of reach: the most on 1,000 held-out samples is \d"):
        tagger.suggest(texts, threshold=target)
    with caplog.at_level("INFO", logger="tacit"):
        stored = tacit.Tagger(model="Popularity", target=target).fit(texts, tags)
    assert f"target '{target}': " in caplog.text
    assert "out of reach" in caplog.text
    assert stored.suggest(texts[:1], threshold="auto") is not None


def test_a_precision_that_a_handful_reached_by_chance_is_not_promised():
    thresholds, precision, recall, labels = ([0, 0.5, 0.9], [0.3, 0.6, 1.0], [0.9, 0.5, 0.001], [3, 1, 0.02])
    trade = Trade(*(np.array(each, np.float32) for each in (thresholds, precision, recall, labels)), n_samples=400)
    assert trade.threshold("precision=0.6") == 0.5
    assert trade.threshold("precision=0.8") == pytest.approx(0.9)  # 8 suggestions tell four of five
    message = "precision 0.99 is out of reach: the most on 400 held-out samples is 0.60"  # but not 99 of 100
    with pytest.raises(tacit.TacitError, match=message):
        trade.threshold("precision=0.99")


def test_texts_of_unknown_words_get_no_suggestions():
    tagger = tacit.Tagger("OneVsAll").fit(*articles())
    texts = ["qwertz uiop", "apple", "qwertz apple"]
    assert tagger.knows(texts).tolist() == [False, True, True]
    assert [bool(row) for row in tagger.suggest(texts)] == [False, True, True]
    assert (tagger.rank(texts[:1], 3).labels == -1).all()
    assert tagger.suggest(texts[:1], k=3, include=["cars"]) == [[]]
