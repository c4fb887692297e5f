"""Hyperparameter search with Optuna: trials train on growing subsets, and are pruned where others do better."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tacit.core.base import check_samples
from tacit.core.features import read_features
from tacit.core.labels import labels_in_order, read_labels
from tacit.core.parameters import Parameter, Tune, check_space, declared_space
from tacit.data.repeats import groups_of
from tacit.data.split import random_split
from tacit.errors import FileError, ParameterError, TacitError, import_extra
from tacit.evaluation.metrics import evaluate, read_metric
from tacit.evaluation.propensity import propensities
from tacit.progress import stage
from tacit.registry import find_model
from tacit.runtime.checkpoint import fingerprint
from tacit.store.packing import name_of

_STEPS = (1, 3, 9, 27)  # sizes of the subsets, in those of the smallest; a third of the trials goes on to the next
_SMALLEST_SUBSET = 500  # samples
_MIN_TRIALS = 6  # the defaults go on to a larger subset if the budget is enough for so many trials on it
_MAX_REPEATS = 50  # draws of what was tried before: there is nothing else to try


@dataclass(frozen=True)
class Trial:
    """Parameters, the largest fraction of the samples that they were trained on, the score there, and the time."""

    parameters: dict[str, Any]
    share: float
    score: float
    seconds: float


@dataclass(frozen=True)
class Tuning:
    """The best parameters, empty if nothing was better than the defaults, and all trials, the defaults first.

    Both scores are on the same validation samples, after training on the fraction `share` of the training samples.
    """

    model: str
    target: str
    parameters: dict[str, Any]
    score: float
    default_score: float
    share: float
    trials: list[Trial]


def tune(
    model_name: str, X: Any, Y: Any, *, target: str = "P@5", validation: tuple[Any, Any] | None = None,
    budget_seconds: float | None = None, n_trials: int | None = None, storage: str | Path | None = None,
    fixed: Mapping[str, Any] | None = None, space: Mapping[str, Tune] | None = None, seed: int = 0,
    n_jobs: int | None = None,
) -> Tuning:  # fmt: skip
    """Search for the hyperparameters of a model that are best for the metric `target`; needs the extra `tune`.

    `validation` is a pair of features and labels, by default a random quarter of the samples. Without `n_trials` the
    search takes `budget_seconds`, by default 600; with `n_trials` alone, the same seed gives the same trials. Finished
    trials are kept in the file `storage`, from which the same search resumes. `fixed` parameters are not searched, and
    `space` replaces the search space that the model declares.
    """
    optuna, started, cls = import_optuna(), time.perf_counter(), find_model(model_name)
    own = {**(fixed or {}), "random_state": seed}
    space = dict(declared_space(cls) if space is None else space)
    searched, k = check_space(cls, space, own), read_metric(target)[1]
    if n_trials is not None and n_trials < 1:
        raise ParameterError(f"n_trials must be at least 1; got {n_trials}")
    budget = (math.inf if n_trials else 600.0) if budget_seconds is None else budget_seconds
    features, matrix, X_valid, truth = _split(X, Y, validation, seed)
    study = _study(storage, fingerprint(cls.__name__, own, target, space, features, matrix, X_valid, truth))
    study.sampler = optuna.samplers.TPESampler(seed=seed + len(study.trials))  # a resumed search draws others
    weights = propensities(matrix)
    weights = np.pad(weights, (0, truth.shape[1] - len(weights)), constant_values=weights.min())

    def score(parameters: Mapping[str, Any], share: float) -> float:
        rows = slice(max(math.ceil(share * matrix.shape[0]), 200))
        model = cls(**{**own, **parameters}, n_jobs=n_jobs).fit(features[rows], matrix[rows])
        return float(evaluate(model.rank(X_valid, k), truth, propensities=weights, ks=(k,))[target])

    with stage(f"tuning {cls.__name__}", None) as advance:
        steps = [step for step in _STEPS if step <= max(matrix.shape[0] / _SMALLEST_SUBSET, 1)]
        objective = _objective(score, searched, steps, started + budget, n_trials or math.inf, advance)
        if not _finished(study):
            score({}, 0)  # compiles or loads kernels, so that this time does not count for a trial
            study.optimize(objective, n_trials=1)  # the defaults
        study.optimize(objective, catch=TacitError)  # which parameters may raise that do not suit these data
    trials = _finished(study)
    best = max((trial for trial in trials if trial.share == trials[0].share), key=lambda trial: trial.score)
    return Tuning(name_of(cls), target, best.parameters, best.score, trials[0].score, best.share, trials)


def import_optuna() -> Any:
    """The module; raises if the extra is not installed."""
    optuna = import_extra("optuna", "tuning", "tune")
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    return optuna


def _split(X: Any, Y: Any, validation: tuple[Any, Any] | None, seed: int) -> tuple[Any, Any, Any, Any]:
    features, labels = read_features(X), read_labels(Y)
    check_samples(features, labels.matrix)
    if validation is None:
        rows, held_out = random_split(features.shape[0], 0.25, seed, groups=groups_of(features))
        X_valid, truth = features[held_out], labels.matrix[held_out]
    else:
        rows, X_valid = np.arange(features.shape[0]), read_features(validation[0])
        truth = labels_in_order(validation[1], labels.names, labels.names)
        check_samples(X_valid, truth)
    rows = np.random.default_rng(seed).permutation(rows)
    return features[rows], labels.matrix[rows], X_valid, truth


def _study(storage: str | Path | None, identity: str) -> Any:
    optuna = import_optuna()
    from sqlalchemy.exc import SQLAlchemyError

    try:
        return optuna.create_study(
            storage=None if storage is None else f"sqlite:///{storage}", study_name=identity, load_if_exists=True,
            direction="maximize", pruner=optuna.pruners.SuccessiveHalvingPruner(1, _STEPS[1]),
        )  # fmt: skip
    except (optuna.exceptions.OptunaError, SQLAlchemyError) as error:
        message = f"cannot keep the trials of a search ({str(error).splitlines()[0]}); choose another file"
        raise FileError(str(storage), message) from error


def _finished(study: Any) -> list[Trial]:
    """The trials of a study, without repeated and interrupted ones."""
    finished = (trial for trial in study.trials if trial.user_attrs and trial.state.name in ("COMPLETE", "PRUNED"))
    return [Trial(**trial.user_attrs["tried"], seconds=trial.duration.total_seconds()) for trial in finished]


def _objective(
    score: Callable[[Mapping[str, Any], float], float], searched: Mapping[str, Parameter], steps: list[int],
    deadline: float, n_trials: float, advance: Callable[[int], None],
) -> Callable[[Any], float]:  # fmt: skip
    """Scores the defaults, then draws, each on growing subsets while it is among the best and time permits."""
    pruned, pace = import_optuna().TrialPruned, 0.0  # seconds for the smallest subset, by the last fit

    def objective(trial: Any) -> float:
        nonlocal pace
        tried = _finished(trial.study)
        drawn = {name: parameter.suggest(trial) for name, parameter in searched.items()} if tried else {}
        parameters = {name: value for name, value in drawn.items() if value != searched[name].default}
        is_late = tried and time.perf_counter() + pace > deadline
        if is_late or len(tried) >= n_trials or len(trial.study.trials) > len(tried) + _MAX_REPEATS:
            trial.study.stop()
            raise pruned
        if parameters in [other.parameters for other in tried]:
            raise pruned
        largest, n_more = (tried[0].share, 1) if tried else (1, _MIN_TRIALS)
        for step in steps:
            share, started = step / steps[-1], time.perf_counter()
            if share > largest or (step > 1 and started + n_more * step * pace > deadline):
                raise pruned
            value = score(parameters, share)
            pace = (time.perf_counter() - started) / step
            advance(1)
            trial.report(value, step)
            trial.set_user_attr("tried", {"parameters": parameters, "share": share, "score": value})
            if share < 1 and trial.should_prune():
                raise pruned
        return value

    return objective
