from __future__ import annotations

import gzip
import importlib
import json

import pytest

from tacit.data.vocabulary import Vocabulary, load_vocabulary
from tacit.errors import FileError, MissingExtraError, ParameterError
from tacit.store.state import Unpacker, pack

CATS = {
    "1": {"label": "animal", "alt_labels": ["beast"], "parents": []},
    "2": {"label": "cat", "alt_labels": ["kitty", "feline"], "parents": ["1", "99"], "description": "A small one."},
}

TURTLE = """
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
<http://x/1> a skos:Concept ; skos:prefLabel "animal"@en, "eläin"@fi ; skos:narrower <http://x/2> .
<http://x/2> a skos:Concept ; skos:prefLabel "cat"@en, "kissa"@fi ; skos:altLabel "kitty"@en, "katti"@fi ;
    skos:definition "A small one."@en .
<http://x/3> a skos:Concept ; skos:prefLabel "dodo"@en ; owl:deprecated true .
<http://x/4> a skos:Concept ; skos:prefLabel "hund"@sv .
"""


@pytest.fixture
def vocabulary(tmp_path) -> Vocabulary:
    path = tmp_path / "cats.json"
    path.write_text(json.dumps(CATS))
    return load_vocabulary(path)


def test_json_by_id(vocabulary):
    assert vocabulary.ids == ["1", "2"]
    assert vocabulary.names == ["animal", "cat"]
    assert vocabulary.alternatives == [["beast"], ["kitty", "feline"]]
    assert vocabulary.parents == [[], ["1"]]  # 99 is not there
    assert vocabulary.descriptions == ["", "A small one."]


def test_looking_up(vocabulary):
    assert vocabulary.find("2") == vocabulary.find("Cat") == vocabulary.find("KITTY") == 1
    assert "feline" in vocabulary
    assert "dog" not in vocabulary
    assert vocabulary.name_of("beast") == "animal"
    assert vocabulary.names_of("cat") == ["2", "cat", "kitty", "feline"]
    assert vocabulary.parents_of("kitty") == ["1"]
    assert vocabulary.children_of("animal") == ["2"]
    assert vocabulary.text_of("2") == "cat\nkitty\nfeline\nA small one."
    with pytest.raises(ParameterError, match="the vocabulary has no 'kity' .did you mean 'kitty'"):
        vocabulary.find("kity")


def test_a_name_in_use_wins_over_another_name():
    vocabulary = Vocabulary(["a", "b"], ["bank", "shore"], [["shore"], ["bank"]])
    assert vocabulary.find("bank") == 0
    assert vocabulary.find("shore") == 1


def test_a_vocabulary_can_be_stored(vocabulary):
    again = Unpacker({}, None).value(pack(vocabulary, {}), Vocabulary)
    assert again.find("kitty") == 1
    assert again.parents == vocabulary.parents


def test_json_as_a_list_and_plain_names(tmp_path):
    path = tmp_path / "v.json"
    path.write_text(json.dumps([{"id": 7, "name": "tree"}, {"name": "oak", "broader": "7"}]))
    assert load_vocabulary(path).parents_of("oak") == ["7"]
    path.write_text(json.dumps({"7": "tree"}))
    assert load_vocabulary(path).name_of("7") == "tree"


def test_tables(tmp_path):
    plain = tmp_path / "labels.tsv.gz"
    plain.write_bytes(gzip.compress(b"p1\t<http://x/1>\tanimal\np2\t<http://x/2>\tcat\twith a tab\n"))
    found = load_vocabulary(plain)
    assert found.names == ["animal", "cat with a tab"]
    assert found.name_of("http://x/1") == "animal"
    assert found.text_of("p1") == "animal"
    header = tmp_path / "header.tsv"
    header.write_text("id\tname\talternatives\tparents\tdescription\n1\tanimal\n2\tcat\tkitty | feline\t1\tSmall.\n")
    found = load_vocabulary(header)
    assert found.alternatives[1] == ["kitty", "feline"]
    assert found.parents_of("cat") == ["1"]
    assert found.descriptions[1] == "Small."


def test_skos(tmp_path):
    rdflib = pytest.importorskip("rdflib")
    turtle = tmp_path / "v.ttl"
    turtle.write_text(TURTLE, encoding="utf-8")
    syntaxes = {"v.rdf": "xml", "v.nt": "nt", "v.jsonld": "json-ld", "v.trig": "turtle", "v.ttl": None}
    for path, syntax in ((tmp_path / name, syntax) for name, syntax in syntaxes.items()):
        if syntax:
            rdflib.Graph().parse(turtle).serialize(path, format=syntax, encoding="utf-8")
        found = load_vocabulary(path)
        assert found.names == ["animal", "cat"]  # neither deprecated nor without an English name
        assert found.names_of("kitty") == ["http://x/2", "cat", "kitty"]
        assert found.parents_of("cat") == ["http://x/1"]
        assert found.descriptions == ["", "A small one."]
    assert load_vocabulary(turtle, language="fi").name_of("katti") == "kissa"
    turtle.write_text("<http://x/1> a")
    with pytest.raises(FileError, match=r"v.ttl: is not valid turtle"):
        load_vocabulary(turtle)


def test_without_rdflib_one_line_says_so(tmp_path, monkeypatch):
    def absent(name: str) -> None:
        raise ImportError(name)

    monkeypatch.setattr(importlib, "import_module", absent)
    path = tmp_path / "v.ttl"
    path.write_text(TURTLE, encoding="utf-8")
    with pytest.raises(MissingExtraError, match=r"reading SKOS needs the extra 'skos'; install it with: pip install"):
        load_vocabulary(path)


BAD = {
    "no such file": ("absent.tsv", None),
    "must end with one of .tsv": ("v.doc", "a\tb"),
    "v.tsv:2: must have 3 fields": ("v.tsv", "1\tx\ta\n2\tb\n"),
    "v.tsv:2: a concept needs an id and a name": ("v.tsv", "1\ta\n2\t\n"),
    "v.tsv:2: the concept '1' stands there twice": ("v.tsv", "1\ta\n1\tb\n"),
    "v.tsv:2: must have 2 cells": ("v.tsv", "id\tname\n1\ta\tb\n"),
    "holds no concept": ("v.tsv", "id\tname\n"),
    "must be JSON": ("v.json", "{"),
    "must be an object of concepts by id": ("v.json", "3"),
    "concept 0 must be an object": ("v.json", "[3]"),
    "concept '1' must be an object or a name": ("v.json", '{"1": 2}'),
    "has no name": ("v.json", '[{"id": "1"}]'),
    "are text; got 1.5": ("v.json", '[{"id": "1", "name": 1.5}]'),
}


@pytest.mark.parametrize("message", BAD)
def test_bad_files(tmp_path, message):
    name, content = BAD[message]
    if content is not None:
        (tmp_path / name).write_text(content)
    with pytest.raises(FileError, match=message.replace("[", r"\[")):
        load_vocabulary(tmp_path / name)


@pytest.mark.real_data
def test_real_vocabularies(real_data):
    assert load_vocabulary(real_data / "eurlex57k" / "eurovoc_en.json").parents_of("blue cheese") == ["1102"]
    assert load_vocabulary(real_data / "yso-finna-en" / "labels.tsv").name_of("p10") == "environmental awareness"
