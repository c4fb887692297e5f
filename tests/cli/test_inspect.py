from __future__ import annotations

import json

import numpy as np

import tacit as library
from planted import planted


def test_a_tagger_tells_what_it_was_trained_on(tacit, articles, tmp_path):
    model = tmp_path / "model"
    tacit(
        "train", articles, "--text", "title,body", "--labels", "tags", "--out", model, "--seed", 3, "--param", "C=0.5"
    )
    shown = tacit("inspect", model)
    assert shown.code == 0, shown.err
    for word in ("OneVsAll", "texts", "fingerprint", "versions", "numpy", "held out", "21-100", "PSnDCG"):
        assert word in shown.out
    found = json.loads(tacit("inspect", model, "--json").out)
    assert (found["samples"], found["labels"], found["seed"]) == (90, 3, 3)
    assert found["parameters"]["C"] == 0.5
    assert sum(found["labels_by_band"].values()) == 3
    assert found["size in bytes"] == sum(file.stat().st_size for file in model.iterdir())
    assert found["changes"] == []


def test_what_a_model_keeps_is_shown(tacit, articles, tmp_path):
    """Folders are shared, and texts may be private: training texts, and those given with acts."""
    command = ("train", articles, "--text", "title,body", "--labels", "tags", "--out")
    for name, options in (("kept", ["--keep-texts"]), ("plain", [])):
        tacit(*command, tmp_path / name, *options)
    (tmp_path / "judged.jsonl").write_text('{"text": "an apple", "label": "cars", "accepted": false}\n')
    tacit("learn", tmp_path / "plain", tmp_path / "judged.jsonl")
    found = {name: json.loads(tacit("inspect", tmp_path / name, "--json").out) for name in ("kept", "plain")}
    assert [found[name]["training data kept"] for name in ("kept", "plain")] == ["90 texts", "none"]
    assert [found[name]["samples in acts"] for name in ("kept", "plain")] == [0, 1]


def test_a_bare_model_is_inspected_too(tacit, tmp_path):
    X, Y = planted()
    library.PfastXML(n_trees=2, propensities=np.full(Y.shape[1], 0.5)).fit(X, Y).save(tmp_path / "m")
    shown = tacit("inspect", tmp_path / "m")
    assert shown.code == 0, shown.err
    assert "estimator" in shown.out
    assert "array of shape (12,)" in shown.out
    assert json.loads(tacit("inspect", tmp_path / "m", "--json").out)["fingerprint of the data"] is None
