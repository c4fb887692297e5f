from __future__ import annotations

import gc

import tacit
from planted import planted
from tacit.tagger import learning


def n_fitted() -> int:
    """Fitted label trees in memory."""
    gc.collect()
    return sum(isinstance(each, tacit.LabelTree) and hasattr(each, "forest_") for each in gc.get_objects())


def test_the_model_that_was_calibrated_is_gone_when_all_samples_are_trained_on(monkeypatch):
    """Two models, each with its copy of the features, would take twice the memory."""
    train, others, found = learning.Prepared.fitted, n_fitted(), []

    def spy(*arguments):
        found.append(n_fitted() - others)
        return train(*arguments)

    monkeypatch.setattr(learning.Prepared, "fitted", spy)
    monkeypatch.setattr(learning, "_ENOUGH", 1)
    tagger = tacit.Tagger("LabelTree").fit(*planted())
    assert found == [0, 0]
    assert tagger.calibration_ is not None
