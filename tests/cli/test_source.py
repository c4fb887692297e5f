"""Vectors and encoders that commands are given beside the data."""

from __future__ import annotations

import json

import numpy as np
import pytest
from tests.text.test_encoders import save_model2vec

import tacit as library
from meanings import WordVectors, corpus
from tacit.text.encoders import load_encoder

TRAIN, TEST = corpus(300), corpus(40, seed=1)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Data with vectors made elsewhere."""
    place = tmp_path_factory.mktemp("vectors")
    for name, (texts, tags) in {"train": TRAIN, "test": TEST}.items():
        records = [{"text": text, "labels": labels} for text, labels in zip(texts, tags, strict=True)]
        (place / f"{name}.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
        np.save(place / f"{name}.npy", WordVectors().encode(texts))
    return place


def options(folder, name):
    return folder / f"{name}.jsonl", "--vectors", folder / f"{name}.npy"


@pytest.fixture
def model(tacit, folder, tmp_path):
    how = "--model", "OneVsAll", "--valid", "0.2", "--out", tmp_path / "model"
    found = tacit("train", *options(folder, "train"), *how)
    assert found.code == 0, found.err
    assert "they are used at weight" in found.err + found.out
    return tmp_path / "model"


def test_vectors_made_elsewhere(tacit, folder, model, tmp_path):
    scores = tacit("evaluate", model, *options(folder, "test"), "--json", "--report", tmp_path / "report.html")
    assert scores.code == 0, scores.err
    assert json.loads(scores.out)["P@1"] > 0.8
    lines = tacit("suggest", model, *options(folder, "test"), "-k", 2).out.splitlines()
    assert len(lines) == 40
    tagger = library.Tagger.load(model)
    own = tagger.suggest(library.Encoded(TEST[0], WordVectors().encode(TEST[0])), k=2)
    first = json.loads(lines[0])["suggestions"]
    assert [each["label"] for each in first] == [each.label for each in own[0]]
    missing = tacit("find-missing", model, *options(folder, "train"), "-n", 3)
    assert missing.code == 0, missing.err
    served = tacit("serve", model, "--port", 0)
    assert served.code == 2
    assert "vectors made elsewhere, which requests do not have" in served.err


@pytest.mark.parametrize(
    ("vectors", "match"),
    [
        (np.ones((39, 24), np.float32), "test.jsonl; got 39"),
        (np.ones((41, 24), np.float32), "test.jsonl; got 41"),
        (np.ones((40, 3), np.float32), "must have 24 dimensions, as in training; got 3"),
        (np.full((40, 24), np.nan, np.float32), "must be finite; Input X contains NaN at row 0"),
        (np.ones(40, np.float32), "got float32 of shape (40,)"),
        (np.array([["a"]]), "must be a matrix of numbers"),
        (np.array([{}], dtype=object), "must be a matrix of numbers as numpy.save writes it"),
    ],
)
def test_bad_vectors(tacit, folder, model, tmp_path, vectors, match):
    np.save(tmp_path / "bad.npy", vectors, allow_pickle=True)
    for command in ("suggest", "evaluate"):
        found = tacit(command, model, folder / "test.jsonl", "--vectors", tmp_path / "bad.npy")
        assert found.code == 2
        told = found.err.splitlines()[-1]
        assert match in told or (command == "evaluate" and "must have a row for each of 40 texts" in told)
    np.save(tmp_path / "bad.npy", vectors, allow_pickle=True)
    if len(vectors) != 40 or vectors.ndim != 2 or not np.isfinite(vectors).all():
        trained = tacit("train", folder / "test.jsonl", "--vectors", tmp_path / "bad.npy", "--out", tmp_path / "new")
        assert trained.code == 2
        assert trained.err.count("\n") == 1
        assert not (tmp_path / "new").exists()


@pytest.mark.filterwarnings("ignore")
def test_an_encoder_by_name(tacit, folder, tmp_path):
    save_model2vec(tmp_path / "tiny")
    save_model2vec(tmp_path / "other", seed=1)
    words = ["fish", "sea", "law", "court", "agreement", "northern"]
    records = [{"text": f"{words[i % 6]} {words[i % 5]} x{i}", "labels": [words[i % 6]]} for i in range(120)]
    (tmp_path / "train.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    data, encoder = tmp_path / "train.jsonl", f"model2vec:{tmp_path / 'tiny'}"
    trained = tacit("train", data, "--encoder", encoder, "--out", tmp_path / "model", "--no-calibrate")
    assert trained.code == 0, trained.err
    assert library.Tagger.load(tmp_path / "model").encoding_.name == encoder
    assert tacit("suggest", tmp_path / "model", data).code == 0
    (tmp_path / "tiny").rename(tmp_path / "moved")
    load_encoder.cache_clear()
    found = tacit("suggest", tmp_path / "model", data)
    assert found.code == 2
    assert "there is no folder" in found.err
    assert tacit("suggest", tmp_path / "model", data, "--encoder", f"model2vec:{tmp_path / 'moved'}").code == 0
    found = tacit("suggest", tmp_path / "model", data, "--encoder", f"model2vec:{tmp_path / 'other'}")
    assert found.code == 2
    assert "trained with another encoder" in found.err
