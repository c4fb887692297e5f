"""How a label is scored that changed after training: a small tree of parts over the scores of the model.

Every part gives log-odds. `Rows` holds what the parts share, computed once for all of them: the model's log-odds
of the labels in question, and products with the features.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt
from scipy import sparse

from tacit.tagger.few_shot import Curve, Direction

Floats = npt.NDArray[np.float64]

MAX_LOG_ODDS = 13.0  # a probability of one in half a million, or of all but that
_PRIOR_VARIANCE = 2.0  # of the weights of a correction
_MORE = 0.5  # of what a second way to know a label adds to the first
_PASSES = 20
_TOLERANCE = 1e-3


def logit(p: Floats) -> Floats:
    """Log-odds of probabilities, bounded."""
    with np.errstate(divide="ignore"):
        return np.asarray(np.clip(np.log(p) - np.log1p(-p), -MAX_LOG_ODDS, MAX_LOG_ODDS))


def sigmoid(x: Floats) -> Floats:
    """Probabilities of log-odds."""
    return np.asarray(0.5 * (1 + np.tanh(0.5 * x)))


@dataclass(frozen=True, eq=False)
class Rows:
    """Samples to score.

    Attributes
    ----------
    learned : mapping of int to array
        Log-odds of labels that the model learned, by column.
    products : mapping of int to array
        Products of the features, scaled to unit length, with the weights of parts, by the part's identity.
    away : array
        Product of the same features with the mean sample, for directions.
    """

    learned: dict[int, Floats] = field(default_factory=dict)
    products: dict[int, Floats] = field(default_factory=dict)
    away: Floats = field(default_factory=lambda: np.empty(0))


class Part(ABC):
    """A part of how a label is scored."""

    @abstractmethod
    def log_odds(self, rows: Rows) -> Floats:
        """Log-odds of the label for each sample."""

    @property
    def parts(self) -> Sequence[Part]:
        """The parts that this one looks at."""
        return ()

    def all_parts(self) -> Iterable[Part]:
        """The part itself and all below it."""
        yield self
        for part in self.parts:
            yield from part.all_parts()

    @property
    def weights(self) -> sparse.csr_matrix | None:
        """One row of weights whose product with the features the part needs."""
        return None


@dataclass(frozen=True, eq=False)
class Learned(Part):
    """A label that the model learned in training."""

    column: int

    def log_odds(self, rows: Rows) -> Floats:
        """What the model says."""
        return rows.learned[self.column]


@dataclass(frozen=True, eq=False)
class Joined(Part):
    """Labels merged into one: it applies where any of them does."""

    labels: Sequence[Part]

    @property
    def parts(self) -> Sequence[Part]:
        """The labels."""
        return self.labels

    def log_odds(self, rows: Rows) -> Floats:
        """Log-odds that at least one applies, if they were independent."""
        neither = np.sum([np.log1p(-sigmoid(part.log_odds(rows))) for part in self.labels], axis=0)
        return logit(-np.expm1(neither))


@dataclass(frozen=True, eq=False)
class Cooccurring(Part):
    """A label known by the labels it occurs with; `shares` are the probabilities of it given each of them."""

    labels: Sequence[Part]
    counts: Floats
    shares: Floats

    @property
    def parts(self) -> Sequence[Part]:
        """The labels it occurs with."""
        return self.labels

    def log_odds(self, rows: Rows) -> Floats:
        """Log-odds that one of the other labels brings this one along.

        A sample has several of the labels at once, so that adding up what each brings would count it several times:
        what they bring is raised to the power of the root of the largest count over the sum of all.
        """
        repeats = np.sqrt(self.counts.max() / self.counts.sum())
        brought = (
            np.log1p(-np.minimum(share * sigmoid(part.log_odds(rows)), 1 - 1e-6))
            for share, part in zip(self.shares, self.labels, strict=True)
        )
        return logit(-np.expm1(repeats * np.sum(list(brought), axis=0)))


@dataclass(frozen=True, eq=False)
class Near(Part):
    """A label known by a few examples, or by a text about it."""

    direction: Direction
    curve: Curve

    @property
    def weights(self) -> sparse.csr_matrix:
        """Towards the examples."""
        return self.direction.towards

    def distance(self, rows: Rows) -> Floats:
        """How far samples lie in the direction of the examples, in standard deviations."""
        return np.asarray((rows.products[id(self)] - rows.away - self.direction.start) / self.direction.spread)

    def log_odds(self, rows: Rows) -> Floats:
        """Log-odds by nearness alone."""
        return self.curve.log_odds(self.distance(rows))


@dataclass(frozen=True, eq=False)
class Combined(Part):
    """A label known in several ways: the first says how probable it is, the others by how much that rises or falls."""

    first: Part
    others: Sequence[Near]

    @property
    def parts(self) -> Sequence[Part]:
        """All ways."""
        return (self.first, *self.others)

    def log_odds(self, rows: Rows) -> Floats:
        """Log-odds by all ways together; half of what they add, as they are not independent."""
        added = np.sum([near.curve.evidence(near.distance(rows)) for near in self.others], axis=0)
        return np.asarray(np.clip(self.first.log_odds(rows) + _MORE * added, -MAX_LOG_ODDS, MAX_LOG_ODDS))


@dataclass(frozen=True, eq=False)
class Judgements:
    """Suggestions that people accepted or rejected.

    Attributes
    ----------
    features : csr_matrix
        A row of unit length for each.
    labels : list of str
        The label judged, by the name it had then.
    accepted : bool array
        Whether it was right.
    log_odds : float32 array
        What the tagger said, before any judgement.
    """

    features: sparse.csr_matrix
    labels: list[str]
    accepted: npt.NDArray[np.bool_]
    log_odds: npt.NDArray[np.float32]

    def rows(self, rows: npt.NDArray[np.intp]) -> Judgements:
        """Some of the judgements."""
        labels = [self.labels[row] for row in rows]
        return Judgements(self.features[rows], labels, self.accepted[rows], self.log_odds[rows])

    def followed_by(self, others: Judgements) -> Judgements:
        """These judgements and then others."""
        return Judgements(
            sparse.vstack([self.features, others.features], format="csr"),
            self.labels + others.labels,
            np.concatenate([self.accepted, others.accepted]),
            np.concatenate([self.log_odds, others.log_odds]),
        )


@dataclass(frozen=True, eq=False)
class Corrected(Part):
    """A label with judged suggestions: what was said before, plus what the judgements teach."""

    inner: Part
    judgements: Judgements

    @property
    def parts(self) -> Sequence[Part]:
        """What was said before."""
        return (self.inner,)

    @cached_property
    def weights(self) -> sparse.csr_matrix:
        """Of a logistic regression whose offset is what was said before."""
        return _correction(self.judgements)

    def log_odds(self, rows: Rows) -> Floats:
        """Log-odds before, and the correction."""
        corrected = self.inner.log_odds(rows) + rows.products[id(self)]
        return np.asarray(np.clip(corrected, -MAX_LOG_ODDS, MAX_LOG_ODDS))


def _correction(judged: Judgements) -> sparse.csr_matrix:
    """Weights of a logistic regression with an offset and a Gaussian prior, by dual coordinate ascent.

    Each judgement pulls with a force between 0 and 1: by how far the corrected probability is from the verdict.
    """
    X = judged.features.astype(np.float64)
    signs = np.where(judged.accepted, 1.0, -1.0)
    lengths = _PRIOR_VARIANCE * np.asarray(X.multiply(X).sum(axis=1)).ravel()
    forces = np.zeros(len(signs))
    weights = np.zeros(X.shape[1])
    for _ in range(_PASSES):
        largest = 0.0
        for i, sign in enumerate(signs):
            part = slice(X.indptr[i], X.indptr[i + 1])
            columns, values = X.indices[part], X.data[part]
            now = sign * (judged.log_odds[i] + (weights[columns] * values).sum())
            change = _new_force(forces[i], now - lengths[i] * forces[i], lengths[i]) - forces[i]
            forces[i] += change
            weights[columns] += _PRIOR_VARIANCE * sign * change * values
            largest = max(largest, abs(change))
        if largest < _TOLERANCE:
            break
    return sparse.csr_matrix(weights[None, :])


def _new_force(force: float, margin: float, length: float) -> float:
    """The force f = σ(−margin − length · f), which meets its own effect: Newton's method from the last one."""
    for _ in range(8):
        pull = 0.5 * (1 - math.tanh(0.5 * (margin + length * force)))
        step = (force - pull) / (1 + length * pull * (1 - pull))
        force = min(max(force - step, 0.0), 1.0)
        if abs(step) < 1e-4:
            break
    return force
