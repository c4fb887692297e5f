"""Multilabel svmlight files."""

from __future__ import annotations

import numpy as np
import pytest

from data.samples import assert_sound, write_files
from tacit.data.load import load_data
from tacit.errors import FileError


def load(tmp_path, text, **options):
    return load_data(write_files(tmp_path, {"train.svm": text}), **options)


def test_the_id_0_tells_how_ids_count(tmp_path):
    from_0 = load(tmp_path, "0,2 0:1 2:5\n1 1:2\n")
    from_1 = load(tmp_path, "1,3 1:1 3:5\n2 2:2\n")
    mixed = load(tmp_path, "0,2 1:1 3:5\n1 2:2\n")
    for data in (from_0, from_1, mixed):
        assert_sound(data)
        np.testing.assert_array_equal(data.X.toarray(), [[1, 0, 5], [0, 2, 0]])
        np.testing.assert_array_equal(data.Y.toarray(), [[1, 0, 1], [0, 1, 0]])
    assert from_1.label_names == ["1", "2", "3"]
    assert mixed.label_names == ["0", "1", "2"]


@pytest.mark.parametrize(
    ("name", "n_features", "n_labels"),
    [("svmlight", 2, 2), ("svmlight0", 3, 3), ("svmlight1", 2, 2), ("libsvm", 2, 3)],
)
def test_counting_can_be_forced(tmp_path, name, n_features, n_labels):
    data = load(tmp_path, "1 1:1\n2 2:1\n", format=name)
    assert (data.X.shape[1], data.n_labels) == (n_features, n_labels)


def test_comments_and_blank_lines(tmp_path):
    data = load(tmp_path, "# made by hand\n\n0 0:1 # first\n \n1:3 # no labels\n")
    assert data.X.toarray().tolist() == [[1, 0], [0, 0], [0, 3]]
    assert np.diff(data.Y.indptr).tolist() == [1, 0, 0]


def test_label_names_fix_the_columns(tmp_path):
    names = write_files(tmp_path, {"names.txt": "a\nb\nc\n"})
    data = load(tmp_path, "0 0:1\n1 1:1\n", labels_path=names)
    assert data.label_names == ["a", "b", "c"]
    with pytest.raises(FileError, match=r"names\.txt: names 3 columns, but train\.svm has 4"):
        load(tmp_path, "0 0:1\n3 1:1\n", labels_path=names)


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("1 0:1\n", {"format": "svmlight1"}, r":1: feature ids must be in 1 … \d+; got '0:1'"),
        ("1 1:1\n\n0 1:1\n", {"format": "svmlight1"}, r":3: label ids must be in 1 … \d+; got '0'"),
        ("0 1:1\n0 -1:1\n", {}, r":2: feature ids must not be negative"),
        ("# nothing\n\n", {}, r": the file has no rows; it must hold at least one sample"),
        ("0\n1\n", {}, r": no row has a feature"),
        (" 0:1\n", {}, r": no row has a label"),
        ("0 1:3e38 1:3e38\n", {}, r": the values of one feature sum to infinity"),
        ("0 1:2:3\n", {}, r":1: values must be numbers; got '1:2:3'"),
        ("0 qid:2 1:3\n", {}, r":1: must be feature:value, as in 3:0\.5; got 'qid:2'"),
        ("0 3000000000:3\n", {}, r":1: feature ids must be in 0 … \d+; got '3000000000:3'"),
    ],
)
def test_bad_files(tmp_path, text, options, message):
    with pytest.raises(FileError, match=message):
        load(tmp_path, text, **options)
