"""Gibbs sampling finds what EM finds, with intervals."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from scipy.special import logit

import tacit
from tacit.errors import ParameterError
from tacit.latent import gibbs
from tacit.latent.em import ridge_map
from tacit.latent.gibbs import _draw_rows
from tacit.latent.model import with_constant
from topics import HELD, N_SEEN, fitted, unseen_precision
from topics import X as TOPIC_X

pytest.importorskip("polyagamma", reason="needs the extra 'gibbs'")


def blurred(n_samples: int, seed: int) -> tuple[sparse.csr_matrix, sparse.csr_matrix]:
    """One or more of twelve labels, each with a feature of its own under noise: right answers, but not always found."""
    rng = np.random.default_rng(seed)
    labels = rng.random((n_samples, 12)) < 0.15
    labels[np.arange(n_samples), rng.integers(0, 12, n_samples)] = True
    features = labels + 0.4 * rng.standard_normal((n_samples, 12))
    return sparse.csr_matrix(features.astype(np.float32)), sparse.csr_matrix(labels.astype(np.float32))


def test_gibbs_sampling_agrees_with_em():
    options = {"n_factors": 12, "calibration_folds": 0}
    X, Y = blurred(300, 0)
    X_test, Y_test = blurred(3000, 1)  # a point of P@1 is well beyond chance
    em = tacit.MLLCS(mapping="linear", **options).fit(X, Y)
    sampled = tacit.MLLCS(inference="gibbs", n_draws=40, n_burn_in=60, thin=2, **options).fit(X, Y)
    first, second = (1 / (1 + np.exp(-model._scores(model._features(X_test)))) for model in (em, sampled))
    assert np.corrcoef(first.ravel(), second.ravel())[0, 1] > 0.95
    precisions = [tacit.evaluate(model.rank(X_test, k=1), Y_test, ks=(1,))["P@1"] for model in (em, sampled)]
    assert precisions[0] == pytest.approx(precisions[1], abs=0.01)
    assert 0.8 < precisions[0] < 0.99  # neither trivial nor lost
    low, high = sampled.intervals(X, 0.9)
    assert ((low >= 0) & (low <= high) & (high <= 1)).all()
    for wrong in (lambda: em.intervals(X), lambda: sampled.uncertain(X), lambda: sampled.add_labels(np.ones(12))):
        with pytest.raises(ParameterError):
            wrong()


# -- unseen labels --------------------------------------------------------------------------------------------

FEW = {"inference": "gibbs", "n_factors": 6, "n_draws": 8, "n_burn_in": 20, "thin": 1, "calibration_folds": 0}


def test_unseen_labels_are_found_by_their_topic():
    assert unseen_precision(fitted(tacit.MLLCS, **FEW)) > 0.4  # a third of that by chance


def test_intervals_cover_all_labels_and_are_wider_for_unseen_ones(tmp_path):
    model = tacit.MLLCS(**{**FEW, "calibration_folds": 1, "n_draws": 20})
    model.fit(TOPIC_X, HELD.Y_seen, cooccurrence=HELD.cooccurrence)
    low, high = model.intervals(TOPIC_X, 0.9)
    assert low.shape == (TOPIC_X.shape[0], 24)
    log_odds = model._scores(model._features(TOPIC_X))  # means of the log-odds whose quantiles the bounds are
    assert (((log_odds >= logit(low)) & (log_odds <= logit(high))).mean(axis=0) > 0.95).all()
    slopes = model.seen_curve_.slope, model.unseen_curve_.slope
    width = (logit(high) - logit(low)).mean(axis=0) / np.where(model.label_counts_ > 0, *slopes)
    assert width[N_SEEN:].mean() > width[:N_SEEN].mean()
    model.remove_labels([0, 3])
    kept = np.delete(np.arange(24), [0, 3])
    for bound, after in zip((low, high), model.intervals(TOPIC_X), strict=True):
        assert np.array_equal(after, bound[:, kept])
    model.save(tmp_path / "model")
    assert np.array_equal(tacit.load_model(tmp_path / "model").intervals(TOPIC_X), model.intervals(TOPIC_X))


def test_psi_of_each_draw_is_applied_to_the_types_drawn_with_it(monkeypatch):
    """The vectors of unseen labels are those of the type-2 factors of the same draw, and the mean score ranks."""
    maps = []
    monkeypatch.setattr(gibbs, "ridge_map", lambda *args: maps.append((args, ridge_map(*args))) or maps[-1][1])
    model = tacit.MLLCS(**FEW).fit(TOPIC_X, HELD.Y_seen, cooccurrence=HELD.cooccurrence)
    scores = 0
    features = with_constant(model._features(TOPIC_X)).toarray()
    for W, V, ((own, seen, ridge), Psi) in zip(model.draws_.W, model.draws_.V, maps[-8:], strict=True):
        expected = np.linalg.solve(own.T @ own + ridge * np.eye(6), own.T @ seen)
        assert pytest.approx(expected, abs=1e-4) == Psi
        assert V[:N_SEEN] == pytest.approx(seen, abs=1e-4)
        scores = scores + features @ W @ V.T / FEW["n_draws"]
    assert model._scores(model._features(TOPIC_X)) == pytest.approx(scores, abs=1e-3)


def test_rows_are_drawn_from_their_gaussian():
    rng = np.random.default_rng(0)
    factors, weights = rng.standard_normal((7, 2)), rng.random((1, 7))
    right, prior = rng.standard_normal((1, 2)), np.array([[2.0, 0.5], [0.5, 1.0]])
    drawn = _draw_rows(factors, weights.repeat(40_000, axis=0), right.repeat(40_000, axis=0), prior, rng)
    covariance = np.linalg.inv((factors.T * weights) @ factors + prior)
    assert drawn.mean(axis=0) == pytest.approx(covariance @ right[0], abs=0.02)
    assert np.cov(drawn.T) == pytest.approx(covariance, abs=0.02)
