"""Scoring of labels that were changed after training: an expression tree of parts over the scores of the model.

Every part computes log-odds. A `Plan` evaluates many labels together, kind by kind, for a block of samples.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse

from tacit.arrays import Floats64
from tacit.kernels.correction import correction_forces
from tacit.numerics.logistic import sigmoid
from tacit.numerics.rows import unit_rows
from tacit.store.sample_rows import Row, stacked
from tacit.tagger.few_shot import Curve, Direction, FewShot, compressed, direction
from tacit.tagger.inputs import Inputs
from tacit.tagger.scores import MAX_LOG_ODDS, Scores, logit

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
    said: float


@dataclass(frozen=True, eq=False)
class Learned:
    """A label that the model learned in training."""

    column: int


@dataclass(frozen=True, eq=False)
class Near:
    """A label defined by a few examples, or by texts that describe it."""

    examples: tuple[Row, ...]
    direction: Direction
    curve: Curve
    same: float

    @staticmethod
    def examples_of(few_shot: FewShot, rows: tuple[Row, ...]) -> Near:
        """Defined by samples that have it."""
        towards = direction(few_shot, stacked(rows, few_shot.n_features))
        return Near(rows, towards, few_shot.curve(len(rows)), _SAME_EXAMPLE)

    @staticmethod
    def texts_about(few_shot: FewShot, rows: tuple[Row, ...]) -> Near:
        """Defined by its name, or by a description."""
        towards = direction(few_shot, stacked(rows, few_shot.n_features))
        return Near(rows, towards, few_shot.curve(0), _SAME_NAME)


@dataclass(frozen=True, eq=False)
class AnyOf:
    """A noisy-or over other labels: given each of them, the label applies with probability `shares`.

    Merged labels have shares of 1. `power` discounts the joint evidence of several labels, which are not independent,
    as samples often have several of them at once.
    """

    parts: tuple[Part, ...]
    shares: Floats64
    power: float = 1.0


@dataclass(frozen=True, eq=False)
class Combined:
    """A label with several kinds of evidence: the first gives its log-odds, the others raise or lower them.

    The changes count half, as the kinds of evidence are not independent.
    """

    first: Part
    others: tuple[Near, ...]


@dataclass(frozen=True, eq=False)
class Corrected:
    """A label with judged suggestions: its log-odds plus a correction learned from the judgements."""

    inner: Part
    judged: list[Judged]
    _weights: dict[int, Row] = field(default_factory=dict, repr=False)  # by number of judgements


Part = Learned | Near | AnyOf | Combined | Corrected


def children(part: Part) -> tuple[Part, ...]:
    """The parts that a part depends on."""
    if isinstance(part, AnyOf):
        return part.parts
    if isinstance(part, Combined):
        return (part.first, *part.others)
    return (part.inner,) if isinstance(part, Corrected) else ()


class Plan:
    """Evaluates the log-odds of some labels: their parts by kind, dependencies first.

    There is a root for each label.
    """

    def __init__(self, roots: Sequence[Part], few_shot: FewShot) -> None:
        self._few_shot = few_shot
        self._slots: dict[int, int] = {}
        levels: list[dict[type, list[Part]]] = []
        depth: dict[int, int] = {}
        parts: list[Part] = []

        waiting = list(reversed(roots))
        while waiting:  # no recursion: labels may depend on each other thousands of levels deep
            part = waiting[-1]
            below = [child for child in children(part) if id(child) not in depth]
            if below:
                waiting.extend(below)
                continue
            waiting.pop()
            if id(part) in depth:
                continue
            level = depth[id(part)] = 1 + max((depth[id(child)] for child in children(part)), default=-1)
            self._slots[id(part)] = len(parts)
            parts.append(part)
            if isinstance(part, Near):  # one more slot, for the log-odds by similarity to a single example
                parts.append(part)
            while len(levels) <= level:
                levels.append({})
            levels[level].setdefault(type(part), []).append(part)
        self._n_slots = len(parts)
        self._roots = self._slots_of(roots)
        learned = [part for part in parts if isinstance(part, Learned)]
        columns = np.array([part.column for part in learned], dtype=np.intp)
        self._columns, where = np.unique(columns, return_inverse=True)
        self._learned = self._slots_of(learned), where
        _correct([part for part in parts if isinstance(part, Corrected)], few_shot.n_features)
        rows: list[Row] = []
        makers: dict[type, Callable[[Any, list[Row]], Step]] = {
            Near: self._near,
            AnyOf: self._any_of,
            Combined: self._combined,
            Corrected: self._corrected,
        }
        kinds = (item for level in levels for item in level.items())
        self._steps = [makers[kind](group, rows) for kind, group in kinds if kind in makers]
        self._linear = stacked(rows, few_shot.n_features).T.tocsr()

    def log_odds(self, scores: Scores, samples: Inputs) -> Floats64:
        """Log-odds of the labels for all samples, of shape (n_samples, n_labels)."""
        values = np.empty((samples.shape[0], self._n_slots))
        slots, where = self._learned
        values[:, slots] = scores.log_odds(samples, self._columns)[:, where]
        if self._steps:
            unit = unit_rows(samples.X)
            products = (unit @ self._linear).toarray().astype(np.float64)
            away = (unit @ self._few_shot.away)[:, None]
            for step in self._steps:
                step(values, products, away)
        return values[:, self._roots]

    def _slots_of(self, parts: Sequence[Part]) -> npt.NDArray[np.intp]:
        return np.array([self._slots[id(part)] for part in parts], dtype=np.intp)

    def _alike(self, parts: Sequence[Near]) -> npt.NDArray[np.intp]:
        return self._slots_of(parts) + 1

    # -- a step for all parts of one kind: reads the values of their dependencies, writes their own ------------

    def _near(self, parts: Sequence[Near], rows: list[Row]) -> Step:
        slots, alike_slots, first = self._slots_of(parts), self._alike(parts), len(rows)
        rows.extend(Row(part.direction.towards.indices, part.direction.towards.data) for part in parts)
        towards = slice(first, len(rows))
        starts = np.cumsum([0, *(len(part.examples) for part in parts)])[:-1]
        rows.extend(row for part in parts for row in part.examples)
        examples = slice(towards.stop, len(rows))
        start, spread = (np.array([getattr(part.direction, name) for part in parts]) for name in ("start", "spread"))
        slope, base = (np.array([getattr(part.curve, name) for part in parts]) for name in ("slope", "intercept"))
        same = np.array([part.same for part in parts])

        def step(values: Floats64, products: Floats64, away: Floats64) -> None:
            by_direction = slope * compressed((products[:, towards] - away - start) / spread) + base
            nearest = np.maximum.reduceat(products[:, examples], starts, axis=1)
            alike = np.clip((nearest - _ALIKE) / (1 - _ALIKE), 0, 1)
            values[:, alike_slots] = by_likeness = -MAX_LOG_ODDS + alike * (same + MAX_LOG_ODDS)
            values[:, slots] = np.maximum(by_direction, by_likeness)

        return step

    def _any_of(self, parts: Sequence[AnyOf], _: list[Row]) -> Step:
        slots, below = self._slots_of(parts), self._slots_of([child for part in parts for child in part.parts])
        starts = np.cumsum([0, *(len(part.parts) for part in parts)])[:-1]
        shares, power = np.concatenate([part.shares for part in parts]), np.array([part.power for part in parts])

        def step(values: Floats64, _: Floats64, __: Floats64) -> None:
            brought = np.log1p(-np.minimum(shares * sigmoid(values[:, below]), 1 - 1e-6))
            values[:, slots] = logit(-np.expm1(power * np.add.reduceat(brought, starts, axis=1)))

        return step

    def _combined(self, parts: Sequence[Combined], _: list[Row]) -> Step:
        slots, first = self._slots_of(parts), self._slots_of([part.first for part in parts])
        near = [other for part in parts for other in part.others]
        others, alike = self._slots_of(near), self._alike(near)
        starts = np.cumsum([0, *(len(part.others) for part in parts)])[:-1]
        usual = np.array([other.curve.usual for other in near])

        def step(values: Floats64, _: Floats64, __: Floats64) -> None:
            added = np.add.reduceat(values[:, others] - usual, starts, axis=1)
            by_likeness = np.maximum.reduceat(values[:, alike], starts, axis=1)
            together = np.clip(values[:, first] + _MORE * added, -MAX_LOG_ODDS, MAX_LOG_ODDS)
            values[:, slots] = np.maximum(together, by_likeness)

        return step

    def _corrected(self, parts: Sequence[Corrected], rows: list[Row]) -> Step:
        slots, inner = self._slots_of(parts), self._slots_of([part.inner for part in parts])
        weights = slice(len(rows), len(rows) + len(parts))
        rows.extend(part._weights[len(part.judged)] for part in parts)

        def step(values: Floats64, products: Floats64, _: Floats64) -> None:
            values[:, slots] = np.clip(values[:, inner] + products[:, weights], -MAX_LOG_ODDS, MAX_LOG_ODDS)

        return step


Step = Callable[[Floats64, Floats64, Floats64], None]


def _correct(parts: Sequence[Corrected], n_features: int) -> None:
    """Fit the missing weights of corrections: logistic regressions with the previous log-odds as offset."""
    new = [part for part in parts if len(part.judged) not in part._weights]
    if not new:
        return
    judged = [each for part in new for each in part.judged]
    X = stacked([each.row for each in judged], n_features)
    signs = np.array([1.0 if each.accepted else -1.0 for each in judged])
    offsets = np.array([each.said for each in judged], dtype=np.float64)
    groups = np.cumsum([0, *(len(part.judged) for part in new)])
    forces = correction_forces(
        groups, X.indptr.astype(np.int64), X.indices.astype(np.int32), X.data.astype(np.float32), signs, offsets,
        n_features, _PRIOR_VARIANCE, _PASSES, _TOLERANCE,
    )  # fmt: skip
    pulls = sparse.csr_matrix((_PRIOR_VARIANCE * signs * forces, np.arange(len(judged)), groups))
    weights = sparse.csr_matrix(pulls @ X.astype(np.float64))
    for place, part in enumerate(new):
        row = slice(weights.indptr[place], weights.indptr[place + 1])
        part._weights[len(part.judged)] = Row(weights.indices[row], weights.data[row])
