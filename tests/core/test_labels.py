from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from tacit.core.labels import aligned, label_mask, label_sets, positives, read_labels
from tacit.errors import DataError, ParameterError

DENSE = np.array([[1, 0, 1], [0, 0, 0], [0, 1, 0]])


@pytest.mark.parametrize(
    "Y",
    [
        DENSE,
        DENSE.astype(bool),
        DENSE.astype(np.float64),
        sparse.csr_matrix(DENSE),
        sparse.csc_array(DENSE),
        sparse.coo_matrix(DENSE),
        sparse.dok_matrix(DENSE),
        [[0, 2], [], [1]],
        [("a", "c"), set(), np.array(["b"])],
        pd.Series([["a", "c"], [], ["b"]]),
        pd.DataFrame(DENSE),
    ],
    ids=lambda Y: type(Y).__name__,
)
def test_every_form_reads_alike(Y):
    labels = read_labels(Y)
    assert np.array_equal(labels.matrix.toarray(), DENSE)
    assert labels.matrix.dtype == np.float32
    assert len(labels.names) == 3


def test_lists_are_named_in_sorted_order():
    assert list(read_labels([["pear", "apple"], ["fig"]]).names) == ["apple", "fig", "pear"]
    assert list(read_labels([[30, 4], [4]]).names) == [4, 30]


def test_given_names_set_the_columns():
    labels = read_labels([["b"], ["a"]], ["b", "x", "a"])
    assert labels.matrix.toarray().tolist() == [[1, 0, 0], [0, 0, 1]]
    with pytest.raises(DataError, match="row 1 has the label 'applf', which is not among.*did you mean 'apple'"):
        read_labels([["apple"], ["applf"]], ["apple", "pear"])


def test_data_frame_columns_are_names():
    assert list(read_labels(pd.DataFrame(DENSE, columns=["x", "y", "z"])).names) == ["x", "y", "z"]


def test_the_three_states():
    stored_zero = sparse.csr_matrix(([1.0, 0.0], ([0, 1], [0, 1])), shape=(2, 2))
    matrix = read_labels(stored_zero).matrix
    assert matrix.nnz == 2
    assert positives(matrix).nnz == 1
    assert matrix.nnz == 2  # positives made a copy
    dense = np.array([[1.0, np.nan], [0.0, 1.0]])
    assert read_labels(dense).matrix.nnz == 2
    assert read_labels(dense, known_negatives=True).matrix.nnz == 3


def test_an_entry_given_twice_is_one_label():
    twice = sparse.coo_matrix(([1, 1], ([0, 0], [1, 1])), shape=(1, 2))
    assert read_labels(twice).matrix.toarray().tolist() == [[0, 1]]


@pytest.mark.parametrize(
    ("Y", "message"),
    [
        (np.array([[0, 2]]), "must hold only 0 and 1"),
        (np.array([[-1, 1]]), "must hold only 0 and 1"),
        (sparse.csr_matrix([[0.5]]), "must hold only 0 and 1"),
        (sparse.csr_matrix(np.array([[1j]])), "must hold 0 and 1; got values of type complex"),
        (np.array([1, 0]), "a list of labels per sample; got an array of shape"),
        (np.array([["a", "b"]]), "got an array of shape"),
        (["abc"], "row 0 of Y must be a list of labels; got 'abc'"),
        ([["a"], 3], "row 1 of Y must be a list of labels; got 3"),
        ([["a", ""]], "a label is a non-empty str or an int"),
        ([["a", None]], "a label is a non-empty str or an int"),
        ([["a", 1]], "all str or all int"),
    ],
)
def test_wrong_labels(Y, message):
    with pytest.raises(DataError, match=message):
        read_labels(Y)


@pytest.mark.parametrize(("names", "message"), [(["a"], "1 label names for 3 columns"), (["a", "a", "b"], "differ")])
def test_wrong_names(names, message):
    with pytest.raises(DataError, match=message):
        read_labels(DENSE, names)


def test_label_sets_come_back_in_their_form():
    matrix, names = sparse.csr_matrix(DENSE, dtype=np.float32), np.array(["a", "b", "c"], dtype=object)
    assert label_sets(matrix, names, "lists") == [["a", "c"], [], ["b"]]
    assert label_sets(matrix, names, "dense").tolist() == DENSE.tolist()
    assert label_sets(matrix, names, "sparse") is matrix


def test_alignment_puts_unknown_labels_last():
    matrix = sparse.csr_matrix(DENSE)
    moved = aligned(matrix, ["c", "new", "a"], np.array(["a", "b", "c"], dtype=object))
    assert moved.toarray().tolist() == [[1, 0, 1, 0], [0, 0, 0, 0], [0, 0, 0, 1]]


NAMES = np.array(["a", "b", "c"], dtype=object)


def test_masks():
    assert label_mask(NAMES, None, None) is None
    assert label_mask(NAMES, [0, 2], None).tolist() == [True, False, True]
    assert label_mask(NAMES, None, ["b"]).tolist() == [True, False, True]
    assert label_mask(NAMES, ["a", "b"], np.array([1])).tolist() == [True, False, False]


@pytest.mark.parametrize(
    ("chosen", "message"),
    [
        ("a", "must be a list of column numbers or label names; got 'a'"),
        ([3], "names column 3, but there are 3 labels"),
        ([-1], "names column -1"),
        ([[1]], "must be a list of column numbers"),
        ([0.5], "column numbers or label names"),
        (["d"], "unknown label 'd'"),
    ],
)
def test_wrong_choices(chosen, message):
    with pytest.raises(ParameterError, match=message):
        label_mask(NAMES, chosen, None)


def test_columns_of_the_same_name_become_one():
    Y = sparse.csr_matrix(np.array([[1, 1, 0], [0, 1, 0], [0, 0, 1]], dtype=np.float32))
    Y.data[1] = 0  # a known negative beside a positive
    before = Y.copy()
    found = aligned(Y, ["a", "a", "b"], np.array(["b", "a"], dtype=object))
    assert found.toarray().tolist() == [[0, 1], [0, 1], [1, 0]]
    assert Y.data.tolist() == before.data.tolist()
