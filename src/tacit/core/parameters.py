"""Parameters are declared once, in the class body of an estimator.

``C: Annotated[float, Range(above=0), "inverse strength of the penalty"] = 1.0`` gives a name, a type, a
constraint, a help text and a default. Checks, command line and documentation are all derived from it. A `Tune`
declares the search space for `tacit.tune`.
"""

from __future__ import annotations

import inspect
import json
import math
import types
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, Field, dataclass, fields, replace
from functools import cache
from numbers import Integral, Real
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin, get_type_hints

from tacit.errors import ParameterError, did_you_mean
from tacit.removed import PARAMETERS, instead

Model = TypeVar("Model")
_LARGEST = 1e15  # magnitude of a number, so that its products with features stay within float32
_UNIONS = (Union, types.UnionType)
_OF_ALL_MODELS = ("idf", "normalize", "random_state", "n_jobs")


@dataclass(frozen=True)
class Range:
    """An interval of numbers; `above` and `below` exclude the end itself, and `other_than` a single number."""

    low: float | None = None
    high: float | None = None
    above: float | None = None
    below: float | None = None
    other_than: float | None = None

    def holds(self, value: Any) -> bool:
        """Whether `value` lies in the range (NaN never does)."""
        is_above = (self.low is None or value >= self.low) and (self.above is None or value > self.above)
        is_below = (self.high is None or value <= self.high) and (self.below is None or value < self.below)
        return is_above and is_below and value != self.other_than and not math.isnan(value)

    def __str__(self) -> str:
        ends = ((">=", self.low), (">", self.above), ("<=", self.high), ("<", self.below), ("not", self.other_than))
        return " and ".join(f"{sign} {end:g}" for sign, end in ends if end is not None)


@dataclass(frozen=True)
class OneOf:
    """One of a few strings."""

    choices: tuple[str, ...]

    def holds(self, value: Any) -> bool:
        """Whether `value` is one of the choices."""
        return value in self.choices

    def __str__(self) -> str:
        return "one of " + ", ".join(f"'{choice}'" for choice in self.choices)


@dataclass(frozen=True)
class Tune:
    """Search space of a parameter: from `low` to `high`, on a logarithmic scale or not, or one of `choices`."""

    low: float = 0.0
    high: float = 0.0
    log: bool = True
    choices: tuple[Any, ...] = ()

    def __post_init__(self) -> None:
        if not self.choices and not (0 if self.log else -math.inf) < self.low < self.high < math.inf:
            start = "a number above 0, as its scale is logarithmic" if self.log else "a number"
            raise ParameterError(f"a search space goes from {start}, to a larger one; got {self.low} to {self.high}")


@dataclass(frozen=True)
class Parameter:
    """One parameter of an estimator."""

    name: str
    types: tuple[type, ...]  # empty: anything (arrays)
    default: Any
    constraint: Range | OneOf | None
    help: str
    tune: Tune | None = None

    def __str__(self) -> str:
        kinds = " or ".join("None" if kind is type(None) else kind.__name__ for kind in self.types) or "array"
        return f"{kinds}, {self.constraint}" if self.constraint else kinds

    def check(self, value: Any) -> None:
        """Raise unless `value` has an allowed type and meets the constraint."""
        if not self.types or (value is None and type(None) in self.types):
            return
        if not is_instance(value, self.types) or (self.constraint is not None and not self.constraint.holds(value)):
            choices = self.constraint.choices if isinstance(self.constraint, OneOf) else ()
            hint = did_you_mean(value, choices) if isinstance(value, str) else ""
            raise ParameterError(f"parameter '{self.name}' must be {self}; got {value!r}{hint}")
        if float in self.types and value != 0 and not 1 / _LARGEST <= abs(value) <= _LARGEST:
            limits = f"0 or from {1 / _LARGEST:g} to {_LARGEST:g}"
            raise ParameterError(f"parameter '{self.name}' must be {limits}; got {value!r}")

    def suggest(self, trial: Any) -> Any:
        """A value from the search space, for a trial of Optuna; fractions have three digits."""
        where: Any = self.tune
        if where.choices:
            return trial.suggest_categorical(self.name, where.choices)
        if int in self.types and float not in self.types:
            return trial.suggest_int(self.name, where.low, where.high, log=where.log)
        return float(f"{trial.suggest_float(self.name, where.low, where.high, log=where.log):.3g}")

    def parse(self, text: str) -> Any:
        """Parse a value from the command line."""
        is_none = type(None) in self.types and text.lower() in ("none", "null")
        if str in self.types and not is_none:
            return text
        try:
            return json.loads({"true": "true", "false": "false", "none": "null"}.get(text.lower(), text))
        except ValueError:
            raise ParameterError(f"parameter '{self.name}' must be {self}; got '{text}'") from None


def is_instance(value: Any, kinds: tuple[type, ...]) -> bool:
    """Like isinstance, but NumPy scalars count as numbers and a bool does not."""
    if isinstance(value, bool) or type(value).__name__ == "bool":  # also NumPy's bool
        return bool in kinds
    if isinstance(value, Integral):
        return int in kinds or float in kinds
    if isinstance(value, Real):
        return float in kinds
    return isinstance(value, tuple(kind for kind in kinds if kind not in (bool, int, float)))


def parameters_of(cls: Any) -> dict[str, Parameter]:
    """The declared parameters of an estimator class, sorted by name."""
    hints = get_type_hints(cls, include_extras=True)
    declared = sorted((item for item in fields(cls) if item.init), key=lambda item: item.name)
    return {item.name: _parameter(item, hints[item.name]) for item in declared}


