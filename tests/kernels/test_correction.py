from __future__ import annotations

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from scipy.optimize import minimize
from scipy.special import expit

from tacit.kernels.correction import correction_duals

VARIANCE = 2.0


def slow_forces(X: np.ndarray, signs: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """By how far the probabilities of the best weights are from the signs: the primal problem, by BFGS."""

    def loss(weights: np.ndarray) -> float:
        margins = signs * (offsets + X @ weights)
        return float(np.logaddexp(0, -margins).sum() + weights @ weights / (2 * VARIANCE))

    weights = minimize(loss, np.zeros(X.shape[1]), method="BFGS").x
    return np.asarray(expit(-signs * (offsets + X @ weights)))


@given(st.lists(st.integers(0, 6), min_size=1, max_size=4), st.integers(0, 1000))
def test_forces_are_those_of_separate_regressions(sizes, seed):
    rng = np.random.default_rng(seed)
    n = sum(sizes)
    X = sparse.random(n, 5, 0.6, "csr", np.float32, random_state=seed)
    signs, offsets = np.where(rng.random(n) < 0.5, 1.0, -1.0), rng.normal(0, 2, n)
    groups = np.cumsum([0, *sizes])
    found = correction_duals(
        groups, X.indptr.astype(np.int64), X.indices.astype(np.int32), X.data, signs, offsets, 5, VARIANCE, 200, 1e-6
    )
    for first, last in pairwise(groups):
        expected = slow_forces(X[first:last].toarray().astype(np.float64), signs[first:last], offsets[first:last])
        np.testing.assert_allclose(found[first:last], expected, atol=2e-3)
