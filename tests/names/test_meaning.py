"""Labels that are near to texts, against a sort of all similarities."""

from __future__ import annotations

import numpy as np
import pytest

from planted import planted
from tacit import OneVsAll
from tacit.names import similar as module
from tacit.names.boosting import BoostedTrees
from tacit.names.evidence import EVIDENCE, NameCounts, NameEvidence
from tacit.names.index import Name, NameIndex
from tacit.names.similar import Meaning


def unit(seed, *shape):
    values = np.random.default_rng(seed).normal(size=shape).astype(np.float32)
    return values / np.linalg.norm(values, axis=1, keepdims=True)


@pytest.mark.parametrize("values_per_block", [1, 70, 10**6])
def test_the_nearest_are_those_of_a_sort(values_per_block, monkeypatch):
    monkeypatch.setattr(module, "_VALUES_PER_BLOCK", values_per_block)
    labels, vectors = unit(0, 30, 8), unit(1, 20, 8)
    near = Meaning(labels).nearest(vectors)
    similarities = vectors @ labels.T
    assert np.array_equal(near.labels, np.argsort(-similarities, axis=1)[:, :10])
    assert near.similarities == pytest.approx(np.sort(similarities, axis=1)[:, :-11:-1], abs=1e-6)
    monkeypatch.setattr(module, "_VALUES_PER_BLOCK", 24)
    rows, columns = np.array([3, 0, 19, 5]), np.array([29, 0, 7, 7])
    assert near.similarity(rows, columns) == pytest.approx(similarities[rows, columns], abs=1e-6)
    some = near.of_rows(np.array([5, 19]))
    assert some.similarity(np.array([1]), np.array([7])) == pytest.approx(similarities[[19], [7]], abs=1e-6)


def test_fewer_labels_than_are_near():
    near = Meaning(unit(0, 3, 4)).nearest(unit(1, 2, 4))
    assert np.sort(near.labels, axis=1).tolist() == [[0, 1, 2]] * 2


def test_labels_in_another_order_and_new_ones():
    labels = unit(0, 3, 4)
    moved = Meaning(labels).ordered(np.array([2, -1, 0]))
    assert np.array_equal(moved.labels, [labels[2], np.zeros(4), labels[0]])
    later = Meaning(labels).with_later([1, 4], unit(1, 2, 4), 5)
    assert np.array_equal(later.labels, [labels[0], unit(1, 2, 4)[0], labels[2], np.zeros(4), unit(1, 2, 4)[1]])


def test_a_label_that_nobody_names_is_a_candidate():
    """Evidence is that of all samples, and there is none where vectors are not given."""
    X, Y = planted(50)
    model = OneVsAll().fit(X, Y)
    n_labels = Y.shape[1] + 1
    index = NameIndex.of([Name(n_labels - 1, "apple")], None)
    trees = BoostedTrees.of_rules(-4.0, [(EVIDENCE.index("similarity of meaning"), 0.9, 8.0)])
    labels = np.eye(n_labels, dtype=np.float32)
    evidence = NameEvidence(
        n_labels, index, NameCounts.none(index, n_labels), trees, ["apple"], n_ranked=3, meaning=Meaning(labels)
    )
    nothing = index.matches([""] * 50)
    found = evidence.rank(model, X, nothing, 1, vectors=np.repeat(labels[-1:], 50, axis=0))
    assert (found.labels == n_labels - 1).all()
    assert (evidence.rank(model, X, nothing, 1).labels != n_labels - 1).all()
