"""Tables of a paper: methods on data sets, printed figures beside those measured here."""

from __future__ import annotations

import hashlib
import inspect
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np

import tacit
from reproduce.cache import Cache, Metrics
from reproduce.protocols import PROTOCOLS
from reproduce.recipes import Case, NotBuiltError, Recipe, source_digest
from reproduce.report import NONE, Report, figures, spread, verdict
from reproduce.sets import Source
from tacit.errors import ParameterError, did_you_mean

TOLERANCE = 1.5  # points between a printed figure and ours within which it holds
COLUMNS = ("printed", "paper's settings, here", "tacit's default")
HEADER = ["set", "method", "metric", *COLUMNS, "CPU s (paper's · tacit's)", "judgement"]
NOT_RUN = "not run"
_warm: set[str] = set()  # models whose kernels are compiled


@dataclass(frozen=True)
class Method:
    """A method of a table: how it is run as the paper has it, and what tacit has by default.

    Without a recipe of the paper, its printed figures are another publication's.
    """

    name: str
    paper: Recipe | None = None
    default: Recipe | None = None


@dataclass(frozen=True)
class Group:
    """Metrics that are shown together."""

    name: str
    metrics: tuple[str, ...]
    digits: int = 1


@dataclass(frozen=True)
class Order:
    """The paper's claim that one method is better than another, or faster where the metric is ``fit``."""

    better: str
    worse: str
    metric: str = "P@1"


@dataclass(frozen=True)
class Options:
    """What to run: all seeds, methods and sets, or some of them."""

    cache: Cache
    n_seeds: int | None = None
    only: tuple[str, ...] = ()
    sets: tuple[str, ...] = ()
    is_toy: bool = False
    runs: bool = True

    def wants(self, name: str, chosen: tuple[str, ...]) -> bool:
        """Whether a name was chosen, or none was."""
        return not chosen or name.lower() in {other.lower() for other in chosen}

    def check(self, entry: Any, sets: Iterable[str], methods: Iterable[str] = ()) -> None:
        """Refuse sets and methods that an entry does not have."""
        for what, chosen, names in (("set", self.sets, sets), ("method", self.only, methods)):
            known = list(dict.fromkeys(names))
            for name in chosen:
                if name.lower() not in {other.lower() for other in known}:
                    there = f" (it has: {', '.join(known)})" if known else ""
                    message = f"{entry.paper} {entry.name} has no {what} '{name}'{did_you_mean(name, known)}{there}"
                    raise ParameterError(message)


P135 = Group("P@1/3/5", ("P@1", "P@3", "P@5"))


