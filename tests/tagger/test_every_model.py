"""What a tagger does with any model; each is trained once."""

from __future__ import annotations

import copy

import pytest

import tacit
from small import small
from tacit.registry import MODELS
from tagger.articles import articles

PROBE = ["apple pear plum", "song chord and an engine", "rain", "words never seen"]


@pytest.fixture(scope="module", params=list(MODELS))
def trained(request: pytest.FixtureRequest) -> tacit.Tagger:
    return tacit.Tagger(model=request.param, **small(request.param)).fit(*articles())


def test_it_can_be_explained(trained):
    found = trained.explain("apple pear plum fig", "fruit")
    if not isinstance(trained.model_, tacit.Popularity):
        assert {evidence.feature for evidence in found.features} & {"apple", "pear", "plum", "fig"}
    assert 0 <= found.score <= 1


def test_it_can_be_amended_saved_and_undone(trained, tmp_path):
    tagger = copy.copy(trained)
    before = tagger.suggest(PROBE, k=4)
    tagger.add_label("orchestra", cooccurs={"music": 30})
    tagger.add_label("pome", examples=["apple pear", "a pear and an apple"])
    tagger.learn([("apple pear plum", "cars", False), ("song", "orchestra", True)])
    tagger.rename_label("cars", "vehicles")
    tagger.merge_labels(["fruit", "pome"], into="food")
    tagger.retire_label("weather")
    after = tagger.suggest(PROBE, k=10)
    assert {found.label for found in after[0]} == {"vehicles", "food", "music", "orchestra"}
    assert all(0 <= found.score <= 1 for row in after for found in row)
    tagger.save(tmp_path / "m")
    assert tacit.Tagger.load(tmp_path / "m").suggest(PROBE, k=10) == after
    while tagger.history():
        tagger.undo()
    assert tagger.suggest(PROBE, k=4) == before
    assert trained.suggest(PROBE, k=4) == before
