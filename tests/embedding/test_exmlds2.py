"""ExMLDS2 as printed, and its choices; accuracy is in test_pipeline."""

from __future__ import annotations

import numpy as np
import pytest

import tacit
from planted import planted
from reference import exmlds as reference
from reference.sgns import numeric_gradient
from tacit.embedding.exmlds2 import train_sgns
from tacit.embedding.neighbors import label_nodes
from tacit.kernels.skip_gram import sgns_pass


@pytest.mark.parametrize(
    "parameters", [{"noise_power": 0.0}, {"nodes": "samples"}, {"negatives_per": "sample", "n_negatives": 15}], ids=str
)
def test_choices_find_the_planted_labels(parameters):
    test = planted(seed=1)
    ranking = tacit.ExMLDS2(dimension=20, **parameters).fit(*planted()).rank(test.X, k=1)
    assert tacit.evaluate(ranking, test.Y, ks=(1,))["P@1"] > 0.9


def test_the_expected_step_is_the_gradient_of_equation_3():
    Y = planted(10).Y
    pairs, noise = tacit.ExMLDS2.paper(n_context=3, n_negatives=3)._pairs(label_nodes(Y, "samples"))
    near = reference.nearest(Y.toarray(), 3)
    vectors = np.random.default_rng(0).standard_normal((10, 3)).astype(np.float32)
    exact = numeric_gradient(lambda Z: reference.even_sum(Z, Z, near, 3), vectors.astype(float), step=1e-4)
    steps, rate, state = 60_000, 0.01, np.array([3], np.uint64)
    total = np.zeros(vectors.shape)
    for _ in range(steps):
        moved = vectors.copy()
        sgns_pass(moved, moved, pairs, np.cumsum(noise), np.array([rate]), state)
        total += moved - vectors
    found = total * pairs.sums[-1] / (steps * rate)
    assert np.linalg.norm(found - exact) < 0.05 * np.linalg.norm(exact)


def test_passes_raise_equation_3():
    Y = planted(10).Y
    terms = tacit.ExMLDS2.paper(n_context=3, n_negatives=3)._pairs(label_nodes(Y, "samples"))
    near = reference.nearest(Y.toarray(), 3)
    vectors = [train_sgns(10, 8, *terms, n_passes, 0.1, 0) for n_passes in (0, 5, 50)]
    values = [reference.even_sum(Z, Z, near, 3) for Z in vectors]
    assert values[0] < values[1] < values[2]


def test_negatives_per_sample_are_the_same_for_label_sets_and_for_samples():
    sets = label_nodes(planted(200).Y, "sets")
    pairs, _ = tacit.ExMLDS2(negatives_per="sample", n_negatives=15, n_context=10)._pairs(sets)
    weights = np.diff(pairs.sums, prepend=0)
    assert np.bincount(pairs.first, weights * pairs.negatives) == pytest.approx(15 * sets.counts)
    assert sets.counts.max() > 1
