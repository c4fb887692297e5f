"""Hyperparameter search with Optuna: trials train on growing subsets and are pruned where others do better."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tacit.core.features import read_features
from tacit.core.labels import aligned, read_labels
from tacit.core.parameters import Parameter, Tune, check_space, declared_space
from tacit.data.repeats import groups_of, one_of_each
from tacit.errors import DataError, FileError, MissingExtraError, ParameterError, TacitError
from tacit.evaluation.metrics import evaluate, read_metric
from tacit.evaluation.propensity import propensities
from tacit.progress import announce, stage
from tacit.registry import find_model
from tacit.runtime.checkpoint import fingerprint
from tacit.store.packing import name_of

_FACTOR = 3  # about one trial in so many goes on to the next subset
_STEPS = (1, 3, 9, 27)  # sizes of the subsets, in those of the smallest
_SMALLEST_SUBSET = 500  # samples
_WARM_UP = 200
_MIN_TRIALS = 6  # the defaults go on to a larger subset if the budget is enough for so many trials on it
_MAX_REPEATS = 50  # draws in a row that were tried before: there is nothing else to try


@dataclass(frozen=True)
class Trial:
    """One set of parameters, the largest share of the samples it was trained on, its score there, and its time."""

    parameters: dict[str, Any]
    share: float
    score: float
    seconds: float


@dataclass(frozen=True)
class Tuning:
    """What a search found.

    Attributes
    ----------
    model, target : str
        The model, and the metric for which it was tuned.
    parameters : dict
        The best parameters; empty if nothing was better than the defaults.
    score, default_score : float
        The metric with these and with the defaults, on the same validation samples.
    share : float
        Share of the training samples on which both were trained.
    trials : list of Trial
        All trials in chronological order, the defaults first.
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
    fixed: Mapping[str, Any] | None = None, space: Mapping[str, Tune] | None = None, folds: int = 3, seed: int = 0,
    n_jobs: int | None = None,
) -> Tuning:  # fmt: skip
    """Search for the hyperparameters of a model that are best for a metric; needs the extra `tune`.

    Parameters
    ----------
    model_name : str
        A model, or ``module:Class`` of a module that has been imported.
    X, Y
        Training samples, as for `fit`. X may be a mapping from names to features of the same samples: the name is then
        searched as the parameter "features", whose default is the first.
    target : str
        "P@5", "nDCG@3", "R@5", "PSP@1", "PSnDCG@5" or the like.
    validation : pair of features and labels, optional
        Validation set, with the columns of X and Y. By default, cross-validation is used.
    budget_seconds : float, optional
        Time for the search: by default 600 seconds, or no limit if `n_trials` is given. The defaults are always tried.
    n_trials : int, optional
        Number of trials, those in `storage` included. Without `budget_seconds`, the same seed gives the same trials.
    storage : path, optional
        File (Optuna's journal) for finished trials. The same search resumes from there.
    fixed : mapping, optional
        Parameters with fixed values, which are not searched.
    space : mapping of str to Tune, optional
        Search space, instead of the one that the model declares.
    folds : int
        Number of cross-validation folds.
    seed : int
        Seed of the draws, the folds and the model.
    n_jobs : int, optional
        Number of parallel tasks in each training.
    """
    optuna, started, cls = import_optuna(), time.perf_counter(), find_model(model_name)
    own = {**(fixed or {}), "random_state": seed}
    searched = check_space(cls, declared_space(cls) if space is None else space, own)
    read_metric(target)
    if n_trials is not None and n_trials < 1:
        raise ParameterError(f"n_trials must be at least 1; got {n_trials}")
    budget = (math.inf if n_trials else 600.0) if budget_seconds is None else budget_seconds
    parts = _folds(X, Y, validation, folds, seed)
    if len(names := tuple(parts[0].X)) > 1:
        searched["features"] = Parameter("features", (str,), names[0], None, "", Tune(choices=names))
    spaces = {name: parameter.tune for name, parameter in searched.items()}
    study = _study(storage, fingerprint(cls.__name__, own, target, spaces, parts))
    study.sampler = optuna.samplers.TPESampler(seed=seed + len(study.trials))  # a resumed search draws others
    with stage(f"tuning {cls.__name__}", None) as advance:
        own["n_jobs"] = n_jobs
        search = _Search(cls, own, target, searched, parts, started + budget, n_trials or math.inf, advance)
        if len(_tried(study)) < search.n_trials:
            search.score(parts[0], {}, 0)  # compiles or loads kernels, so that this time does not count for a trial
            study.optimize(search, callbacks=[search.stop_if_done])
    trials = _tried(study)
    best = max((trial for trial in trials if trial.share == trials[0].share), key=lambda trial: trial.score)
    return Tuning(name_of(cls), target, best.parameters, best.score, trials[0].score, best.share, trials)


def import_optuna() -> Any:
    """The module; raises if the extra is not installed."""
    try:
        import optuna
    except ImportError:
        raise MissingExtraError("tuning", "tune") from None
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    return optuna


def _study(storage: str | Path | None, identity: str) -> Any:
    """An Optuna study with the trials of earlier runs, in a file or in memory."""
    optuna = import_optuna()
    pruner, kept = optuna.pruners.SuccessiveHalvingPruner(1, _FACTOR), None
    try:
        if storage is not None:
            with Path(storage).open("a+b") as file:
                file.seek(0)
                if file.read(9) not in (b"", b'{"op_code'):
                    raise ValueError("it holds something else")
            journal, path = optuna.storages.journal, str(storage)
            kept = journal.JournalStorage(journal.JournalFileBackend(path, journal.JournalFileOpenLock(path)))
        return optuna.create_study(
            storage=kept, study_name=identity, load_if_exists=True, direction="maximize", pruner=pruner
        )
    except (OSError, ValueError, LookupError, TypeError, AssertionError) as error:
        raise FileError(str(storage), f"cannot keep the trials of a search: {error}; choose another file") from error


