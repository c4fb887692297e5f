from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy import sparse
from sklearn.model_selection import GridSearchCV

import tacit
from planted import planted
from tacit import tuning
from tacit.core.parameters import Tune, parameters_of
from tacit.errors import DataError, ParameterError
from tacit.registry import MODELS, find_model
from tacit.tuning import Trial, declared_space, tune


@pytest.fixture(scope="module")
def data():
    return planted(n_samples=300)


# -- what is found ----------------------------------------------------------------------------------------


def test_a_bad_default_is_left_behind(data):
    """A leaf of all samples ranks the most frequent labels for everyone; smaller leaves can tell samples apart."""
    space = {"max_leaf": Tune(choices=(5, 10_000))}
    found = tune(
        "FastXML", data.X, data.Y, target="P@1", space=space, fixed={"n_trees": 3, "C": 5.0}, budget_seconds=60
    )
    scores = {trial.parameters.get("max_leaf", 10): trial.score for trial in found.trials}
    assert scores[10_000] < 0.5 < scores[5]
    assert found.parameters.get("max_leaf", 10) != 10_000
    assert found.score == max(trial.score for trial in found.trials if trial.share == found.share)
    assert found.default_score == scores[10]


def test_validation_samples_are_what_is_judged_by(data):
    wrong = (data.X, sparse_shifted(data.Y))
    options = {"target": "P@1", "space": {"C": Tune(0.1, 1.0)}, "budget_seconds": 0.1}
    right = tune("OneVsAll", data.X, data.Y, validation=(data.X, data.Y), **options)
    shifted = tune("OneVsAll", data.X, data.Y, validation=wrong, **options)
    assert right.default_score > 0.95
    assert shifted.default_score < 0.5


def sparse_shifted(Y):
    return Y[:, np.roll(np.arange(Y.shape[1]), 1)]


@pytest.mark.parametrize("target", ["P@1", "nDCG@3", "R@5", "PSP@1", "PSnDCG@3"])
def test_every_target_is_a_share(data, target):
    found = tune("OneVsAll", data.X, data.Y, target=target, space={"C": Tune(0.1, 1.0)}, budget_seconds=0.01, folds=2)
    assert 0.5 < found.default_score <= 1


# -- where to look ----------------------------------------------------------------------------------------


def test_values_lie_between_the_ends():
    assert [Tune(1, 100).value(place, whole=True) for place in (0.0, 0.5, 1.0)] == [1, 10, 100]
    assert [Tune(0, 1, log=False).value(place, whole=False) for place in (0.0, 0.25, 1.0)] == [0, 0.25, 1]
    assert [Tune(choices=("a", "b")).value(place, whole=False) for place in (0.0, 0.49, 0.5, 1.0)] == list("aabb")


@pytest.mark.parametrize("name", list(MODELS))
def test_declared_spaces_hold_allowed_values_around_the_default(name):
    cls = find_model(name)
    for parameter, where in declared_space(cls).items():
        declared = parameters_of(cls)[parameter]
        assert where.choices or where.low <= declared.default <= where.high
        for place in (0.0, 0.3, 1.0):
            declared.check(where.value(place, whole=int in declared.types))


def test_draws_are_distinct_and_begin_with_the_defaults():
    searched = tuning.check_space(tacit.FastXML, declared_space(tacit.FastXML), {})
    draws = tuning._draws(searched, 30, seed=0)
    assert draws[0] == {}
    assert len(draws) == 30
    assert all(a != b for a, b in itertools.combinations(draws, 2))
    assert draws == tuning._draws(searched, 30, seed=0)
    assert (
        len(tuning._draws(tuning.check_space(tacit.OneVsAll, {"normalize": Tune(choices=(True, False))}, {}), 9, 0))
        == 2
    )


# -- the search -------------------------------------------------------------------------------------------


class FakeJudge:
    """The score is the parameter itself; every trial takes as long as its share of the samples says."""

    def __init__(self, n_samples: int, now: list[float]) -> None:
        self.n_samples = n_samples
        self.now = now

    def warm_up(self) -> None:
        pass

    def try_out(self, parameters, share):
        self.now[0] += 10 * share
        return Trial(parameters, share, parameters.get("C", 0.25), 10 * share)


