"""Texts with labels in JSONL, CSV and TSV files."""

from __future__ import annotations

import csv
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from data.samples import assert_same, assert_sound, csr, write_files
from tacit.data.dataset import Dataset, label_lists
from tacit.data.load import load_data, stream_samples
from tacit.data.save import save_data
from tacit.errors import FileError, ParameterError


def load(folder, content, name="a.jsonl", **options):
    return load_data(write_files(folder, {name: content}), **options)


def jsonl(*records):
    return "".join(json.dumps(record) + "\n" for record in records)


@pytest.mark.parametrize(
    ("records", "options", "texts", "labels"),
    [
        ([{"text": "Hä", "labels": ["b", "a", "b"]}, {"text": "", "labels": []}, {"text": "x"}], {},
         ["Hä", "", "x"], [["a", "b"], [], []]),
        ([{"title": "no", "text": "yes", "tags": ["t"]}], {}, ["yes"], [["t"]]),
        ([{"document": "d", "title": "t", "keywords": ["k"], "subjects": ["s"]}], {}, ["t\nd"], [["s"]]),
        ([{"content": "c", "label": "one, only"}], {}, ["c"], [["one, only"]]),
        ([{"body": "b", "concepts": 12}], {}, ["b"], [["12"]]),
        ([{"title": "T", "body": ["one", ["two", 3]], "more": None, "tags": [7, "x"]}],
         {"text": "title, body,more", "labels": "tags"}, ["T\none\ntwo\n3"], [["7", "x"]]),
        ([{"title": "T", "body": "b", "tags": "x"}], {"text": ["body", "title"]}, ["b\nT"], [["x"]]),
        ([{"text": "b", "subjects": [{"uri": "http://x/a", "label": "a"}, {"label": "wine"}],
           "metadata": {"title": "T", "keywords": "no"}}, {"metadata": {"title": "U"}}],
         {"text": "title,text"}, ["T\nb", "U"], [["http://x/a", "wine"], []]),
        ([{"title": "x", "tags": ["a"]}, {"title": "x", "body": "y", "tags": ["a"]}],
         {"text": "title,body"}, ["x", "x\ny"], [["a"], ["a"]]),  # a record may lack a field
    ],
)  # fmt: skip
def test_fields_of_json(tmp_path, records, options, texts, labels):
    data = load(tmp_path, jsonl(*records), **options)
    assert_sound(data)
    assert data.texts == texts
    assert label_lists(data) == labels


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (["a|b", "c, d"], [["a", "b"], ["c, d"]]),
        (["a; b", "c, d"], [["a", "b"], ["c, d"]]),
        (["a, b ,", ""], [["a", "b"], []]),
        (['["x, y", 2]', "a|b"], [["2", "x, y"], ["a", "b"]]),
    ],
)
@pytest.mark.parametrize("dialect", ["excel", "excel-tab"])
def test_label_cells_of_tables(tmp_path, cells, expected, dialect):
    path = tmp_path / ("a.csv" if dialect == "excel" else "a.tsv")
    with path.open("w", newline="") as file:
        csv.writer(file, dialect).writerows([["text", "labels"], *([f"t{i}", cell] for i, cell in enumerate(cells))])
    assert label_lists(load_data(path)) == expected


A, B = "http://x/a", "http://x/b,c"


@pytest.mark.parametrize(
    ("field", "cells", "expected"),
    [
        ("subject_uris", [f"{A} <{B}>", f"{B}"], [[A, B], [B]]),
        ("subject_uris", ["urn:a urn:b", ""], [["urn:a", "urn:b"], []]),
        ("labels", [f"<{A}> <{B}>", f"{A}"], [[A, B], [A]]),
        ("labels", [f"{A}|{B}", f"{A}, {B}"], [[A, B], [A, B]]),
        ("labels", [f"{A};{B}", f"{A},{B}"], [[A, B], [A, B]]),
        ("labels", [f"{A} {B}", "a name, another"], [["c", f"{A} http://x/b"], ["a name", "another"]]),
        ("subject_labels", ["red wine|beer", "beer"], [["beer", "red wine"], ["beer"]]),
    ],
)
def test_uris_in_cells_of_tables(tmp_path, field, cells, expected):
    rows = "".join(f'{i},"{cell}",t{i},k\n' for i, cell in enumerate(cells))
    data = load(tmp_path, f"document_id,{field},text,keywords\n{rows}", "a.csv")
    assert label_lists(data) == expected
    assert data.texts == ["t0", "t1"]


