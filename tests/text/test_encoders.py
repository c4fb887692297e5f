from __future__ import annotations

import sys
from contextlib import suppress
from types import SimpleNamespace

import numpy as np
import pytest

from tacit.errors import DataError, MissingExtraError, ParameterError
from tacit.text import encoders
from tacit.text.encoders import Encoded, TextEncoder, load_encoder

WORDS = "[UNK] [PAD] fish sea law court agreement in the northern , 1987 fisheries".split()  # noqa: SIM905
N_PROBES = len(encoders._PROBES)  # texts of the fingerprint
TEXTS = [f"{WORDS[2 + i % 10]} {WORDS[2 + i % 7]} {i}" for i in range(700)]


@pytest.fixture(autouse=True)
def folder(tmp_path):
    load_encoder.cache_clear()
    return tmp_path / "model"


class Counting:
    """An encoder that counts what it is asked, and fails after some batches."""

    def __init__(self, fails_after=np.inf):
        self.n_texts = self.n_calls = 0
        self.fails_after = fails_after

    def encode(self, texts):
        self.n_calls += 1
        if self.n_calls > self.fails_after:
            raise RuntimeError("out of\nmemory")
        self.n_texts += len(texts)
        return np.array([[len(text), sum(map(ord, text)) % 97, 1] for text in texts], np.float64)


def tokenizer():
    tokenizers = pytest.importorskip("tokenizers", reason="the extra 'model2vec' is not installed")
    made = tokenizers.Tokenizer(tokenizers.models.WordLevel({word: i for i, word in enumerate(WORDS)}, "[UNK]"))
    made.normalizer = tokenizers.normalizers.Lowercase()
    made.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    return made


def save_model2vec(folder, seed=0):
    model2vec = pytest.importorskip("model2vec", reason="the extra 'model2vec' is not installed")
    vectors = np.random.default_rng(seed).normal(size=(len(WORDS), 16)).astype(np.float32)
    model2vec.StaticModel(vectors, tokenizer()).save_pretrained(str(folder))


def save_sentence_transformer(folder, seed=0):
    reason = "the extra 'sentence-transformers' is not installed: it brings torch, so `all` leaves it out"
    library = pytest.importorskip("sentence_transformers", reason=reason)
    vectors = np.random.default_rng(seed).normal(size=(len(WORDS), 16)).astype(np.float32)
    with suppress(ImportError):  # where it is depends on the version
        from sentence_transformers.models import StaticEmbedding
    with suppress(ImportError):
        from sentence_transformers.sentence_transformer.modules import StaticEmbedding
    module = StaticEmbedding(tokenizer(), embedding_weights=vectors)
    library.SentenceTransformer(modules=[module], device="cpu").save(str(folder))


SAVED = {"model2vec": save_model2vec, "sentence-transformers": save_sentence_transformer}
either = pytest.mark.parametrize("library", SAVED)
without_warnings_of_others = pytest.mark.filterwarnings("ignore")


@either
@without_warnings_of_others
def test_a_model_in_a_folder(folder, library):
    SAVED[library](folder)
    encoder = load_encoder(f"{library}:{folder}")
    alike, other = encoder.encode(["Fish sea", "sea fish", "law"])[[0, 0]], encoder.encode(["law", ""])
    assert encoder.name == f"{library}:{folder}"
    assert encoder.encode(["sea fish"])[0] == pytest.approx(alike[0], abs=1e-6)
    assert not np.allclose(other[0], alike[0], atol=1e-2)
    assert not other[1].any()
    assert TextEncoder.of(encoder.name) is encoder


@without_warnings_of_others
def test_a_model_in_the_cache_of_the_hub(tmp_path, monkeypatch):
    snapshot = tmp_path / "hub" / "models--someone--tiny" / "snapshots" / "abc"
    snapshot.parent.mkdir(parents=True)
    save_model2vec(snapshot)
    (snapshot.parent.parent / "refs").mkdir()
    (snapshot.parent.parent / "refs" / "main").write_text("abc")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    assert load_encoder("model2vec:someone/tiny").encode(["fish"]).shape == (1, 16)
    with pytest.raises(ParameterError, match="no folder 'someone/none', .* get it with: hf download someone/none"):
        load_encoder("model2vec:someone/none")


