"""Models saved by earlier versions still load and rank as they did; see tests/models/README.md."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import tacit
from planted import planted
from tacit.store import folder

SAVED = sorted(path.parent for path in (Path(__file__).parents[1] / "models").glob("*/*/manifest.json"))
INPUTS = {
    "Tagger": ["a red apple", "a green pear", "the fast car", "a slow car"],
    "TaggerWithActs": ["apple pear plum", "song chord and an engine", "rain"],  # the fourth has no known word
}


@pytest.mark.parametrize("saved", SAVED, ids=lambda saved: "/".join(saved.parts[-2:]))
def test_an_old_model_ranks_as_it_did(saved):
    model = tacit.load_model(saved)
    ranking = model.rank(INPUTS.get(saved.name, planted().X[:4]), k=3)
    expected = np.load(saved.with_suffix(".npz"))
    np.testing.assert_array_equal(ranking.labels, expected["labels"][: len(ranking)])
    np.testing.assert_allclose(ranking.scores, expected["scores"][: len(ranking)], rtol=1e-5)


def test_there_are_old_models():
    assert SAVED


@pytest.mark.parametrize("with_grams", [False, True])
def test_characters_became_features(with_grams, tmp_path):
    features = "words+characters" if with_grams else "words"
    tacit.Tagger("OneVsAll", features=features).fit(["red apple", "green pear"], [["a"], ["b"]]).save(tmp_path)
    path = tmp_path / "manifest.json"
    manifest = json.loads(path.read_text())
    for part in (manifest["parameters"], manifest["state"]["map"]["vectorizer_"]):
        del part["map"]["features"]
        part["map"]["characters"] = with_grams
    path.write_text(json.dumps({**manifest, "sha256": folder._checksum(manifest)}))
    tagger = tacit.Tagger.load(tmp_path)
    assert tagger.features == tagger.vectorizer_.features == features
    assert tagger.suggest(["red"], k=1)[0][0].label == "a"
