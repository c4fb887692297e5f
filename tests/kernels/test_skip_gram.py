from __future__ import annotations

import numpy as np
import pytest

from reference.sgns import numeric_gradient, pair_objective
from tacit.kernels.skip_gram import Pairs, ascend, sgns_pass


def test_steps_follow_the_numeric_gradient():
    rng = np.random.default_rng(0)
    vector, context, *negatives = rng.standard_normal((5, 6))
    rate, moved = 1e-2, np.float32([vector, context, *negatives])
    gradient = np.zeros(6, np.float32)
    ascend(moved[0], moved[1], True, rate, gradient)
    for negative in moved[2:]:
        ascend(moved[0], negative, False, rate, gradient)

    by_vector = numeric_gradient(lambda z: pair_objective(z, context, negatives), vector)
    by_context = numeric_gradient(lambda c: pair_objective(vector, c, negatives), context)
    by_negative = numeric_gradient(lambda n: pair_objective(vector, context, [n, *negatives[1:]]), negatives[0])
    assert gradient / rate == pytest.approx(by_vector, abs=1e-4)
    assert (moved[1] - context) / rate == pytest.approx(by_context, abs=1e-4)
    assert (moved[2] - negatives[0]) / rate == pytest.approx(by_negative, abs=1e-4)


def test_a_pass_raises_the_objective():
    rng = np.random.default_rng(0)
    vectors = rng.standard_normal((4, 3)).astype(np.float32)
    before = vectors.copy()
    pairs = np.array([[0, 1], [1, 0]], np.int32)
    drawn = Pairs(*pairs.T.copy(), np.cumsum([1.0, 1.0]), np.full(2, 2.0))
    noise = np.cumsum([0.0, 0.0, 1.0, 1.0])
    sgns_pass(vectors, vectors, drawn, noise, np.full(50, 0.05), np.array([0], np.uint64))

    def objective(z):
        return sum(pair_objective(z[i], z[j], [z[2], z[3]]) for i, j in pairs)

    assert objective(vectors) > objective(before) + 0.5


@pytest.mark.slow
@pytest.mark.parametrize("is_by_count", [True, False])
def test_inner_products_reach_the_optimum(is_by_count):
    """PMI − log k with negative samples by count, log(#(i, j) n / (#(i) k)) with uniform ones."""
    n, k = 12, 2
    rng = np.random.default_rng(0)
    M = rng.poisson(rng.gamma(1.0, 4.0, (n, n)))
    M = (M + M.T).astype(np.float64)
    noise = M.sum(axis=0) if is_by_count else np.ones(n)
    with np.errstate(divide="ignore"):
        expected = np.log(M * noise.sum() / (M.sum(axis=1)[:, None] * noise * k))
    first, second = (part.astype(np.int32) for part in np.nonzero(M))
    pairs = Pairs(first, second, np.cumsum(M[first, second]), np.full(len(first), float(k)))
    vectors, contexts = np.float32(0.1 * rng.standard_normal((2, n, n)))
    rates = np.linspace(0.1, 0, 3000 * len(first))
    sgns_pass(vectors, contexts, pairs, np.cumsum(noise), rates, np.array([0], np.uint64))
    assert np.corrcoef((vectors @ contexts.T)[M > 0], expected[M > 0])[0, 1] > 0.95
