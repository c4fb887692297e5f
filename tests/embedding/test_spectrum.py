from __future__ import annotations

import numpy as np
import pytest

from tacit.embedding.spectrum import leading_eigenpairs


def symmetric(values, seed=0):
    basis = np.linalg.qr(np.random.default_rng(seed).standard_normal((len(values), len(values))))[0]
    return ((basis * values) @ basis.T).astype(np.float32)


SPECTRUM = np.concatenate([[9, 7, 5, 4, -8, -6], np.linspace(-0.5, 0.5, 94)])


def test_positive_pairs_are_those_of_a_full_decomposition():
    A = symmetric(SPECTRUM)
    pairs = leading_eigenpairs(lambda block: A @ block, 100, 4, seed=0, tolerance=1e-4)
    assert pairs.values == pytest.approx([9, 7, 5, 4], abs=1e-3)
    assert np.abs(A @ pairs.vectors - pairs.vectors * pairs.values).max() < 2e-3
    assert pairs.residual <= 1e-4


def test_all_pairs_are_the_largest_in_size():
    A = symmetric(SPECTRUM)
    pairs = leading_eigenpairs(lambda block: A @ block, 100, 4, seed=0, positive=False, tolerance=1e-4)
    assert pairs.values == pytest.approx([9, -8, 7, -6], abs=1e-3)


def test_the_factor_gives_back_a_positive_matrix_of_low_rank():
    A = symmetric(np.concatenate([[5, 3, 2], np.zeros(27)]))
    pairs = leading_eigenpairs(lambda block: A @ block, 30, 10, seed=0)
    assert len(pairs.values) == 3
    assert pairs.factor() @ pairs.factor().T == pytest.approx(A, abs=1e-4)


def test_a_good_start_needs_fewer_products():
    A = symmetric(SPECTRUM)

    def solve(start=None):
        return leading_eigenpairs(lambda block: A @ block, 100, 4, seed=0, tolerance=1e-3, start=start)

    cold = solve()
    assert solve(cold.vectors).n_products < cold.n_products


def test_a_zero_matrix_has_no_pairs():
    pairs = leading_eigenpairs(np.zeros_like, 6, 3, seed=0)
    assert pairs.vectors.shape == (6, 0)
    assert pairs.residual == 0


def test_the_same_seed_gives_the_same_pairs():
    A = symmetric(SPECTRUM)
    first, again = (leading_eigenpairs(lambda block: A @ block, 100, 5, seed=3) for _ in range(2))
    assert np.array_equal(first.vectors, again.vectors)
