from __future__ import annotations

import json

import pytest

import tacit as library


@pytest.fixture
def two_models(tacit, numeric, tmp_path):
    for name in ("Popularity", "OneVsAll"):
        assert tacit("train", numeric, "--model", name, "--no-calibrate", "--out", tmp_path / name).code == 0
    return tmp_path / "Popularity", tmp_path / "OneVsAll"


def test_a_better_model_is_told_from_a_worse_one(tacit, two_models, numeric):
    shown = tacit("compare", *two_models, numeric)
    assert shown.code == 0, shown.err
    assert "240 samples" in shown.out
    assert "B is better in every metric." in shown.out
    found = json.loads(tacit("compare", *two_models, numeric, "--json").out)
    assert [one["metric"] for one in found[:3]] == ["P@1", "P@3", "P@5"]
    assert found[0]["interval"][0] > 0.3
    assert found[0]["difference"] == pytest.approx(found[0]["b"] - found[0]["a"])


def test_a_model_is_not_told_from_itself(tacit, two_models, numeric):
    assert "No clear difference between the two models" in tacit("compare", two_models[0], two_models[0], numeric).out


def test_a_tagger_compares_with_a_bare_model(tacit, two_models, numeric, tmp_path):
    data = library.load_data(numeric)
    library.OneVsAll().fit(data.X, data.Y, label_names=data.label_names).save(tmp_path / "bare")
    assert "No clear difference" in tacit("compare", two_models[1], tmp_path / "bare", numeric).out
