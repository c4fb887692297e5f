from __future__ import annotations

import gzip
import json
import sys
from pathlib import Path

import pytest

from tacit.data.rdf import SYNTAXES
from tacit.data.vocabulary import Vocabulary, load_vocabulary
from tacit.errors import FileError, MissingExtraError, ParameterError
from tacit.store.packing import Unpacker, pack

CATS = {
    "1": {"label": "animal", "alt_labels": ["beast", "cat"], "parents": []},
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


def test_json(vocabulary, tmp_path):
    assert vocabulary.ids == ["1", "2"]
    assert vocabulary.names == ["animal", "cat"]
    assert vocabulary.alternatives == [["beast", "cat"], ["kitty", "feline"]]
    assert vocabulary.parents == [[], ["1"]]  # 99 is not there
    assert vocabulary.descriptions == ["", "A small one."]
    path = tmp_path / "v.json"
    path.write_text(json.dumps([{"id": 7, "name": "tree"}, {"name": "oak", "broader": "7"}]))
    assert load_vocabulary(path).parents_of("oak") == ["7"]
    path.write_text(json.dumps({"7": "tree"}))
    assert load_vocabulary(path).name_of("7") == "tree"


def test_looking_up(vocabulary):
    assert vocabulary.find("2") == vocabulary.find("Cat") == vocabulary.find("KITTY") == 1  # a name wins over another
    assert "feline" in vocabulary
    assert "dog" not in vocabulary
    assert vocabulary.name_of("beast") == "animal"
    assert vocabulary.names_of("cat") == ["2", "cat", "kitty", "feline"]
    assert vocabulary.parents_of("kitty") == ["1"]
    assert vocabulary.text_of("2") == "cat\nkitty\nfeline\nA small one."
    with pytest.raises(ParameterError, match="the vocabulary has no 'kity' .did you mean 'kitty'"):
        vocabulary.find("kity")


def test_tables(tmp_path):
    plain = tmp_path / "labels.tsv.gz"
    plain.write_bytes(gzip.compress(b"p1\t<http://x/1>\tanimal\np2\t<http://x/2>\tcat\twith a tab\n"))
    found = load_vocabulary(plain)
    assert found.names == ["animal", "cat with a tab"]
    assert found.name_of("http://x/1") == "animal"
    assert found.text_of("p1") == "animal"
    assert found.notations == ["", ""]
    header = tmp_path / "header.tsv"
    header.write_text("id\tname\talternatives\tparents\tdescription\n1\tanimal\n2\tcat\tkitty | feline\t1\tSmall.\n")
    found = load_vocabulary(header)
    assert found.alternatives[1] == ["kitty", "feline"]
    assert found.parents_of("cat") == ["1"]
    assert found.descriptions[1] == "Small."


def written_as(folder: Path, turtle: str) -> list[Path]:
    """The statements of a Turtle file in all syntaxes."""
    oxigraph = pytest.importorskip("pyoxigraph")
    quads = list(oxigraph.parse(turtle.encode(), oxigraph.RdfFormat.TURTLE))
    paths = [folder / f"v{suffix}" for suffix in SYNTAXES]
    for path in paths:
        path.write_bytes(oxigraph.serialize(quads, format=getattr(oxigraph.RdfFormat, SYNTAXES[path.suffix])))
    (folder / "v.ttl").write_text(turtle, encoding="utf-8")
    return paths


def test_skos(tmp_path):
    turtle = tmp_path / "v.ttl"
    for path in written_as(tmp_path, TURTLE):
        found = load_vocabulary(path)
        assert found.names == ["animal", "cat"], path  # neither deprecated nor without an English name
        assert found.names_of("kitty") == ["http://x/2", "cat", "kitty"]
        assert found.parents_of("cat") == ["http://x/1"]
        assert found.descriptions == ["", "A small one."]
    assert load_vocabulary(turtle, language="fi").name_of("katti") == "kissa"
    with pytest.raises(FileError, match=r"no concept has a name in 'de', but there are names in en, fi, sv; choose"):
        load_vocabulary(turtle, language="de")
    turtle.write_text("<http://x/1> a")
    with pytest.raises(FileError, match=r"v.ttl:1: is not valid Turtle"):
        load_vocabulary(turtle)


THESAURUS = """
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
@prefix : <http://x/> .
:1 a skos:Concept ; skos:prefLabel "colour"@en-GB, "color"@en, "väri"@fi, "kulay"@fil ; skos:notation "C1" ;
    skos:hiddenLabel "culur"@en, "vari"@fi .
:2 a skos:Concept ; skos:prefLabel "paint"@en ; skos:altLabel "varnish" ; skos:broader :1 .
:3 a skos:Concept ; skos:prefLabel "Paris"@en, "Pariisi"@fi ; skos:notation "P3", "P3b" .
"""


@pytest.fixture
def thesaurus(tmp_path):
    pytest.importorskip("pyoxigraph")
    path = tmp_path / "thesaurus.ttl"
    path.write_text(THESAURUS, encoding="utf-8")
    return path


def test_skos_in_a_language_keeps_names_of_all(thesaurus):
    english = load_vocabulary(thesaurus)
    assert english.names == ["color", "paint", "Paris"]  # the language itself goes before its varieties
    assert english.alternatives[0] == ["colour", "culur"]  # hidden names, too, but only those of the language
    assert [english.name_of(key, "fi") for key in english.ids] == ["väri", "paint", "Pariisi"]
    assert english.name_of("color", "en-GB") == "colour"
    finnish = load_vocabulary(thesaurus, language="fi")
    assert finnish.names == ["väri", "Pariisi"]  # fil is another language
    assert finnish.alternatives[0] == ["vari"]
    assert finnish.translated("en") == ["color", "Paris"]
    with pytest.raises(ParameterError, match="has no names in 'sv'; it has names in en, en-gb, fi, fil"):
        finnish.name_of("vari", "sv")


def test_skos_keeps_notations_and_relations(thesaurus):
    found = load_vocabulary(thesaurus)
    assert found.notations == ["C1", "", "P3"]
    assert found.name_of("c1") == "color"
    assert found.names_of("C1") == ["http://x/1", "color", "colour", "culur", "C1"]
    assert found.text_of("C1") == "color\ncolour\nculur"
    assert found.parents_of("paint") == ["http://x/1"]


ANNIF_TSV = "<http://x/0>\n<http://x/1>\tanimal\tA1\n<http://x/2>\tcat\n<http://x/3>\n<http://x/4>\tdog\tA2\n"
ANNIF_CSV = (
    "uri,label_en,label_fi,notation\n"
    '<http://x/1>,"animal, living",eläin,A1\nhttp://x/2,cat,,\nhttp://x/3,,,\nhttp://x/4,,koira,A2\n'
)


def test_the_tsv_of_annif(tmp_path):
    path = tmp_path / "v.tsv"
    path.write_text(ANNIF_TSV)
    found = load_vocabulary(path)
    assert found.ids == ["http://x/1", "http://x/2", "http://x/4"]  # no name: deprecated
    assert found.names == ["animal", "cat", "dog"]
    assert found.notations == ["A1", "", "A2"]
    assert found.alternatives == [[], [], []]
    assert found.deprecated == {"http://x/0": "", "http://x/3": ""}
    assert found.find("a2") == found.find("dog") == 2


def test_the_csv_of_annif(tmp_path):
    path = tmp_path / "v.csv"
    path.write_text(ANNIF_CSV, encoding="utf-8")
    english = load_vocabulary(path)
    assert english.ids == ["http://x/1", "http://x/2"]
    assert english.names == ["animal, living", "cat"]
    assert english.notations == ["A1", ""]
    assert english.translated("fi") == ["eläin", ""]
    assert load_vocabulary(path, language="fi").names == ["eläin", "koira"]
    with pytest.raises(FileError, match=r"v.csv:1: has no column for names in 'sv', but in en, fi; choose one"):
        load_vocabulary(path, language="sv")


REPLACED = """
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix dct: <http://purl.org/dc/terms/> .
@prefix : <http://x/> .
:1 a skos:Concept ; skos:prefLabel "e-mail"@en ; skos:notation "E1" .
:2 a skos:Concept ; skos:prefLabel "letters"@en ; skos:notation "L2" .
:3 a skos:Concept ; skos:prefLabel "telex"@en ; skos:notation "T3" ; owl:deprecated true ; dct:isReplacedBy :4 .
:4 a skos:Concept ; skos:prefLabel "fax"@en ; dct:isReplacedBy :1 .
:5 a skos:Concept ; skos:prefLabel "letters"@en ; owl:deprecated "true" .
:6 a skos:Concept ; owl:deprecated true ; dct:isReplacedBy :1, :2 .
:7 owl:deprecated true ; dct:isReplacedBy :8 .
:8 owl:deprecated true ; dct:isReplacedBy :7 .
"""


def test_deprecated_concepts_lead_to_their_successors(tmp_path):
    pytest.importorskip("pyoxigraph")
    path = tmp_path / "v.ttl"
    path.write_text(REPLACED)
    found = load_vocabulary(path)
    assert found.names == ["e-mail", "letters"]
    assert found.ids == ["E1", "L2"]
    for old in ("http://x/3", "T3", "telex", "Fax", "http://x/4"):
        assert found.find(old) == 0
    assert found.find("letters") == 1
    assert {old for old, successor in found.deprecated.items() if not successor} == {
        f"http://x/{n}" for n in (5, 6, 7, 8)
    }
    assert not any(f"http://x/{n}" in found for n in (5, 6, 7, 8))  # none, or several
    again = Unpacker({}, None).value(pack(found, {}), Vocabulary)
    assert again.deprecated == found.deprecated


def test_a_stored_vocabulary_keeps_what_it_knows(thesaurus):
    found = load_vocabulary(thesaurus)
    tree = pack(found, {})
    again = Unpacker({}, None).value(tree, Vocabulary)
    assert (again.notations, again.parents, again.translations) == (found.notations, found.parents, found.translations)
    assert again.find("culur") == 0
    found.translations["fi"].pop()
    assert found.problem({"n_concepts": 3}) == ("translations", "must have 3 names in 'fi'; got 2")


def test_without_its_extra_one_line_says_so(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyoxigraph", None)
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
    "concept '1' must be an object with id and name": ("v.json", '{"1": 2}'),
    "has no name": ("v.json", '[{"id": "1"}]'),
    "are text; got 1.5": ("v.json", '[{"id": "1", "name": 1.5}]'),
    "v.csv:1: the header must name columns such as uri and label_en": ("v.csv", "http://x,cat\nhttp://y,dog\n"),
}


@pytest.mark.parametrize("message", BAD)
def test_bad_files(tmp_path, message):
    name, content = BAD[message]
    if content is not None:
        (tmp_path / name).write_text(content)
    with pytest.raises(FileError, match=message.replace("[", r"\[")):
        load_vocabulary(tmp_path / name)
