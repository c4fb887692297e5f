"""What `save_data` checks before it writes."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from data.samples import assert_same_matrix, csr, numeric_dataset, text_dataset
from tacit.data.dataset import Dataset
from tacit.data.load import load_data
from tacit.data.save import save_data
from tacit.errors import DataError, FileError, ParameterError


def test_returns_the_files_written(tmp_path):
    written = save_data(numeric_dataset(), tmp_path / "a.txt")
    assert [path.name for path in written] == ["a.txt", "labels.txt", "features.txt"]
    assert sorted(tmp_path.iterdir()) == sorted(written)


def test_columns_without_names_need_no_list(tmp_path):
    data = Dataset(csr([[1]]), csr([[1, 0]]), ["0", "1"])
    assert save_data(data, tmp_path / "a.txt") == [tmp_path / "a.txt"]


def test_messy_matrices_are_mended_on_a_copy(tmp_path):
    X = sparse.csr_matrix(([1.0, 2.0, 3.0], [2, 0, 2], [0, 3]), shape=(1, 3))
    data = Dataset(X, csr([[1]]), ["0"])
    save_data(data, tmp_path / "a.txt")
    assert_same_matrix(load_data(tmp_path / "a.txt").X, csr([[2, 0, 4]]))
    assert X.indices.tolist() == [2, 0, 2]


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_features_must_be_finite(tmp_path, value):
    with pytest.raises(DataError, match="X must be finite; it has NaN or infinity"):
        save_data(Dataset(csr([[value]]), csr([[1]]), ["0"]), tmp_path / "a.txt")
    assert list(tmp_path.iterdir()) == []


def test_labels_must_be_0_or_1(tmp_path):
    with pytest.raises(DataError, match="Y must hold 0 and 1 only"):
        save_data(Dataset(csr([[1]]), csr([[2]]), ["0"]), tmp_path / "a.txt")


@pytest.mark.parametrize(
    ("X", "Y", "what"), [((0, 1), (0, 1), "samples"), ((1, 0), (1, 1), "features"), ((1, 1), (1, 0), "labels")]
)
def test_nothing_may_be_empty(tmp_path, X, Y, what):
    data = Dataset(sparse.csr_matrix(X), sparse.csr_matrix(Y), [str(i) for i in range(Y[1])])
    with pytest.raises(DataError, match=f"a data set without {what} cannot be saved"):
        save_data(data, tmp_path / "a.txt")


def test_texts_and_features_are_not_each_other(tmp_path):
    with pytest.raises(ParameterError, match=r"'csv' holds texts but the data set has only features"):
        save_data(numeric_dataset(), tmp_path / "a.csv")
    with pytest.raises(ParameterError, match=r"'xmc' holds features but the data set has only texts"):
        save_data(text_dataset(), tmp_path / "a.txt")


def test_names_of_another_data_set_are_not_overwritten(tmp_path):
    save_data(numeric_dataset(), tmp_path / "train.txt")
    other = Dataset(csr([[1, 0, 0]]), csr([[1, 0, 0, 0]]), list("abcd"))
    with pytest.raises(FileError, match=r"labels\.txt: lists other names already"):
        save_data(other, tmp_path / "test.txt")
    assert not (tmp_path / "test.txt").exists()
    save_data(other, tmp_path / "test.txt", tmp_path / "test-labels.txt")
    assert load_data(tmp_path / "test.txt", tmp_path / "test-labels.txt").label_names == list("abcd")
