"""XMC in one file and as a pair."""

from __future__ import annotations

import gzip

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tacit.data.files
from data.samples import assert_same, assert_same_matrix, assert_sound, csr, numeric_dataset, write_files
from tacit.data.dataset import Dataset
from tacit.data.load import load_data
from tacit.data.save import save_data
from tacit.errors import FileError, ParameterError


def load(tmp_path, text, **options):
    return load_data(write_files(tmp_path, {"train.txt": text}), **options)


def test_reads_labels_and_features(tmp_path):
    data = load(tmp_path, "3 4 3\n0,2 1:0.5 3:2\n 0:1\n1\n")
    assert_sound(data)
    np.testing.assert_array_equal(data.X.toarray(), [[0, 0.5, 0, 2], [1, 0, 0, 0], [0, 0, 0, 0]])
    np.testing.assert_array_equal(data.Y.toarray(), [[1, 0, 1], [0, 0, 0], [0, 1, 0]])
    assert data.label_names == ["0", "1", "2"]
    assert data.feature_names is None
    assert data.texts is None


@pytest.mark.parametrize(
    "text",
    [
        "2 3 2\r\n0 1:1 2:2\r\n1 0:3\r\n",
        "2\t3\t2\n0\t1:1\t2:2\n1\t0:3\n",
        "\ufeff2 3 2\n0 1:1 2:2\n1 0:3\n",
        "2 3 2\n0 2:2 1:1\n1 0:3",
        "2 3 2\n0 1:1 2:1 2:1\n1,1 0:1 0:2\n",
        "2 3 2\n0 1:1 2:2 \n1 0:3\n\n \n",
        " 2 3 2 \n0  1:1.0 2:+2e0\n01 00:3.\n",
    ],
    ids=["crlf", "tabs", "byte order mark", "unsorted, no line end", "duplicates", "blank end", "odd spelling"],
)
def test_harmless_variations_read_the_same(tmp_path, text):
    data = load(tmp_path, text)
    assert_sound(data)
    assert_same_matrix(data.X, csr([[0, 1, 2], [3, 0, 0]]))
    assert_same_matrix(data.Y, csr([[1, 0], [0, 1]]))


def test_blank_lines_between_rows_are_samples(tmp_path):
    data = load(tmp_path, "3 1 1\n0 0:1\n\n0 0:2\n")
    assert np.diff(data.Y.indptr).tolist() == [1, 0, 1]


def test_names_beside_the_file_are_used_if_they_fit(tmp_path):
    write_files(tmp_path, {"labels.txt": "red\ngreen\n", "features.txt": "one\ntwo\nthree\n"})
    data = load(tmp_path, "1 2 2\n0 1:1\n")
    assert data.label_names == ["red", "green"]
    assert data.feature_names is None


@given(
    st.lists(
        st.tuples(st.integers(0, 6), st.integers(0, 4), st.floats(width=32, allow_nan=False, allow_infinity=False))
    ),
    st.lists(st.tuples(st.integers(0, 6), st.integers(0, 2))),
)
def test_round_trip(tmp_path_factory, entries, tags):
    X, Y = np.zeros((7, 5), np.float32), np.zeros((7, 3), np.float32)
    for row, column, value in entries:
        X[row, column] = value
    for row, column in tags:
        Y[row, column] = 1
    data = Dataset(csr(X), csr(Y), ["x", "y", "z"])
    path = tmp_path_factory.mktemp("xmc") / "a.txt.gz"
    save_data(data, path)
    assert_same(load_data(path), data)


@pytest.mark.parametrize("packed", [False, True])
def test_blocks_of_any_size_give_the_same(tmp_path, monkeypatch, packed):
    path = tmp_path / ("a.txt.gz" if packed else "a.txt")
    save_data(numeric_dataset(), path)
    for size in (1, 7, 40):
        monkeypatch.setattr(tacit.data.files, "BLOCK_BYTES", size)
        assert_same(load_data(path), numeric_dataset())
    monkeypatch.setattr(tacit.data.files, "BLOCK_BYTES", 8)
    opener = gzip.open if packed else open
    with opener(path, "at") as file:
        file.write("0 0:1\n")
    with pytest.raises(FileError, match=r":7: the header announces 5 rows, but here is another one"):
        load_data(path)


