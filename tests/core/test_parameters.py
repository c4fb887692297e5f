from __future__ import annotations

import inspect
import re
from dataclasses import dataclass, field
from typing import Annotated, Any

import numpy as np
import pytest

import tacit
from tacit.core.parameters import OneOf, Range, check_parameters, document_parameters, parameters_of, parse_parameters
from tacit.errors import ParameterError
from tacit.registry import MODELS, find_model


@document_parameters
@dataclass(kw_only=True)
class Example:
    """A model."""

    C: Annotated[float, Range(above=0, high=10), "strength"] = 1.0
    trees: Annotated[int, Range(low=1)] = 50
    loss: Annotated[str, OneOf(("hinge", "logistic")), "which loss"] = "hinge"
    seed: Annotated[int | None, Range(low=0)] = 0
    flag: bool = True
    weights: Annotated[Any, "an array"] = None
    learned_: int = field(init=False)


@pytest.mark.parametrize(
    "values",
    [{}, {"C": 3}, {"C": np.float32(0.5)}, {"trees": np.int64(3)}, {"seed": None}, {"flag": False}, {"weights": [1]}],
)
def test_good_values_pass(values):
    check_parameters(Example(**values))


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"C": 0}, r"'C' must be float, <= 10 and > 0|'C' must be float, > 0 and <= 10; got 0"),
        ({"C": float("nan")}, "'C' must be float.*got nan"),
        ({"C": "1"}, "'C' must be float.*got '1'"),
        ({"C": True}, "'C' must be float.*got True"),
        ({"trees": 0}, "'trees' must be int, >= 1; got 0"),
        ({"trees": 2.5}, "'trees' must be int, >= 1; got 2.5"),
        ({"loss": "logistc"}, "one of 'hinge', 'logistic'; got 'logistc' .did you mean 'logistic'"),
        ({"seed": -1}, "'seed' must be int or None, >= 0; got -1"),
        ({"flag": 1}, "'flag' must be bool; got 1"),
    ],
)
def test_bad_values_are_named(values, message):
    with pytest.raises(ParameterError, match=message):
        check_parameters(Example(**values))


@pytest.mark.parametrize("value", [1e308, 1e39, 1e-308])
@pytest.mark.parametrize(("name", "parameter"), [("MLLCS", "dispersion"), ("LFM", "lambda_u"), ("OneVsAll", "C")])
def test_numbers_beyond_float32_are_refused(name, parameter, value):
    with pytest.raises(ParameterError, match=f"{parameter}.*{value:g}".replace("+", r"\+")):
        check_parameters(find_model(name)(**{parameter: value}))


def test_values_from_the_command_line():
    texts = ["C=0.5", "trees=7", "loss=logistic", "seed=none", "flag=false"]
    expected = {"C": 0.5, "trees": 7, "loss": "logistic", "seed": None, "flag": False}
    assert parse_parameters(Example, texts) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("tree=3", r"Example has no parameter 'tree' .did you mean 'trees'\?\) \(it has: C, flag"),
        ("C", "given as name=value; got 'C'"),
        ("C=abc", "'C' must be float.*got 'abc'"),
        ("trees=0", "'trees' must be int, >= 1; got 0"),
    ],
)
def test_wrong_texts_from_the_command_line(text, message):
    with pytest.raises(ParameterError, match=message):
        parse_parameters(Example, [text])


@pytest.mark.parametrize("name", [*MODELS, "Tagger"])
def test_help_is_readable(name):
    """The signature names types and defaults, not what else is declared, and what all models have comes last."""
    cls = getattr(tacit, name)
    shown = inspect.signature(cls)
    assert "Annotated" not in str(shown)
    assert shown == inspect.signature(cls.__init__).replace(parameters=list(shown.parameters.values()))
    named = [key for key, parameter in shown.parameters.items() if parameter.kind is not parameter.VAR_KEYWORD]
    assert sorted(named) == list(parameters_of(cls))
    documented = [line.split(" : ")[0] for line in cls.__doc__.splitlines() if re.match(r"\w+ : ", line)]
    assert sorted(documented) == sorted(named)
    assert documented[-2:] == ["random_state", "n_jobs"]


def test_a_signature_has_types_and_defaults():
    assert "(*, n_trees: int = 1, arity: int = 64" in str(inspect.signature(tacit.LabelTree))
    assert str(inspect.signature(tacit.Tagger)).startswith("(model: str | type = 'auto', random_state: int | None")
