"""Whole histories: acts, updates and reloads lead to where the same acts on all the data lead."""

from __future__ import annotations

import copy
import time
from typing import NamedTuple

import pytest

import tacit
from tacit.store.acts import Act
from tacit.tagger import home
from tagger.articles import articles

TEXTS, TAGS = articles()
FIRST = (["zither and song"] * 6 + ["wheel and brake"] * 2, [["strings", "music"]] * 6 + [["cars"]] * 2)
SECOND = (["a storm over the road", "plum jam", "a zither"], [["weather", "vehicles"], ["fruit"], ["strings"]])
AS_FIRST_CALLED = (SECOND[0], [["weather", "cars"], ["fruit"], ["strings"]])
PROBE = ["apple pear plum", "song chord and an engine", "rain and storm", "a zither", "wheel road", "words never seen"]
MODELS = {
    "OneVsAll": {},
    "LabelTree": {"n_trees": 2},
    "FastXML": {"n_trees": 4},
    "ExMLDS1": {},
    "Popularity": {},
    "MomentMatching": {},
}


def rename_and_retire(tagger: tacit.Tagger) -> None:
    tagger.rename_label("cars", "vehicles")
    tagger.retire_label("weather")


def merge_added_labels(tagger: tacit.Tagger) -> None:
    tagger.add_label("pome", examples=["apple pear", "pear pear apple"])
    tagger.add_label("stone fruit", examples=["plum plum"], cooccurs={"fruit": 12})
    tagger.merge_labels(["pome", "stone fruit"], into="tree fruit")
    tagger.rename_label("cars", "vehicles")


def learn_and_undo(tagger: tacit.Tagger) -> None:
    tagger.rename_label("cars", "vehicles")
    tagger.learn([("plum fig", "fruit", False), ("rain wind", "weather", True), ("road", "vehicles", True)])
    tagger.merge_labels(["music", "weather"], into="sounds")
    tagger.learn([("song of the wind", "sounds", True)])
    tagger.undo(tagger.acts_[2].id)  # the merger; what was learned of it does not apply any more
    tagger.retire_label("fruit")
    tagger.undo()


def add_what_then_gets_samples(tagger: tacit.Tagger) -> None:
    tagger.rename_label("cars", "vehicles")
    tagger.add_label("strings", examples=["chord"])
    tagger.rename_label("strings", "string instruments")
    tagger.learn([("a zither", "string instruments", True)])


HISTORIES = [rename_and_retire, merge_added_labels, learn_and_undo, add_what_then_gets_samples]


class Trained(NamedTuple):
    """A model of the first texts, and one of all texts that there ever are."""

    first: tacit.Tagger
    at_once: tacit.Tagger


@pytest.fixture(scope="module", params=list(MODELS))
def trained(request: pytest.FixtureRequest) -> Trained:
    """Not to be changed: histories happen to copies."""
    parameters = {"model": request.param, **MODELS[request.param], "calibrate": request.param == "OneVsAll"}
    texts, tags = (
        old + first + second for old, first, second in zip((TEXTS, TAGS), FIRST, AS_FIRST_CALLED, strict=True)
    )
    first = tacit.Tagger(keep_texts=True, **parameters).fit(TEXTS, TAGS)
    return Trained(first, tacit.Tagger(**parameters).fit(texts, tags))


@pytest.mark.parametrize("history", HISTORIES, ids=lambda history: history.__name__)
def test_two_updates_and_a_reload_lead_to_where_all_the_data_lead(trained, tmp_path, history):
    tagger, at_once = copy.copy(trained.first), copy.copy(trained.at_once)
    history(tagger)
    tagger.save(tmp_path / "model")
    for texts, tags in (FIRST, SECOND):  # the second names labels as they are called now
        updated = tacit.Tagger.load(tmp_path / "model")
        updated.update(texts, tags)
        updated.save(tmp_path / "model")
    loaded = tacit.Tagger.load(tmp_path / "model")
    home.learn_from(at_once, tagger.acts_)
    for text, found, expected in zip(PROBE, loaded.suggest(PROBE, k=20), at_once.suggest(PROBE, k=20), strict=True):
        assert dict(found) == pytest.approx(dict(expected), abs=1e-6), text
    for label in ("cars", "weather", "fruit", "music"):
        assert _known(loaded, label) == _known(at_once, label)
    assert len(loaded.acts_) == len(tagger.acts_)
    if history is rename_and_retire:
        assert loaded.column("cars") == loaded.column("vehicles")
        assert "weather" not in {found.label for row in loaded.suggest(PROBE, k=20) for found in row}


def _known(tagger: tacit.Tagger, label: str) -> str:
    """What a name leads to, or why to nothing."""
    try:
        return str(tagger.classes_[tagger.column(label)])
    except tacit.TacitError as error:
        return str(error)


def test_a_long_chain_of_undos_takes_linear_time():
    tagger = tacit.Tagger(model="Popularity", calibrate=False).fit(TEXTS, TAGS)
    chain = [Act("retire", {"label": "cars"})]
    for _ in range(20_000):
        chain.append(Act("undo", {"of": chain[-1].id}))
    began = time.process_time()
    assert home.learn_from(tagger, chain) == (chain, {})
    assert time.process_time() - began < 5
    assert len(tagger.history()) == 1