def test_cells_may_hold_line_ends_and_be_long(tmp_path):
    long = "word " * 60_000
    before = csv.field_size_limit()
    data = load(tmp_path, f'text,labels\r\n"two\r\nlines, ""quoted""",a\r\n{long},b\r\n\r\n', "a.csv")
    assert data.texts == ['two\r\nlines, "quoted"', long]
    assert csv.field_size_limit() == before


def test_uris_go_out_as_they_came(tmp_path):
    data = load(tmp_path, f"text,subject_uris\nt,<{A}> http://x/b\n", "a.csv")
    save_data(data, tmp_path / "b.csv")
    assert (tmp_path / "b.csv").read_text() == f'"text","labels"\n"t","{A}|http://x/b"\n'
    odd = Dataset(None, csr([[1, 1]]), ["<b>", "see a://b c://d"], texts=["t"])
    save_data(odd, tmp_path / "c.csv")
    assert_same(load_data(tmp_path / "c.csv"), odd)


def test_label_names_of_the_training_file_fix_the_columns(tmp_path):
    names = write_files(tmp_path, {"labels.txt": "zebra\napple\nmango\n"})
    data = load(tmp_path, jsonl({"text": "t", "labels": ["apple"]}), labels_path=names)
    assert data.label_names == ["zebra", "apple", "mango"]
    assert data.Y.indices.tolist() == [1]
    assert load(tmp_path, jsonl({"text": "t"}), labels_path=names).Y.shape == (1, 3)
    with pytest.raises(FileError, match=r"a\.jsonl:2: label 'appel' is not in labels\.txt .did you mean 'apple'"):
        load(tmp_path, jsonl({"text": "t"}, {"text": "t", "labels": ["appel"]}), labels_path=names)


printable = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
names = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8)


@pytest.mark.parametrize("name", ["a.jsonl", "a.jsonl.gz", "a.csv", "a.tsv.gz"])
@given(st.lists(st.tuples(printable, st.sets(names, max_size=3)), min_size=1, max_size=5))
def test_round_trip(tmp_path_factory, name, samples):
    label_names = sorted(set().union(*(labels for _, labels in samples)) | {"x"})
    samples = [(text.replace("\0", ""), labels) for text, labels in samples] + [("last", {"x"})]
    label_names = [label.replace("\0", "0") for label in label_names]
    if len(set(label_names)) < len(label_names):
        return
    rows = [[float(label in {tag.replace("\0", "0") for tag in tags}) for label in label_names] for _, tags in samples]
    data = Dataset(None, csr(rows), sorted(label_names), texts=[text for text, _ in samples])
    path = tmp_path_factory.mktemp("text") / name
    save_data(data, path)
    back = load_data(path)
    assert back.texts == data.texts
    assert [set(row) for row in label_lists(back)] == [set(row) for row in label_lists(data)]


