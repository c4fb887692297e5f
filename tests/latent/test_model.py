from __future__ import annotations

import numpy as np
import pytest

from reference import latent as reference
from tacit.latent.counts import read_cooccurrence
from tacit.latent.model import count_terms, polya_gamma_mean, weighted_counts

R = 5.0


@pytest.mark.parametrize("psi", [0.0, 1e-6, 1e-4, 0.01, 1.0, -3.0, 20.0, 300.0])
def test_polya_gamma_mean_is_its_series(psi):
    of = np.array([psi], np.float32)
    assert polya_gamma_mean(of)[0] == pytest.approx(reference.polya_gamma_mean(psi), rel=1e-4)


def test_kappa_of_the_counts_is_half_of_m_minus_r():
    """The printed (m + r)/2 is wrong: the slope at γ = 0 is that of the negative binomial itself."""
    counts = weighted_counts(read_cooccurrence(np.array([[0.0, 7.0]]), 1), R, 1.0, own=True)
    slope, tau = count_terms(np.zeros((1, 2), np.float32), np.zeros((2, 2), np.float32), counts)
    assert slope[0] == pytest.approx((np.array([0, 7]) - R) / 2, rel=1e-4)
    assert tau[0] == pytest.approx((np.array([0, 7]) + R) / 4, rel=1e-4)