@pytest.fixture
def search(monkeypatch):
    def run(budget: float, n_samples: int = 500 * 9) -> list[Trial]:
        now = [0.0]
        monkeypatch.setattr(tuning.time, "perf_counter", lambda: now[0])
        searched = tuning.check_space(tacit.OneVsAll, {"C": Tune(0.01, 100)}, {})
        trials = list(tuning._search(FakeJudge(n_samples, now), searched, budget, 0, lambda steps: None))
        assert now[0] <= budget + 10
        return trials

    return run


def test_the_best_third_goes_on_to_the_next_part(search):
    trials = search(budget=200)
    shares = sorted({trial.share for trial in trials})
    assert shares == pytest.approx([1 / 9, 1 / 3, 1])
    by_share = [[trial for trial in trials if trial.share == share] for share in shares]
    for before, after in itertools.pairwise(by_share):
        assert after[0].parameters == {}
        assert len(after) <= 1 + math.ceil(len(before) / 3)
        best = sorted((trial.score for trial in before if trial.parameters), reverse=True)
        assert [trial.score for trial in after[1:]] == best[: len(after) - 1]
    found = tuning._best("OneVsAll", "P@1", trials)
    assert found.share == 1
    assert found.score == max(trial.score for trial in trials)


def test_a_small_budget_is_spent_on_a_fair_choice_among_parts(search):
    trials = search(budget=9)
    assert {round(9 * trial.share) for trial in trials} == {1}
    assert len(trials) > 5


def test_the_defaults_are_tried_whatever_the_budget(search):
    assert [trial.parameters for trial in search(budget=0.001)] == [{}]


# -- bad input --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"target": "Q@5"}, "target must be one of P, nDCG, R, PSP, PSnDCG .* got 'Q@5'"),
        ({"target": "PSP"}, "such as P@5; got 'PSP'"),
        ({"target": "P@0"}, "such as P@5; got 'P@0'"),
        ({"fixed": {"c": 1}}, "OneVsAll has no parameter 'c'"),
        ({"fixed": {"C": 0}}, "'C' must be float, > 0; got 0"),
        ({"space": {"C": Tune(-1, 1, log=False)}}, "'C' must be float, > 0; got -1.0"),
        ({"space": {}}, "OneVsAll has nothing to tune"),
        ({"space": {"C": Tune(1, 2)}, "fixed": {"C": 1.0}}, "OneVsAll has nothing to tune"),
        ({"folds": 1}, "folds must be between 2 and the 299 differing samples; got 1"),
    ],
)
def test_tune_refuses(data, options, message):
    with pytest.raises(ParameterError, match=message):
        tune("OneVsAll", data.X, data.Y, **{"space": {"C": Tune(0.1, 1)}, **options})


def test_samples_and_labels_must_agree(data):
    with pytest.raises(DataError, match="X has 299 samples but Y has 300"):
        tune("OneVsAll", data.X[:-1], data.Y, space={"C": Tune(0.1, 1)})


# -- scikit-learn's search --------------------------------------------------------------------------------


def test_models_work_in_grid_search(data):
    search = GridSearchCV(tacit.OneVsAll(), {"C": [1e-5, 0.5]}, scoring="f1_micro", cv=3, n_jobs=1)
    search.fit(data.X, data.Y)
    assert search.best_params_ == {"C": 0.5}
    assert search.best_score_ > 0.95
    assert (search.predict(data.X) != search.best_estimator_.predict(data.X)).nnz == 0


def test_the_best_of_several_features_is_found(data):
    noise = sparse.random(*data.X.shape, density=0.05, format="csr", dtype=np.float32, random_state=0)
    options = {"target": "P@1", "space": {"C": Tune(choices=(1.0,))}, "budget_seconds": 30, "folds": 2}
    found = tune("OneVsAll", {"noise": noise, "words": data.X}, data.Y, **options)
    assert found.parameters == {"features": "words"}
    assert found.score > 0.8 > found.default_score
    same = {"noise": noise, "words": data.X}
    assert tune("OneVsAll", same, data.Y, validation=(same, data.Y), **options).parameters == {"features": "words"}
    with pytest.raises(DataError, match="they must agree"):
        tune("OneVsAll", {"noise": noise[1:], "words": data.X}, data.Y, **options)
