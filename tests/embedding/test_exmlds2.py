"""What ExMLDS2 promises beyond the contract of all models."""

from __future__ import annotations

import pytest

import tacit
from planted import planted

X, Y = planted()


def precision(model):
    test = planted(seed=1)
    return tacit.evaluate(model.fit(X, Y).rank(test.X, k=1), test.Y, ks=(1,))["P@1"]


@pytest.mark.parametrize(
    "parameters",
    [
        {"objective": "nce", "n_passes": 60},
        {"noise_power": 0.0},
        {"context_space": "features", "n_context": 20},
    ],
    ids=str,
)
def test_choices_find_the_planted_labels(parameters):
    assert precision(tacit.ExMLDS2(dimension=20, **parameters)) > 0.9


@pytest.mark.real_data
@pytest.mark.slow
def test_accuracy_on_bibtex(real_data):
    train, test = (tacit.load_data(real_data / "bibtex" / f"{part}.txt") for part in ("train", "test"))
    metrics = tacit.evaluate(tacit.ExMLDS2().fit(train.X, train.Y).rank(test.X), test.Y)
    assert all(100 * metrics[f"P@{k}"] >= floor for k, floor in zip((1, 3, 5), (64.9, 38.5, 28.0), strict=True))
