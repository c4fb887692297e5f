"""What AnnexML promises beyond the contract of all models; accuracy is in test_pipeline."""

from __future__ import annotations

import numpy as np
import pytest

import tacit
from planted import planted


@pytest.mark.parametrize("parameters", [{"max_cluster": 70, "n_learners": 3}, {"similarity": "dot"}], ids=str)
def test_choices_find_the_planted_labels(parameters):
    X, Y = planted()
    test = planted(seed=1)
    model = tacit.AnnexML(dimension=20, **parameters).fit(X, Y)
    assert tacit.evaluate(model.rank(test.X, k=1), test.Y, ks=(1,))["P@1"] > 0.9
    joint = tacit.JointExMLDS(dimension=20, start="random", rate=0.1, **parameters).fit(X, Y)
    assert not np.array_equal(model.rank(X).scores, joint.rank(X).scores)  # they differ in the loss
