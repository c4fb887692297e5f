from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

import tacit
from planted import planted
from tacit import tuning
from tacit.core.parameters import Tune, check_space, declared_space, parameters_of
from tacit.errors import DataError, FileError, MissingExtraError, ParameterError
from tacit.progress import Stopped
from tacit.registry import MODELS, find_model
from tacit.tuning import Trial, tune

pytest.importorskip("optuna")


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


# -- where to look ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", list(MODELS))
def test_declared_spaces_hold_allowed_values_around_the_default(name):
    cls = find_model(name)
    space = declared_space(cls)
    assert not space or check_space(cls, space, {}).keys() == space.keys()
    for parameter, where in space.items():
        assert where.choices or where.low <= parameters_of(cls)[parameter].default <= where.high


# -- the search -------------------------------------------------------------------------------------------


class Scored(tacit.OneVsAll):
    """Its score is its C; a fit takes as many seconds as it has of 100 samples."""

    now, fits = 0.0, []

    def fit(self, X, Y):
        if X.shape[0] > 200:
            Scored.now += X.shape[0] / 45
            Scored.fits.append((self.C, X.shape[0]))
        return self

    def rank(self, X, k):
        return self.C


@pytest.fixture
def search(monkeypatch):
    """Search C, with itself as the score."""
    Scored.now, Scored.fits = 0.0, []

    def run(n_samples: int = 500 * 9, **options: Any) -> list[Trial]:
        X, Y = np.ones((n_samples, 1), np.float32), np.ones((n_samples, 1), np.float32)
        options = {"space": {"C": Tune(0.01, 100)}, "validation": (X[:1], Y[:1])} | options
        return tune(Scored, X, Y, **options).trials

    monkeypatch.setattr(tuning.time, "perf_counter", lambda: Scored.now)
    monkeypatch.setattr(tuning, "evaluate", lambda ranking, *_, **__: {"P@5": ranking})
    return run


def test_few_trials_go_on_to_larger_subsets(search):
    trials = search(n_trials=60)
    assert len(trials) == 60
    assert trials[0].parameters == {}
    assert trials[0].share == 1
    assert len({str(trial.parameters) for trial in trials}) == 60
    counts = [sum(trial.share >= share for trial in trials) for share in (1 / 9, 1 / 3, 1)]
    assert counts[0] > 1.5 * counts[1] > 2 * counts[2] > 2
    on_all = [trial.score for trial in trials if trial.share == 1]
    assert max(trial.score for trial in trials) == max(on_all)
    assert np.mean(on_all) > 2 * np.mean([trial.score for trial in trials if trial.share < 1])


def test_a_small_budget_is_spent_on_a_fair_choice_among_subsets(search):
    trials = search(budget_seconds=150)
    assert Scored.now <= 150 + 12
    assert {round(9 * trial.share) for trial in trials} == {1}
    assert len(trials) > 8


def test_a_space_of_few_values_ends_the_search(search):
    found = [trial.parameters for trial in search(space={"loss": Tune(choices=("logistic", "squared_hinge"))})]
    assert len(found) == 2
    assert {} in found


def test_the_same_seed_gives_the_same_trials(data):
    def trials(seed: int, n_jobs: int) -> list[tuple[Any, ...]]:
        options = {"fixed": {"n_trees": 2}, "n_trials": 12, "seed": seed, "n_jobs": n_jobs}
        found = tune("FastXML", data.X, data.Y, **options).trials
        return [(trial.parameters, trial.share, trial.score) for trial in found]

    assert trials(0, 1) == trials(0, 2) != trials(1, 1)


def test_an_interrupted_search_resumes(search, tmp_path, monkeypatch):
    def stopped(self, X, k):
        if len(Scored.fits) == 20:
            raise Stopped
        return self.C

    options = {"n_trials": 30, "storage": tmp_path / "trials.db"}
    rank = Scored.rank
    monkeypatch.setattr(Scored, "rank", stopped)
    with pytest.raises(Stopped):
        search(**options)
    monkeypatch.setattr(Scored, "rank", rank)
    trials = search(**options)
    assert len(trials) == 30
    n_fits = len(Scored.fits)
    assert len({fit[0] for fit in Scored.fits[:19]} - {trial.parameters.get("C", 0.25) for trial in trials}) <= 1
    assert search(**options) == trials
    assert len(Scored.fits) == n_fits
    assert len(search(**options, seed=1)) == 30  # another search, in the same file


# -- bad input --------------------------------------------------------------------------------------------


def test_a_file_of_something_else_is_no_storage(data, tmp_path):
    path, content = tmp_path / "train.jsonl", '{"text": "a row"}\n'
    path.write_text(content)
    with pytest.raises(FileError, match="cannot keep the trials of a search"):
        tune("OneVsAll", data.X, data.Y, storage=path)
    assert path.read_text() == content
    with pytest.raises(FileError, match="choose another file"):
        tune("OneVsAll", data.X, data.Y, storage=tmp_path)


def test_optuna_is_an_extra(data, monkeypatch):
    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(MissingExtraError, match=r"tuning needs the extra 'tune'; install it with: pip install"):
        tune("OneVsAll", data.X, data.Y)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"target": "Q@5"}, "target must be one of P, nDCG, R, PSP, PSnDCG .* got 'Q@5'"),
        ({"target": "PSP"}, "such as P@5; got 'PSP'"),
        ({"target": "P@0"}, "such as P@5; got 'P@0'"),
        ({"fixed": {"c": 1}}, "OneVsAll has no parameter 'c'"),
        ({"fixed": {"C": 0}}, "'C' must be float, > 0; got 0"),
        ({"space": {"C": Tune(-1, 1, log=False)}}, "'C' must be float, > 0; got -1"),
        ({"space": {}}, "OneVsAll has nothing to tune"),
        ({"space": {"C": Tune(1, 2)}, "fixed": {"C": 1.0}}, "OneVsAll has nothing to tune"),
        ({"n_trials": 0}, "n_trials must be at least 1; got 0"),
    ],
)
def test_tune_refuses(data, options, message):
    with pytest.raises(ParameterError, match=message):
        tune("OneVsAll", data.X, data.Y, **{"space": {"C": Tune(0.1, 1)}, **options})


def test_samples_and_labels_must_agree(data):
    with pytest.raises(DataError, match="299 in X and 300 in Y"):
        tune("OneVsAll", data.X[:-1], data.Y, space={"C": Tune(0.1, 1)})


# -- scikit-learn's search --------------------------------------------------------------------------------
