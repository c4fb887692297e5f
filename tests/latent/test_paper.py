"""The models of the ML-LCS paper as printed, beside exact solutions of its equations (with the corrected κ)."""

from __future__ import annotations

import numpy as np
import pytest

import tacit
from reference import latent as reference
from tacit.latent.model import initial_factors, with_constant
from tacit.numerics.rows import unit_rows
from topics import HELD, N_SEEN, TRUTH, X

N_LABELS = TRUTH.shape[1]
K = round(0.8 * N_LABELS)
M = HELD.cooccurrence.toarray().astype(float)


def printed(counts: np.ndarray, n_labels: int) -> tuple[np.ndarray, ...]:
    features = with_constant(unit_rows(X))
    start = initial_factors(*features.shape, N_SEEN, n_labels, K, 0)
    first = (start.V.astype(float), start.B.astype(float))
    labels = HELD.Y_seen.toarray().astype(float)
    return reference.printed_em(features.toarray().astype(float), labels, counts, 5.0, first, 60)


def correlation(a: np.ndarray, b: np.ndarray) -> float:
    return float(np.corrcoef(a.ravel(), b.ravel())[0, 1])


def test_mllcs_as_printed_solves_the_equations_of_the_paper():
    model = tacit.MLLCS.paper(n_sweeps=60).fit(X, HELD.Y_seen, cooccurrence=HELD.cooccurrence)
    _, V, B, W, Psi = printed(M, N_LABELS)
    assert model.label_factors_.shape == (N_SEEN, K)  # more than there are seen labels
    features = with_constant(unit_rows(X)).toarray().astype(float)
    scores, expected = model.decision_function(X), features @ W @ np.vstack([V, B[N_SEEN:] @ Psi]).T
    assert correlation(scores[:, :N_SEEN], expected[:, :N_SEEN]) > 0.99
    assert correlation(scores[:, N_SEEN:], expected[:, N_SEEN:]) > 0.95


def test_lfm_as_printed_ignores_the_counts():
    model = tacit.LFM.paper(n_sweeps=60).fit(X, HELD.Y_seen, cooccurrence=HELD.cooccurrence)
    _, V, _, W, _ = printed(np.zeros((N_SEEN, 0)), 0)
    expected = with_constant(unit_rows(X)) @ W @ V.T
    assert correlation(model.decision_function(X)[:, :N_SEEN], expected) > 0.99


def test_costa_as_printed_averages_the_label_factors_of_lfm():
    model = tacit.COSTA.paper(n_sweeps=60).fit(X, HELD.Y_seen, cooccurrence=HELD.cooccurrence)
    seen = tacit.LFM.paper(n_sweeps=60).fit(X, HELD.Y_seen, cooccurrence=HELD.cooccurrence).decision_function(X)
    shares = M[:, N_SEEN:] / M[:, N_SEEN:].sum(axis=0)
    assert model.decision_function(X)[:, N_SEEN:] == pytest.approx(seen[:, :N_SEEN] @ shares, abs=1e-3)


@pytest.mark.parametrize(("n_factors", "expected"), [(3, 3), (100, N_SEEN), (0.5, 12), (0.8, 19)])
def test_a_number_of_factors_is_limited_and_a_share_is_not(n_factors, expected):
    options = {"n_sweeps": 1, "calibration_folds": 0, "n_factors": n_factors}
    fitted = tacit.MLLCS(**options).fit(X, HELD.Y_seen, cooccurrence=HELD.cooccurrence)
    batch = tacit.MLLCS(**options).partial_fit(X, HELD.Y_seen, cooccurrence=HELD.cooccurrence)
    assert fitted.label_factors_.shape[1] == batch.label_factors_.shape[1] == expected
