from __future__ import annotations

import copy

import numpy as np
import pytest

import tacit
from tacit.core.labels import read_labels
from tacit.errors import DataError, ParameterError
from tacit.tagger import few_shot
from tagger.articles import articles

TEXTS, TAGS = articles()
NEW_TEXTS = ["zither and song"] * 6 + ["wheel and brake"] * 2
NEW_TAGS = [["strings", "music"]] * 6 + [["cars"]] * 2


@pytest.fixture(scope="module")
def kept() -> tacit.Tagger:
    return tacit.Tagger(model="OneVsAll", keep_texts=True).fit(TEXTS, TAGS)


@pytest.fixture
def tagger(kept) -> tacit.Tagger:
    return copy.copy(kept)


def labels_of(tagger: tacit.Tagger, text: str) -> list[str]:
    return [found.label for found in tagger.suggest([text], k=9)[0]]


# -- previews and history ---------------------------------------------------------------------------------


def test_history_says_what_was_done(tagger):
    tagger.add_label("pome", examples=["apple pear"], cooccurs={"fruit": 3, "cars": 1})
    tagger.learn([("apple", "fruit", True), ("apple", "cars", False)])
    tagger.rename_label("cars", "vehicles")
    tagger.merge_labels(["music", "weather"], into="sounds")
    tagger.retire_label("pome")
    assert tagger.history() == [
        "added 'pome' from 2 co-occurring labels, 1 example",
        "accepted 'fruit', rejected 'cars' for 'apple'",
        "renamed 'cars' to 'vehicles'",
        "merged 'music', 'weather' into 'sounds'",
        "retired 'pome'",
    ]
    assert tagger.undo() == "took back: retired 'pome'"
    assert len(tagger.history()) == 4


# -- updates ----------------------------------------------------------------------------------------------


def test_counting_on_is_exact():
    tagger = tacit.Tagger(model="Popularity").fit(TEXTS, TAGS)
    assert tagger.update(NEW_TEXTS, NEW_TAGS) == "counted 8 new samples, exactly; 1 label is new"
    at_once = tacit.Popularity().fit(np.ones((168, 1)), TAGS + NEW_TAGS)
    shares = dict(zip(at_once.classes_, at_once.shares_.tolist(), strict=True))
    assert dict(zip(tagger.classes_, tagger.model_.shares_.tolist(), strict=True)) == shares
    assert tagger.relations_.diagonal().tolist() == tagger.model_.label_counts_.tolist()
    assert "strings" in labels_of(tagger, "a song")


@pytest.mark.parametrize("keep_texts", [False, True])
@pytest.mark.parametrize("name", ["Popularity", "MLLCS", "OneVsAll"])
def test_samples_that_the_model_has_are_left_out(name, keep_texts, tmp_path):
    if name == "OneVsAll" and not keep_texts:
        pytest.skip("cannot be updated")
    parameters = {"n_factors": 4} if name == "MLLCS" else {}
    tacit.Tagger(name, keep_texts=keep_texts, **parameters).fit(TEXTS, TAGS).save(tmp_path / "m")
    tagger = tacit.Tagger.load(tmp_path / "m")
    tagger.rename_label("cars", "vehicles")
    texts = [*NEW_TEXTS[6:], TEXTS[0], f" {TEXTS[1].upper()} ", TEXTS[2]]
    tags = [["vehicles"], ["cars"], TAGS[0], TAGS[1], ["fruit", "cars", "music"]]
    done = tagger.update(texts, tags)
    assert "left out 2" in done
    assert "1 that it has with other labels" in done
    assert tagger.model_.n_samples_ == len(TEXTS) + 3
    before, scores = tagger.card_, tagger.rank(TEXTS, 3).scores
    assert "nothing is new" in tagger.update(texts, tags)
    assert tagger.card_ == before
    np.testing.assert_array_equal(tagger.rank(TEXTS, 3).scores, scores)
    tagger.update([texts[0]], [["fruit"]])
    assert tagger.model_.n_samples_ == len(TEXTS) + 4


def test_a_model_that_learns_on_does():
    tagger = tacit.Tagger(model="MLLCS", n_factors=4).fit(TEXTS, TAGS)
    done = tagger.update(["wheel and brake"] * 3, [["cars"]] * 3)
    assert done == "trained MLLCS on 3 new samples; its calibration is unchanged"
    assert tagger.model_.n_samples_ == len(TEXTS) + 3
    with pytest.raises(ParameterError, match="MLLCS cannot learn labels that are new to it without the training data"):
        tagger.update(NEW_TEXTS, NEW_TAGS)


