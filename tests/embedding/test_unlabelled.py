from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from tacit.embedding.unlabelled import Regressor, guessed_embedding
from tacit.numerics.ridge import fit_regressor

X = sparse.csr_matrix(np.eye(3, 6, dtype=np.float32))
Z = np.diag([1.0, 2.0, 3.0]).astype(np.float32)
OTHERS = sparse.csr_matrix(np.eye(3, 6, dtype=np.float32) + np.eye(3, 6, 3, dtype=np.float32))


def test_others_are_placed_where_similar_samples_are():
    weights = fit_regressor(X, Z, 0.1)
    assert guessed_embedding(weights, X, Z, OTHERS) == pytest.approx(Z)


def test_others_teach_features_that_no_labelled_sample_has():
    alone, together = Regressor(0.1, 0.0)(X, Z, OTHERS), Regressor(0.1, 0.0, 0.5)(X, Z, OTHERS)
    assert not alone[3:].any()
    assert (np.diag(together[3:]) > 0.03).all()


def test_the_share_mixes_two_maps():
    first, half, second = (Regressor(0.1, 0.0, share)(X, Z, OTHERS) for share in (0.0, 0.5, 1.0))
    assert half == pytest.approx((first + second) / 2, abs=1e-6)


def test_without_others_there_is_one_map():
    assert np.array_equal(Regressor(0.1, 0.0, 0.5)(X, Z, OTHERS[:0]), fit_regressor(X, Z, 0.1))
