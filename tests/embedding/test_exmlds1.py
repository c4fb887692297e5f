"""What ExMLDS1 promises beyond the contract of all models."""

from __future__ import annotations

import pytest

import tacit
from planted import planted

X, Y = planted()


def precision(model):
    test = planted(seed=1)
    return tacit.evaluate(model.fit(X, Y).rank(test.X, k=1), test.Y, ks=(1,))["P@1"]


def test_the_singular_value_decomposition_finds_the_planted_labels():
    assert precision(tacit.ExMLDS1(dimension=20, eigenvalues="all")) > 0.9


@pytest.mark.real_data
@pytest.mark.slow
def test_accuracy_on_bibtex(real_data):
    train, test = (tacit.load_data(real_data / "bibtex" / f"{part}.txt") for part in ("train", "test"))
    metrics = tacit.evaluate(tacit.ExMLDS1().fit(train.X, train.Y).rank(test.X), test.Y)
    assert all(100 * metrics[f"P@{k}"] >= floor for k, floor in zip((1, 3, 5), (65.4, 38.8, 28.4), strict=True))
