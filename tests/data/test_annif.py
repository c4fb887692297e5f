"""Annif's text corpora and vocabularies."""

from __future__ import annotations

import pytest

from data.samples import assert_sound, write_files
from tacit.data.dataset import label_lists
from tacit.data.load import load_data
from tacit.errors import FileError

CORPUS = "A text\t<http://example.org/b> <http://example.org/a>\r\nA tab\there\t<http://example.org/b>\nnone\t\n"
VOCABULARY = (
    "<http://example.org/a>\tapples\n<http://example.org/b>\tbread and butter\n<http://example.org/c>\tcrisps\n"
)


def test_uris_are_labels(tmp_path):
    data = load_data(write_files(tmp_path, {"a.tsv": CORPUS}))
    assert_sound(data)
    assert data.texts == ["A text", "A tab\there", "none"]
    assert data.label_names == ["http://example.org/a", "http://example.org/b"]
    assert data.Y.toarray().tolist() == [[1, 1], [0, 1], [0, 0]]


def test_a_vocabulary_names_them(tmp_path):
    vocabulary = write_files(tmp_path, {"vocabulary.tsv": VOCABULARY})
    data = load_data(write_files(tmp_path, {"a.txt": CORPUS}), vocabulary)
    assert data.label_names == ["apples", "bread and butter", "crisps"]
    assert data.Y.toarray().tolist() == [[1, 1, 0], [0, 1, 0], [0, 0, 0]]


def test_unknown_uris_are_errors(tmp_path):
    vocabulary = write_files(tmp_path, {"vocabulary.tsv": VOCABULARY})
    path = write_files(tmp_path, {"a.tsv": "t\t<http://example.org/a>\nt\t<http://example.org/x>\n"})
    with pytest.raises(FileError, match=r"a\.tsv:2: label 'http://example.org/x' is not in vocabulary\.tsv .did you"):
        load_data(path, vocabulary)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a\t<u>\nno tab\n", r":2: must be text, a tab and URIs in angle brackets"),
        ("a\t<u>\nb\t<>\n", r":2: must be text, a tab and URIs"),
        ("\n", r": the file has no rows"),
        ("a\t\n", r": no sample has a label"),
    ],
)
def test_bad_files(tmp_path, text, message):
    with pytest.raises(FileError, match=message):
        load_data(write_files(tmp_path, {"a.tsv": text}), format="annif")


@pytest.mark.parametrize(
    "corpus",
    [
        "none\t\n" + CORPUS,
        "none\t\r\nnone either\t  \n\n" + CORPUS,
        "a tab\there\t<http://example.org/b>\n" + CORPUS,
    ],
)
def test_a_corpus_is_recognised_by_its_first_subjects(tmp_path, corpus):
    data = load_data(write_files(tmp_path, {"a.tsv": corpus}))
    assert data.label_names == ["http://example.org/a", "http://example.org/b"]
    assert data.texts[-1] == "none"


HEADED = {
    "v.csv": "uri,label_en,label_fi,notation\nhttp://example.org/b,bread,leipä,12\nhttp://example.org/a,apples,omenat,\n",
    "v.tsv": "uri\tlabel_en\tnotation\nhttp://example.org/b\tbread\t12\nhttp://example.org/a\tapples\t\n",
    "v.ttl": """@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
<http://example.org/b> a skos:Concept ; skos:prefLabel "bread"@en, "leipä"@fi ; skos:notation "12" .
<http://example.org/a> a skos:Concept ; skos:prefLabel "apples"@en .
""",
}


@pytest.mark.parametrize("name", HEADED)
def test_label_names_come_from_any_vocabulary(tmp_path, name):
    if name.endswith(".ttl"):
        pytest.importorskip("pyoxigraph")
    corpus = "A text\t<http://example.org/b> <http://example.org/a>\nmore\t<http://example.org/b>\n"
    data = load_data(write_files(tmp_path, {"a.tsv": corpus}), write_files(tmp_path, {name: HEADED[name]}))
    assert sorted(data.label_names) == ["apples", "bread"]
    assert label_lists(data) == [sorted(["apples", "bread"], key=data.label_names.index), ["bread"]]
    table = write_files(tmp_path, {"b.csv": "text,labels\nbuns,12\npie,apples\n"})
    assert label_lists(load_data(table, tmp_path / name)) == [["bread"], ["apples"]]
