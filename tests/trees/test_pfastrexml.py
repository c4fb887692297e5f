from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from tacit.numerics.rows import label_means
from tacit.trees import pfastrexml


@pytest.mark.parametrize("kept", [[1, 1, 1, 1], [1, 1, 0, 0]])
def test_the_length_of_a_mean_is_freed_of_what_few_samples_add_to_its_features(kept):
    rng = np.random.default_rng(0)
    samples = rng.normal([2.0, 1.0, 0.0, 0.0], 1.0, size=(20_000, 4))
    samples /= np.linalg.norm(samples, axis=1, keepdims=True)
    X, Y = sparse.csr_matrix(samples), sparse.csr_matrix(np.kron(np.eye(2_000), np.ones((10, 1))))
    means = label_means(X, Y).multiply(kept).tocsr()
    true, naive = float(np.square(samples.mean(axis=0) * kept).sum()), pfastrexml.squared_lengths(means).mean()
    assert abs(pfastrexml.unbiased_squares(means, X, Y).mean() - true) < 0.2 * (naive - true)


def test_a_typical_sample_has_even_odds_by_default():
    squares, gamma = np.array([0.1, 0.5]), 7.0
    typical = 1 - squares  # mean of ‖x − μ‖² over samples with the mean μ
    for beta, expected in ((1.0, gamma / 2 * typical), (3.0, np.log(3) + gamma / 2 * typical), (None, np.zeros(2))):
        offsets = pfastrexml.offsets(squares, beta, gamma)
        assert gamma / 2 * (offsets - 2 * squares) == pytest.approx(expected)  # where x·μ = ‖μ‖², as for a typical x


def test_compact_centres_are_by_feature():
    centres = sparse.csr_matrix(np.array([[0.5, 0.0, -0.3, 0.0], [0.0, 0.0, 0.0, 0.0], [0.0, 0.9, 0.4, 0.0]]))
    compact = pfastrexml.Centres.of(centres, pfastrexml.squared_lengths(centres))
    assert list(compact.starts) == [0, 1, 2, 4, 4]
    assert list(compact.labels) == [0, 2, 0, 2]
    values = compact.levels * compact.steps[compact.labels]
    assert values == pytest.approx([0.5, 0.9, -0.3, 0.4], abs=2e-3)
    assert compact.offsets == pytest.approx([0.34, 0, 0.97])
