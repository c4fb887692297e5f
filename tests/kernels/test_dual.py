from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse

from reference import dual as reference
from tacit.core.features import Features, dense_rows
from tacit.kernels.dual import (
    LOGISTIC,
    SQUARED,
    SQUARED_HINGE,
    BlockObjective,
    BlockRows,
    label_signs,
    prune,
    train_block,
)
from tacit.numerics.rows import row_bounds

LOSSES = {"squared hinge": SQUARED_HINGE, "logistic": LOGISTIC, "squared": SQUARED}
all_losses = pytest.mark.parametrize("loss", LOSSES)


def train(
    X,
    signs,
    *,
    loss,
    positive_cost=None,
    positive_target=None,
    negative_cost=1.0,
    bias=1.0,
    tolerance=1e-5,
    passes=500,
    seed=0,
    n_dense=0,
    dense_type=np.float32,
):
    n_words = X.shape[1] - n_dense
    samples = sparse.csr_matrix(X[:, :n_words], dtype=np.float32)
    dense = dense_rows(Features(samples, X[::-1, n_words:].astype(dense_type)))  # `places` says which is where
    if positive_cost is None:
        positive_cost = np.full(signs.shape[1], negative_cost)
    if positive_target is None:
        positive_target = np.ones(signs.shape[1])
    duals = np.full(signs.shape, np.nan, dtype=np.float32)
    dense = dense if n_dense else None
    entries = row_bounds(samples), samples.indices.astype(np.int32), samples.data, samples.shape[1]
    costs = np.asarray(positive_cost, np.float32), np.asarray(positive_target, np.float32), negative_cost
    weights, n_passes, moves = train_block(
        BlockRows(*entries, dense, np.arange(len(X))[::-1].copy()),
        signs.astype(np.int8),
        BlockObjective(LOSSES[loss], *costs, bias),
        tolerance,
        passes,
        seed,
        duals,
    )
    return weights, duals, n_passes, moves


def problem(seed, n_samples=60, n_features=15, n_labels=5, share=0.3):
    """Unit rows, some of them empty, and labels that depend on them, the last ones rare."""
    rng = np.random.default_rng(seed)
    X = rng.random((n_samples, n_features)) * (rng.random((n_samples, n_features)) < share)
    X /= np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1e-9)
    scores = X @ rng.normal(size=(n_features, n_labels)) + rng.normal(size=(n_samples, n_labels)) / 5
    signs = np.where(scores > np.quantile(scores, np.linspace(0.5, 0.95, n_labels), axis=0).diagonal(), 1, -1)
    return X.astype(np.float32), signs.astype(np.int8)


def costs_of(signs, positive_cost, negative_cost):
    return np.where(signs > 0, positive_cost, negative_cost).astype(float)


@settings(max_examples=100, deadline=None)
@given(st.integers(1, 8), st.integers(1, 6), st.sampled_from([-1, 0]), st.data())
def test_signs_tell_the_three_states(n_samples, n_labels, absent, data):
    states = data.draw(hnp.arrays(np.float32, (n_samples, n_labels), elements=st.sampled_from([0, 1, np.nan])))
    labels = np.array(data.draw(st.lists(st.integers(0, n_labels - 1), max_size=8)), dtype=np.int64)
    rows, columns = np.nonzero(~np.isnan(states))
    found = label_signs(sparse.csc_matrix((states[rows, columns], (rows, columns)), states.shape), labels, absent)
    np.testing.assert_array_equal(found, reference.label_signs(states, labels, absent), strict=True)


