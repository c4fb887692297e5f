from __future__ import annotations

import json
from functools import cache

import numpy as np
import pytest

import tacit
from meanings import N_DIMENSIONS, TOPICS, UNSEEN, WordVectors, corpus
from tacit.data.vocabulary import Vocabulary
from tacit.errors import DataError, ModelFileError, ParameterError
from tacit.store.folder import _checksum
from tacit.text.encoders import Encoded

TEXTS, TAGS = corpus(400)
NEW, TRUTH = corpus(200, seed=1)


def fitted(encoder=None, texts=TEXTS, tags=TAGS, **parameters):
    return tacit.Tagger("OneVsAll", encoder=encoder, language=None, **parameters).fit(texts, tags)


@cache
def with_vectors():
    """A tagger that tests read."""
    return fitted(WordVectors())


def test_vectors_tell_what_words_do_not():
    by_words, by_both = (tagger.evaluate(NEW, TRUTH)["P@1"] for tagger in (fitted(), with_vectors()))
    assert by_both > by_words + 0.2
    assert with_vectors().encoding_.weight > 0
    assert with_vectors().n_words_ == len(with_vectors().vectorizer_.feature_names_)


class Noise:
    """An encoder that says nothing."""

    def encode(self, texts):
        return np.random.default_rng(len(texts)).normal(size=(len(texts), 8))


def test_vectors_that_say_nothing_get_no_weight():
    texts = [f"{text} {' '.join(tags)}" for text, tags in zip(TEXTS, TAGS, strict=True)]
    tagger, plain = fitted(Noise(), texts, names=False), fitted(None, texts, names=False)
    assert tagger.encoding_.weight == 0
    assert tagger.suggest(NEW) == plain.suggest(NEW)


def test_vectors_made_elsewhere_are_the_same():
    encoder = WordVectors()
    tagger = fitted(None, Encoded(TEXTS, encoder.encode(TEXTS)), names=False)
    own = fitted(encoder, names=False)
    assert tagger.suggest(Encoded(NEW, encoder.encode(NEW))) == own.suggest(NEW)
    with pytest.raises(DataError, match="made elsewhere; give those of these texts"):
        tagger.suggest(NEW)
    with pytest.raises(DataError, match=f"must have {N_DIMENSIONS} dimensions, as in training; got 3"):
        tagger.suggest(Encoded(NEW, np.ones((len(NEW), 3))))


def test_validation_samples_have_vectors_too():
    encoder = WordVectors()
    tagger = tacit.Tagger("OneVsAll", encoder=encoder, language=None).fit(TEXTS, TAGS, validation=(NEW, TRUTH))
    assert tagger.encoding_.weight > 0
    given = Encoded(TEXTS, encoder.encode(TEXTS))
    with pytest.raises(DataError, match="validation texts need vectors"):
        tacit.Tagger("OneVsAll").fit(given, TAGS, validation=(NEW, TRUTH))


# -- saving -----------------------------------------------------------------------------------------------


def test_a_saved_tagger_keeps_no_weights_and_takes_only_its_encoder(tmp_path):
    tagger = with_vectors()
    tagger.save(tmp_path / "model")
    loaded = tacit.Tagger.load(tmp_path / "model")
    with pytest.raises(ParameterError, match=r"has no name; set it again: tagger.set_params\(encoder=…\)"):
        loaded.suggest(NEW)
    loaded.set_params(encoder=WordVectors(seed=1))
    with pytest.raises(ParameterError, match="trained with another encoder .*: its vectors differ"):
        loaded.suggest(NEW)
    loaded.set_params(encoder=WordVectors())
    assert loaded.suggest(NEW) == tagger.suggest(NEW)
    loaded.save(tmp_path / "model")
    assert "encoder" not in json.loads((tmp_path / "model" / "manifest.json").read_text())["parameters"]["map"]


