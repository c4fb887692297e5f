"""Hyperparameter search within a time budget.

Successive halving: many random draws of the parameters are tried on a small subset of the data, the best third of them
on a subset three times as large, and so on. Search spaces are declared with the parameters (`Tune`).
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from tacit.core.features import read_features
from tacit.core.labels import aligned, read_labels
from tacit.core.parameters import Parameter, Tune, parameters_of, unknown_parameter
from tacit.data.repeats import groups_of, one_of_each
from tacit.errors import DataError, ParameterError, TacitError
from tacit.evaluation.metrics import evaluate, read_metric
from tacit.evaluation.propensity import propensities
from tacit.progress import announce, stage
from tacit.registry import find_model

_KEPT = 3  # one in this many draws is kept for the next subset, which is this many times as large
_SMALLEST_PART = 500  # samples
_WARM_UP = 200
_MAX_PARTS = 4
_MAX_DRAWS = 81
_LEAST_DRAWS = 6  # minimum number of draws; if the budget is too small for it, the largest subset is dropped
_CHANGED = 0.5  # probability that a draw changes a parameter; the others stay at their defaults


@dataclass(frozen=True)
class Trial:
    """One set of parameters, trained on a share of the samples."""

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
        All trials, in chronological order.
    """

    model: str
    target: str
    parameters: dict[str, Any]
    score: float
    default_score: float
    share: float
    trials: list[Trial]


@dataclass(frozen=True)
class _Samples:
    """Features by name, the default first, and labels."""

    X: dict[str, Any]
    Y: sparse.csr_matrix


@dataclass(frozen=True)
class _Fold:
    """Rows of training samples, in random order, and of validation samples."""

    samples: _Samples
    kept: npt.NDArray[np.intp]
    valid: _Samples
    held_out: npt.NDArray[np.intp]


def tune(
    model_name: str,
    X: Any,
    Y: Any,
    *,
    target: str = "P@5",
    validation: tuple[Any, Any] | None = None,
    budget_seconds: float = 600.0,
    fixed: Mapping[str, Any] | None = None,
    space: Mapping[str, Tune] | None = None,
    folds: int = 3,
    seed: int = 0,
    n_jobs: int | None = None,
) -> Tuning:
    """Search for the hyperparameters of a model that are best for a metric.

    Parameters
    ----------
    model_name : str
        A registered model.
    X, Y
        Training samples, as for `fit`. X may be a mapping from names to features of the same samples: the name is then
        searched as the parameter "features", whose default is the first.
    target : str
        "P@5", "nDCG@3", "R@5", "PSP@1", "PSnDCG@5" or the like.
    validation : pair of features and labels, optional
        Validation set, with the columns of X and Y. By default, cross-validation is used.
    budget_seconds : float
        Time for the search. The defaults are tried at least once, however long that takes.
    fixed : mapping, optional
        Parameters with fixed values, which are not searched.
    space : mapping of str to Tune, optional
        Search space, instead of the one that the model declares.
    folds : int
        Number of cross-validation folds.
    seed : int
        Seed of the draws, the folds and the model. Because of the time budget, the number of trials may still vary.
    n_jobs : int, optional
        Number of parallel tasks in each training.
    """
    started = time.perf_counter()
    cls = find_model(model_name)
    common = {**(fixed or {}), "random_state": seed, "n_jobs": n_jobs}
    searched = check_space(cls, declared_space(cls) if space is None else space, common)
    read_metric(target)
    names = tuple(_by_name(X))
    if len(names) > 1:
        searched["features"] = Parameter("features", (str,), names[0], None, "", Tune(choices=names))
    judge = _Judge(cls, common, _folds(X, Y, validation, folds, seed), target)
    with stage(f"tuning {cls.__name__}", None) as advance:
        trials = list(_search(judge, searched, started + budget_seconds, seed, advance))
    return _best(cls.__name__, target, trials)


# -- what is searched -------------------------------------------------------------------------------------


def declared_space(cls: type[Any]) -> dict[str, Tune]:
    """The search space that a model declares."""
    return {name: parameter.tune for name, parameter in parameters_of(cls).items() if parameter.tune is not None}


def check_space(cls: type[Any], space: Mapping[str, Tune], fixed: Mapping[str, Any]) -> dict[str, Parameter]:
    """Check a search space and fixed values; return the parameters to search, each with its `tune`."""
    known = parameters_of(cls)
    for name in (*fixed, *space):
        if name not in known:
            raise unknown_parameter(cls, name)
    for name, value in fixed.items():
        known[name].check(value)
    found = {name: replace(known[name], tune=where) for name, where in space.items() if name not in fixed}
    for name, where in space.items():
        for place in (0.0, 0.5, 1.0):
            known[name].check(where.value(place, whole=_is_whole(known[name])))
    if not found:
        raise ParameterError(f"{cls.__name__} has nothing to tune; give a search space, such as C=0.1:10")
    return found


def _is_whole(parameter: Parameter) -> bool:
    return int in parameter.types and float not in parameter.types


def _draws(searched: Mapping[str, Parameter], count: int, seed: int) -> list[dict[str, Any]]:
    """The defaults, and up to `count` - 1 distinct random sets of parameters."""
    rng = np.random.default_rng(seed)
    draws: list[dict[str, Any]] = [{}]
    for _ in range(20 * count):
        if len(draws) == count:
            break
        drawn = {
            name: parameter.tune.value(rng.random(), whole=_is_whole(parameter))
            for name, parameter in searched.items()
            if parameter.tune is not None and rng.random() < _CHANGED
        }
        changed = {name: value for name, value in drawn.items() if value != searched[name].default}
        if changed not in draws:
            draws.append(changed)
    return draws


