from __future__ import annotations

import copy

import numpy as np
import pytest

import tacit
from tacit.errors import ParameterError, RetiredLabelError, UnknownLabelError
from tagger.articles import articles

TEXTS, TAGS = articles()
PROBE = ["apple pear plum", "song chord and an engine", "rain", "words never seen"]


@pytest.fixture(scope="module")
def trained() -> tacit.Tagger:
    return tacit.Tagger(model="OneVsAll").fit(TEXTS, TAGS)


@pytest.fixture
def tagger(trained) -> tacit.Tagger:
    return copy.copy(trained)


def scores(tagger: tacit.Tagger, text: str) -> dict[str, float]:
    return {found.label: found.score for found in tagger.suggest([text], k=20)[0]}


def test_an_amended_ranking_is_a_ranking(tagger):
    tagger.add_label("pome", examples=["apple pear"])
    tagger.retire_label("cars")
    ranking = tagger.rank(TEXTS, k=7)
    assert ranking.labels.shape == (len(TEXTS), 7)
    assert (ranking.labels[:, 4:] == -1).all()
    assert (np.diff(ranking.scores[:, :4], axis=1) <= 0).all()
    assert all(set(row) == {1, 2, 3, 4} for row in ranking.labels[:, :4].tolist())
    assert tagger.rank(TEXTS[:0], k=3).labels.shape == (0, 3)
    one_by_one = [tagger.rank([text], k=4) for text in TEXTS[:5]]
    assert all(np.array_equal(ranking.labels[i, :4], one.labels[0]) for i, one in enumerate(one_by_one))


def test_include_and_exclude_know_new_names(tagger):
    tagger.add_label("pome", examples=["apple pear"])
    tagger.rename_label("cars", "vehicles")
    assert [s.label for s in tagger.suggest(["a wheel"], include=["vehicles", "pome"])[0]] == ["vehicles", "pome"]
    assert "pome" not in {s.label for s in tagger.suggest(["apple"], exclude=["pome"])[0]}
    assert [s.label for s in tagger.suggest(["a wheel"], include=["cars"])[0]] == ["vehicles"]
    tagger.retire_label("pome")
    with pytest.raises(RetiredLabelError, match="exclude: the label 'pome' was retired; undo that first"):
        tagger.suggest(["a wheel"], exclude=["pome"])
    with pytest.raises(UnknownLabelError, match="include: unknown label 'vehicels' .did you mean 'vehicles'"):
        tagger.suggest(["a wheel"], include=["vehicels"])


# -- added labels -----------------------------------------------------------------------------------------


def test_one_cooccurring_label_brings_its_share_along(tagger):
    count = float(tagger.model_.label_counts_[list(tagger.classes_).index("music")])
    tagger.add_label("orchestra", cooccurs={"music": count / 2})
    found = scores(tagger, "song chord tune")
    assert found["orchestra"] == pytest.approx(found["music"] * (count / 2) / (count + 2), abs=1e-3)


def test_examples_find_their_like(tagger):
    tagger.add_label("pome", examples=["apple pear", "pear apple pear", "an apple, a pear"])
    ranking = tagger.rank(TEXTS, k=1, include=["pome"])
    is_pome = np.array([("apple" in text) + ("pear" in text) for text in TEXTS])
    order = np.argsort(-ranking.scores[:, 0], kind="stable")
    assert is_pome[order[:10]].min() >= 1
    assert is_pome[order[-50:]].max() == 0


def test_the_vocabulary_knows_words_and_parent(tagger):
    from tacit.data.vocabulary import Vocabulary

    tagger.vocabulary_ = Vocabulary(["1", "2"], ["fruit", "pome"], [[], ["apple"]], [[], ["1"]])
    tagger.add_label("pome")
    (act,) = tagger.acts_
    assert act.content["parent"] == "fruit"
    assert scores(tagger, "apple")["pome"] > scores(tagger, "plum")["pome"] > scores(tagger, "storm")["pome"]


