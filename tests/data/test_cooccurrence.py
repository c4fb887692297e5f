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


# -- files --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "mark"), [("pairs.tsv", "\t"), ("pairs.txt", "\t"), ("pairs.csv", ",")])
def test_pairs_are_read_by_name(tmp_path, name, mark):
    lines = ["b,a,3", "c d,b,2", "", "a,b,3", "a,a,5.5"]
    (tmp_path / name).write_text("\n".join(lines).replace(",", mark))
    counts, names = tacit.load_cooccurrence(tmp_path / name, ["a", "b"])
    assert names == ["a", "b", "c d"]
    assert np.array_equal(counts.toarray(), [[5.5, 3, 0], [3, 0, 2], [0, 2, 0]])


def test_a_blank_file_counts_nothing(tmp_path):
    (tmp_path / "pairs.tsv").write_text("\n")
    counts, names = tacit.load_cooccurrence(tmp_path / "pairs.tsv", ["a", "b"])
    assert (counts.shape, counts.nnz, names) == ((2, 2), 0, ["a", "b"])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("a\tb\t1\na\tb\n", r"pairs.tsv:2: a line must have two labels and a count; got 2 fields"),
        ("a\t\t1\n", r"pairs.tsv:1: a line must have two labels and a count"),
        ("label\tlabel\tcount\n", r"pairs.tsv:1: a count must be a number of at least 0; got 'count'"),
        ("a\tb\t-1\n", r"pairs.tsv:1: a count must be a number of at least 0; got '-1'"),
        ("a\tb\tinf\n", r"pairs.tsv:1: a count must be a number of at least 0; got 'inf'"),
        ("a\tb\t1\nb\ta\t2\n", r"pairs.tsv:2: 'b' and 'a' have another count above; give it once"),
    ],
)
def test_a_wrong_line_is_named(tmp_path, content, message):
    (tmp_path / "pairs.tsv").write_text(content)
    with pytest.raises(DataError, match=message):
        tacit.load_cooccurrence(tmp_path / "pairs.tsv", ["a", "b"])