BAD = {
    "no header": ("0 0:1\n1 1:1\n", 1, "must be the numbers of samples, features and labels"),
    "header negative": ("-1 2 2\n0 0:1\n", 1, "must be the numbers of samples"),
    "no labels": ("1 2 0\n 0:1\n", 1, "number of labels must be in 1"),
    "huge header": ("1 99999999999999999999 2\n0 0:1\n", 1, "number of features must be in 1"),
    "too few rows": ("3 2 2\n0 0:1\n1 1:1\n", 3, "announces 3 rows, but the file ends after 2"),
    "too many rows behind blanks": ("1 2 2\n0 0:1\n\n\n1\n", 5, "announces 1 rows, but here is another one"),
    "feature too large": ("2 2 2\n0 0:1\n1 2:1\n", 3, r"feature ids must be in 0 … 1; got '2:1'"),
    "label too large": ("2 2 2\n0 0:1\n2 1:1\n", 3, r"label ids must be in 0 … 1; got '2'"),
    "negative label": ("1 2 2\n-1 0:1\n", 2, "label ids must not be negative; got '-1'"),
    "no number": ("1 2 2\n0 0:one\n", 2, "values must be numbers; got '0:one'"),
    "nan": ("1 2 2\n0 0:NaN\n", 2, "values must be finite in 32-bit floating point; got '0:NaN'"),
    "much too large": ("1 2 2\n0 0:1e400\n", 2, "values must be finite"),
    "just too large": ("1 2 2\n0 0:3.402823567797337e38\n", 2, "values must be finite"),
    "sum too large": ("1 2 2\n0 0:3e38 0:3e38\n", None, "values of one feature sum to infinity in sample 0"),
    "no colon": ("1 2 2\n0 0 1:1\n", 2, "must be feature:value, as in 3:0.5; got '0'"),
    "cut off": ("1 2 2\n0 1:", 2, r"a value must follow the colon .is the file cut off.*got '1:'"),
    "binary": (b"1 2 2\n\x00\xff\xfe\x80\n", 2, r"labels must be whole numbers separated by commas; got '\\x00"),
}


@pytest.mark.parametrize("name", BAD)
@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gzip"])
def test_bad_files_are_named_by_line(tmp_path, name, packed):
    content, line, message = BAD[name]
    content = content if isinstance(content, bytes) else content.encode()
    path = tmp_path / ("a.txt.gz" if packed else "a.txt")
    path.write_bytes(gzip.compress(content) if packed else content)
    place = "" if line is None else f":{line}"
    with pytest.raises(FileError, match=rf"{path.name}{place}: .*{message}") as caught:
        load_data(path, format="xmc")
    assert "\n" not in str(caught.value)
    assert caught.value.line == line


FEATURES = "2 3\n0:0.5 2:1\n\n"
LABELS = "2 4\n1:1 3:1\n0:1\n"


def pair(tmp_path, features=FEATURES, labels=LABELS):
    return write_files(tmp_path, {"trn_X_Xf.txt": features, "trn_X_Y.txt": labels})


def test_either_file_finds_the_other(tmp_path):
    pair(tmp_path)
    for name in ("trn_X_Xf.txt", "trn_X_Y.txt"):
        data = load_data(tmp_path / name)
        assert_sound(data)
        np.testing.assert_array_equal(data.X.toarray(), [[0.5, 0, 1], [0, 0, 0]])
        np.testing.assert_array_equal(data.Y.toarray(), [[0, 1, 0, 1], [1, 0, 0, 0]])


def test_round_trip_keeps_known_negatives(tmp_path):
    data = numeric_dataset()
    data.Y.data[0] = 0
    for path in (tmp_path / "tst_X_Xf.txt", tmp_path / "zip_X_Xf.txt.gz"):
        written = save_data(data, path)
        assert_same(load_data(path), data)
        assert_same(load_data(written[1]), data)


@pytest.mark.parametrize(
    ("features", "labels", "message"),
    [
        (FEATURES, "3 4\n\n\n\n", r"trn_X_Y\.txt: has 3 samples, but trn_X_Xf\.txt has 2; they must agree"),
        (FEATURES, "2 4\n1:1 4:1\n\n", r"trn_X_Y\.txt:2: label ids must be in 0 … 3; got '4:1'"),
        (FEATURES, "2 4\n\n1:0.5\n", r"trn_X_Y\.txt:3: a label must have the value 1 .* got 0\.5"),
        (FEATURES, "2 4\n1:1\n", r"trn_X_Y\.txt:2: the header announces 2 rows, but the file ends after 1"),
        ("2 3\n1,2 0:1\n\n", LABELS, r"trn_X_Xf\.txt:2: must be feature:value, as in 3:0\.5; got '1,2'"),
        ("2 3\n0:3e38 0:3e38\n\n", LABELS, r"trn_X_Xf\.txt: the values of one feature sum to infinity"),
        ("2 0\n\n\n", LABELS, r"trn_X_Xf\.txt:1: the number of features must be in 1"),
    ],
)
def test_bad_pairs(tmp_path, features, labels, message):
    with pytest.raises(FileError, match=message):
        load_data(pair(tmp_path, features, labels))


def test_a_name_that_says_nothing_is_refused(tmp_path):
    with pytest.raises(ParameterError, match=r"must contain '_X_Xf'.*got 'a\.txt'"):
        save_data(numeric_dataset(), tmp_path / "a.txt", format="xmc-pair")
    assert list(tmp_path.iterdir()) == []