# -- how a set of parameters is evaluated -----------------------------------------------------------------


def _by_name(X: Any) -> dict[str, Any]:
    return dict(X) if isinstance(X, Mapping) else {"": X}


def _samples(X: Any, Y: sparse.csr_matrix) -> _Samples:
    found = {name: read_features(features) for name, features in _by_name(X).items()}
    for features in found.values():
        if features.shape[0] != Y.shape[0]:
            raise DataError(f"X has {features.shape[0]} samples but Y has {Y.shape[0]}; they must agree")
    return _Samples(found, Y)


def _folds(X: Any, Y: Any, validation: tuple[Any, Any] | None, folds: int, seed: int) -> list[_Fold]:
    labels = read_labels(Y)
    samples = _samples(X, labels.matrix)
    order = np.random.default_rng(seed).permutation(labels.matrix.shape[0])
    if validation is not None:
        named = read_labels(validation[1]) if labels.container == "lists" else read_labels(validation[1], labels.names)
        truth = aligned(named.matrix, named.names, labels.names)
        return [_Fold(samples, order, _samples(validation[0], truth), np.arange(truth.shape[0]))]
    groups = groups_of(next(iter(samples.X.values())))
    differing = one_of_each(order, groups)
    if not 2 <= folds <= len(differing):
        raise ParameterError(f"folds must be between 2 and the {len(differing)} differing samples; got {folds}")
    held_out = np.array_split(differing, folds)
    kept = [order[~np.isin(groups[order], groups[part])] for part in held_out]
    return [_Fold(samples, a, samples, b) for a, b in zip(kept, held_out, strict=True)]


@dataclass(frozen=True)
class _Judge:
    """Trains a model on a share of every fold and evaluates it on the held-out samples of the fold."""

    cls: type[Any]
    common: dict[str, Any]
    folds: list[_Fold]
    target: str

    @property
    def n_samples(self) -> int:
        return min(len(fold.kept) for fold in self.folds)

    def warm_up(self) -> None:
        """Compile or load kernels, so that this time does not count for a trial."""
        self._score(self.folds[0], {}, min(1.0, _WARM_UP / self.n_samples))

    def try_out(self, parameters: dict[str, Any], share: float) -> Trial:
        start = time.perf_counter()
        try:
            scores = [self._score(fold, parameters, share) for fold in self.folds]
        except TacitError as error:  # parameters that are valid, but not for these data
            announce(f"{parameters}: {error}")
            scores = [-math.inf]
        return Trial(parameters, share, float(np.mean(scores)), time.perf_counter() - start)

    def _score(self, fold: _Fold, parameters: dict[str, Any], share: float) -> float:
        part = fold.kept[: math.ceil(share * len(fold.kept))]
        own = {**self.common, **parameters}
        name = own.pop("features", next(iter(fold.samples.X)))
        model = self.cls(**own).fit(fold.samples.X[name][part], fold.samples.Y[part])
        truth = fold.valid.Y[fold.held_out]
        # Propensities of all training samples, so that scores on different subsets are comparable.
        weights = propensities(fold.samples.Y[fold.kept])
        weights = np.concatenate([weights, np.full(truth.shape[1] - len(weights), weights.min())])
        _, k = read_metric(self.target)
        ranking = model.rank(fold.valid.X[name][fold.held_out], k)
        return evaluate(ranking, truth, propensities=weights, ks=(k,))[self.target]


# -- the search -------------------------------------------------------------------------------------------


def _shares(n_samples: int) -> list[float]:
    """Shares of the data, increasing up to all of them."""
    n_parts = 1 + min(int(math.log(max(n_samples / _SMALLEST_PART, 1), _KEPT)), _MAX_PARTS - 1)
    return [float(_KEPT) ** -place for place in reversed(range(n_parts))]


def _search(
    judge: _Judge, searched: Mapping[str, Parameter], deadline: float, seed: int, advance: Any
) -> Iterator[Trial]:
    """Run trials, subset by subset; the best of each are tried on the next."""
    shares = _shares(judge.n_samples)
    judge.warm_up()
    trials = [judge.try_out({}, shares[0])]
    each = max(trials[0].seconds, 1e-3)
    left = deadline - time.perf_counter()
    while len(shares) > 1 and left < _LEAST_DRAWS * len(shares) * each:
        shares.pop()  # many trials on a subset are better than very few on all samples
    draws = _draws(searched, int(np.clip(left / (len(shares) * each), 2, _MAX_DRAWS)), seed)
    for place, share in enumerate(shares):
        if place > 0:
            draws, trials = _going_on(trials, deadline - time.perf_counter()), []
        for parameters in draws[len(trials) :]:
            if trials and time.perf_counter() + trials[-1].seconds > deadline:
                break
            trials.append(judge.try_out(parameters, share))
            advance(1)
        if not trials:
            return
        yield from trials


def _going_on(trials: Sequence[Trial], seconds: float) -> list[dict[str, Any]]:
    """The defaults and the best other parameters, as many as time permits; none if only the defaults would fit."""
    ordered = sorted((trial for trial in trials if trial.parameters), key=lambda trial: -trial.score)
    best = [trial.parameters for trial in ordered[: math.ceil(len(trials) / _KEPT)]]
    affordable = int(seconds / (_KEPT * float(np.median([trial.seconds for trial in trials]))))
    return [{}, *best][:affordable] if affordable > 1 else []


def _best(model: str, target: str, trials: Sequence[Trial]) -> Tuning:
    share = trials[-1].share
    last = [trial for trial in trials if trial.share == share]
    best = max(last, key=lambda trial: trial.score)
    default = next(trial for trial in last if not trial.parameters)
    return Tuning(model, target, best.parameters, best.score, default.score, share, list(trials))
