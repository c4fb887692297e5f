"""What `save_data` checks before it writes, and conversions from each format to each other."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from data.samples import assert_same, assert_same_matrix, csr, formats, numeric_dataset, text_dataset, write_files
from tacit.data.dataset import Dataset, label_lists
from tacit.data.load import load_data
from tacit.data.save import convert, format_to_write, save_data
from tacit.errors import DataError, FileError, ParameterError


def test_returns_the_files_written(tmp_path):
    written = save_data(numeric_dataset(), tmp_path / "a.txt")
    assert [path.name for path in written] == ["a.txt", "labels.txt", "features.txt"]
    assert sorted(tmp_path.iterdir()) == sorted(written)


def test_messy_matrices_are_mended_on_a_copy(tmp_path):
    X = sparse.csr_matrix(([1.0, 2.0, 3.0], [2, 0, 2], [0, 3]), shape=(1, 3))
    data = Dataset(X, csr([[1]]), ["0"])
    save_data(data, tmp_path / "a.txt")
    assert_same_matrix(load_data(tmp_path / "a.txt").X, csr([[2, 0, 4]]))
    assert X.indices.tolist() == [2, 0, 2]


@pytest.mark.parametrize(
    ("X", "Y", "what"), [((0, 1), (0, 1), "samples"), ((1, 0), (1, 1), "features"), ((1, 1), (1, 0), "labels")]
)
def test_nothing_may_be_empty(tmp_path, X, Y, what):
    data = Dataset(sparse.csr_matrix(X), sparse.csr_matrix(Y), [str(i) for i in range(Y[1])])
    with pytest.raises(DataError, match=f"a data set without {what} cannot be saved"):
        save_data(data, tmp_path / "a.txt")


def test_texts_and_features_are_not_each_other(tmp_path):
    with pytest.raises(ParameterError, match=r"'csv' holds texts"):
        save_data(numeric_dataset(), tmp_path / "a.csv")
    with pytest.raises(ParameterError, match=r"'xmc' holds features"):
        save_data(text_dataset(), tmp_path / "a.txt")


def test_names_of_another_data_set_are_not_overwritten(tmp_path):
    save_data(numeric_dataset(), tmp_path / "train.txt")
    other = Dataset(csr([[1, 0, 0]]), csr([[1, 0, 0, 0]]), list("abcd"))
    with pytest.raises(FileError, match=r"labels\.txt: lists other names already"):
        save_data(other, tmp_path / "test.txt")
    assert not (tmp_path / "test.txt").exists()
    save_data(other, tmp_path / "test.txt", tmp_path / "test-labels.txt")
    assert load_data(tmp_path / "test.txt", tmp_path / "test-labels.txt").label_names == list("abcd")


NUMERIC, TEXT = formats(is_text=False), formats(is_text=True)
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
    assert {path.name for path in written} >= {"labels.txt", "features.txt"}


def test_fields_are_kept(tmp_path):
    source = write_files(tmp_path, {"a.csv": "id;headline;topics\n7;red apple;fruit|red\n"})
    convert(source, tmp_path / "a.jsonl", text="headline", labels="topics")
    written = (tmp_path / "a.jsonl").read_text()
    assert written == '{"id": "7", "headline": "red apple", "topics": ["fruit", "red"]}\n'
    convert(tmp_path / "a.jsonl", tmp_path / "a.tsv", text="headline", labels="topics")
    assert (tmp_path / "a.tsv").read_text() == '"id"\t"headline"\t"topics"\n"7"\t"red apple"\t"fruit|red"\n'
    convert(source, tmp_path / "a.ft", text="headline", labels="topics", to_format="fasttext")
    assert (tmp_path / "a.ft").read_text() == "__label__fruit __label__red red apple\n"


@pytest.mark.parametrize(
    ("name", "expected"),
    [("a.txt", "xmc"), ("a.txt.gz", "xmc"), ("t_X_Xf.txt", "xmc-pair"), ("a.tsv", "tsv"), ("a.libsvm", "libsvm")],
)
def test_the_format_to_write_follows_from_the_name(tmp_path, name, expected):
    assert format_to_write(tmp_path / name).name == expected
