from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from tacit.embedding.neighbors import Neighbors, cosine_neighbors, embedded_neighbors, unit_vectors


def test_nearest_rows_by_cosine():
    Y = np.array([[1, 1, 0], [1, 0, 0], [1, 1, 1], [0, 0, 1]], np.float32)
    near = cosine_neighbors(sparse.csr_matrix(Y), 2)
    assert near.samples.tolist() == [[2, 1], [0, 2], [0, 3], [2, -1]]
    assert near.similarities[0] == pytest.approx([2 / np.sqrt(6), 1 / np.sqrt(2)])
    rows, others, cosines = near.pairs()
    assert rows.tolist() == [0, 0, 1, 1, 2, 2, 3]
    assert others.tolist() == [2, 1, 0, 2, 0, 3, 2]
    assert len(cosines) == 7


def test_equal_rows_do_not_all_have_the_same_neighbours():
    near = cosine_neighbors(sparse.csr_matrix(np.ones((6, 1), np.float32)), 2)
    assert np.bincount(near.samples.ravel()).tolist() == [2] * 6


def test_embedded_neighbors_gives_no_more_than_there_are():
    points = unit_vectors(np.eye(3, dtype=np.float32))
    near = embedded_neighbors(unit_vectors(np.array([[3, 2, 1]], np.float32)), points, 9)
    assert near.samples.tolist() == [[0, 1, 2]]


def test_unit_vectors_keep_zero_rows():
    assert unit_vectors(np.array([[3, 4], [0, 0]], np.float32)) == pytest.approx(np.array([[0.6, 0.8], [0, 0]]))


def test_drawn_neighbours_are_neighbours_or_none():
    near = Neighbors(np.array([[1, 2], [0, -1], [-1, -1]], np.int32), np.zeros((3, 2), np.float32))
    rows = np.repeat(np.array([0, 1, 2], np.int32), 50)
    drawn = near.draw(rows, np.random.default_rng(0))
    assert set(drawn[:50]) == {1, 2}
    assert set(drawn[50:100]) == {0}
    assert set(drawn[100:]) == {-1}
