"""What AnnexML promises beyond the contract of all models."""

from __future__ import annotations

import numpy as np
import pytest

import tacit
from planted import planted

X, Y = planted()


@pytest.mark.parametrize("parameters", [{"max_cluster": 70, "n_learners": 3}, {"similarity": "dot"}], ids=str)
def test_choices_find_the_planted_labels(parameters):
    test = planted(seed=1)
    ranking = tacit.AnnexML(dimension=20, **parameters).fit(X, Y).rank(test.X, k=1)
    assert tacit.evaluate(ranking, test.Y, ks=(1,))["P@1"] > 0.9


def test_it_is_joint_exmlds_with_another_loss_and_start():
    annexml = tacit.AnnexML(n_learners=2).fit(X, Y)
    same = tacit.JointExMLDS(loss="softmax", start="random", **shared_parameters(annexml)).fit(X, Y)
    assert np.array_equal(annexml.rank(X).scores, same.rank(X).scores)


def shared_parameters(model):
    theirs = tacit.JointExMLDS().get_params()
    return {name: value for name, value in model.get_params().items() if name in theirs}


@pytest.mark.real_data
@pytest.mark.slow
def test_accuracy_on_bibtex(real_data):
    """At least the precision of the authors' program with its example settings."""
    train, test = (tacit.load_data(real_data / "bibtex" / f"{part}.txt") for part in ("train", "test"))
    metrics = tacit.evaluate(tacit.AnnexML().fit(train.X, train.Y).rank(test.X), test.Y)
    assert all(100 * metrics[f"P@{k}"] >= floor for k, floor in zip((1, 3, 5), (59.9, 36.1, 26.3), strict=True))
