"""Gibbs sampling finds what EM finds, with intervals."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

import tacit
from tacit.errors import ParameterError


def blurred(n_samples: int, seed: int) -> tuple[sparse.csr_matrix, sparse.csr_matrix]:
    """One or more of twelve labels, each with a feature of its own under noise: right answers, but not always found."""
    rng = np.random.default_rng(seed)
    labels = rng.random((n_samples, 12)) < 0.15
    labels[np.arange(n_samples), rng.integers(0, 12, n_samples)] = True
    features = labels + 0.4 * rng.standard_normal((n_samples, 12))
    return sparse.csr_matrix(features.astype(np.float32)), sparse.csr_matrix(labels.astype(np.float32))


def test_gibbs_sampling_agrees_with_em():
    pytest.importorskip("polyagamma", reason="needs the extra 'gibbs'")
    options = {"n_factors": 12, "mapping": "linear", "calibration_folds": 0}
    X, Y = blurred(300, 0)
    X_test, Y_test = blurred(3000, 1)  # a point of P@1 is well beyond chance
    em = tacit.MLLCS(**options).fit(X, Y)
    gibbs = tacit.MLLCS(inference="gibbs", n_draws=40, n_burn_in=60, thin=2, **options).fit(X, Y)
    first, second = (1 / (1 + np.exp(-model._scores(model._features(X_test)))) for model in (em, gibbs))
    assert np.corrcoef(first.ravel(), second.ravel())[0, 1] > 0.95
    precisions = [tacit.evaluate(model.rank(X_test, k=1), Y_test, ks=(1,))["P@1"] for model in (em, gibbs)]
    assert precisions[0] == pytest.approx(precisions[1], abs=0.01)
    assert 0.8 < precisions[0] < 0.99  # neither trivial nor lost
    low, high = gibbs.intervals(X, 0.9)
    assert ((low >= 0) & (low <= high) & (high <= 1)).all()
    with pytest.raises(ParameterError, match="train with inference='gibbs'"):
        em.intervals(X)
    with pytest.raises(ParameterError, match="uncertain needs inference='em' or 'variational'"):
        gibbs.uncertain(X)
