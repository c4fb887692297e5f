from __future__ import annotations

import numpy as np

from tacit import Ranking

RANKING = Ranking(np.array([[2, 0, -1], [1, 3, 2]]), np.array([[0.5, 0.0, -np.inf], [3, 2, 1]]))


def test_types_and_sizes():
    assert RANKING.labels.dtype == np.int32
    assert RANKING.scores.dtype == np.float32
    assert len(RANKING) == 2
    assert RANKING.k == 3


def test_as_a_sparse_matrix():
    matrix = RANKING.to_csr(4)
    assert matrix.shape == (2, 4)
    assert matrix.indices.tolist() == [0, 2, 1, 2, 3]
    assert matrix.data.tolist() == [0.0, 0.5, 3.0, 1.0, 2.0]  # the score 0 is stored, the pad is not
    assert Ranking(np.array([[2, 0, 1]]), np.array([[3, 2, 1]])).to_dense().tolist() == [[2, 1, 3]]


def test_parts_and_their_concatenation():
    assert RANKING.top(1).labels.tolist() == [[2], [1]]
    assert RANKING.rows(np.array([1])).labels.tolist() == [[1, 3, 2]]
    whole = Ranking.concatenate([RANKING.rows(slice(0, 1)), RANKING.rows(slice(1, 2))])
    assert np.array_equal(whole.labels, RANKING.labels)


def test_sorting_keeps_the_order_of_equal_scores():
    found = Ranking(np.array([[4, 7, 2, -1]]), np.array([[0.5, 0.9, 0.5, -np.inf]])).sorted()
    assert found.labels.tolist() == [[7, 4, 2, -1]]
    assert found.scores.tolist() == [[np.float32(0.9), 0.5, 0.5, -np.inf]]
