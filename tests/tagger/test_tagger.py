from __future__ import annotations

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

import tacit
from tacit.data.vocabulary import load_vocabulary
from tacit.errors import DataError, ParameterError

TEXTS = ["a red apple", "a green pear", "the fast car", "a slow car", "apple and pear"] * 4
TAGS = [["fruit", "red"], ["fruit"], ["vehicle"], ["vehicle"], ["fruit"]] * 4


@pytest.fixture(scope="module")
def tagger() -> tacit.Tagger:
    return tacit.Tagger().fit(TEXTS, TAGS)


def test_suggestions_are_names_with_scores_best_first(tagger):
    for found in tagger.suggest(["an apple", "two cars and a car"], k=3):
        assert len(found) == 3
        assert [s.score for s in found] == sorted((s.score for s in found), reverse=True)
    first, second = (found[0].label for found in tagger.suggest(["an apple", "one car"], k=1))
    assert (first, second) == ("fruit", "vehicle")


def test_the_file_of_a_vocabulary_is_read_once_per_fit(tmp_path, monkeypatch):
    path, read = tmp_path / "vocabulary.tsv", []
    path.write_text("id\tname\n1\tfruit\n2\tred\n3\tvehicle\n")

    def load(*arguments):
        read.append(arguments)
        return load_vocabulary(*arguments)

    monkeypatch.setattr("tacit.tagger.training.load_vocabulary", load)
    tagger = tacit.Tagger(vocabulary=path).fit(TEXTS, TAGS)
    assert len(read) == 1
    assert tagger.vocabulary_.names == ["fruit", "red", "vehicle"]


def test_choices(tagger):
    assert tagger.suggest(["apple"], k=1, exclude=["fruit"])[0][0].label == "red"
    assert [s.label for s in tagger.suggest(["apple"], include=["vehicle"])[0]] == ["vehicle"]
    assert tagger.suggest(["apple"], threshold=1e9) == [[]]
    assert 1 <= len(tagger.suggest(["apple"], threshold="auto")[0]) < 3


@pytest.fixture(scope="module")
def calibrated() -> tacit.Tagger:
    rng = np.random.default_rng(0)
    words = [[f"w{topic}x{i}" for i in range(5)] for topic in range(30)]
    topics = [rng.choice(30, size=2, replace=False, p=np.arange(30, 0, -1) / 465) for _ in range(600)]
    texts = [" ".join([*rng.choice(words[a], 3), *rng.choice(words[b], 2), "and", "other"]) for a, b in topics]
    tags = [[f"t{topic}" for topic in pair if rng.random() < 0.8] for pair in topics]
    return tacit.Tagger("OneVsAll").fit(texts, tags, validation=(texts[:200], tags[:200]))


def test_the_first_places_do_not_depend_on_how_many_are_asked_for(calibrated):
    texts = ["w1x0 w2x1 w3x2 w4x3", "w20x1 w21x2"]
    assert [found[:3] for found in calibrated.suggest(texts, k=20)] == calibrated.suggest(texts, k=3)


def test_damping_lets_rare_labels_rise(calibrated):
    counts = dict(zip(calibrated.classes_, calibrated.counts_for(len(calibrated.classes_)), strict=True))
    texts = [f"w{head}x0 w{29 - head}x1" for head in range(15)]
    plain, damped = (
        np.mean([counts[found[0].label] for found in calibrated.suggest(texts, damp_head=share)])
        for share in (0.0, 1.0)
    )
    assert damped < plain
    with pytest.raises(ParameterError, match="damp_head must be between 0 and 1; got 2"):
        calibrated.suggest(texts, damp_head=2)


def test_features_of_ones_own_instead_of_texts():
    X = np.eye(3)[[0, 1, 2] * 10]
    tagger = tacit.Tagger("OneVsAll").fit(X, [["a"], ["b"], ["c"]] * 10)
    assert [found[0].label for found in tagger.suggest(np.eye(3), k=1)] == ["a", "b", "c"]
    with pytest.raises(DataError, match="trained on features, not texts"):
        tagger.suggest(["a text"])
    with pytest.raises(DataError, match="trained on texts; give it a list of texts"):
        tacit.Tagger("Popularity").fit(TEXTS, TAGS).suggest(X)


def test_the_card_tells_the_data_apart(calibrated):
    one, same, other = (tacit.Tagger("Popularity").fit(texts, TAGS).card_ for texts in (TEXTS, TEXTS, TEXTS[::-1]))
    assert one["fingerprint"] == same["fingerprint"] != other["fingerprint"]
    assert (one["samples"], one["labels"], one["seed"]) == (20, 3, 0)
    assert calibrated.card_["held_out_metrics"]["P@1"] > 0.5


def test_evaluate_counts_labels_that_training_did_not_have(tagger):
    assert tagger.evaluate(TEXTS, TAGS, ks=(1,))["P@1"] == 1.0
    assert tagger.evaluate(["apple"], [["fruit", "new"]], ks=(1, 2))["R@2"] == 0.5


def test_wrong_use(tagger, tmp_path):
    with pytest.raises(ParameterError, match="unknown model 'OneVsAl' .did you mean 'OneVsAll'"):
        tacit.Tagger(model="OneVsAl")
    with pytest.raises(ParameterError, match="OneVsAll has no parameter 'c'"):
        tacit.Tagger(model="OneVsAll", c=1)
    with pytest.raises(NotFittedError, match="this Tagger is not fitted"):
        tacit.Tagger().suggest(["a"])
    with pytest.raises(DataError, match="texts must be a list of texts; got a single one"):
        tagger.suggest("apple")
    with pytest.raises(DataError, match="entry 1 is a int"):
        tagger.suggest(["apple", 3])
    with pytest.raises(DataError, match="hold no words to learn from"):
        tacit.Tagger().fit(["", "!"], [["a"], ["b"]])
