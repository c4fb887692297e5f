"""Models saved by earlier versions still load and rank as they did; see tests/models/README.md."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import tacit
from planted import planted

SAVED = sorted(path.parent for path in (Path(__file__).parents[1] / "models").glob("*/*/manifest.json"))
INPUTS = {
    "Tagger": ["a red apple", "a green pear", "the fast car", "a slow car"],
    "TaggerWithActs": ["apple pear plum", "song chord and an engine", "rain", "words never seen"],
}


@pytest.mark.parametrize("folder", SAVED, ids=lambda folder: "/".join(folder.parts[-2:]))
def test_an_old_model_ranks_as_it_did(folder):
    model = tacit.load_model(folder)
    ranking = model.rank(INPUTS.get(folder.name, planted().X[:4]), k=3)
    expected = np.load(folder.with_suffix(".npz"))
    np.testing.assert_array_equal(ranking.labels, expected["labels"])
    np.testing.assert_allclose(ranking.scores, expected["scores"], rtol=1e-5)


def test_there_are_old_models():
    assert SAVED
