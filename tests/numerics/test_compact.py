"""Half precision is for weights that it can hold."""

from __future__ import annotations

import numpy as np
import pytest

import tacit
from planted import planted
from tacit.numerics.compact import as_halves
from tacit.store.packing import pack_model

#: What makes the same model of features that are all `scale` times as long, beside `normalize=False`.
RESCALED = {
    **dict.fromkeys(("ExMLDS1", "ExMLDS2", "ExMLDS3", "SLEEC", "JointExMLDS"), lambda scale: {"ridge": scale**2}),
    "AnnexML": lambda scale: {},
    "LabelTree": lambda scale: {"C": 0.4 / scale**2, "prune": 0.05 / scale, "bias": scale},
}


def dtypes(model) -> set[str]:
    arrays = {}
    pack_model(model, arrays)
    return {str(array.dtype) for array in arrays.values()}


@pytest.mark.parametrize("size", [1e-30, 1e-7, 1e-5, 1e-2, 1.0, 1e3, 1e5, 1e30])
def test_values_keep_their_digits(size):
    values = (size * np.random.default_rng(0).standard_normal((40, 5))).astype(np.float32)
    kept = as_halves(values)
    assert kept.dtype == (np.float16 if 1e-3 < size < 1e4 else np.float32)
    assert as_halves(np.append(values, values[0, 0] * 1e-8)).dtype == kept.dtype  # a few small ones do not count
    error = np.linalg.norm((kept - values) / np.float32(size)) / np.linalg.norm(values / np.float32(size))
    assert error < 1e-3


@pytest.mark.parametrize("name", RESCALED)
@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_short_and_long_rows_are_ranked_alike(name, scale):
    X, Y = planted()
    test = planted(seed=1)
    options = RESCALED[name](scale)
    model = getattr(tacit, name)(normalize=False, **options).fit(np.float32(scale) * X, Y)
    ranking = model.rank(np.float32(scale) * test.X)
    assert np.isfinite(ranking.scores).all()
    assert tacit.evaluate(ranking, test.Y, ks=(1,))["P@1"] > 0.97
    if scale == 1:
        assert "float16" in dtypes(model)
