"""A tagger is an estimator like any other of scikit-learn."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer

import tacit
from tacit.core.parameters import parameters_of
from tacit.data.vocabulary import Vocabulary
from tacit.errors import ParameterError
from tagger.articles import articles

TEXTS, TAGS = articles(90)


def test_parameters_are_declared_once_and_shown():
    tagger = tacit.Tagger("PfastreXML", n_trees=3, target="labels=2")
    assert repr(tagger) == "Tagger(model='PfastreXML', n_trees=3, target='labels=2')"
    assert set(tagger.get_params()) == {*parameters_of(tacit.Tagger), "n_trees"}
    for name, parameter in parameters_of(tacit.Tagger).items():
        assert f"{name} : " in tacit.Tagger.__doc__
        assert parameter.help in tacit.Tagger.__doc__
    assert tagger.set_params(n_trees=4, calibrate=False).get_params()["n_trees"] == 4
    with pytest.raises(ParameterError, match="PfastreXML has no parameter 'trees'"):
        tagger.set_params(trees=4)
    with pytest.raises(ParameterError, match="parameter 'calibrate' must be bool; got 'yes'"):
        tacit.Tagger(calibrate="yes")


def test_a_clone_is_the_same_untrained():
    vocabulary = Vocabulary(["cars"], ["motor vehicles"])
    tagger = tacit.Tagger("OneVsAll", C=0.5, features="words+characters", vocabulary=vocabulary).fit(TEXTS, TAGS)
    copy = clone(tagger)
    assert repr(copy) == repr(clone(copy))
    assert copy.C if hasattr(copy, "C") else copy.get_params()["C"] == 0.5
    assert copy.vocabulary.names == ["motor vehicles"]
    with pytest.raises(tacit.TacitError, match="not fitted"):
        copy.suggest(["a"])
    copy.fit(TEXTS, TAGS)
    assert copy.suggest(TEXTS[:5]) == tagger.suggest(TEXTS[:5])
    assert copy.column("motor vehicles") == copy.column("cars")


def test_a_vocabulary_may_be_a_file(tmp_path):
    (tmp_path / "v.tsv").write_text("cars\tmotor vehicles\n")
    tagger = tacit.Tagger("Popularity", vocabulary=tmp_path / "v.tsv").fit(TEXTS, TAGS)
    assert tagger.column("motor vehicles") == tagger.column("cars")
    tagger.save(tmp_path / "model")
    assert tacit.Tagger.load(tmp_path / "model").column("motor vehicles") == tagger.column("cars")


def test_label_sets_have_the_form_that_they_had_in_training():
    tagger = tacit.Tagger("OneVsAll").fit(TEXTS, TAGS)
    found = tagger.predict(["apple pear", "song chord"])
    assert [sorted(labels) for labels in found] == [
        sorted(each.label for each in row) for row in tagger.suggest(["apple pear", "song chord"], threshold="auto")
    ]
    assert np.mean([set(a) == set(b) for a, b in zip(tagger.predict(TEXTS), TAGS, strict=True)]) > 0.5
    names = ["cars", "fruit", "music", "weather"]
    dense = np.array([[name in tags for name in names] for tags in TAGS]).astype(int)
    assert tacit.Tagger("OneVsAll").fit(TEXTS, dense).predict(["apple"]).shape == (1, 4)
    assert tagger.score(TEXTS, TAGS) > 0.9
    assert tacit.Tagger("OneVsAll").fit(TEXTS, dense).score(TEXTS, dense) > 0.9


def test_tools_of_scikit_learn_run_on_texts():
    scores = cross_val_score(tacit.Tagger("OneVsAll", calibrate=False), TEXTS, TAGS, cv=3)
    assert scores.min() > 0.8
    search = GridSearchCV(
        tacit.Tagger("OneVsAll", calibrate=False), {"C": [0.01, 1.0], "features": ["words", "words+prefixes"]}, cv=2
    )
    search.fit(TEXTS, TAGS)
    assert set(search.best_params_) == {"C", "features"}
    assert search.predict(["apple pear"])
    louder = FunctionTransformer(lambda texts: [text.upper() for text in texts])
    piped = Pipeline([("louder", louder), ("tagger", tacit.Tagger("OneVsAll"))]).fit(TEXTS, TAGS)
    assert piped.score(TEXTS, TAGS) > 0.9
    assert clone(piped).set_params(tagger__C=0.5)["tagger"].get_params()["C"] == 0.5


def test_a_tagger_with_acts_can_be_sent_to_another_process():
    tagger = tacit.Tagger("OneVsAll").fit(TEXTS, TAGS)
    tagger.add_label("pome", examples=["apple pear"])
    tagger.learn([("apple", "pome", True)])
    said = tagger.suggest(TEXTS[:5])
    assert pickle.loads(pickle.dumps(tagger)).suggest(TEXTS[:5]) == said


def test_a_tagger_around_a_model():
    X = np.eye(4)[[0, 1, 2, 3] * 5]
    model = tacit.OneVsAll(C=2.0).fit(X, [["a"], ["b"], ["c"], ["d"]] * 5)
    tagger = tacit.Tagger.around(model)
    assert tacit.Tagger.around(tagger) is tagger
    assert repr(tagger) == "Tagger(A=0.55, " + repr(tagger)[15:]
    assert np.array_equal(tagger.rank(X, 3).labels, model.rank(X, 3).labels)
    assert tagger.threshold_ == model.threshold_
    assert [[each.label for each in row] for row in tagger.suggest(X[:2], threshold="auto")] == [["a"], ["b"]]
    tagger.rename_label("a", "first")
    assert tagger.suggest(X[:1], k=1)[0][0].label == "first"
    assert list(model.classes_) == ["a", "b", "c", "d"]
    with pytest.raises(ParameterError, match="needs a calibrated tagger"):
        tagger.suggest(X, threshold="precision=0.8")
    with pytest.raises(ParameterError, match="must wrap a fitted model; got a dict"):
        tacit.Tagger.around({})
    with pytest.raises(tacit.TacitError, match="not fitted"):
        tacit.Tagger.around(tacit.OneVsAll())