def _tried(study: Any) -> list[Trial]:
    """The finished trials of a study, without repeated and interrupted ones."""
    finished = (trial for trial in study.trials if trial.user_attrs and trial.state.name in ("COMPLETE", "PRUNED"))
    return [Trial(**trial.user_attrs["tried"], seconds=trial.duration.total_seconds()) for trial in finished]


@dataclass(frozen=True)
class _Fold:
    """Features by name, labels and rows: for training, in random order, and for validation."""

    X: dict[str, Any]
    Y: Any
    rows: Any
    X_valid: dict[str, Any]
    Y_valid: Any
    rows_valid: Any


def _folds(X: Any, Y: Any, validation: tuple[Any, Any] | None, n_folds: int, seed: int) -> list[_Fold]:
    labels = read_labels(Y)
    features, matrix = _by_name(X, labels.matrix), labels.matrix
    order = np.random.default_rng(seed).permutation(matrix.shape[0])
    if validation is not None:
        named = read_labels(validation[1]) if labels.container == "lists" else read_labels(validation[1], labels.names)
        truth = aligned(named.matrix, named.names, labels.names)
        return [_Fold(features, matrix, order, _by_name(validation[0], truth), truth, np.arange(truth.shape[0]))]
    groups = groups_of(next(iter(features.values())))
    differing = one_of_each(order, groups)
    if not 2 <= n_folds <= len(differing):
        raise ParameterError(f"folds must be between 2 and the {len(differing)} differing samples; got {n_folds}")
    kept = ((order[~np.isin(groups[order], groups[part])], part) for part in np.array_split(differing, n_folds))
    return [_Fold(features, matrix, rows, features, matrix, part) for rows, part in kept]


def _by_name(X: Any, Y: Any) -> dict[str, Any]:
    found = {name: read_features(part) for name, part in (X if isinstance(X, Mapping) else {"": X}).items()}
    for features in found.values():
        if features.shape[0] != Y.shape[0]:
            raise DataError(f"X has {features.shape[0]} samples but Y has {Y.shape[0]}; they must agree")
    return found


@dataclass
class _Search:
    """Trains on a growing share of the training samples of every fold, and evaluates on its validation samples."""

    cls: type[Any]
    fixed: dict[str, Any]
    target: str
    searched: dict[str, Parameter]
    folds: list[_Fold]
    deadline: float
    n_trials: float
    advance: Callable[[int], None]
    pace: float = 0.0  # seconds for the smallest subset, by the last fit

    def __call__(self, trial: Any) -> float:
        """Train on subsets of growing size, while the parameters are among the best and time permits."""
        optuna, tried = import_optuna(), _tried(trial.study)
        drawn = {name: parameter.suggest(trial) for name, parameter in self.searched.items()} if tried else {}
        parameters = {name: value for name, value in drawn.items() if value != self.searched[name].default}
        if parameters in [other.parameters for other in tried]:
            raise optuna.TrialPruned
        largest, n_more = (tried[0].share, 1) if tried else (1, _MIN_TRIALS)
        n_smallest = min(len(fold.rows) for fold in self.folds) / _SMALLEST_SUBSET
        steps = [step for step in _STEPS if step <= max(n_smallest, 1)]
        for step in steps:
            share = step / steps[-1]
            if share > largest or (step > 1 and not self._affords(n_more * step)):
                raise optuna.TrialPruned
            started = time.perf_counter()
            score = self._try_out(parameters, share)
            self.pace = (time.perf_counter() - started) / step
            self.advance(1)
            trial.report(score, step)
            trial.set_user_attr("tried", {"parameters": parameters, "share": share, "score": score})
            if share < 1 and trial.should_prune():
                raise optuna.TrialPruned
        return score

    def stop_if_done(self, study: Any, _trial: Any) -> None:
        """Stop if there are enough trials, if time is up, or if everything seems to have been tried."""
        n_tried = len(_tried(study))
        if n_tried >= self.n_trials or not self._affords(1) or len(study.trials) > n_tried + _MAX_REPEATS:
            study.stop()

    def _affords(self, step: int) -> bool:
        return time.perf_counter() + step * self.pace <= self.deadline

    def _try_out(self, parameters: dict[str, Any], share: float) -> float:
        try:
            return float(np.mean([self.score(fold, parameters, share) for fold in self.folds]))
        except TacitError as error:  # parameters that are valid, but not for these data
            announce(f"{parameters}: {error}")
            return -math.inf

    def score(self, fold: _Fold, parameters: dict[str, Any], share: float) -> float:
        part = fold.rows[: max(math.ceil(share * len(fold.rows)), _WARM_UP)]
        own, truth = {**self.fixed, **parameters}, fold.Y_valid[fold.rows_valid]
        name = own.pop("features", next(iter(fold.X)))
        model = self.cls(**own).fit(fold.X[name][part], fold.Y[part])
        weights = propensities(fold.Y[fold.rows])  # of all training samples: the same for every subset
        weights = np.pad(weights, (0, truth.shape[1] - len(weights)), constant_values=weights.min())
        k = read_metric(self.target)[1]
        ranking = model.rank(fold.X_valid[name][fold.rows_valid], k)
        return evaluate(ranking, truth, propensities=weights, ks=(k,))[self.target]
