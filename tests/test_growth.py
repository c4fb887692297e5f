from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

import tacit
from tacit import growth
from tacit.growth import Extent, amount_at, extent_of, seconds_at, seconds_by_step, size_at

SAMPLES = np.array([500, 1000, 2000, 4000, 40_000])
LABELS = np.array([1000, 1900, 3500, 6000, 18_000])  # more samples have more labels, but ever fewer are new
EXTENTS = [Extent(n, labels, 5000, 20 * n) for n, labels in zip(SAMPLES, LABELS, strict=True)]


@pytest.mark.parametrize(
    "law",
    [
        lambda n, _: 1e-3 * n,
        lambda n, _: 3 + 1e-3 * n,
        lambda n, labels: 1e-7 * n * labels,
        lambda n, labels: 0.5 + 1e-7 * n * labels,
        lambda n, _: 1e-5 * n**1.5,
    ],
    ids=["linear", "overhead", "each label", "each label and overhead", "power"],
)
def test_times_are_carried_on_by_the_law_they_follow(law):
    times = law(SAMPLES, LABELS)
    assert 1 / 1.5 < seconds_at(EXTENTS[-1], EXTENTS[:-1], times[:-1]) / times[-1] < 1.5
    ratios = []
    for seed in range(20):
        noise = np.random.default_rng(seed).uniform(0.95, 1.05, len(times) - 1)
        ratios.append(seconds_at(EXTENTS[-1], EXTENTS[:-1], noise * times[:-1]) / times[-1])
    assert 1 / 1.5 < np.median(ratios) < 1.5
    assert 0.5 < min(ratios) < max(ratios) < 2


