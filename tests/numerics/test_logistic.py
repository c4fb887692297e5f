"""Logistic curves, against scikit-learn's regression and on a planted curve."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from tacit.numerics.logistic import fit_logistic

rng = np.random.default_rng(0)


def planted(n, slope, intercept):
    scores = rng.normal(3.0, 2.0, n)
    return scores, rng.random(n) < 1 / (1 + np.exp(-(slope * scores + intercept)))


@pytest.mark.parametrize("is_weighted", [False, True])
def test_the_curve_of_scikit_learn(is_weighted):
    scores, truth = planted(500, 1.5, -4.0)
    weights = rng.random(500) * 3 if is_weighted else None
    reference = LogisticRegression(C=1e6, tol=1e-10, max_iter=1000).fit(scores[:, None], truth, weights)
    expected = (float(reference.coef_[0, 0]), float(reference.intercept_[0]))
    assert fit_logistic(scores, truth, weights) == pytest.approx(expected, rel=2e-3)


def test_a_curve_never_falls_and_stays_finite():
    scores = np.arange(10.0)
    assert fit_logistic(scores, scores < 5)[0] == 0.0
    slope, intercept = fit_logistic(scores, scores >= 5)
    assert slope > 1
    assert np.isfinite(intercept)
    assert np.isfinite(np.array(fit_logistic(np.linspace(0, 1e-40, 20), np.arange(20) > 9), np.float32)).all()
    assert fit_logistic(np.ones(4), np.array([1.0, 0, 0, 0])) == pytest.approx((0.0, np.log(1 / 3)), abs=0.01)
