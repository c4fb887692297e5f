"""From each format to each other."""

from __future__ import annotations

import numpy as np
import pytest

from data.samples import assert_same, numeric_dataset, text_dataset, write_files
from tacit.data.convert import convert
from tacit.data.dataset import label_lists
from tacit.data.formats import FORMATS
from tacit.data.load import load_data
from tacit.data.save import save_data
from tacit.errors import FileError, ParameterError

NUMERIC = [entry.name for entry in FORMATS.values() if not entry.is_text]
TEXT = [entry.name for entry in FORMATS.values() if entry.is_text]
SOURCE, TARGET = "in_X_Xf.gz", "out_X_Xf"


@pytest.mark.parametrize("from_format", NUMERIC)
@pytest.mark.parametrize("to_format", NUMERIC)
def test_numeric_to_numeric(tmp_path, from_format, to_format):
    data = numeric_dataset()
    save_data(data, tmp_path / SOURCE, format=from_format)
    written = convert(tmp_path / SOURCE, tmp_path / TARGET, from_format=from_format, to_format=to_format)
    assert_same(load_data(written[0], format=to_format), data)


@pytest.mark.parametrize("from_format", TEXT)
@pytest.mark.parametrize("to_format", TEXT)
def test_text_to_text(tmp_path, from_format, to_format):
    data, names = text_dataset(), tmp_path / "names.txt"
    save_data(data, tmp_path / SOURCE, names, format=from_format)
    written = convert(
        tmp_path / SOURCE, tmp_path / TARGET, from_format=from_format, to_format=to_format, labels_path=names
    )
    back = load_data(written[0], format=to_format)
    assert back.texts == data.texts
    assert [len(row) for row in label_lists(back)] == [len(row) for row in label_lists(data)]


@pytest.mark.parametrize("to_format", NUMERIC)
def test_text_to_numeric_writes_its_vocabulary(tmp_path, to_format):
    save_data(text_dataset(), tmp_path / "in.jsonl")
    written = convert(tmp_path / "in.jsonl", tmp_path / TARGET, to_format=to_format)
    data = load_data(written[0], format=to_format)
    assert data.label_names == text_dataset().label_names
    assert "apple" in data.feature_names
    np.testing.assert_allclose(np.sqrt(data.X.multiply(data.X).sum(axis=1)), 1, rtol=1e-5)
    if to_format != "arff":
        assert {path.name for path in written} >= {"labels.txt", "features.txt"}


def test_fields_are_passed_on(tmp_path):
    source = write_files(tmp_path, {"a.csv": "headline,topics\nred apple,fruit|red\n"})
    convert(source, tmp_path / "a.jsonl", text="headline", labels="topics")
    assert (tmp_path / "a.jsonl").read_text() == '{"text": "red apple", "labels": ["fruit", "red"]}\n'


def test_numeric_to_text_is_refused(tmp_path):
    save_data(numeric_dataset(), tmp_path / "a.svm")
    before = sorted(tmp_path.iterdir())
    with pytest.raises(ParameterError, match=r"holds features and 'jsonl' holds texts: texts cannot be made"):
        convert(tmp_path / "a.svm", tmp_path / "b.jsonl")
    assert sorted(tmp_path.iterdir()) == before


def test_bad_input_writes_nothing(tmp_path):
    write_files(tmp_path, {"a.txt": "1 2 3\n9 0:1\n"})
    with pytest.raises(FileError, match=r"a\.txt:2: label ids"):
        convert(tmp_path / "a.txt", tmp_path / "b.svm")
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]
