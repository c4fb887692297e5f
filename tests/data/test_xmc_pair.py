"""XMC as a pair of files."""

from __future__ import annotations

import numpy as np
import pytest

from data.samples import assert_same, assert_sound, numeric_dataset, write_files
from tacit.data.load import load_data
from tacit.data.save import save_data
from tacit.errors import FileError, ParameterError

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


def test_any_names_if_both_are_given(tmp_path):
    write_files(tmp_path, {"a.txt": FEATURES, "b.txt": LABELS})
    assert load_data(tmp_path / "a.txt", tmp_path / "b.txt").Y.nnz == 3


def test_labels_path_may_also_name_the_labels(tmp_path):
    names = write_files(tmp_path, {"names.txt": "a\nb\nc\nd\n"})
    assert load_data(pair(tmp_path), names).label_names == list("abcd")


def test_round_trip_keeps_known_negatives(tmp_path):
    data = numeric_dataset()
    data.Y.data[0] = 0
    for path in (tmp_path / "tst_X_Xf.txt", tmp_path / "zip_X_Xf.txt.gz"):
        written = save_data(data, path)
        assert_same(load_data(path), data)
        assert_same(load_data(written[1]), data)


def test_a_label_named_twice_counts_once(tmp_path):
    assert load_data(pair(tmp_path, labels="2 4\n1:1 1:1\n\n")).Y.data.tolist() == [1.0]


@pytest.mark.parametrize(
    ("features", "labels", "message"),
    [
        (FEATURES, "3 4\n\n\n\n", r"trn_X_Y\.txt:1: has 3 samples, but trn_X_Xf\.txt has 2; they must agree"),
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


def test_a_missing_half_is_asked_for(tmp_path):
    path = write_files(tmp_path, {"trn_X_Xf.txt": FEATURES})
    with pytest.raises(FileError, match=r"half of a pair; .* the labels as labels_path"):
        load_data(path)


def test_a_name_that_says_nothing_is_refused(tmp_path):
    with pytest.raises(ParameterError, match=r"must contain '_X_Xf'.*got 'a\.txt'"):
        save_data(numeric_dataset(), tmp_path / "a.txt", format="xmc-pair")
    assert list(tmp_path.iterdir()) == []