@all_losses
@settings(max_examples=30, deadline=None)
@given(
    st.integers(0, 10_000),
    st.integers(1, 30),
    st.integers(1, 9),
    st.sampled_from([0.0, 0.5, 1.0]),
    st.sampled_from([0.1, 1.0, 3.0]),
    st.booleans(),
)
def test_weights_are_those_of_the_reference(loss, seed, n_samples, n_labels, bias, negative_cost, some_unknown):
    X, signs = problem(seed, n_samples, 6, n_labels, share=0.5)
    rng = np.random.default_rng(seed)
    if some_unknown:
        signs *= rng.random(signs.shape) < 0.5
    positive_cost, positive_target = rng.uniform(0.2, 4, n_labels), rng.uniform(0.5, 5, n_labels)
    weights, duals, _, _ = train(
        X,
        signs,
        loss=loss,
        positive_cost=positive_cost,
        positive_target=positive_target,
        negative_cost=negative_cost,
        bias=bias,
    )
    samples = reference.with_constant(X, bias)
    np.testing.assert_allclose(weights, samples.T @ duals, atol=1e-4)
    for label in range(n_labels):
        costs = costs_of(signs[:, label], positive_cost[label], negative_cost)
        best = reference.best_weights(samples, signs[:, label], costs, loss, positive_target[label])
        np.testing.assert_allclose(weights[:, label], best, atol=2e-3)


@all_losses
@pytest.mark.parametrize("seed", range(3))
def test_duality_gap_closes_and_duals_are_feasible(loss, seed):
    X, signs = problem(seed, 200, 30, 7)
    positive_cost, positive_target = np.linspace(0.5, 5, 7), np.linspace(1, 4, 7)
    weights, duals, _, moves = train(
        X, signs, loss=loss, positive_cost=positive_cost, positive_target=positive_target, negative_cost=0.7
    )
    assert np.all(moves <= 1e-5)
    samples = reference.with_constant(X, 1.0)
    for label in range(7):
        y, costs = signs[:, label], costs_of(signs[:, label], positive_cost[label], 0.7)
        alpha = y * duals[:, label]
        assert loss == "squared" or np.all(alpha >= 0)
        if loss == "logistic":
            assert np.all(alpha <= costs * (1 + 1e-6))
        target = positive_target[label]
        above = reference.primal(samples, y, costs, weights[:, label].astype(float), loss, target)
        below = reference.dual(samples, y, costs, duals[:, label].astype(float), loss, target)
        assert below <= above * (1 + 1e-5)
        assert above - below <= 1e-4 * above


@all_losses
def test_same_seed_same_bytes_in_any_thread(loss):
    X, signs = problem(7, 200, 30, 20)

    def run(seed):
        return train(X, signs, loss=loss, tolerance=0.01, seed=seed)[0].tobytes()

    alone = [run(seed) for seed in (0, 1)]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(run, [0, 1] * 4)) == alone * 4
    assert alone[0] != alone[1]


@settings(max_examples=100, deadline=None)
@given(
    hnp.arrays(
        np.float32,
        st.tuples(st.integers(1, 6), st.integers(1, 6)),
        elements=st.sampled_from([-0.5, -0.1, -0.01, 0, 0.01, 0.1, 0.5]),
    ),
    st.sampled_from([0.0, 0.01, 0.1, 1.0]),
)
def test_prune_keeps_large_weights(weights, threshold):
    indptr, indices, values = prune(weights, threshold)
    kept = sparse.csr_matrix((values, indices, indptr), shape=(len(weights) - 1, weights.shape[1]))
    np.testing.assert_array_equal(kept.toarray(), reference.prune(weights, threshold), strict=True)
    assert np.all(values != 0)
    assert kept.has_canonical_format


@all_losses
@pytest.mark.parametrize("n_dense", [4, 15])
def test_dense_features_lead_to_the_same_steps_as_sparse_ones(loss, n_dense):
    X, signs = problem(5, n_samples=150)  # several tiles
    expected = train(X, signs, loss=loss, passes=3)
    found = train(X, signs, loss=loss, passes=3, n_dense=n_dense)
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose(ours, theirs, atol=2e-5)


def test_half_precision_is_read_as_it_is():
    X, signs = problem(6)
    X = X.astype(np.float16).astype(np.float32)
    single = train(X, signs, loss="squared hinge", n_dense=6)
    half = train(X, signs, loss="squared hinge", n_dense=6, dense_type=np.float16)
    for ours, theirs in zip(half, single, strict=True):
        np.testing.assert_array_equal(ours, theirs)
