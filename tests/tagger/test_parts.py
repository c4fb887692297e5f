from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.linear_model import LogisticRegression

from tacit.numerics.rows import unit_rows
from tacit.store.sample_rows import Row, rows_of, stacked
from tacit.tagger.few_shot import Curve, FewShot, _fitted
from tacit.tagger.inputs import Inputs
from tacit.tagger.parts import (
    _PRIOR_VARIANCE,
    AnyOf,
    Corrected,
    Judged,
    Learned,
    Near,
    Part,
    Plan,
)
from tacit.tagger.scores import MAX_LOG_ODDS, logit, sigmoid

N_FEATURES = 6
FEW_SHOT = FewShot(
    np.full(N_FEATURES, 0.1, np.float32), np.full(N_FEATURES, 0.2, np.float32), {"1": Curve(2, -5, 0.02)}
)


class Given:
    """Stands for the scores of a model: the same probability of each label for every sample."""

    def __init__(self, *probabilities: float) -> None:
        self.probabilities = np.array(probabilities)

    def log_odds(self, X, columns):
        return np.tile(logit(self.probabilities[columns]), (X.shape[0], 1))


def probability(part: Part, *learned: float) -> float:
    X = sparse.csr_matrix((2, N_FEATURES), dtype=np.float32)
    return float(sigmoid(Plan([part], FEW_SHOT).log_odds(Given(*learned), Inputs(X)))[0, 0])


def judged(X: sparse.csr_matrix, accepted, log_odds) -> tuple[Judged, ...]:
    return tuple(
        Judged(row, bool(yes), float(odds)) for row, yes, odds in zip(rows_of(X), accepted, log_odds, strict=True)
    )


@given(st.integers(1, 12), st.integers(0, 1000))
def test_a_correction_is_where_prior_and_judgements_balance(n, seed):
    rng = np.random.default_rng(seed)
    X = unit_rows(sparse.random(n, N_FEATURES, 0.5, "csr", np.float32, random_state=seed))
    accepted, said = rng.random(n) < 0.5, rng.normal(0, 2, n)
    part = Corrected(Learned(0), judged(X, accepted, said))
    Plan([part, Corrected(Learned(1), judged(X[:1], [True], [0.0]))], FEW_SHOT)  # computed together with another one
    weights = stacked([part.weights], N_FEATURES).toarray().ravel()
    gradient = X.T @ (accepted - sigmoid(said + X @ weights)) - weights / _PRIOR_VARIANCE
    assert np.abs(gradient).max() < 0.02


def test_a_sample_that_is_an_example_has_the_label():
    X = unit_rows(
        sparse.csr_matrix(np.array([[1, 2, 0, 0, 0, 0], [0, 0, 1, 0, 0, 0], [0, 0, 0, 0, 1, 1.0]], np.float32))
    )
    rarely = AnyOf((Learned(0),), np.array([0.01]))
    parts = [Near.of(first, FEW_SHOT, tuple(rows_of(X[:2])), are_examples=True) for first in (None, rarely)]
    alone, together = Plan(parts, FEW_SHOT).log_odds(Given(0.01), Inputs(X)).T
    assert (sigmoid(alone[:2]) > 0.99).all()
    assert (sigmoid(together[:2]) > 0.99).all()
    assert sigmoid(alone[2]) < 0.5


# -- a plan against parts computed one by one -------------------------------------------------------------


