"""What scikit-learn's tools ask of every model: scores, dense scores and probabilities, in odd cases."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler

import tacit
from planted import N_LABELS, planted
from tacit.core.parameters import check_parameters
from tacit.errors import DataError, ParameterError
from tacit.registry import MODELS, find_model


@pytest.fixture(scope="module")
def data():
    return planted()


@pytest.fixture(scope="module")
def fitted(data):
    return tacit.OneVsAll().fit(data.X, data.Y)


def as_tags(Y):
    return [[f"t{i:02d}" for i in row.indices] for row in Y]


# -- scikit-learn's tools ---------------------------------------------------------------------------------


@pytest.mark.parametrize("form", [lambda Y: Y, lambda Y: Y.toarray(), as_tags])
def test_a_grid_search_needs_no_scoring(data, form):
    search = GridSearchCV(tacit.OneVsAll(bias=0.0), {"C": [1e-5, 0.5], "prune": [0.01, 10.0]}, cv=3)
    search.fit(data.X, form(data.Y))
    assert search.best_params_["prune"] == 0.01
    assert search.best_score_ == pytest.approx(1.0)
    assert search.score(data.X, form(data.Y)) == pytest.approx(search.best_score_)


def test_a_pipeline_passes_everything_on(data):
    pipeline = make_pipeline(MaxAbsScaler(), tacit.LFM())
    assert cross_val_score(pipeline, data.X, as_tags(data.Y), cv=3).min() > 0.35
    pipeline.fit(data.X, data.Y)
    scaled, model = pipeline[:-1].transform(data.X), pipeline[-1]
    assert np.array_equal(pipeline.decision_function(data.X), model.decision_function(scaled))
    assert (pipeline.predict_proba(data.X, k=2) != model.predict_proba(scaled, k=2)).nnz == 0
    assert not hasattr(make_pipeline(MaxAbsScaler(), tacit.LabelTree()), "predict_proba")


# -- score ------------------------------------------------------------------------------------------------


def test_names_that_the_model_does_not_know_are_labels_it_misses(data):
    model = tacit.OneVsAll().fit(data.X, as_tags(data.Y))
    more = [[*tags, "new", "aaa"] for tags in as_tags(data.Y)]
    wider = sparse.hstack([data.Y, np.ones((data.Y.shape[0], 2))], format="csr")
    expected = tacit.evaluate(model.rank(data.X, k=5), wider, ks=(5,))["nDCG@5"]
    assert model.score(data.X, more) == pytest.approx(expected)
    assert expected < model.score(data.X, data.Y)


def test_data_frames_go_by_name(data):
    frame = pd.DataFrame(data.Y.toarray(), columns=[f"t{i:02d}" for i in range(N_LABELS)])
    model = tacit.OneVsAll().fit(data.X, frame)
    expected = model.score(data.X, frame)
    assert expected > 0.35
    assert model.score(data.X, frame[frame.columns[::-1]]) == expected
    assert model.score(data.X, frame.to_numpy()) == expected
    with pytest.raises(DataError, match="Y has the column 'T1', which is no label of the model .did you mean 't1"):
        model.score(data.X, frame.rename(columns={"t01": "T1"}))


def test_models_of_unseen_labels_take_the_labels_they_learned_from(data):
    counts = (data.Y.T @ data.Y).toarray()[:9]
    model = tacit.MomentMatching().fit(data.X, data.Y[:, :9], cooccurrence=counts)
    seen = sparse.hstack([data.Y[:, :9], sparse.csr_matrix((data.Y.shape[0], 3))])
    assert model.score(data.X, data.Y[:, :9]) == model.score(data.X, seen) != model.score(data.X, data.Y)
    model.remove_labels([0])
    with_removed = sparse.hstack([data.Y[:, 1:9], sparse.csr_matrix((data.Y.shape[0], 3))])
    assert 0.5 < model.score(data.X, data.Y[:, :9]) < model.score(data.X, with_removed)  # what was removed is missed


def test_score_refuses(fitted, data):
    with pytest.raises(DataError, match="one row per sample: .* 240 in X and 239 in Y"):
        fitted.score(data.X, data.Y[:-1])
    with pytest.raises(DataError, match="Y must have a column for each of the 12 labels of the model; got 11"):
        fitted.score(data.X, data.Y[:, :-1])
    with pytest.raises(DataError, match="a list of labels per sample; got an array of shape .240,."):
        fitted.score(data.X, np.ones(240))
    with pytest.raises(DataError, match=r"0 sample\(s\)"):
        fitted.score(data.X[:0], data.Y[:0])


# -- dense scores -----------------------------------------------------------------------------------------


def test_labels_that_are_not_ranked_score_alike_for_all_samples(data):
    """So that a metric of one label takes them for equal."""
    model = tacit.ExMLDS1(n_neighbors=2).fit(data.X, data.Y)
    scores = model.decision_function(data.X)
    is_unranked = scores < -1
    assert 0.5 < is_unranked.mean() < 1
    assert all(len(np.unique(scores[rows, label])) == 1 for label, rows in enumerate(is_unranked.T))
    assert roc_auc_score(data.Y.toarray(), scores, average="macro") > 0.9


def test_many_samples_are_scored_in_blocks(fitted, data, monkeypatch):
    expected = fitted.decision_function(data.X)
    monkeypatch.setattr("tacit.core.base._DENSE_AT_A_TIME", 7 * N_LABELS)
    assert np.array_equal(fitted.decision_function(data.X), expected)


# -- probabilities ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "model",
    [
        tacit.OneVsAll(),
        tacit.OneVsAll(loss="logistic"),
        tacit.FastXML(),
        tacit.PfastXML(refit=0.0),
        tacit.JointExMLDS(),
        tacit.COSTA(calibration_folds=0),
        tacit.MomentMatching(calibration_folds=0),
    ],
)
def test_scores_of_another_kind_are_no_probabilities(model):
    assert not hasattr(model, "predict_proba")
    with pytest.raises(AttributeError, match="has no attribute 'predict_proba'") as raised:
        model.predict_proba  # noqa: B018
    assert isinstance(raised.value.__cause__, ParameterError)
    assert f"the scores of {type(model).__name__} with these parameters" in str(raised.value.__cause__)


# -- the settings of a paper ------------------------------------------------------------------------------


class Printed(tacit.Popularity):
    PAPER: ClassVar = {"random_state": 7}


def test_paper_makes_the_model_as_printed_and_takes_overrides():
    assert Printed.paper().random_state == 7
    assert Printed.paper(random_state=3, n_jobs=2).get_params() == {"n_jobs": 2, "random_state": 3}


@pytest.mark.parametrize("cls", [cls for cls in map(find_model, MODELS) if cls.PAPER])
def test_the_settings_of_papers_are_parameters_that_the_model_allows(cls):
    check_parameters(cls.paper())
