from __future__ import annotations

import numpy as np
import pytest

from tacit.embedding.sgns import Term, even_term, nce_offsets, train_sgns

N = 12
K = 2  # negative samples


def counts(seed=0):
    rng = np.random.default_rng(seed)
    M = rng.poisson(rng.gamma(1.0, 4.0, (N, N)))
    return (M + M.T).astype(np.float64)


def term(M, noise, **options):
    first, second = (part.astype(np.int32) for part in np.nonzero(M))
    return Term(first, second, M[first, second], np.arange(N, dtype=np.int32), noise, K, **options)


def correlation(M, expected, one_term):
    vectors, contexts = train_sgns(N, N, [one_term], n_passes=3000, rate=0.1, seed=0, tied=False)
    return np.corrcoef((vectors @ contexts.T)[M > 0], expected[M > 0])[0, 1]


@pytest.mark.slow
@pytest.mark.parametrize("negatives", ["by count", "uniform"])
def test_inner_products_reach_the_optimum(negatives):
    M = counts()
    sums = M.sum(axis=0)
    with np.errstate(divide="ignore"):
        by_count = np.log(M * M.sum() / np.outer(sums, sums)) - np.log(K)
        uniform = np.log(M * N / (sums[:, None] * K))
    noise, expected = (sums, by_count) if negatives == "by count" else (np.ones(N), uniform)
    assert correlation(M, expected, term(M, noise)) > 0.95


@pytest.mark.slow
def test_noise_contrastive_estimation_reaches_the_log_conditional():
    M = counts()
    sums = M.sum(axis=0)
    with np.errstate(divide="ignore"):
        expected = np.log(M / sums[None, :]) - np.log(K)  # appendix A2
    first, second = np.nonzero(M)
    offsets = nce_offsets(first.astype(np.int32), M[first, second])
    assert correlation(M, expected, term(M, sums, offsets=offsets)) > 0.95


def test_offsets_of_pairs_follow_the_frequency_of_the_first_node():
    first = np.array([0, 2, 2], np.int32)  # node 1 has no pairs
    assert nce_offsets(first, np.array([1.0, 2.0, 5.0])) == pytest.approx(-np.log([1 / 8, 7 / 8, 7 / 8]))


def test_the_same_seed_gives_the_same_vectors():
    M = counts()
    options = {"n_passes": 3, "rate": 0.1, "seed": 4}
    first, again = (train_sgns(N, 5, [term(M, np.ones(N))], **options)[0] for _ in range(2))
    assert np.array_equal(first, again)


def test_tied_vectors_are_one_array():
    vectors, contexts = train_sgns(N, 5, [term(counts(), np.ones(N))], n_passes=1, rate=0.1, seed=0)
    assert vectors is contexts


def test_a_term_without_weight_changes_nothing():
    M = counts()
    silent = term(M, np.ones(N), weight=0.0)
    start = train_sgns(N, 5, [], n_passes=1, rate=0.1, seed=0)[0]
    assert np.array_equal(train_sgns(N, 5, [silent], n_passes=1, rate=0.1, seed=0)[0], start)


def test_weights_set_how_often_pairs_are_drawn_and_not_the_size_of_steps():
    light, heavy = (term(counts(), np.ones(N), weight=weight) for weight in (1.0, 1000.0))
    options = {"n_passes": 2, "rate": 0.1, "seed": 0}
    assert np.array_equal(train_sgns(N, 5, [light], **options)[0], train_sgns(N, 5, [heavy], **options)[0])


def test_rates_that_are_far_too_large_leave_finite_vectors():
    vectors, _ = train_sgns(N, 5, [term(counts(), np.ones(N))], n_passes=50, rate=100.0, seed=0)
    assert np.isfinite(vectors).all()


def test_negatives_per_sample_add_up_whatever_the_number_of_pairs():
    pairs = np.array([0, 0, 0, 2], np.int32), np.array([1, 2, 3, 0], np.int32)
    nodes = np.arange(4, dtype=np.int32)
    assert even_term(pairs, nodes, 6, "sample").negatives == pytest.approx([2, 2, 2, 6])
    assert even_term(pairs, nodes, 6, "pair").negatives == 6