def slowly(part: Part, learned: np.ndarray, x: np.ndarray) -> float:
    """Log-odds of one label for one sample of unit length, by the definition of each part."""
    if isinstance(part, Learned):
        return float(learned[part.column])
    if isinstance(part, Near):
        towards = part.direction.towards.toarray().ravel() - FEW_SHOT.away
        z = (x @ towards - part.direction.start) / part.direction.spread
        by_direction = part.curve.slope * np.sign(z) * np.log1p(abs(z)) + part.curve.intercept
        value = max(by_direction, alike(part, x))
        if part.first is not None:
            usual = np.log(part.curve.rate / (1 - part.curve.rate))
            value = slowly(part.first, learned, x) + 0.5 * (value - usual)
        return float(max(np.clip(value, -MAX_LOG_ODDS, MAX_LOG_ODDS), alike(part, x)))
    if isinstance(part, AnyOf):
        neither = 1.0
        for share, child in zip(part.shares, part.children, strict=True):
            neither *= (1 - min(share / (1 + np.exp(-slowly(child, learned, x))), 1 - 1e-6)) ** part.power
        return float(np.clip(np.log(1 - neither) - np.log(neither), -MAX_LOG_ODDS, MAX_LOG_ODDS))
    weights = stacked([part.weights], N_FEATURES).toarray().ravel()
    return float(np.clip(slowly(part.inner, learned, x) + x @ weights, -MAX_LOG_ODDS, MAX_LOG_ODDS))


def alike(near: Near, x: np.ndarray) -> float:
    nearest = max(float(stacked([row], N_FEATURES).toarray().ravel() @ x) for row in near.examples)
    share = min(max((nearest - 0.8) / 0.2, 0), 1)
    return -MAX_LOG_ODDS + share * (near.same + MAX_LOG_ODDS)


def random_part(rng: np.random.Generator, depth: int) -> Part:
    kind = rng.choice(["learned", "near", "any", "corrected"]) if depth else rng.choice(["learned", "near"])
    samples = unit_rows(sparse.csr_matrix((rng.random((int(rng.integers(1, 4)), N_FEATURES)) > 0.5).astype(np.float32)))
    rows = tuple(row for row in rows_of(samples) if len(row.indices)) or (
        Row(np.zeros(1, np.int32), np.ones(1, np.float32)),
    )
    if kind == "learned":
        return Learned(int(rng.integers(3)))
    if kind == "near":
        first = random_part(rng, depth - 1) if depth and rng.random() < 0.5 else None
        return Near.of(first, FEW_SHOT, rows, are_examples=bool(rng.random() < 0.5))
    if kind == "any":
        parts = tuple(random_part(rng, depth - 1) for _ in range(rng.integers(1, 4)))
        return AnyOf(parts, rng.random(len(parts)), float(rng.uniform(0.5, 1)))
    judgements = tuple(Judged(row, bool(rng.random() < 0.5), rng.normal()) for row in rows)
    return Corrected(random_part(rng, depth - 1), judgements)


@given(st.integers(0, 10_000))
def test_a_plan_computes_what_its_parts_say(seed):
    rng = np.random.default_rng(seed)
    parts = [random_part(rng, int(rng.integers(0, 4))) for _ in range(rng.integers(1, 6))]
    parts.append(AnyOf((parts[0], parts[-1]), np.ones(2)))  # parts that several labels share
    learned = rng.random(3)
    X = unit_rows(
        sparse.csr_matrix(rng.random((4, N_FEATURES)).astype(np.float32) * (rng.random((4, N_FEATURES)) > 0.4))
    )
    found = Plan(parts, FEW_SHOT).log_odds(Given(*learned), Inputs(X))
    dense = X.toarray().astype(np.float64)
    expected = [[slowly(part, logit(learned), x) for part in parts] for x in dense]
    np.testing.assert_allclose(found, expected, atol=1e-4)


def test_a_curve_is_a_logistic_regression():
    rng = np.random.default_rng(0)
    z = np.concatenate([rng.normal(3, 2, 50), rng.normal(0, 1, 500)])
    y = np.repeat([1.0, 0.0], [50, 500])
    weight = np.where(y > 0, 1.0, 4.0)
    curve = _fitted(z, y, weight)
    x = (np.sign(z) * np.log1p(np.abs(z)))[:, None]
    other = LogisticRegression(C=1e6).fit(x, y, sample_weight=weight)
    assert curve.slope == pytest.approx(other.coef_[0, 0], rel=1e-2)
    assert curve.intercept == pytest.approx(other.intercept_[0], rel=1e-2)
    assert curve.rate == pytest.approx(50 / 2050, abs=1e-5)
    assert _fitted(z, np.zeros_like(y), weight) is None