def _parameter(item: Field[Any], annotation: Any) -> Parameter:
    kind = kind_of(annotation)
    plain = get_args(annotation)[0] if get_origin(annotation) is Annotated else annotation
    arms = get_args(plain) if get_origin(plain) in _UNIONS else (plain,)
    return Parameter(
        item.name, () if plain is Any else arms, None if item.default is MISSING else item.default,
        constraint=kind.find(Range, OneOf), help=kind.find(str) or "", tune=kind.find(Tune),
    )  # fmt: skip


@dataclass(frozen=True)
class Kind:
    """A parsed annotation: the plain type, whether None is allowed, and the declarations."""

    type: Any
    takes_none: bool
    extras: tuple[Any, ...]

    def find(self, *kinds: Any) -> Any:
        """The first declaration of one of these kinds, or None."""
        return next((extra for extra in self.extras if isinstance(extra, kinds)), None)


@cache
def kind_of(annotation: Any) -> Kind:
    """Parse an annotation."""
    if get_origin(annotation) is Annotated:
        inner = kind_of(get_args(annotation)[0])
        return Kind(inner.type, inner.takes_none, inner.extras + annotation.__metadata__)
    if get_origin(annotation) in _UNIONS:
        arms = get_args(annotation)
        inner = kind_of(next(arm for arm in arms if arm is not type(None)))
        return Kind(inner.type, type(None) in arms, inner.extras)
    return Kind(annotation, annotation is type(None), ())


def check_parameters(estimator: Any) -> None:
    """Raise unless every parameter of `estimator` has an allowed value."""
    for name, parameter in parameters_of(type(estimator)).items():
        parameter.check(getattr(estimator, name))


def parse_parameters(cls: type, assignments: Iterable[str]) -> dict[str, Any]:
    """``["C=2", "loss=logistic"]`` as a checked mapping of parameters of `cls`."""
    known, values = parameters_of(cls), dict[str, Any]()
    for assignment in assignments:
        name, equals, text = assignment.partition("=")
        if not equals:
            raise ParameterError(f"a parameter must be given as name=value; got '{assignment}'")
        values[name] = known[name].parse(text) if name in known else None
    check_values([cls], values)
    return values


def check_values(classes: Iterable[Any], values: Mapping[str, Any]) -> None:
    """Raise unless each name is a parameter of one of the estimator classes and allows the value."""
    classes = list(classes)
    known = {name: parameter for cls in classes for name, parameter in parameters_of(cls).items()}
    for name, value in values.items():
        if name not in known:
            first, others = classes[0], ", ".join(parameters_of(classes[0]))
            hint = instead(PARAMETERS, name) or did_you_mean(name, known)
            raise ParameterError(f"{first.__name__} has no parameter '{name}'{hint} (it has: {others})")
        known[name].check(value)


def declared_space(cls: type[Any]) -> dict[str, Tune]:
    """The search space that a model declares."""
    return {name: parameter.tune for name, parameter in parameters_of(cls).items() if parameter.tune is not None}


def check_space(cls: type[Any], space: Mapping[str, Tune], fixed: Mapping[str, Any]) -> dict[str, Parameter]:
    """Check a search space and fixed values; return the parameters to search, each with its `tune`."""
    check_values([cls], fixed)
    for name, where in space.items():
        for value in where.choices or (where.low, where.high):
            check_values([cls], {name: value})
    known = parameters_of(cls)
    found = {name: replace(known[name], tune=where) for name, where in space.items() if name not in fixed}
    if not found:
        raise ParameterError(f"{cls.__name__} has nothing to tune; give one: space={{'C': Tune(0.1, 10)}}")
    return found


def show_parameters(cls: Any, n_positional: int = 0, others: str | None = None) -> None:
    """Set the signature of ``__init__`` for `help` and scikit-learn's repr: names, plain types and defaults.

    The first `n_positional` fields may be given by position; `others` is the name of further keyword arguments.
    """
    known, plain = parameters_of(cls), get_type_hints(cls)
    names = [item.name for item in fields(cls) if item.init] if n_positional else list(in_order(cls))
    shown = [inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)]
    for place, name in enumerate(names):
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD if place < n_positional else inspect.Parameter.KEYWORD_ONLY
        shown.append(inspect.Parameter(name, kind, default=known[name].default, annotation=plain[name]))
    if others is not None:
        shown.append(inspect.Parameter(others, inspect.Parameter.VAR_KEYWORD))
    cls.__init__.__signature__ = inspect.Signature(shown)


def in_order(cls: Any) -> dict[str, Parameter]:
    """The declared parameters of an estimator class, the most important first: what all models have comes last."""
    known = parameters_of(cls)
    own = [item.name for item in fields(cls) if item.init and item.name not in _OF_ALL_MODELS]
    return {name: known[name] for name in (*own, *_OF_ALL_MODELS) if name in known}


def document_parameters(cls: type[Model]) -> type[Model]:
    """Append the declared parameters to the docstring of the estimator class `cls`, and show them in its signature."""
    own = list(inspect.signature(cls.__init__).parameters.values())[1:]
    if own and all(parameter.kind is inspect.Parameter.KEYWORD_ONLY for parameter in own):
        show_parameters(cls)
    lines = [inspect.cleandoc(cls.__doc__ or ""), "", "Parameters", "----------"]
    for parameter in in_order(cls).values():
        lines += [f"{parameter.name} : {parameter}, default {parameter.default!r}", f"    {parameter.help}"]
    cls.__doc__ = "\n".join(lines) + "\n"
    return cls
