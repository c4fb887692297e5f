from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from reference.joint import graph_partition_pass
from tacit.kernels.dense import Rows
from tacit.kernels.graph_partition import FtrlCentres, partition_pass


@given(st.integers(0, 1000), st.integers(1, 4), st.sampled_from([0.0, 0.05]))
def test_a_pass_is_that_of_the_reference(seed, n_clusters, l1):
    rng = np.random.default_rng(seed)
    X = sparse.random(15, 8, 0.4, "csr", np.float32, random_state=seed)
    order = rng.permutation(15).astype(np.int32)
    # Chosen centres: near ties between inner products may go either way in float32.
    chosen = rng.integers(0, n_clusters, 15).astype(np.int32)
    positives, negatives = rng.integers(-1, 15, (2, 15)).astype(np.int32)
    state = rng.standard_normal((8, n_clusters)), np.zeros((8, n_clusters)), np.zeros((8, n_clusters))
    found = [array.astype(np.float32) for array in state]
    partition_pass(Rows.of(X), order, chosen, positives, negatives, FtrlCentres(*found, 0.1, l1))
    graph_partition_pass(X.toarray().astype(np.float64), *state, order, chosen, positives, negatives, 0.1, l1)
    for expected, array in zip(state, found, strict=True):
        assert expected == pytest.approx(array, abs=1e-3)


def test_the_best_centre_is_the_one_moved():
    X = sparse.csr_matrix(np.eye(3, dtype=np.float32))
    centers = np.array([[0, 1], [0, 0], [0, 0]], np.float32)
    sums, squares = np.zeros_like(centers), np.zeros_like(centers)
    one = np.array([0], np.int32)
    partition_pass(Rows.of(X), one, -one - 1, one + 1, one + 2, FtrlCentres(centers, sums, squares, 0.1, 0.0))
    assert (centers[:, 0] == 0).all()
    assert centers[1, 1] > 0 > centers[2, 1]
