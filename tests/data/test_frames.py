"""DataFrames of pandas, polars and pyarrow, and Parquet files; how these keep their columns is in test_dataset.py."""

from __future__ import annotations

import gzip
import sys

import numpy as np
import pytest

import tacit
from data.samples import needs_pyarrow
from tacit.data.dataset import label_lists
from tacit.data.frames import is_frame
from tacit.data.load import load_data, stream_samples
from tacit.errors import FileError, MissingExtraError

COLUMNS = {
    "n": [1, 2, 3],
    "title": ["Red", "Fast", None],
    "body": ["apple", "car", "pear"],
    "tags": [["fruit", "red|x"], [], None],
    "cells": ["fruit|red", "", None],
}


def frame_of(library: str):
    if library == "pyarrow":
        return pytest.importorskip("pyarrow").table(COLUMNS)
    return pytest.importorskip(library).DataFrame(COLUMNS)


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_rows_are_records(library):
    frame = frame_of(library)
    assert is_frame(frame)
    assert not is_frame(np.zeros((2, 2)))
    data = tacit.load_data(frame, text="title,body", labels="tags")
    assert data.texts == ["Red\napple", "Fast\ncar", "pear"]
    assert label_lists(data) == [["fruit", "red|x"], [], []]
    assert label_lists(tacit.load_data(frame, labels="cells")) == [["fruit", "red"], [], []]
    assert tacit.load_data(frame).texts == data.texts


def test_a_missing_text_is_blank_as_in_csv():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"text": ["apple", None, float("nan")], "labels": ["x", "y", "y"]})
    assert tacit.load_data(frame).texts == ["apple", "", ""]
    arrays = pandas.DataFrame({"text": ["a", "b", "c"], "labels": [np.array(["x"]), ["y"], float("nan")]})
    assert label_lists(tacit.load_data(arrays[arrays["text"] != "b"])) == [["x"], []]
    tagger = tacit.Tagger("Popularity", calibrate=False).fit(frame[["text"]], frame["labels"])
    assert tagger.suggest(frame[["text"]])[1:] == [[], []]


def test_messages_count_rows_from_1():
    pandas = pytest.importorskip("pandas")
    with pytest.raises(FileError, match="DataFrame: has the column 'text' twice; name each column once"):
        tacit.load_data(pandas.DataFrame([["a", "b", "x"]], columns=["text", "text", "labels"]))
    with pytest.raises(FileError, match="DataFrame:2: a text must be a string or a list of strings; got dict"):
        tacit.load_data(pandas.DataFrame({"text": ["a", {}], "labels": ["x", "y"]}))
    with pytest.raises(FileError, match="DataFrame:1: no field for text .* among titel, labels"):
        tacit.load_data(pandas.DataFrame({"titel": ["a"], "labels": ["x"]}))


def test_only_what_is_needed_is_read():
    """A wide frame costs no more than its texts and labels."""
    pandas = pytest.importorskip("pandas")

    class Unread:
        def to_list(self):
            raise AssertionError("read for nothing")

    class Wide:
        columns = ("text", "labels", "vector")

        def __len__(self):
            return 2

        def __dataframe__(self):
            raise NotImplementedError

        def __getitem__(self, name):
            return Unread() if name == "vector" else pandas.Series(["a", "b"])

    assert tacit.load_data(Wide()).texts == ["a", "b"]


def write(path, columns):
    import pyarrow as pa
    from pyarrow import parquet

    parquet.write_table(pa.table(columns), path)
    return path


@needs_pyarrow
def test_records_in_blocks(tmp_path):
    n_rows = 300
    columns = {"text": [f"text {n}" for n in range(n_rows)], "labels": [[f"l{n % 7}"] for n in range(n_rows)]}
    path = write(tmp_path / "a.parquet", columns)
    data = load_data(path)
    assert data.texts == columns["text"]
    assert label_lists(data) == columns["labels"]
    assert [fields["text"] for _, fields in stream_samples(path)] == columns["text"]
    (tmp_path / "b.parquet.gz").write_bytes(gzip.compress(path.read_bytes()))
    (tmp_path / "plain").write_bytes(path.read_bytes())  # known by its first bytes
    assert load_data(tmp_path / "b.parquet.gz").texts == load_data(tmp_path / "plain").texts == columns["text"]


@needs_pyarrow
def test_rows_are_counted_from_1(tmp_path):
    path = write(tmp_path / "a.parquet", {"text": ["a"] * 200, "labels": [["x"]] * 199 + [[""]]})
    with pytest.raises(FileError, match=r"a\.parquet:200: a label must not be empty"):
        load_data(path)
    with pytest.raises(FileError, match="a text must be a string or a list of strings; got bytes"):
        load_data(write(path, {"text": [b"a"], "labels": ["x"]}))


@needs_pyarrow
def test_damaged_and_hostile_files(tmp_path):
    path = write(tmp_path / "a.parquet", {"text": ["a"], "labels": ["x"]})
    path.write_bytes(path.read_bytes()[:-5])
    with pytest.raises(FileError, match=r"a\.parquet: is not a whole Parquet file .*write it again"):
        load_data(path)
    import pyarrow as pa

    repeated = pa.DictionaryArray.from_arrays(pa.array([0] * 200), pa.array(["a" * 400_000]))
    for bomb in ({"text": ["a" * 400_000] * 200}, {"text": ["a"], "labels": [[None] * 1_000_000]}, {"text": repeated}):
        with pytest.raises(FileError, match="packed bytes become more than 500 times as many.*raise max_expansion"):
            load_data(write(tmp_path / "bomb.parquet", bomb))


def test_without_pyarrow(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    (tmp_path / "a.parquet").write_bytes(b"PAR1")
    with pytest.raises(MissingExtraError, match=r"a Parquet file needs the extra 'parquet'; .*tacit-labels\[parquet\]"):
        load_data(tmp_path / "a.parquet")
