from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.linear_model import LogisticRegression

from tacit.checks import unit_rows
from tacit.tagger.few_shot import Curve, FewShot, _fitted, direction
from tacit.tagger.scorers import (
    _PRIOR_VARIANCE,
    Combined,
    Cooccurring,
    Corrected,
    Joined,
    Judgements,
    Learned,
    Near,
    Rows,
    logit,
    sigmoid,
)


def rows_with(*probabilities: float) -> Rows:
    """Two samples to which a model gives each label the same probability."""
    return Rows({column: logit(np.array([p, p])) for column, p in enumerate(probabilities)})


def probability(part, rows: Rows) -> float:
    return float(sigmoid(part.log_odds(rows))[0])


@given(st.integers(1, 12), st.integers(0, 1000))
def test_a_correction_is_where_prior_and_judgements_balance(n, seed):
    rng = np.random.default_rng(seed)
    X = unit_rows(sparse.random(n, 6, 0.5, "csr", np.float32, random_state=seed))
    judged = Judgements(X, ["x"] * n, rng.random(n) < 0.5, rng.normal(0, 2, n).astype(np.float32))
    weights = Corrected(Learned(0), judged).weights.toarray().ravel()
    margins = judged.log_odds + X @ weights
    gradient = X.T @ (judged.accepted - sigmoid(margins.astype(np.float64))) - weights / _PRIOR_VARIANCE
    assert np.abs(gradient).max() < 0.02


def test_joined_labels_apply_where_any_does():
    both = Joined([Learned(0), Learned(1)])
    assert probability(both, rows_with(0.5, 0.2)) == pytest.approx(1 - 0.5 * 0.8)
    assert probability(both, rows_with(0.0, 0.0)) < 1e-5
    assert probability(both, rows_with(1.0, 0.3)) == pytest.approx(1, abs=1e-5)


def test_labels_that_come_together_are_not_counted_twice():
    one = Cooccurring([Learned(0)], np.array([10.0]), np.array([0.5]))
    two = Cooccurring([Learned(0), Learned(1)], np.array([10.0, 10.0]), np.array([0.5, 0.5]))
    rows = rows_with(0.8, 0.8)
    assert probability(one, rows) == pytest.approx(0.4)
    assert probability(two, rows) == pytest.approx(1 - 0.6 ** (2 * np.sqrt(0.5)))
    assert probability(one, rows) < probability(two, rows) < 1 - 0.6**2


def test_evidence_counts_from_the_rate_of_any_label():
    few_shot = FewShot(np.zeros(4, np.float32), np.ones(4, np.float32))
    near = Near(direction(few_shot, sparse.csr_matrix(np.eye(4)[:1])), Curve(2.0, float(logit(np.array(0.1))), 0.1))
    unit = np.array([[1.0, 0, 0, 0], [0, 1, 0, 0]])
    rows = Rows({0: logit(np.array([0.3, 0.3]))}, {id(near): (unit @ near.weights.T.toarray()).ravel()}, np.zeros(2))
    both = sigmoid(Combined(Learned(0), [near]).log_odds(rows))
    assert both[0] > 0.3  # as the example
    assert both[1] == pytest.approx(0.3)  # unlike it: no more and no less than any sample


def test_a_curve_is_a_logistic_regression():
    rng = np.random.default_rng(0)
    z = np.concatenate([rng.normal(3, 2, 50), rng.normal(0, 1, 500)])
    y = np.repeat([1.0, 0.0], [50, 500])
    weight = np.where(y > 0, 1.0, 4.0)
    curve = _fitted((z, y, weight))
    x = (np.sign(z) * np.log1p(np.abs(z)))[:, None]
    other = LogisticRegression(C=1e6).fit(x, y, sample_weight=weight)
    assert curve.slope == pytest.approx(other.coef_[0, 0], rel=1e-2)
    assert curve.intercept == pytest.approx(other.intercept_[0], rel=1e-2)
    assert curve.rate == pytest.approx(50 / 2050, abs=1e-5)
    assert _fitted((z, np.zeros_like(y), weight)) is None
