from __future__ import annotations

import numpy as np
import pytest

import tacit
from tacit.errors import DataError

TEXTS = ["Machine learning on graphs", "Graphs, and machine-learning!", "learning a machine", "a graph", ""]


def test_texts_that_name_both_labels_are_counted():
    counts = tacit.cooccurrence(TEXTS, ["machine learning", "Graphs", "learning", "nothing"])
    expected = [[2, 2, 2, 0], [2, 2, 2, 0], [2, 2, 3, 0], [0, 0, 0, 0]]
    assert np.array_equal(counts.toarray(), expected)
    assert counts.dtype == np.int64


def test_a_name_given_twice_counts_for_both():
    assert np.array_equal(tacit.cooccurrence(["a graph"], ["Graph", "graph"]).toarray(), [[1, 1], [1, 1]])


def test_no_texts_give_no_counts():
    assert tacit.cooccurrence([], ["a", "b"]).nnz == 0


@pytest.mark.parametrize(
    ("texts", "names", "message"),
    [
        ("one text", ["a"], "must be lists of str; got a single str"),
        (["a"], "name", "must be lists of str; got a single str"),
        (["a"], ["a", "--"], "label 1 has the name '--', in which there is no word"),
    ],
)
def test_wrong_input_is_refused(texts, names, message):
    with pytest.raises(DataError, match=message):
        tacit.cooccurrence(texts, names)