@dataclass(frozen=True)
class Table:
    """A table, or a figure whose points are runs."""

    paper: str
    name: str
    title: str
    cases: tuple[Case, ...]
    methods: tuple[Method, ...]
    printed: Mapping[str, Mapping[str, Sequence[float | None]]] = field(default_factory=dict)
    groups: tuple[Group, ...] = (P135,)
    orders: tuple[Order, ...] = ()
    n_seeds: int = 3
    tolerance: float | None = TOLERANCE

    def report(self, options: Options) -> Report:
        """Run what is not in the cache, and set it beside the printed figures."""
        options.check(self, [case.set for case in self.cases], [method.name for method in self.methods])
        report, verdicts = Report(list(HEADER)), Counter[str]()
        values: dict[tuple[str, str, str], list[Metrics]] = {}
        for case in self.cases:
            if not options.wants(case.set, options.sets):
                continue
            source = Source(case.set, options.is_toy)
            if not source.folder:
                report.notes.append(f"left out: {source.left_out}")
            elif source.stands_in:
                report.notes.append(f"{source.stand_in_note}: printed figures do not compare")
            for method in self.methods:
                if options.wants(method.name, options.only):
                    cells = [self._cell(recipe, case, source, options) for recipe in (method.paper, method.default)]
                    for column, cell in zip(COLUMNS[1:], cells, strict=True):
                        values[case.name, method.name, column] = cell.runs
                    if any(cell.text == NOT_RUN for cell in cells):
                        command = f"--set {case.set} --only '{method.name}'"
                        report.notes.append(f"{NOT_RUN} yet: python -m reproduce {self.paper} {self.name} {command}")
                    report.rows.extend(self._rows(case, method, cells, source, verdicts))
        report.notes[:] = dict.fromkeys(report.notes)
        report.judgement.extend(self._judgement(verdicts))
        report.judgement.extend(self._ordered(order, values) for order in self.orders)
        return report

    def _cell(self, recipe: Recipe | None, case: Case, source: Source, options: Options) -> Cell:
        if recipe is None or not source.folder:
            return Cell()
        n_seeds = 1 if options.is_toy else options.n_seeds or self.n_seeds
        try:
            found = [measure(recipe, case, source, seed, options) for seed in range(n_seeds)]
        except NotBuiltError:
            return Cell(text="not built")
        runs = [metrics for metrics in found if metrics is not None]
        return Cell(runs, "" if runs else NOT_RUN)

    def _rows(
        self, case: Case, method: Method, cells: Sequence[Cell], source: Source, verdicts: Counter[str]
    ) -> Iterator[list[str]]:
        """A row for each group of metrics that anybody has."""
        printed = list(self.printed.get(case.set, {}).get(method.name, ())) if case.is_printed else []
        for group in self.groups:
            there, printed = printed[: len(group.metrics)], printed[len(group.metrics) :]
            if not there and not any(cell.runs or cell.text for cell in cells):
                continue
            judged = self._judged(there, cells, group, source, verdicts)
            shown = figures(there, group.digits) if there else NONE
            times = " · ".join(cell.seconds for cell in cells)
            yield [case.name, method.name, group.name, shown, *(cell.show(group) for cell in cells), times, judged]

    def _judged(
        self, there: Sequence[float | None], cells: Sequence[Cell], group: Group, source: Source, verdicts: Counter[str]
    ) -> str:
        if not there or self.tolerance is None or source.stands_in or source.is_toy:
            return ""
        for cell, prefix in zip(cells, ("", "tacit's default "), strict=True):
            if cell.runs:
                word, text = verdict(there, list(cell.values(group).mean(axis=0)), self.tolerance)
                verdicts[prefix + word] += 1
                return prefix + text
        return ""

    def _judgement(self, verdicts: Counter[str]) -> Iterator[str]:
        if verdicts:
            counts = ", ".join(f"{count} {word}" for word, count in sorted(verdicts.items()))
            yield f"Of {verdicts.total()} printed rows that were run: {counts} (holds: within {self.tolerance} points)."

    def _ordered(self, order: Order, values: Mapping[tuple[str, str, str], list[Metrics]]) -> str:
        """On how many sets a method is better than another, in each column."""
        found = {column: [0, 0] for column in COLUMNS}
        for case in self.cases:
            for column, tally in found.items():
                pair = [self._value(case, name, column, order.metric, values) for name in (order.better, order.worse)]
                if None not in pair:
                    gap = float(pair[0]) - float(pair[1])  # type: ignore[arg-type]
                    tally[0] += gap < 0 if order.metric == "fit" else gap > 0
                    tally[1] += 1
        verb = "faster than" if order.metric == "fit" else "above"
        shares = "; ".join(f"{column} {won} of {n}" for column, (won, n) in found.items() if n)
        what = "" if order.metric == "fit" else f" in {order.metric}"
        return f"{order.better} {verb} {order.worse}{what}: {shares or 'not run'}."

    def _value(
        self, case: Case, method: str, column: str, metric: str, values: Mapping[tuple[str, str, str], list[Metrics]]
    ) -> float | None:
        if column == COLUMNS[0]:
            names = [name for group in self.groups for name in group.metrics]
            printed = self.printed.get(case.set, {}).get(method, ()) if case.is_printed else ()
            return dict(zip(names, printed, strict=False)).get(metric)
        runs = values.get((case.name, method, column), [])
        return float(np.mean([run[metric] for run in runs])) if runs else None


@dataclass(frozen=True)
class Cell:
    """The runs of one method with one recipe on one set, or a text in their place."""

    runs: list[Metrics] = field(default_factory=list)
    text: str = ""

    def values(self, group: Group) -> Any:
        """An array with a row for each run and a column for each metric."""
        return np.array([[run[metric] for metric in group.metrics] for run in self.runs])

    def show(self, group: Group) -> str:
        """Mean and spread."""
        return spread(self.values(group), group.digits) if self.runs else self.text or NONE

    @property
    def seconds(self) -> str:
        """Mean CPU time of training."""
        return f"{np.mean([run['fit'] for run in self.runs]):,.1f}" if self.runs else NONE


def measure(recipe: Recipe, case: Case, source: Source, seed: int, options: Options) -> Metrics | None:
    """One run, from the cache or now; None where it is not in the cache and nothing is to be run."""
    model = recipe.build(source, case, seed)
    protocol = PROTOCOLS[case.protocol]
    parameters = {name: value for name, value in model.get_params().items() if name != "n_jobs"}
    key = {
        "set": source.folder.replace("/", "-"), "data": source.fingerprint, "protocol": case.protocol,
        "options": dict(case.options), "measured by": source_of(protocol),
        "model": type(model).__name__, "parameters": parameters, "source": source_digest(type(model).__module__),
        "tacit": tacit.__version__, "seed": seed,
    }  # fmt: skip
    found = options.cache.get(key)
    if found is None and not options.runs:
        return options.cache.earlier(key)
    if found is None:
        if not source.is_toy:
            _compile(recipe, case)
        print(f"  {source.folder}: {type(model).__name__}, seed {seed} …", file=sys.stderr, flush=True)
        found = protocol(model, source.load(), seed, **case.options)
        options.cache.put(key, found)
    return found


def _compile(recipe: Recipe, case: Case) -> None:
    """Run a model at toy size, so that the time of its kernels' compilation is not that of its training."""
    if recipe.model not in _warm:
        _warm.add(recipe.model)
        toy = Source(case.set, is_toy=True)
        PROTOCOLS[case.protocol](recipe.build(toy, case, 0), toy.load(), 0, **case.options)


@cache
def source_of(thing: Any) -> str:
    """A checksum of the source of a function or module."""
    return hashlib.sha256(inspect.getsource(thing).encode()).hexdigest()[:16]
