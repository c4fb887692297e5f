"""No model judges a row that it was trained on, however often the row is in the data."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

import tacit
from tacit.core.labels import read_labels
from tacit.data.repeats import row_hashes
from tacit.latent.zero_shot import ZeroShot
from tacit.tagger import few_shot


def repeated(n_samples: int = 200, n_features: int = 30, share: float = 0.2) -> tuple[sparse.csr_matrix, np.ndarray]:
    """Every row twice, with labels that have nothing to do with it."""
    rng = np.random.default_rng(0)
    X = rng.random((n_samples, n_features)) * (rng.random((n_samples, n_features)) < 0.3)
    Y = rng.random((n_samples, 12)) < share
    rows = rng.permutation(np.repeat(np.arange(n_samples), 2))
    return sparse.csr_matrix(X[rows], dtype=np.float32), Y[rows].astype(np.float32)


USES = {
    "calibration": lambda X, Y: tacit.Tagger("OneVsAll").fit(X, Y),
    "calibration on several parts": lambda X, Y: tacit.Tagger("OneVsAll").fit(X[:100], Y[:100]),
    "tune": lambda X, Y: tacit.tune("OneVsAll", X, Y, budget_seconds=0.01, target="P@1"),
    "Blend": lambda X, Y: tacit.Blend(models=["OneVsAll", "Popularity"]).fit(X, Y),
    "find_missing": lambda X, Y: tacit.Tagger("OneVsAll", calibrate=False).fit(X, Y).find_missing(X, Y, n=1),
    "scales of scores": lambda X, Y: tacit.COSTA().fit(X, Y),
}


@pytest.mark.parametrize("use", USES)
def test_held_out_rows_are_new_to_the_model(use, monkeypatch):
    cls, fit, judge = (
        (ZeroShot, "_fit_vectors", "_scores") if use == "scales of scores" else (tacit.OneVsAll, "_fit", "_rank")
    )
    train, score, judged = getattr(cls, fit), getattr(cls, judge), []

    def spied_fit(self, X, *rest, **more):
        self.rows_of_training = row_hashes(X)
        return train(self, X, *rest, **more)

    def spied_judge(self, X, *rest):
        if X.shape[0] > 1:
            judged.append(np.isin(row_hashes(X), self.rows_of_training).mean())
        return score(self, X, *rest)

    monkeypatch.setattr(cls, fit, spied_fit)
    monkeypatch.setattr(cls, judge, spied_judge)
    USES[use](*repeated())
    assert 0 in judged
    assert set(judged) <= {0, 1}  # at the end, a model sees how far its scores go on all of its own rows


def test_examples_do_not_judge_their_repetitions():
    X, Y = repeated(share=0.015)
    curve = few_shot.measure(X, read_labels(Y), None, 0).curves["1"]
    assert abs(curve.slope) < 0.5


def test_metrics_of_held_out_rows_are_those_of_new_ones():
    X, Y = repeated(1000, n_features=300)
    held_out = tacit.Tagger("OneVsAll", C=100.0).fit(X, Y).card_["held_out_metrics"]
    assert held_out["P@1"] == pytest.approx(0.2, abs=0.08)