def test_other_models_are_trained_again_on_what_was_kept(tagger):
    done = tagger.update(NEW_TEXTS, NEW_TAGS)
    assert done == "trained OneVsAll again on 168 samples, 160 kept and 8 new; 1 label is new"
    assert labels_of(tagger, "a zither")[0] == "strings"  # a word that the vectoriser did not know
    assert len(tagger.training_.texts) == 168
    assert len(labels_of(tagger, "a zither")) == 5
    assert tagger.card_["updates"] == [done]


def test_acts_stay_in_force_after_an_update(tagger):
    tagger.add_label("strings", examples=["chord"])  # gets samples now
    tagger.add_label("pome", examples=["apple pear"])
    tagger.learn([("plum fig", "fruit", False), ("apple", "pome", True)])
    tagger.rename_label("cars", "vehicles")
    tagger.merge_labels(["music", "weather"], into="sounds")
    done = tagger.update([*NEW_TEXTS, "storm"], [*NEW_TAGS, ["weather"]])
    assert "169 samples" in done
    assert sorted(labels_of(tagger, "storm")) == ["fruit", "pome", "sounds", "strings", "vehicles"]
    assert labels_of(tagger, "storm wind")[0] == "sounds"
    assert len(tagger.history()) == 5
    assert [str(act) for act in tagger.acts_ if act.id in tagger.left_out_] == ["added 'strings' from 1 example"]
    assert tagger.column("cars") == tagger.column("vehicles")
    assert tagger.column("weather") == tagger.column("sounds")


def test_an_update_that_cannot_be_says_what_to_do():
    tagger = tacit.Tagger(model="OneVsAll").fit(TEXTS, TAGS)
    with pytest.raises(ParameterError, match="OneVsAll cannot learn new samples .* keep_texts=True"):
        tagger.update(NEW_TEXTS, NEW_TAGS)
    with pytest.raises(DataError, match="the new samples have no labels"):
        tagger.update(["a"], [[]])
    with pytest.raises(DataError, match="one entry per sample; got 2 and 1"):
        tagger.update(["a", "b"], [["cars"]])


# -- what few examples are worth --------------------------------------------------------------------------


def test_few_examples_are_worth_more_than_one_and_names_are_measured():
    tagger = tacit.Tagger(model="Popularity").fit(TEXTS, TAGS)
    X = tagger.vectorizer_.transform(TEXTS)
    found = few_shot.measure(X, read_labels(TAGS), tagger.vectorizer_, seed=0)
    assert found.curve(10).slope > found.curve(1).slope > 0
    assert found.curve(5).slope == pytest.approx(
        np.interp(np.log(5), np.log([3, 10]), [found.curve(3).slope, found.curve(10).slope])
    )
    assert found.curve(1000) == found.curve(10)
    assert np.allclose(found.mean, np.asarray(X.mean(axis=0)).ravel(), atol=1e-6)
    assert "name" not in found.curves  # none of these names occurs in a text
    again = few_shot.measure(X, read_labels(TAGS), tagger.vectorizer_, seed=0)
    assert again.curves == found.curves


def test_probabilities_from_examples_are_calibrated():
    many_texts, many_tags = articles(600, seed=1)
    tagger = tacit.Tagger(model="Popularity").fit(many_texts, many_tags)
    X, labels = tagger.vectorizer_.transform(many_texts), read_labels(many_tags)
    without = [column for column in range(4) if labels.names[column] != "fruit"]
    known = few_shot.measure(X, read_labels(labels.matrix[:, without]), None, seed=0)
    tagger.few_shot_ = known
    is_fruit = np.array(["fruit" in tags for tags in many_tags])
    tagger.add_label("fruits", examples=[text for text, fruit in zip(many_texts, is_fruit, strict=True) if fruit][:3])
    said = tagger.rank(many_texts, k=1, include=["fruits"]).scores[:, 0]
    assert said.mean() == pytest.approx(is_fruit.mean(), abs=0.15)
    assert said[is_fruit].mean() > said[~is_fruit].mean() + 0.2
