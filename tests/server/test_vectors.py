"""A service whose model has an encoder: its name is in the model, its weights are elsewhere."""

from __future__ import annotations

import pytest

from meanings import WordVectors, corpus
from planted import planted
from tacit import Encoded, Tagger
from tacit.errors import ParameterError
from tacit.text import encoders

TEXTS, TAGS = corpus(200)
NEW, _ = corpus(5, seed=1)


@pytest.fixture
def encoder(tmp_path, monkeypatch):
    """The name of an encoder that any folder holds."""
    monkeypatch.setitem(encoders.LIBRARIES, "model2vec", lambda _: WordVectors())
    encoders.load_encoder.cache_clear()
    yield f"model2vec:{tmp_path}"
    encoders.load_encoder.cache_clear()


def test_requests_are_encoded(start, encoder, tmp_path):
    tagger = Tagger("OneVsAll", encoder=encoder, vector_weight=1.0, language=None).fit(TEXTS, TAGS)
    tagger.save(tmp_path / "model")
    live = start(folders={"model": tmp_path / "model"})
    found = live.post("/v1/suggest", json={"texts": NEW, "k": 3}).json()["results"]
    expected = tagger.suggest(NEW, k=3)
    labels = [[each["label"] for each in row["suggestions"]] for row in found]
    assert labels == [[each.label for each in row] for row in expected]
    label = expected[0][0].label
    why = live.post("/v1/explain", json={"text": NEW[0], "label": label}).json()
    assert why["score"] == pytest.approx(expected[0][0].score, abs=1e-5)
    judged = {"judgements": [{"text": NEW[0], "label": label, "accepted": False}]}
    assert live.post("/v1/feedback", json=judged).status_code < 300
    again = live.post("/v1/suggest", json={"text": NEW[0], "k": 20}).json()["results"][0]["suggestions"]
    assert {each["label"]: each["score"] for each in again}[label] < expected[0][0].score


def test_models_that_cannot_be_served(start, encoder, tmp_path):
    given = Encoded(TEXTS, WordVectors().encode(TEXTS))
    Tagger("OneVsAll", vector_weight=1.0, language=None).fit(given, TAGS).save(tmp_path / "vectors")
    Tagger("OneVsAll").fit(*planted()).save(tmp_path / "numbers")
    for name, reason in (("vectors", "vectors made elsewhere"), ("numbers", "trained on features")):
        with pytest.raises(ParameterError, match=reason):
            start(folders={name: tmp_path / name})