@without_warnings_of_others
def test_other_weights_are_another_encoder(folder, tmp_path):
    save_model2vec(folder)
    save_model2vec(tmp_path / "other", seed=1)
    one, other = (load_encoder(f"model2vec:{place}") for place in (folder, tmp_path / "other"))
    assert one.is_like(one.fingerprint * np.float32(1.00001))
    assert not one.is_like(other.fingerprint)


@either
@without_warnings_of_others
def test_a_folder_that_holds_something_else(library, tmp_path):
    pytest.importorskip(library.replace("-", "_"), reason=f"the extra '{library}' is not installed")
    (tmp_path / "empty").mkdir()
    with pytest.raises(ParameterError, match=f"is no model of {library}") as caught:
        load_encoder(f"{library}:{tmp_path / 'empty'}")
    assert "\n" not in str(caught.value)


def test_a_missing_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "model2vec", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'tacit-labels\[model2vec\]'"):
        load_encoder("model2vec:someone/tiny")


@pytest.mark.parametrize("name", ["model2vex:tiny", "model2vec:", "model2vec", "someone/tiny"])
def test_a_name_that_is_none(name):
    with pytest.raises(ParameterError, match="LIBRARY:MODEL, where LIBRARY is one of model2vec, sentence-transformers"):
        load_encoder(name)


def test_texts_are_encoded_in_batches():
    encoder = Counting()
    vectors = TextEncoder(encoder).encode([*TEXTS, "", " – "])
    assert encoder.n_texts == len(TEXTS) + N_PROBES
    assert encoder.n_calls == 1 + -(-len(TEXTS) // 256)
    assert np.array_equal(vectors[:-2], Counting().encode(TEXTS))
    assert not vectors[-2:].any()


def test_an_encoder_that_fails():
    with pytest.raises(DataError, match=r"^the encoder failed \(RuntimeError: out of memory\)$"):
        TextEncoder(Counting(fails_after=2)).encode(TEXTS)


def test_encoders_that_read_another_part_of_a_text_differ():
    class Head(Counting):
        def encode(self, texts):
            return super().encode([text[:500] for text in texts])

    assert not TextEncoder(Counting()).is_like(TextEncoder(Head()).fingerprint)


@pytest.mark.parametrize(
    ("found", "match"),
    [
        (lambda n: np.ones((n - 1, 3)), r"must have a row for each of 5 texts; got shape \(4, 3\)"),
        (lambda n: np.ones(n), "Expected 2D array, got 1D"),
        (lambda n: np.ones((n, 0)), "must have a row for each of 5 texts"),
        (lambda n: np.full((n, 3), np.nan), "must be finite; Input X contains NaN at row 0"),
        (lambda n: [["a"]] * n, "must be a matrix of numbers"),
        (lambda n: np.ones((n, 3 if n == N_PROBES else 2)), "must always have 3 dimensions; got 2"),
    ],
)
def test_what_an_encoder_must_not_return(found, match):
    with pytest.raises(DataError, match=match) as caught:
        TextEncoder(SimpleNamespace(encode=lambda texts: found(len(texts)))).encode(["one text"])
    assert "\n" not in str(caught.value)


def test_vectors_made_elsewhere():
    texts = Encoded(["a", "b", "c"], np.eye(3))
    assert list(texts) == ["a", "b", "c"]
    assert texts[1] == "b"
    assert np.array_equal(texts[1:].vectors, np.eye(3)[1:])
    assert list(texts.rows([2, 0])) == ["c", "a"]
    with pytest.raises(DataError, match=r"must have a row for each of 2 texts; got shape \(3, 3\)"):
        Encoded(["a", "b"], np.eye(3))
    with pytest.raises(DataError, match="NaN at row 1"):
        Encoded(["a", "b"], [[1, 2], [np.nan, 1]])
