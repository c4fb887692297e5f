from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from reference.joint import map_objective
from reference.sgns import numeric_gradient
from tacit.kernels.dense import Rows
from tacit.kernels.joint import BlockLoss, joint_pass, project_rows

LOSSES = [(loss, is_cosine) for loss in ("sgns", "softmax") for is_cosine in (True, False)]


def some_data(seed=0, n_samples=12, n_features=9, dimension=11, n_pairs=5):
    rng = np.random.default_rng(seed)
    X = sparse.random(n_samples, n_features, 0.5, "csr", np.float32, random_state=seed)
    V = rng.standard_normal((n_features, dimension)).astype(np.float32)
    first, second = (rng.choice(n_samples, n_pairs, replace=False).astype(np.int32) for _ in range(2))
    return X, V, first, second


def run_pass(X, V, first, second, *, is_cosine, loss, gamma, offset, n_negatives, block=64, rate=0.0, squares=None):
    squares = np.zeros(len(V), np.float32) if squares is None else squares
    options = BlockLoss(is_cosine, loss == "softmax", gamma, offset, n_negatives)
    return joint_pass(Rows.of(X), first, second, V, squares, block, options, rate)


@given(st.integers(0, 50), st.integers(1, 19))
def test_projection_is_the_matrix_product(seed, dimension):
    X, V, first, _ = some_data(seed, dimension=dimension, n_features=20)
    images = np.full((len(first), dimension), np.nan, np.float32)
    project_rows(Rows.of(X), first, V, images)
    assert images == pytest.approx(X[first] @ V, abs=1e-5)


@given(
    st.integers(0, 1000),
    st.sampled_from(LOSSES),
    st.floats(0.1, 5),
    st.floats(-4, 4),
    st.floats(0.5, 20),
    st.integers(1, 7),
)
def test_objective_and_gradient_are_those_of_the_reference(seed, which, gamma, offset, n_negatives, n_pairs):
    X, V, first, second = some_data(seed, n_pairs=n_pairs)
    loss = {"loss": which[0], "is_cosine": which[1], "gamma": gamma, "offset": offset, "n_negatives": n_negatives}
    dense, at = X.toarray().astype(np.float64), V.astype(np.float64)
    expected = map_objective(at, dense, first, second, **loss)
    # Against this many squares AdaGrad is plain ascent with steps of 1e-3.
    moved = V.copy()
    found = run_pass(X, moved, first, second, **loss, rate=1e3, squares=np.full(len(V), 1e12, np.float32))
    assert found * n_pairs == pytest.approx(expected, rel=1e-4, abs=1e-4)
    gradient = numeric_gradient(lambda V: map_objective(V, dense, first, second, **loss), at)
    assert (moved.astype(np.float64) - at) * 1e3 == pytest.approx(
        gradient, rel=2e-3, abs=2e-3 * (1 + abs(gradient).max())
    )


def test_steps_are_those_of_adagrad_block_by_block():
    X, V, first, second = some_data(3, n_pairs=7)
    loss = {"loss": "sgns", "is_cosine": True, "gamma": 3.0, "offset": -1.0, "n_negatives": 5.0}
    expected, sums = V.astype(np.float64), np.full(len(V), 0.01)
    dense = X.toarray().astype(np.float64)
    for block in (slice(0, 3), slice(3, 6), slice(6, 7)):
        pairs = first[block], second[block]
        gradient = numeric_gradient(lambda V, pairs=pairs: map_objective(V, dense, *pairs, **loss), expected)
        sums += (gradient**2).mean(axis=1)
        expected += 0.1 * gradient / np.sqrt(sums)[:, None]
    squares = np.full(len(V), 0.01, np.float32)
    run_pass(X, V, first, second, **loss, block=3, rate=0.1, squares=squares)
    assert expected == pytest.approx(V, abs=1e-3)
    assert sums == pytest.approx(squares, rel=1e-3)
