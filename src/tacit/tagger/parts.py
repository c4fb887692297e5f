"""Scoring of labels that were changed after training: an expression tree of parts over the scores of the model.

Every part computes log-odds. A `Plan` evaluates many labels together, kind by kind, for a block of samples.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy import sparse

from tacit.arrays import Floats64, Ids, Mask
from tacit.core.ranking import Ranking
from tacit.kernels.correction import correction_duals
from tacit.numerics.logistic import sigmoid
from tacit.numerics.rows import unit_rows
from tacit.runtime.tasks import row_blocks
from tacit.store.sample_rows import Row, stacked
from tacit.tagger.few_shot import Curve, Direction, FewShot, compressed, direction
from tacit.tagger.inputs import Inputs
from tacit.tagger.scores import MAX_LOG_ODDS, Scores, logit

_VALUES_PER_BLOCK = 4_000_000  # log-odds in memory at a time
_PRIOR_VARIANCE = 2.0  # of the weights in the logistic regression of a correction
_PASSES = 20
_TOLERANCE = 1e-3
_MORE = 0.5  # weight of further evidence, in log-odds: it is not independent of the first
_ALIKE = 0.8  # cosine similarity with an example above which it counts as evidence by itself
_SAME_EXAMPLE = 5.0  # log-odds of a label for a sample that is one of its examples
_SAME_NAME = 3.0  # ... and for one that is its name or description


class Judged(NamedTuple):
    """A judged suggestion: the sample, the verdict, and the log-odds before any judgement."""

    row: Row
    accepted: bool
    log_odds: float


@dataclass(frozen=True, eq=False)
class Learned:
    """A label that the model learned in training."""

    column: int
    children: ClassVar[tuple[Part, ...]] = ()


@dataclass(frozen=True, eq=False)
class Near:
    """A label defined by a few examples, or by texts that describe it: alone, or as further evidence beside `first`."""

    first: Part | None
    examples: tuple[Row, ...]
    direction: Direction
    curve: Curve
    same: float

    @staticmethod
    def of(first: Part | None, few_shot: FewShot, rows: tuple[Row, ...], *, are_examples: bool) -> Near:
        """Defined by samples that have the label, or else by its name or a description."""
        curve = few_shot.curve(len(rows) if are_examples else 0)
        towards = direction(few_shot, stacked(rows, few_shot.n_features))
        return Near(first, rows, towards, curve, _SAME_EXAMPLE if are_examples else _SAME_NAME)

    @property
    def children(self) -> tuple[Part, ...]:
        """The part on which it depends, if there is one."""
        return () if self.first is None else (self.first,)


@dataclass(frozen=True, eq=False)
class AnyOf:
    """A noisy-or over other labels: given each of them, the label applies with probability `shares`; 1 if merged.

    `power` discounts their joint evidence: samples often have several of them at once.
    """

    children: tuple[Part, ...]
    shares: Floats64
    power: float = 1.0


@dataclass(eq=False)
class Corrected:
    """A label with judged suggestions: its log-odds plus a correction learned from the judgements."""

    inner: Part
    judged: tuple[Judged, ...]
    weights: Row | None = None  # of the correction, fitted for the first plan

    @property
    def children(self) -> tuple[Part, ...]:
        """The part on which it depends."""
        return (self.inner,)


Part = Learned | Near | AnyOf | Corrected
Step = Callable[[Floats64, Floats64, Floats64], None]


class Plan:
    """Evaluates the log-odds of some labels, the roots: their parts by level and kind, dependencies first."""

    def __init__(self, roots: Sequence[Part], few_shot: FewShot) -> None:
        levels = _levels(roots)
        parts = [part for level in levels for part in level]
        self._few_shot = few_shot
        self._slots = {id(part): slot for slot, part in enumerate(parts)}
        self._roots = self._slots_of(roots)
        learned = [part for part in parts if isinstance(part, Learned)]
        self._columns, place = np.unique(np.array([part.column for part in learned], np.intp), return_inverse=True)
        self._learned = self._slots_of(learned), place
        _fit([part for part in parts if isinstance(part, Corrected)], few_shot.n_features)
        rows: list[Row] = []
        kinds: tuple[tuple[type, Callable[[Any, list[Row]], Step]], ...] = (
            (Near, self._near), (AnyOf, self._any_of), (Corrected, self._corrected),
        )  # fmt: skip
        groups = ((make, [part for part in each if isinstance(part, kind)]) for each in levels for kind, make in kinds)
        self._steps = [make(group, rows) for make, group in groups if group]
        self._linear = stacked(rows, few_shot.n_features).T.tocsr()

    def log_odds(self, scores: Scores, samples: Inputs) -> Floats64:
        """Log-odds of the labels for all samples, of shape (n_samples, n_labels)."""
        values = np.zeros((samples.shape[0], len(self._slots)))
        slots, place = self._learned
        values[:, slots] = scores.log_odds(samples, self._columns)[:, place]
        if self._steps:
            unit = unit_rows(samples.X)
            products = (unit @ self._linear).toarray().astype(np.float64)
            away = (unit @ self._few_shot.away)[:, None]
            for step in self._steps:
                step(values, products, away)
        return values[:, self._roots]

    def _slots_of(self, parts: Sequence[Part]) -> Ids:
        return np.array([self._slots[id(part)] for part in parts], dtype=np.intp)

    # -- a step for all parts of one kind: reads the values of their dependencies, writes their own ------------

    def _near(self, parts: Sequence[Near], rows: list[Row]) -> Step:
        slots, first = self._slots_of(parts), self._slots_of([part.first or part for part in parts])
        towards = slice(len(rows), len(rows) + len(parts))
        rows.extend(Row(part.direction.towards.indices, part.direction.towards.data) for part in parts)
        rows.extend(row for part in parts for row in part.examples)
        examples, starts = slice(towards.stop, len(rows)), _starts(part.examples for part in parts)
        start, spread, slope, intercept, usual, same, weight = np.array(
            [(each.direction.start, each.direction.spread, each.curve.slope, each.curve.intercept,
              each.curve.usual if each.first else 0, each.same, _MORE if each.first else 1) for each in parts]
        ).T  # fmt: skip

        def step(values: Floats64, products: Floats64, away: Floats64) -> None:
            by_direction = slope * compressed((products[:, towards] - away - start) / spread) + intercept
            nearest = np.maximum.reduceat(products[:, examples], starts, axis=1)
            alike = np.clip((nearest - _ALIKE) / (1 - _ALIKE), 0, 1)
            by_likeness = -MAX_LOG_ODDS + alike * (same + MAX_LOG_ODDS)
            more = weight * (np.maximum(by_direction, by_likeness) - usual)
            values[:, slots] = np.maximum(_bounded(values[:, first] + more), by_likeness)

        return step

    def _any_of(self, parts: Sequence[AnyOf], _: list[Row]) -> Step:
        slots, children = self._slots_of(parts), self._slots_of([child for part in parts for child in part.children])
        starts = _starts(part.children for part in parts)
        shares, power = np.concatenate([part.shares for part in parts]), np.array([part.power for part in parts])

        def step(values: Floats64, _: Floats64, __: Floats64) -> None:
            brought = np.log1p(-np.minimum(shares * sigmoid(values[:, children]), 1 - 1e-6))
            values[:, slots] = logit(-np.expm1(power * np.add.reduceat(brought, starts, axis=1)))

        return step

    def _corrected(self, parts: Sequence[Corrected], rows: list[Row]) -> Step:
        slots, inner = self._slots_of(parts), self._slots_of([part.inner for part in parts])
        weights = slice(len(rows), len(rows) + len(parts))
        rows.extend(part.weights for part in parts if part.weights is not None)

        def step(values: Floats64, products: Floats64, _: Floats64) -> None:
            values[:, slots] = _bounded(values[:, inner] + products[:, weights])

        return step


def _levels(roots: Sequence[Part]) -> list[list[Part]]:
    """All parts by level, each above those on which it depends."""
    level_of: dict[int, int] = {}
    levels: list[list[Part]] = []
    waiting = list(reversed(roots))
    while waiting:  # no recursion: labels may depend on each other thousands of levels deep
        part = waiting[-1]
        below = [child for child in part.children if id(child) not in level_of]
        if below:
            waiting.extend(below)
            continue
        waiting.pop()
        if id(part) in level_of:
            continue
        level = level_of[id(part)] = 1 + max((level_of[id(child)] for child in part.children), default=-1)
        if level == len(levels):
            levels.append([])
        levels[level].append(part)
    return levels


def _starts(lists: Iterable[Sequence[Any]]) -> Ids:
    """Where each of some lists starts when they are joined."""
    return np.cumsum([0, *map(len, lists)])[:-1]


def _bounded(log_odds: Floats64) -> Floats64:
    return np.clip(log_odds, -MAX_LOG_ODDS, MAX_LOG_ODDS)


def _fit(parts: Sequence[Corrected], n_features: int) -> None:
    """Fit the missing weights of corrections: logistic regressions with the previous log-odds as offset."""
    new = [part for part in parts if part.weights is None]
    judged = [each for part in new for each in part.judged]
    if not judged:
        return
    X = stacked([each.row for each in judged], n_features)
    signs = np.array([1.0 if each.accepted else -1.0 for each in judged])
    offsets = np.array([each.log_odds for each in judged], dtype=np.float64)
    groups = np.cumsum([0, *(len(part.judged) for part in new)])
    duals = correction_duals(
        groups, X.indptr.astype(np.int64), X.indices.astype(np.int32), X.data.astype(np.float32), signs, offsets,
        n_features, _PRIOR_VARIANCE, _PASSES, _TOLERANCE,
    )  # fmt: skip
    pulls = sparse.csr_matrix((_PRIOR_VARIANCE * signs * duals, np.arange(len(judged)), groups))
    weights = sparse.csr_matrix(pulls @ X.astype(np.float64))
    for part, (first, last) in zip(new, pairwise(weights.indptr.tolist()), strict=True):
        part.weights = Row(weights.indices[first:last], weights.data[first:last])


def members_of(part: Part) -> tuple[Part, ...]:
    """The labels that a label was merged from, or itself."""
    return part.children if isinstance(part, AnyOf) and part.power == 1 and (part.shares == 1).all() else (part,)


def rank_changed(
    changed: Ids, plan: Plan, scores: Scores, samples: Inputs, k: int | None, allowed: Mask | None, least: float
) -> Ranking:
    """The `k` best allowed labels, all above `least` without `k`; the `changed` ones are scored by the plan."""

    def learned(rows: Inputs, include: Ids | None) -> Ranking:
        if k is None:
            return scores.rank_above(rows, least, include)
        n_labels = scores.n_labels if include is None else len(include)
        return scores.rank(rows, max(min(k, n_labels), 1), include)

    def block(rows: Inputs, may: Mask) -> Ranking:
        unchanged = may[: scores.n_labels].copy()
        unchanged[changed[changed < len(unchanged)]] = False
        ranking, is_wanted = learned(rows, np.flatnonzero(unchanged)), may[changed]
        if not is_wanted.any():
            return ranking
        also = np.broadcast_to(changed[is_wanted].astype(np.int32), (rows.shape[0], int(is_wanted.sum())))
        more = scores.of_log_odds(plan.log_odds(scores, rows)[:, is_wanted])
        return Ranking(np.hstack([ranking.labels, also]), np.hstack([ranking.scores, more])).sorted()

    if allowed is None:
        ranking = learned(samples, None)
    elif not len(changed) and len(allowed) == scores.n_labels:
        ranking = learned(samples, np.flatnonzero(allowed))
    else:
        size = max(64, min(2048, _VALUES_PER_BLOCK // (len(changed) + 1)))
        blocks = row_blocks(samples.shape[0], size) or [(0, 0)]
        ranking = Ranking.concatenate([block(samples[slice(*each)], allowed) for each in blocks])
    return ranking if k is None else ranking.resized(k)
