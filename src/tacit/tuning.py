"""Hyperparameter search with Optuna: trials train on growing subsets, and are pruned where others do better."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from tacit.core.base import check_samples
from tacit.core.features import read_features
from tacit.core.labels import labels_in_order, read_labels
from tacit.core.parameters import Tune, check_space, declared_space
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
_MIN_TRIALS = 6  # a subset is used if the budget is enough for so many trials on it
_MAX_REPEATS = 50  # draws of what was tried before: there is nothing else to try


class Trial(NamedTuple):
    """Parameters, the largest fraction of the samples that they were trained on, the score there, and the time."""

    parameters: dict[str, Any]
    share: float
    score: float
    seconds: float


class Tuning(NamedTuple):
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
    own, space = {**(fixed or {}), "random_state": seed}, dict(declared_space(cls) if space is None else space)
    searched, k = check_space(cls, space, own), read_metric(target)[1]
    if n_trials is not None and n_trials < 1:
        raise ParameterError(f"n_trials must be at least 1; got {n_trials}")
    budget = (math.inf if n_trials else 600.0) if budget_seconds is None else budget_seconds
    features, matrix, X_valid, truth = _split(X, Y, validation, seed)
    study = _study(storage, fingerprint(cls.__name__, own, target, space, features, matrix, X_valid, truth))
    study.sampler = optuna.samplers.TPESampler(seed=seed + len(study.trials))  # a resumed search draws others
    weights = propensities(matrix)
    weights = np.pad(weights, (0, truth.shape[1] - len(weights)), constant_values=weights.min())
    steps = [step for step in _STEPS if step <= max(matrix.shape[0] / _SMALLEST_SUBSET, 1)]

    def score(parameters: dict[str, Any], step: int) -> float:
        rows = slice(max(math.ceil(step / steps[-1] * matrix.shape[0]), 200))
        model = cls(**{**own, **parameters}, n_jobs=n_jobs).fit(features[rows], matrix[rows])
        return float(evaluate(model.rank(X_valid, k), truth, propensities=weights, ks=(k,))[target])

    def objective(trial: Any) -> float:
        tried, value = _finished(study, steps[-1]), 0.0
        drawn = {name: parameter.suggest(trial) for name, parameter in searched.items() if tried}
        parameters = {name: drawn[name] for name in drawn if drawn[name] != searched[name].default}
        is_enough = len(tried) >= (n_trials or math.inf) or len(study.trials) > len(tried) + _MAX_REPEATS
        trial.set_user_attr("parameters", parameters)
        for step in used:
            is_over = is_enough or (bool(tried) and time.perf_counter() - started > budget)
            if is_over:
                study.stop()
            if is_over or parameters in [other.parameters for other in tried]:
                raise optuna.TrialPruned
            value = score(parameters, step)
            advance(1)
            trial.report(value, step)
            if step < used[-1] and trial.should_prune():
                raise optuna.TrialPruned
        return value

    with stage(f"tuning {cls.__name__}", None) as advance:
        used = _used_steps(study, score, steps, budget)
        if not _finished(study, steps[-1]):
            study.optimize(objective, n_trials=1)  # the defaults
        study.optimize(objective, catch=TacitError)  # which parameters may raise that do not suit these data
    trials = _finished(study, steps[-1])
    best = max((trial for trial in trials if trial.share == trials[0].share), key=lambda trial: trial.score)
    return Tuning(name_of(cls), target, best.parameters, best.score, trials[0].score, best.share, trials)


def _used_steps(
    study: Any, score: Callable[[dict[str, Any], int], float], steps: list[int], budget: float
) -> list[int]:
    """The steps that the budget allows, by the time that the defaults take on the smallest subset."""
    if "steps" not in study.user_attrs:
        score({}, 0)  # compiles or loads kernels
        started = time.perf_counter()
        score({}, 1)
        pace = time.perf_counter() - started
        study.set_user_attr("steps", [step for step in steps if step == 1 or _MIN_TRIALS * step * pace <= budget])
    return list(study.user_attrs["steps"])


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


def _finished(study: Any, whole: int) -> list[Trial]:
    """The trials of a study, without repeated and interrupted ones."""
    found = []
    for trial in study.trials:
        if trial.intermediate_values and trial.state.name in ("COMPLETE", "PRUNED"):
            step, score = max(trial.intermediate_values.items())
            found.append(Trial(trial.user_attrs["parameters"], step / whole, score, trial.duration.total_seconds()))
    return found
