"""What LFM promises beyond the contract of all models."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

import tacit
from planted import planted
from tacit.errors import DataError
from topics import N_SEEN, X, fitted


def test_labels_that_cannot_be_scored_rank_last():
    ranking = fitted(tacit.LFM).rank(X, k=24)
    assert set(ranking.labels[:, N_SEEN:].ravel()) == set(range(N_SEEN, 24))


@pytest.mark.parametrize("cls", [tacit.LFM, tacit.MLLCS])
def test_unknown_labels_are_left_out(cls):
    X, Y = planted()
    known = sparse.csr_matrix(np.random.default_rng(0).random(Y.shape) < 0.5)
    partly = sparse.csr_matrix((np.asarray(Y[known.nonzero()]).ravel(), known.indices, known.indptr), shape=Y.shape)
    test = planted(seed=1)
    ranking = cls(absent="missing").fit(X, partly).rank(test.X, k=1)
    assert tacit.evaluate(ranking, test.Y, ks=(1,))["P@1"] > 0.9


@pytest.mark.parametrize("learn", ["fit", "partial_fit"])
@pytest.mark.parametrize("cls", [tacit.LFM, tacit.COSTA, tacit.MLLCS])
def test_rows_of_any_size_are_learned_or_refused(cls, learn):
    if not hasattr(cls, learn):
        pytest.skip("learns at once")
    features, Y = planted(n_samples=60)
    model, dense = cls(n_sweeps=5), features.toarray() + np.float32(0.5)
    scores = getattr(model, learn)(dense * np.float32(1e-40), Y).rank(dense).scores
    assert np.isfinite(scores).all()
    with pytest.raises(DataError, match="normalize=True"), np.errstate(all="ignore"):
        cls(n_sweeps=5, normalize=False).fit(dense * np.float32(1e38), Y)
