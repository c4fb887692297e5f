"""DataFrames of pandas, polars and pyarrow."""

from __future__ import annotations

import numpy as np
import pytest

import tacit
from tacit.data.dataset import label_lists
from tacit.data.frames import is_frame
from tacit.errors import FileError

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
    data = tacit.load_data(frame, text="title,body", labels="tags")
    assert data.texts == ["Red\napple", "Fast\ncar", "pear"]
    assert label_lists(data) == [["fruit", "red|x"], [], []]
    assert label_lists(tacit.load_data(frame, labels="cells")) == [["fruit", "red"], [], []]
    assert tacit.load_data(frame).texts == data.texts


def test_rows_of_a_selection_and_arrays_as_lists():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"text": ["a", "b", "c"], "labels": [np.array(["x"]), ["y"], float("nan")]})
    data = tacit.load_data(frame[frame["text"] != "b"])
    assert (data.texts, label_lists(data)) == (["a", "c"], [["x"], []])


def test_a_missing_text_is_blank_as_in_csv():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"text": ["apple", None, float("nan")], "labels": ["x", "y", "y"]})
    assert tacit.load_data(frame).texts == ["apple", "", ""]
    tagger = tacit.Tagger("Popularity", calibrate=False).fit(frame[["text"]], frame["labels"])
    assert tagger.suggest(frame[["text"]])[1:] == [[], []]


def test_messages_count_rows_from_1():
    pandas = pytest.importorskip("pandas")
    with pytest.raises(FileError, match="DataFrame:2: a text must be a string or a list of strings; got dict"):
        tacit.load_data(pandas.DataFrame({"text": ["a", {}], "labels": ["x", "y"]}))
    with pytest.raises(FileError, match="DataFrame:1: no field for text .* among titel, labels"):
        tacit.load_data(pandas.DataFrame({"titel": ["a"], "labels": ["x"]}))


def test_a_column_twice():
    pandas = pytest.importorskip("pandas")
    with pytest.raises(FileError, match="DataFrame: has the column 'text' twice; name each column once"):
        tacit.load_data(pandas.DataFrame([["a", "b", "x"]], columns=["text", "text", "labels"]))


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


def test_columns_are_written(tmp_path):
    frame = frame_of("pandas")
    tacit.save_data(tacit.load_data(frame, labels="cells", keep_columns=True), tmp_path / "a.csv")
    assert (tmp_path / "a.csv").read_text().splitlines()[1] == '"1","Red","apple","[""fruit"", ""red|x""]","fruit|red"'


def test_what_is_no_frame():
    assert not any(map(is_frame, ("a.csv", ["a"], np.zeros((2, 2)), None)))