BAD = {
    "no JSON": ("a.jsonl", '{"text": "a", "labels": []}\n{"text": \n', r":2: must be a JSON object \("),
    "a list": ("a.jsonl", "[1]\n", r":1: must be a JSON object with named fields; got a list"),
    "deep": ("a.jsonl", '{"text":' + "[" * 100_000 + "\n", r":1: must be a JSON object"),
    "no text": ("a.jsonl", '{"txt": "a"}\n', r":1: no field for text \(.*\) among txt; name it with text="),
    "text lacks later": ("a.jsonl", '{"text": "a", "tags": ["a"]}\n{"tetx": "a"}\n', r":2: has no field 'text'"),
    "odd text": ("a.jsonl", '{"text": {"a": 1}}\n', r":1: a text must be a string or a list of strings; got dict"),
    "half text": ("a.jsonl", '{"text": "\\ud800"}\n', r":1: the text has half a character"),
    "odd label": (
        "a.jsonl",
        '{"text": "a", "labels": [1.5]}\n',
        r":1: a label must be a string or whole number, or an object with uri or label; got float",
    ),
    "true label": ("a.jsonl", '{"text": "a", "labels": [true]}\n', r":1: a label must be a string .*; got bool"),
    "odd subject": ("a.jsonl", '{"text": "a", "subjects": [{"url": "u"}]}\n', r":1: a label must be .*; got dict"),
    "empty label": ("a.jsonl", '{"text": "a", "labels": [""]}\n', r":1: a label must not be empty"),
    "no labels": ("a.jsonl", '{"text": "a"}\n', r"jsonl: no record has a field for labels \(labels, tags"),
    "no positives": ("a.jsonl", '{"text": "a", "labels": []}\n', r"jsonl: no sample has a label"),
    "blank": ("a.jsonl", "\n\n", r"jsonl: the file has no rows"),
    "latin": (
        "a.jsonl",
        b'{"text": "a"}\n{"text": "\xe4"}\n',
        r":2: must be text in utf-8, but has the byte 0xe4",
    ),
    "ragged": ("a.csv", "text,labels\na,b\na,b,c\n", r":3: must have 2 cells, as the header; got 3"),
    "open quote": ("a.csv", 'text,labels\nx,y\n"a,b\nmore\n', r":3: unexpected end of data; quote cells"),
    "text behind quote": ("a.csv", 'text,labels\n"a"b,c\n', r":2: ',' expected after '\"'; quote cells"),
    "column twice": ("a.csv", "text,text\na,b\n", r":1: the first line has the column 'text' twice"),
    "only a header": ("a.csv", "text,labels\n", r"csv: the file has no rows"),
    "open list": ("a.csv", 'text,labels\na,"[1"\n', r":2: labels that open with \[ must be a JSON list"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_files(tmp_path, name):
    file_name, content, message = BAD[name]
    with pytest.raises(FileError, match=message):
        load(tmp_path, content, file_name)


@pytest.mark.parametrize(
    ("name", "content", "options", "message"),
    [
        ("a.jsonl", '{"headline": "a", "topics": ["x"]}', {"text": "headlines"}, ":1: has no field 'headlines' .did"),
        ("a.jsonl", '{"headline": "a", "topics": ["x"]}', {"text": "headline", "labels": "topic"}, "no field 'topic'"),
        ("a.jsonl", '{"title": "a", "tags": ["x"]}', {"text": "title,boddy"}, "has no field 'boddy'"),
        (
            "a.csv",
            "title,body,tags\nx,y,a\n",
            {"text": "titel,body"},
            "no field .titel.*; the fields are title, body",
        ),
        ("a.csv", "text,tag1\nx,y\n", {"labels": "tag1,tag4"}, "no field 'tag4'"),
    ],
)
def test_each_field_that_is_named_must_exist(tmp_path, name, content, options, message):
    with pytest.raises(FileError, match=message):
        load(tmp_path, content, name, **options)
    if name == "a.csv" and "text" in options:
        with pytest.raises(FileError, match=message):
            list(stream_samples(tmp_path / name, text=options["text"]))


def test_fields_are_for_text_files(tmp_path):
    with pytest.raises(ParameterError, match=r"text= and labels= name fields of text files; a\.txt is read as xmc"):
        load(tmp_path, "1 1 1\n0 0:1\n", "a.txt", text="title")


def test_a_line_that_names_the_delimiter_comes_before_the_header(tmp_path):
    """As Excel writes it: the header alone would be split at its commas."""
    dataset = load(tmp_path, "\ufeffsep=;\r\ntext;labels;a,b,c\r\nx;l;1\r\n", "a.csv")
    assert (dataset.texts, label_lists(dataset)) == (["x"], [["l"]])
    with pytest.raises(FileError, match="a.csv:3: must have 3 cells"):
        load(tmp_path, "sep=;\ntext;labels;a,b,c\nx;l\n", "a.csv")
