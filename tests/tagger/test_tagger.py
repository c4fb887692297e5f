from __future__ import annotations

import hashlib

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

import tacit
from tacit.errors import DataError, ModelFileError, ParameterError
from tacit.registry import MODELS

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


def test_k_above_the_number_of_labels_gives_all(tagger):
    assert len(tagger.suggest(["apple"], k=10)[0]) == 3


def test_choices(tagger):
    assert tagger.suggest(["apple"], k=1, exclude=["fruit"])[0][0].label == "red"
    assert [s.label for s in tagger.suggest(["apple"], include=["vehicle"])[0]] == ["vehicle"]
    assert tagger.suggest(["apple"], threshold=1e9) == [[]]
    assert 1 <= len(tagger.suggest(["apple"], threshold="auto")[0]) < 3


def test_evaluate_counts_labels_that_training_did_not_have(tagger):
    assert tagger.evaluate(TEXTS, TAGS, ks=(1,))["P@1"] == 1.0
    assert tagger.evaluate(["apple"], [["fruit", "new"]], ks=(1, 2))["R@2"] == 0.5


def test_saving(tagger, tmp_path):
    tagger.save(tmp_path / "a")
    loaded = tacit.Tagger.load(tmp_path / "a")
    assert loaded.suggest(TEXTS) == tagger.suggest(TEXTS)
    loaded.save(tmp_path / "b")
    bytes_of = [
        {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in (tmp_path / name).iterdir()}
        for name in "ab"
    ]
    assert bytes_of[0] == bytes_of[1]
    tacit.Popularity().fit(np.eye(2), [["a"], ["b"]]).save(tmp_path / "model")
    with pytest.raises(ModelFileError, match="holds a Popularity without texts"):
        tacit.Tagger.load(tmp_path / "model")


@pytest.mark.parametrize("name", MODELS)
def test_works_with_every_model(name):
    assert len(tacit.Tagger(model=name.lower()).fit(TEXTS, TAGS).suggest(["apple"], k=2)[0]) == 2


def test_wrong_use(tagger, tmp_path):
    with pytest.raises(ParameterError, match="unknown model 'OneVsAl' .did you mean 'OneVsAll'"):
        tacit.Tagger(model="OneVsAl")
    with pytest.raises(ParameterError, match="OneVsAll has no parameter 'c'"):
        tacit.Tagger(model="OneVsAll", c=1)
    with pytest.raises(NotFittedError, match="this Tagger is not fitted"):
        tacit.Tagger().suggest(["a"])
    with pytest.raises(DataError, match="texts must be a list of texts; got a single one"):
        tagger.suggest("apple")
    with pytest.raises(DataError, match="entry 1 is a NoneType"):
        tagger.suggest(["apple", None])
    with pytest.raises(DataError, match="hold no words to learn from"):
        tacit.Tagger().fit(["", "!"], [["a"], ["b"]])