def test_labels_go_by_any_name_of_the_vocabulary(tagger):
    from tacit.data.vocabulary import Vocabulary

    tagger.vocabulary_ = Vocabulary(["cars", "music"], ["motor vehicles", "sounds"], [["automobiles"], []])
    tagger.add_label("garage", cooccurs={"Automobiles": 10})
    tagger.rename_label("sounds", "tunes")
    tagger.learn([("a wheel", "motor vehicles", True)])
    assert [act.labels() for act in tagger.acts_] == [["garage"], ["music", "tunes"], ["cars"]]
    assert tagger.acts_[0].content["cooccurs"] == {"cars": 10.0}
    assert tagger.explain("a wheel", "automobiles").label == "cars"


# -- merged, renamed, retired -----------------------------------------------------------------------------


def test_a_merged_label_applies_where_any_does(tagger):
    text = "song chord and an engine"
    before = scores(tagger, text)
    tagger.merge_labels(["music", "cars"], into="noise")
    joined = 1 - (1 - before["music"]) * (1 - before["cars"])
    assert scores(tagger, text)["noise"] == pytest.approx(joined, abs=1e-4)


def test_former_names_are_understood(tagger):
    tagger.rename_label("cars", "vehicles")
    tagger.merge_labels(["music", "weather"], into="sounds")
    tagger.learn([("a wheel", "cars", True), ("a storm", "weather", True)])
    assert tagger.acts_[-1].labels() == ["vehicles", "sounds"]
    tagger.add_label("weather", examples=["storm and wind"])  # the name is free again
    assert set(scores(tagger, "storm")) == {"vehicles", "fruit", "sounds", "weather"}


def test_names_clash_and_labels_must_be_there(tagger):
    tagger.retire_label("weather")
    with pytest.raises(ParameterError, match="there is a label 'fruit' already"):
        tagger.add_label("fruit", examples=["apple"])
    with pytest.raises(ParameterError, match="there is a label 'fruit' already; choose another name, or merge"):
        tagger.rename_label("cars", "fruit")
    with pytest.raises(ParameterError, match="unknown label 'friut' .did you mean 'fruit'"):
        tagger.merge_labels(["friut", "cars"], into="x")
    with pytest.raises(ParameterError, match="the label 'weather' was retired; undo that first"):
        tagger.rename_label("weather", "climate")
    with pytest.raises(ParameterError, match="a label needs a name"):
        tagger.rename_label("cars", " ")
    assert len(tagger.acts_) == 1


BAD_LABELS = {
    "no word of its name": {},
    "counts of at least 0 by label": {"cooccurs": {"fruit": -1}},
    "unknown label 'friut'": {"cooccurs": {"friut": 3}},
    "the examples have no word": {"examples": ["zebra"]},
    "unknown label 'plant'": {"parent": "plant"},
}


@pytest.mark.parametrize("message", BAD_LABELS)
def test_bad_evidence_changes_nothing(tagger, message):
    with pytest.raises(ParameterError, match=message):
        tagger.add_label("2026", **BAD_LABELS[message])
    assert tagger.acts_ == []


# -- judgements -------------------------------------------------------------------------------------------


def test_a_judgement_moves_like_texts_and_not_others(tagger):
    before = [scores(tagger, text)["fruit"] for text in ("apple pear", "apple", "storm")]
    tagger.learn([("apple pear", "fruit", False)])
    after = [scores(tagger, text)["fruit"] for text in ("apple pear", "apple", "storm")]
    assert after[0] < before[0] - 0.02
    assert before[1] > after[1]
    assert before[1] - after[1] < before[0] - after[0] + 0.2
    assert after[2] == pytest.approx(before[2], abs=1e-3)


def test_judgements_in_one_act_or_several_are_the_same(tagger, trained):
    judged = [("apple pear", "fruit", False), ("plum", "fruit", True), ("song", "music", False)]
    tagger.learn(judged)
    other = copy.copy(trained)
    for judgement in judged:
        other.learn([judgement])
    assert tagger.suggest(PROBE) == other.suggest(PROBE)


def test_an_uncalibrated_tagger_keeps_the_scale_of_its_scores():
    tagger = tacit.Tagger(model="OneVsAll", calibrate=False).fit(TEXTS, TAGS)
    before = scores(tagger, "song chord tune")
    tagger.learn([("song chord tune", "music", True)])
    after = scores(tagger, "song chord tune")
    assert after["music"] > before["music"]
    assert after["fruit"] == before["fruit"]
