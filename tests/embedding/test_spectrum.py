from __future__ import annotations

import numpy as np
import pytest

from tacit.embedding.spectrum import leading_factor


def symmetric(values, seed=0):
    basis = np.linalg.qr(np.random.default_rng(seed).standard_normal((len(values), len(values))))[0]
    return ((basis * values) @ basis.T).astype(np.float32)


SPECTRUM = np.concatenate([[9, 7, 5, 4, -8, -6], np.linspace(-0.5, 0.5, 94)])


@pytest.mark.parametrize(("positive", "expected"), [(True, [9, 7, 5, 4]), (False, [9, 8, 7, 6])])
def test_pairs_are_those_of_a_full_decomposition(positive, expected):
    A = symmetric(SPECTRUM)
    Z = leading_factor(lambda block: A @ block, 100, 4, seed=0, positive=positive, tolerance=1e-4)
    assert (Z**2).sum(axis=0) == pytest.approx(expected, abs=1e-3)
    assert (np.linalg.norm(A @ Z, axis=0) / np.linalg.norm(Z, axis=0)) == pytest.approx(expected, abs=1e-3)


def test_the_factor_gives_back_a_positive_matrix_of_low_rank():
    A = symmetric(np.concatenate([[5, 3, 2], np.zeros(27)]))
    Z = leading_factor(lambda block: A @ block, 30, 10, seed=0)
    assert Z.shape == (30, 3)
    assert pytest.approx(A, abs=1e-4) == Z @ Z.T


def test_a_good_start_needs_fewer_products():
    A = symmetric(SPECTRUM)
    applied = []

    def apply(block):
        applied.append(block.shape[1])
        return A @ block

    cold = leading_factor(apply, 100, 4, seed=0, tolerance=1e-3)
    n_cold = sum(applied)
    leading_factor(apply, 100, 4, seed=0, tolerance=1e-3, start=cold)
    assert sum(applied) - n_cold < n_cold


def test_a_zero_matrix_has_no_pairs():
    assert leading_factor(np.zeros_like, 6, 3, seed=0).shape == (6, 0)


def test_the_same_seed_gives_the_same_pairs():
    A = symmetric(SPECTRUM)
    first, again = (leading_factor(lambda block: A @ block, 100, 5, seed=3) for _ in range(2))
    assert np.array_equal(first, again)