def test_a_step_that_becomes_most_of_the_time_is_carried_on_by_its_own_law():
    samples = np.array([20_000, 60_000, 200_000, 600_000])
    extents = [Extent(n, n // 2, 100_000, 20 * n) for n in samples]
    clusters, rest = 1.9e-7 * samples**1.5, 4 + 1.25e-4 * samples
    steps = [{"clusters": seconds, "short": 1e-4 * seconds} for seconds in clusters[:-1]]
    true = float((clusters + rest)[-1])
    assert seconds_at(extents[-1], extents[:-1], (clusters + rest)[:-1]) < true / 1.15
    assert seconds_by_step(extents[-1], extents[:-1], (clusters + rest)[:-1], steps) == pytest.approx(true, rel=0.1)
    assert seconds_by_step(extents[-1], extents[:-1], rest[:-1], [{}] * 3) == seconds_at(
        extents[-1], extents[:-1], rest[:-1]
    )


def test_a_step_that_small_parts_lack_is_carried_on_by_its_own_law():
    """Rows are shared among threads from some size on, which takes about as long for any number of them."""
    extents = [Extent(n, 1000, 5000, 20 * n) for n in (400, 1600, 6400, 64_000)]
    steps = [{}, {"rows": 0.5}, {"rows": 0.6}]
    seconds = [0.4, 1.6 + 0.5, 6.4 + 0.6]
    assert seconds_by_step(extents[-1], extents[:-1], seconds, steps) == pytest.approx(64 + 2.5, rel=0.05)


@pytest.mark.parametrize(
    ("seconds", "true"),
    [([0.003, 0.024, 0.085], 0.48), ([0.003, 0.005, 0.052], 0.62), ([0.015, 0.055, 0.201], 0.95)],
    ids=["label trees", "inner nodes", "leaves"],
)
def test_times_of_milliseconds_say_nothing_of_the_law(seconds, true):
    """Steps of a `LabelTree` for 55,889 samples of yso-finna-en: the first trees have hardly any node."""
    samples, labels = (400, 1600, 6400), (1049, 3995, 10_789)
    extents = [Extent(n, n_labels, 5000, 30 * n) for n, n_labels in zip(samples, labels, strict=True)]
    assert seconds_at(Extent(55_889, 20_174, 60_000, 1_500_000), extents, seconds) < 2 * true


def test_a_single_time_is_carried_on_evenly():
    assert seconds_at(EXTENTS[1], EXTENTS[:1], [3.0]) == pytest.approx(6.0)


def test_a_flat_curve_is_not_carried_on_as_if_samples_cost_nothing():
    assert seconds_at(EXTENTS[-1], EXTENTS[:-1], [1.0, 1.0, 1.0, 1.0]) == pytest.approx(5.0)


@pytest.mark.parametrize(
    "law",
    [
        lambda one: 1e6 + 400 * one.n_samples,
        lambda one: 8 * one.n_features * one.n_labels,
        lambda one: 1e5 + 8 * one.n_pairs,
    ],
    ids=["samples", "dense weights", "sparse weights"],
)
def test_amounts_are_carried_on_by_what_they_depend_on(law):
    extents = [Extent(500, 80, 900, 9000), Extent(2000, 150, 1500, 20_000), Extent(8000, 159, 1800, 35_000)]
    all_data = Extent(40_000, 160, 2000, 60_000)
    expected = amount_at(all_data, extents, [law(one) for one in extents])
    assert 1 / 1.5 < expected / law(all_data) < 1.5  # parts leave open what the amount depends on


def test_a_constant_amount_stays():
    extents = [Extent(100, 80, 900, 5000), Extent(500, 150, 1500, 20_000)]
    assert amount_at(Extent(20_000, 160, 2000, 150_000), extents, [1e6, 1e6]) == pytest.approx(1e6)


@pytest.mark.parametrize(
    ("law", "within"),
    [
        (lambda one: 40 * one.n_samples, 1.2),
        (lambda one: 8 * one.n_labels, 1.2),
        (lambda one: 8 * one.n_pairs, 1.2),
        (lambda one: 900 * one.n_samples**0.7, 1.2),
        (lambda _: 5000, 1.001),
    ],
    ids=["samples", "labels", "pairs", "power", "constant"],
)
def test_arrays_are_carried_on_by_what_they_depend_on(law, within):
    parts = [Extent(400, 700, 2000, 22_000), Extent(1600, 1400, 4000, 60_000), Extent(3200, 1800, 5200, 100_000)]
    all_data = Extent(12_000, 2600, 8000, 240_000)
    expected = size_at(all_data, parts, [law(one) for one in parts])
    assert 1 / within < expected / law(all_data) < within


def test_a_matrix_is_never_fuller_than_full():
    """Weights of `OneVsAll` for delicious: nearly all of 500 x 983 are there with 12,920 samples."""
    parts = [Extent(80, 530, 450, 23_000), Extent(400, 880, 498, 65_000), Extent(1800, 981, 500, 137_000)]
    all_data = Extent(12_920, 983, 500, 273_000)
    sizes = [411_868, 952_856, 1_417_884]
    assert amount_at(all_data, parts, sizes) > 1.5 * 1_749_740
    assert size_at(all_data, parts, sizes) == pytest.approx(1_749_740, rel=0.2)


def test_an_array_that_only_some_parts_have_is_carried_on():
    extents = [Extent(n, 50, 900, 20 * n) for n in (100, 500, 2000, 8000)]
    assert 4000 < size_at(extents[-1], extents[:-1], [0, 0, 4000]) < 16_000
    assert size_at(extents[-1], extents[:-1], [0, 0, 0]) == 0


def test_an_extent_counts_what_occurs(monkeypatch):
    rng = np.random.default_rng(0)
    X = sparse.random(300, 40, 0.1, "csr", random_state=rng)
    Y = sparse.random(300, 500, 0.01, "csr", random_state=rng)
    Y.data[:] = 1
    together = sum(len(np.unique(X[Y[:, [label]].nonzero()[0]].indices)) for label in range(500))
    assert extent_of(X, Y) == Extent(300, len(np.unique(Y.indices)), len(np.unique(X.indices)), together)
    monkeypatch.setattr(growth, "_MAX_PRODUCTS", 1000)
    assert extent_of(X, Y).n_pairs == pytest.approx(together, rel=0.2)
    assert extent_of(X, 0 * Y[:, :0]).n_pairs == 0


def test_all_dense_features_occur_with_all_labels():
    rng = np.random.default_rng(0)
    words, vectors = sparse.random(300, 40, 0.1, "csr", random_state=rng), rng.normal(size=(300, 7))
    Y = sparse.random(300, 50, 0.05, "csr", random_state=rng)
    Y.data[:] = 1
    both = sparse.hstack([words, sparse.csr_matrix(vectors)], format="csr")
    assert extent_of(tacit.Features(words, vectors), Y) == extent_of(both, Y)
    assert extent_of(tacit.Features(None, vectors), Y) == extent_of(sparse.csr_matrix(vectors), Y)
