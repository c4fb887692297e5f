from __future__ import annotations

import numpy as np
import pytest

from tacit.numerics.lbfgs import minimize_columns


def test_every_column_is_minimised_on_its_own():
    rng = np.random.default_rng(0)
    centers, scales = rng.normal(size=(6, 4)), np.array([0.01, 1.0, 5.0, 300.0])

    def objective(point, columns):
        off, scale = point - centers[:, columns], scales[columns]
        return scale * (off**2).sum(axis=0) / 2 + (off**4).sum(axis=0), scale * off + 4 * off**3

    assert minimize_columns(objective, np.zeros((6, 4)), 100, 1e-9) == pytest.approx(centers, abs=1e-2)
