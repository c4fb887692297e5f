from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from tacit.embedding.neighbors import (
    Neighbors,
    Panel,
    cosine_neighbors,
    distinct_label_sets,
    embedded_neighbors,
    merged_neighbors,
    unit_vectors,
    vote,
    vote_matrix,
    vote_weights,
)

LABELS = sparse.csr_matrix(np.array([[1, 0, 1], [0, 1, 0], [1, 0, 1], [0, 0, 1], [0, 1, 0]], np.float32))
Y = sparse.csr_matrix(np.array([[1, 1, 0], [0, 1, 0], [0, 0, 1]], np.float32))
NEAR = Neighbors(np.array([[0, 2, -1]], np.int32), np.array([[0.8, 0.4, -np.inf]], np.float32))


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


def test_equal_rows_share_a_set():
    sets = distinct_label_sets(LABELS)
    assert list(sets.of_sample) == [0, 1, 0, 2, 1]
    assert list(sets.counts) == [2, 2, 1]
    assert (sets.matrix[sets.of_sample] != LABELS).nnz == 0


def test_weights_sum_to_one_and_leave_out_what_is_not_similar():
    similarities = np.array([[0.8, 0.4, -0.1, -np.inf], [0, 0, 0, 0]], np.float32)
    assert vote_weights(similarities, 1.0) == pytest.approx(np.array([[2 / 3, 1 / 3, 0, 0], [0, 0, 0, 0]]))
    assert vote_weights(similarities, 0.0)[0] == pytest.approx([0.5, 0.5, 0, 0])


def test_plain_votes_are_the_mean_label_vector():
    panel = Panel(NEAR, np.ones(1, np.float32))
    ranking = vote([panel], 0.0, Y, 3, None)
    assert ranking.labels.tolist() == [[0, 1, 2]]
    assert ranking.scores == pytest.approx(np.array([[0.5, 0.5, 0.5]]))
    assert vote_matrix([panel], 0.0, Y).toarray() == pytest.approx(np.array([[0.5, 0.5, 0.5]]))


def test_panels_count_by_their_share():
    other = Neighbors(np.array([[1]], np.int32), np.array([[0.1]], np.float32))
    panels = [Panel(NEAR, np.float32([0.25])), Panel(other, np.float32([0.75]))]
    assert vote_matrix(panels, 1.0, Y).toarray() == pytest.approx(np.array([[1 / 6, 1 / 6 + 3 / 4, 1 / 12]]))
    allowed = np.array([True, False, True])
    assert vote(panels, 1.0, Y, 2, allowed).labels.tolist() == [[0, 2]]


def test_a_sample_that_several_panels_find_is_one_neighbour():
    panels = [Panel(NEAR, np.float32([0.5])), Panel(NEAR, np.float32([0.5]))]
    merged = merged_neighbors(panels, 3, 3)
    assert merged.samples.tolist() == [[0, 2, -1]]
    assert merged.similarities == pytest.approx(np.array([[0.8, 0.4, -np.inf]]))
