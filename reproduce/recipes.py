"""How a method is run: which estimator, with which settings."""

from __future__ import annotations

import ast
import hashlib
import importlib
import importlib.util
import inspect
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from reproduce.sets import SETS, Source
from tacit.registry import find_model, import_model

#: Share of the positives hidden, where a case does not say otherwise. ExMLDS, "Coping with missing labels": "we hide
#: 80% non-zero entries of the training label matrix".
HIDDEN = 0.8

#: Settings at toy size, for those parameters that a model has.
TOY: Mapping[str, Any] = {
    "dimension": 8, "n_learners": 1, "n_context": 10, "n_passes": 2, "n_trees": 2, "n_factors": 6, "n_sweeps": 3,
    "max_steps": 3, "n_epochs": 2, "max_iter": 3,
}  # fmt: skip


BASELINE = "baseline:"


class NotBuiltError(Exception):
    """The estimator of a recipe is not in this repository."""


@dataclass(frozen=True)
class Case:
    """A line of cases in a table: a data set, and what is done with it.

    Attributes
    ----------
    set : str
        A key of `SETS`.
    protocol : str
        A key of `PROTOCOLS`.
    options : mapping
        Options of the protocol.
    settings : mapping
        Settings of the case, for those models that have such parameters.
    label : str
        How the case is called beside its set; empty for nothing.
    is_printed : bool
        Whether the paper has it; False for a small set that is run beside those of the paper.
    """

    set: str
    protocol: str = "standard"
    options: Mapping[str, Any] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)
    label: str = ""
    is_printed: bool = True

    @property
    def name(self) -> str:
        """Set and label."""
        return ", ".join(part for part in (SETS[self.set].name, self.label) if part)


@dataclass(frozen=True)
class Recipe:
    """An estimator and its settings.

    Attributes
    ----------
    model : str
        A name of tacit's registry, ``module:Class``, or ``baseline:NAME``, a name in `reproduce.baselines.settings`.
    parameters : mapping
        Settings that differ from the defaults, or from the model's own `paper()`.
    by_set : mapping
        Further settings, by the short name of the data set, or by the folder of one that stands in for it.
    is_printed : bool
        Start from the settings that the paper prints.
    """

    model: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    by_set: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    is_printed: bool = False

    def build(self, source: Source, case: Case, seed: int) -> Any:
        """The estimator for one run."""
        cls = model_class(self.model)
        known = inspect.signature(cls).parameters
        extra = {**case.settings, **(TOY if source.is_toy else {})}
        settings = {
            **self.parameters,
            **self.by_set.get(case.set, {}),
            **self.by_set.get(source.folder, {}),
            **_baseline_settings(self.model, source.folder, case),
            **{name: value for name, value in extra.items() if name in known},
            "random_state": seed,
        }
        return as_printed(cls, **settings) if self.is_printed else cls(**settings)


def model_class(name: str) -> type[Any]:
    """A model of tacit, a class of a module, or a baseline, which may not be there."""
    baseline = name.removeprefix(BASELINE)
    if baseline == name:
        return import_model(name) if ":" in name else find_model(name)
    entry = _baselines("BASELINES").get(baseline)
    if entry is None:
        raise NotBuiltError(f"{baseline} is not built")
    return entry.load()  # type: ignore[no-any-return]


def _baselines(table: str) -> Mapping[str, Any]:
    """A table of `reproduce.baselines.settings`; empty where there are no baselines."""
    try:
        return getattr(importlib.import_module("reproduce.baselines.settings"), table)  # type: ignore[no-any-return]
    except ModuleNotFoundError as error:
        if not (error.name or "").startswith("reproduce.baselines"):
            raise
        return {}


def _baseline_settings(name: str, folder: str, case: Case) -> Mapping[str, Any]:
    """The settings of a baseline that were chosen on validation data of the same set."""
    hidden = case.options.get("share", HIDDEN) if case.protocol == "hidden" else 0.0
    chosen = _baselines("SETTINGS").get(name.removeprefix(BASELINE), {})
    matching = (settings for run, settings in chosen.items() if (run.data, run.hidden) == (folder, hidden))
    return next(matching, {})


def as_printed(cls: type[Any], **overrides: Any) -> Any:
    """A model with the settings of its paper, as far as its class knows them."""
    return cls.paper(**overrides) if getattr(cls, "PAPER", None) else cls(**overrides)


# -- what a result depends on -----------------------------------------------------------------------------


@cache
def source_digest(module: str) -> str:
    """A checksum of the modules that a model's module computes with: in its own folder, numerics and kernels."""
    digest = hashlib.sha256()
    for path in sorted(_computing_modules(module)):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def _computing_modules(module: str) -> set[Path]:
    rooms = (f"{module.rpartition('.')[0]}.", "tacit.numerics.", "tacit.kernels.", "reproduce.baselines.")
    found: dict[str, Path] = {}
    waiting = [module]
    while waiting:
        name = waiting.pop()
        spec = None if name in found else importlib.util.find_spec(name)
        if spec is None or not spec.origin:
            continue
        found[name] = Path(spec.origin)
        imported = _imports(ast.parse(found[name].read_text(encoding="utf-8")))
        waiting += [other for other in imported if other.startswith(rooms)]
    return set(found.values())


def _imports(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
