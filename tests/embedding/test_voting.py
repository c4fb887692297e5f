from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from tacit.embedding.neighbors import Neighbors
from tacit.embedding.voting import Panel, merged_neighbors, vote, vote_matrix, vote_weights

Y = sparse.csr_matrix(np.array([[1, 1, 0], [0, 1, 0], [0, 0, 1]], np.float32))
NEAR = Neighbors(np.array([[0, 2, -1]], np.int32), np.array([[0.8, 0.4, -np.inf]], np.float32))


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