def damage(folder, change):
    """Change the manifest of a saved tagger."""
    path = folder / "manifest.json"
    manifest = json.loads(path.read_text())
    change(manifest["state"]["map"])
    manifest["sha256"] = _checksum(manifest)
    path.write_text(json.dumps(manifest))


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (lambda state: state.update(n_words_=3), "n_words|must have 3"),
    ],
)
def test_damaged_models_are_refused(tmp_path, change, match):
    with_vectors().save(tmp_path / "model")
    damage(tmp_path / "model", change)
    with pytest.raises(ModelFileError, match=match):
        tacit.Tagger.load(tmp_path / "model", verify=False)


# -- labels by meaning ------------------------------------------------------------------------------------


def vocabulary():
    return Vocabulary([f"c{place}" for place in range(len(TOPICS) + len(UNSEEN))], [*TOPICS, *UNSEEN])


@cache
def named(with_encoder=True):
    """A tagger with a vocabulary; some texts name their topics."""
    texts, tags = corpus(1200, seed=2, n_named=800)
    encoder = WordVectors() if with_encoder else None
    tagger = tacit.Tagger("OneVsAll", encoder=encoder, vocabulary=vocabulary(), language=None)
    return tagger.fit(texts, [[f"c{TOPICS.index(topic)}" for topic in row] for row in tags])


def rank_of_unseen(tagger):
    texts, _ = corpus(40, seed=3, topics=UNSEEN)
    found = [[tagger.readable(label) for label, _ in row] for row in tagger.suggest(texts, k=12)]
    return np.mean([row.index(topic) for row in found for topic in UNSEEN])


def test_labels_without_samples_are_found_by_meaning():
    assert named().names_.meaning is not None
    assert rank_of_unseen(named()) < 3 < 8 < rank_of_unseen(named(with_encoder=False))


def test_names_that_labels_get_later_have_a_meaning(tmp_path):
    named().save(tmp_path / "model")
    tagger = tacit.Tagger.load(tmp_path / "model").set_params(encoder=WordVectors())
    texts, _ = corpus(20, seed=4, topics=UNSEEN)
    tagger.rename_label("c11", "the weather")
    assert place_of("c11", tagger, texts) > 2  # its name is near to other texts now
    tagger.add_label("medicine and health", examples=texts[:1])
    assert place_of("medicine and health", tagger, texts) < 2


def place_of(label, tagger, texts):
    """The mean place of a label among the suggestions."""
    found = [[each.label for each in row] for row in tagger.suggest(texts, k=13)]
    return np.mean([row.index(label) for row in found])


# -- everything else that takes texts ---------------------------------------------------------------------


def test_missing_labels_are_found_with_vectors():
    tags = [row[:1] if place % 10 == 0 else row for place, row in enumerate(TAGS)]
    left_out = {(place, row[1]) for place, row in enumerate(TAGS) if place % 10 == 0}
    right = {}
    for encoder in (None, WordVectors()):
        found = fitted(encoder, tags=tags, names=False).find_missing(TEXTS, tags, n=40)
        right[encoder is None] = len({(pair.row, pair.label) for pair in found} & left_out)
        assert all(pair.evidence for pair in found)
    assert right[False] > right[True]


def test_an_update_trains_with_the_same_encoder(tmp_path):
    tagger = fitted(WordVectors(), keep_texts=True)
    tagger.update(NEW, TRUTH)
    assert tagger.n_samples_ == len(TEXTS) + len(NEW)
    assert tagger.encoding_.weight > 0
    encoder = WordVectors()
    tagger = fitted(None, Encoded(TEXTS, encoder.encode(TEXTS)), keep_texts=True)
    with pytest.raises(DataError, match="give both or neither"):
        tagger.update(NEW, TRUTH)
    tagger.update(Encoded(NEW, encoder.encode(NEW)), TRUTH)
    tagger.save(tmp_path / "model")
    assert tacit.Tagger.load(tmp_path / "model").training_.vectors.shape == (600, N_DIMENSIONS)
