"""Folders of documents, like Annif's full-text corpora."""

from __future__ import annotations

import json
import os

import pytest

from data.samples import assert_sound, write_files
from tacit.data.dataset import label_lists
from tacit.data.load import load_data, stream_samples
from tacit.data.save import convert
from tacit.errors import FileError

A, B = "http://x/a", "http://x/b"
RECORD = {"text": "third", "metadata": {"title": "T"}, "subjects": [{"uri": A, "label": "apple"}, {"label": "beer"}]}
FILES: dict[str, str | bytes] = {
    "1.txt": "\ufefffirst\r\nline\n",
    "1.key": "apple\nbeer\n\n",
    "2.txt": "second",
    "2.key": "not this one\n",
    "2.tsv": f"<{A}>\tapple\n<{B}>\tbeer\n",
    "3.json": json.dumps(RECORD, indent=2),
    "4.txt": "",
    ".5.txt": b"\xff hidden",
    "README.md": "no document",
}


def test_documents_of_all_kinds(tmp_path):
    write_files(tmp_path, FILES)
    data = load_data(tmp_path)
    assert_sound(data)
    assert data.texts == ["first\r\nline\n", "second", "third", ""]
    assert label_lists(data) == [["apple", "beer"], [A, B], ["beer", A], []]
    assert load_data(tmp_path, text="title,text").texts[1:3] == ["second", "T\nthird"]
    assert [text for text, _ in stream_samples(tmp_path)] == data.texts


def test_a_vocabulary_joins_names_and_uris(tmp_path):
    folder = tmp_path / "documents"
    folder.mkdir()
    write_files(folder, FILES)
    vocabulary = write_files(tmp_path, {"v.tsv": f"<{A}>\tapple\tN1\n<{B}>\tbeer\n"})
    assert label_lists(load_data(folder, vocabulary)) == [["apple", "beer"], ["apple", "beer"], ["apple", "beer"], []]
    write_files(folder, {"1.key": "aple\n"})
    with pytest.raises(FileError, match=r"1\.txt: label 'aple' is not in v\.tsv .did you mean 'apple'"):
        load_data(folder, vocabulary)


BAD: dict[str, tuple[dict[str, str | bytes], str]] = {
    "no documents": ({"a.md": "x"}, "holds no documents"),
    "no labels": (
        {"train.txt": "0 0:1"},
        "no document has labels: a.txt must have .*; if this is no folder of doc",
    ),
    "latin": ({"a.txt": b"x\n\xe4"}, r"a\.txt:2: must be text in utf-8, but has the byte 0xe4"),
    "no JSON": ({"a.json": "{"}, r"a\.json: must be a JSON object \("),
    "a list": ({"a.json": "[]"}, r"a\.json: must be a JSON object with named fields; got a list"),
    "no text": ({"a.json": '{"subjects": []}'}, r"a\.json: no field for text .* among subjects"),
    "odd subject": ({"a.json": '{"text": "t", "subjects": [{}]}'}, r"a\.json: a label must be .*; got dict"),
    "half a character": ({"a.json": '{"text": "t", "subjects": [{"uri": "\\ud800"}]}'}, r"a\.json: a label must not"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_folders(tmp_path, name):
    files, message = BAD[name]
    write_files(tmp_path, files)
    with pytest.raises(FileError, match=message):
        load_data(tmp_path)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_pipes_are_no_documents(tmp_path):
    write_files(tmp_path, {"1.txt": "t", "1.key": "a"})
    os.mkfifo(tmp_path / "2.txt")
    assert len(load_data(tmp_path)) == 1


def test_documents_become_records_of_one_file(tmp_path):
    (tmp_path / "in").mkdir()
    write_files(tmp_path, {"in/b.txt": "one", "in/b.key": "x\n", "in/a.txt": "two", "in/a.key": "y\nz\n"})
    convert(tmp_path / "in", tmp_path / "all.csv")
    assert (tmp_path / "all.csv").read_text() == '"text","file","labels"\n"two","a.txt","y|z"\n"one","b.txt","x"\n'
    with pytest.raises(FileError, match=r"can be read, not written; write \.jsonl"):
        convert(tmp_path / "all.csv", tmp_path / "out", to_format="folder")
