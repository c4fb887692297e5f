"""A librarian with a thesaurus and a folder of documents: a model from names, then from tagged documents."""

from __future__ import annotations

import json
import random
from importlib.util import find_spec
from pathlib import Path

import pytest

CONCEPTS = {
    "bees": (["bees", "honey bees"], "mehiläiset", "hive swarm pollen"),
    "orchards": (["orchards", "fruit gardens"], "hedelmätarhat", "apple graft prune"),
    "soils": (["soils", "earth"], "maaperä", "clay humus drain"),
    "weather": (["weather", "climate"], "sää", "rain frost wind"),
    "machines": (["farm machines", "tractors"], "maatalouskoneet", "engine plough diesel"),
    "markets": (["markets", "fairs"], "markkinat", "price stall trade"),
}
SUFFIX = "ttl" if find_spec("pyoxigraph") else "csv"
URI = "http://example.org/"


def write_thesaurus(path: Path) -> None:
    if SUFFIX == "csv":
        rows = [f"{URI}{key},{names[0]},{other}" for key, (names, other, _) in CONCEPTS.items()]
        path.write_text("uri,label_en,label_fi\n" + "\n".join(rows) + "\n", encoding="utf-8")
        return
    lines = ["@prefix skos: <http://www.w3.org/2004/02/skos/core#> .", f"@prefix : <{URI}> ."]
    for key, (names, other, _) in CONCEPTS.items():
        lines.append(
            f':{key} a skos:Concept ; skos:prefLabel "{names[0]}"@en, "{other}"@fi ; skos:altLabel "{names[1]}"@en .'
        )
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def write_documents(folder: Path, n_documents: int, seed: int) -> None:
    """Documents with the URIs of their subjects beside them, as Annif's full-text corpora have them."""
    rng = random.Random(seed)
    folder.mkdir()
    for number in range(n_documents):
        keys = rng.sample(list(CONCEPTS)[:-1], 2)
        words = [word for key in keys for word in [rng.choice(CONCEPTS[key][0][:1]), *CONCEPTS[key][2].split()]]
        rng.shuffle(words)
        (folder / f"report-{number:03d}.txt").write_text(" ".join(words))
        rows = "".join(f"<{URI}{key}>\t{CONCEPTS[key][0][0]}\n" for key in keys)
        (folder / f"report-{number:03d}.tsv").write_text(rows)


@pytest.fixture
def place(tmp_path, monkeypatch) -> Path:
    write_thesaurus(tmp_path / f"thesaurus.{SUFFIX}")
    write_documents(tmp_path / "documents", 160, 0)
    inbox = tmp_path / "inbox"
    inbox.mkdir()
    (inbox / "letter.txt").write_text("the price of honey bees at the markets")
    (inbox / "scan.txt").write_text("  \n\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_from_a_thesaurus_to_a_trained_model(tacit, place):
    start_from_names(tacit)
    teach(tacit, place)
    train_on_documents(tacit, place)
    keep_the_vocabulary_alive(tacit, place)


def suggestions_of(out: str) -> dict[str, list[dict[str, object]]]:
    return {record["file"]: record["suggestions"] for record in map(json.loads, out.splitlines())}


def start_from_names(tacit) -> None:
    refused = tacit("start", f"thesaurs.{SUFFIX}", "--out", "model")
    assert f"no such file (did you mean 'thesaurus.{SUFFIX}'?)" in refused.err
    started = tacit("start", f"thesaurus.{SUFFIX}", "--out", "model")
    assert started.out == "6 concepts, known by their names; saved to model\n"
    shown = tacit("suggest", "model", "inbox", "--threshold", 0.1)
    assert shown.err == "rows without suggestions: 1 (2)\n"
    found = suggestions_of(shown.out)
    assert found["scan.txt"] == []
    named = {each["label"]: each["name"] for each in found["letter.txt"]}
    assert named == {f"{URI}bees": "bees", f"{URI}markets": "markets"}
    refused = tacit("suggest", "model", "inbox", "--language", "sv")
    assert "the vocabulary has no names in 'sv'; it has names in en, fi" in refused.err
    in_finnish = suggestions_of(tacit("suggest", "model", "inbox", "--threshold", 0.1, "--language", "fi").out)
    assert {each["name"] for each in in_finnish["letter.txt"]} == {"mehiläiset", "markkinat"}


def teach(tacit, place: Path) -> None:
    """By any name of a concept."""
    line = '{"text": "the price of honey", "label": "%s", "accepted": true}\n'
    (place / "feedback.jsonl").write_text(line % "market")
    assert (
        "feedback.jsonl:1: unknown label 'market' (did you mean 'markets'?)"
        in tacit("learn", "model", "feedback.jsonl").err
    )
    (place / "feedback.jsonl").write_text(line % "markets")
    assert "accepted 'http://example.org/markets' for 'the price" in tacit("learn", "model", "feedback.jsonl").out
    assert "model is unchanged" in tacit("learn", "model", "feedback.jsonl").out


def train_on_documents(tacit, place: Path) -> None:
    """What was taught stays; documents that were held out tell how good the model is."""
    divided = tacit("split", "documents", "--test-size", 30, "--out", "parts")
    assert divided.code == 0, divided.err
    train = ("train", "parts/train.jsonl", "--vocabulary", f"thesaurus.{SUFFIX}", "--out", "model")
    refused = tacit(*train)
    assert "--keep-acts" in refused.err
    refused = tacit(*train, "--vocabulary-language", "sv", "--keep-acts")
    assert refused.code == 2
    assert "'sv'" in refused.err
    trained = tacit(*train, "--keep-acts")
    assert trained.code == 0, trained.err
    assert "trained on 130 samples and 5 labels" in trained.out
    evaluated = json.loads(tacit("evaluate", "model", "parts/test.jsonl", "--json").out)
    assert evaluated["samples"] == 30
    assert evaluated["P@1"] > 0.9
    found = suggestions_of(tacit("suggest", "model", "inbox", "-k", 1).out)
    assert found["letter.txt"][0]["name"] in ("bees", "markets")
    assert "accepted" in tacit("labels", "model", "history").out


def keep_the_vocabulary_alive(tacit, place: Path) -> None:
    refused = tacit("labels", "model", "rename", "bee", "pollinators")
    assert "unknown label 'bee' (did you mean 'bees'?)" in refused.err
    assert tacit("labels", "model", "rename", "bees", "pollinators").code == 0
    add = ("add-label", "model", "drainage", "--example")
    refused = tacit(*add, "mushrooms and moss")
    assert "the examples have no word or feature in common with the training data; give other examples" in refused.err
    assert "added 'drainage'" in tacit(*add, "drain clay").out
    found = suggestions_of(tacit("suggest", "model", "inbox", "-k", 6).out)["letter.txt"]
    names = {each["label"]: each["name"] for each in found if "name" in each}
    assert names["http://example.org/bees"] == "pollinators"
    undone = tacit("labels", "model", "undo")
    assert undone.out.startswith("took back: added 'drainage'")
    assert tacit("convert", "documents", "documents.csv").code == 0
    assert "text" in (place / "documents.csv").read_text().splitlines()[0]
