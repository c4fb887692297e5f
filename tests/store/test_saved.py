"""Saved models load and rank as they did when they were saved; see tests/models/README.md."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

import tacit
from models.save import TEXTS, X
from tacit.registry import MODELS

SAVED = Path(__file__).parents[1] / "models"


@pytest.mark.parametrize("name", [*MODELS, "Tagger"])
def test_a_saved_model_ranks_as_it_did(name):
    model = tacit.load_model(SAVED / name)
    ranking = model.rank(TEXTS if name == "Tagger" else X[:4], k=3)
    expected = np.load(SAVED / f"{name}.npz")
    np.testing.assert_array_equal(ranking.labels, expected["labels"])
    np.testing.assert_allclose(ranking.scores, expected["scores"], rtol=1e-4, atol=1e-6)


def test_a_saved_tagger_goes_on(tmp_path):
    folder = Path(shutil.copytree(SAVED / "Tagger", tmp_path / "model"))
    tagger = tacit.Tagger.load(folder)
    assert len(tagger.history()) == 4
    assert {"fruit", "cars", "pome"} <= set(tagger.classes_)
    tagger.rename_label("cars", "vehicles")
    tagger.save(folder)
    tagger.update(["a bus"] * 3, [["bus"]] * 3)
    tagger.save(folder)
    assert {"vehicles", "bus", "pome"} <= set(tacit.Tagger.load(folder).classes_)
