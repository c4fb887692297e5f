"""Scoring a label that has only a few examples, or nothing but a name.

A sample is scored by its projection onto the direction of the examples, in standard deviations over all samples. How
probable the label is there is measured in training, on labels of which only a few samples serve as examples.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Annotated

import numpy as np
from scipy import sparse

from tacit.arrays import Floats32, Floats64, Ids
from tacit.core.labels import Labels, positives
from tacit.core.parameters import Range
from tacit.data.repeats import groups_of
from tacit.numerics.logistic import fit_logistic
from tacit.numerics.rows import entry_chunks, selected, unit_rows
from tacit.store.declared import Array
from tacit.text.vectorizer import TextVectorizer

EXAMPLES = (1, 3, 10)  # numbers of examples that are measured; others are interpolated
NAME = "name"
_SHRINKAGE = 3.0  # multiple of the mean variance added to each feature's: estimates for rare features are poor
_MAX_LABELS = 60
_MAX_BACKGROUND = 2000  # samples that represent all others


@dataclass(frozen=True)
class Curve:
    """Log-odds of a label: ``slope · log(1 + z) + intercept``; `rate` is the share of positives it was fitted to."""

    slope: float = 2.0
    intercept: float = -6.0
    rate: Annotated[float, Range(above=0, below=1)] = 0.01

    @property
    def usual(self) -> float:
        """Prior log-odds of the label."""
        return float(np.log(self.rate / (1 - self.rate)))


def compressed(z: Floats64) -> Floats64:
    """Projections on a logarithmic scale: large ones add little more to the log-odds than moderate ones."""
    return np.asarray(np.sign(z) * np.log1p(np.abs(z)))


@dataclass(frozen=True, eq=False)
class FewShot:
    """Mean and variance of the training samples, scaled to unit length, and curves from projections to log-odds.

    There is a curve by number of examples, ``"1"`` to ``"10"``, and ``"name"`` for the name as the only example.
    """

    mean: Annotated[Floats32, Array("float32", ("n_features",))]
    variance: Annotated[Floats32, Array("float32", ("n_features",))]
    curves: dict[str, Curve] = field(default_factory=dict)

    @property
    def n_features(self) -> int:
        """Number of features."""
        return len(self.mean)

    @cached_property
    def scale(self) -> Floats64:
        """Scale of each feature: its inverse standard deviation, shrunken."""
        return np.asarray(1 / np.sqrt(self.variance + max(_SHRINKAGE * self.variance.mean(dtype=np.float64), 1e-12)))

    @cached_property
    def away(self) -> Floats64:
        """The scaled mean sample, from which all directions start."""
        return np.asarray(self.mean * self.scale)

    def curve(self, n_examples: int) -> Curve:
        """The curve for a number of examples; 0 stands for the name alone."""
        if n_examples == 0:
            return self.curves.get(NAME, Curve(slope=1.0))
        known = [(n, self.curves[str(n)]) for n in EXAMPLES if str(n) in self.curves]
        if not known:
            return Curve()
        place = np.log([n for n, _ in known])
        values = ([getattr(curve, name) for _, curve in known] for name in ("slope", "intercept", "rate"))
        return Curve(*(float(np.interp(np.log(n_examples), place, value)) for value in values))


def without_background(n_features: int) -> FewShot:
    """For a tagger around a model: mean zero and the same variance for all features."""
    return FewShot(np.zeros(n_features, np.float32), np.full(n_features, 1 / n_features, np.float32))


def measure(X: sparse.csr_matrix, labels: Labels, vectorizer: TextVectorizer | None, seed: int) -> FewShot:
    """Fit the curves for a few examples, and for names, on the training samples, scaled to unit length.

    Of a group of samples that are alike, one counts: an example would judge its repetition.
    """
    differing, Y = np.unique(groups_of(X)), positives(labels.matrix)
    X = unit_rows(X)
    plain = FewShot(*_moments(X))
    if len(differing) < X.shape[0]:
        X, Y = selected(X, differing), Y[differing]
    trial = _Trial(X, Y.tocsc(), plain, np.random.default_rng(seed))
    curves = {str(n): trial.curve(trial.with_examples(n)) for n in EXAMPLES}
    if vectorizer is not None:
        chosen = trial.labels_with(1)
        rows = unit_rows(vectorizer.transform([str(labels.names[label]) for label in chosen]))
        if rows.nnz:
            curves[NAME] = trial.curve((label, chosen[:0], rows[place]) for place, label in enumerate(chosen))
    return replace(plain, curves={name: curve for name, curve in curves.items() if curve is not None})


def _moments(X: sparse.csr_matrix) -> tuple[Floats32, Floats32]:
    sums, squares = np.zeros(X.shape[1]), np.zeros(X.shape[1])
    for chunk in entry_chunks(X):
        values = X.data[chunk].astype(np.float64)
        sums += np.bincount(X.indices[chunk], weights=values, minlength=X.shape[1])
        squares += np.bincount(X.indices[chunk], weights=values**2, minlength=X.shape[1])
    mean = sums / X.shape[0]
    return mean.astype(np.float32), np.maximum(squares / X.shape[0] - mean**2, 0).astype(np.float32)


@dataclass(frozen=True)
class Direction:
    """From the mean of all samples to that of a label's examples: z(x) = (x·towards − x·away − start)/spread.

    `away` is the same for all labels, so `towards` is as sparse as the examples.
    """

    towards: sparse.csr_matrix
    start: float
    spread: float


def direction(few_shot: FewShot, examples: sparse.csr_matrix) -> Direction:
    """The direction of some examples (rows of unit length)."""
    center = np.asarray(examples.mean(axis=0), dtype=np.float64).ravel()
    weights = (center - few_shot.mean) * few_shot.scale
    spread = float(np.sqrt((weights**2 * few_shot.variance).sum()))
    start = float((weights * few_shot.mean).sum())
    return Direction(sparse.csr_matrix((center * few_shot.scale)[None, :]), start, spread or 1.0)


@dataclass(frozen=True, eq=False)
class _Trial:
    """Labels with known samples, treated as if they had only a few examples."""

    X: sparse.csr_matrix
    Y: sparse.csc_matrix
    few_shot: FewShot
    rng: np.random.Generator

    def labels_with(self, n_samples: int) -> Ids:
        """A random selection of labels with more than `n_samples` samples."""
        enough = np.flatnonzero(np.diff(self.Y.indptr) > n_samples)
        return np.sort(self.rng.permutation(enough)[:_MAX_LABELS])

    def with_examples(self, n: int) -> Iterator[tuple[int, Ids, sparse.csr_matrix]]:
        """Labels, each with `n` of its samples as examples."""
        for label in self.labels_with(n):
            samples = self.Y.indices[self.Y.indptr[label] : self.Y.indptr[label + 1]]
            chosen = self.rng.choice(samples, n, replace=False)
            yield label, chosen, self.X[chosen]

    def curve(self, labels: Iterable[tuple[int, Ids, sparse.csr_matrix]]) -> Curve | None:
        """The curve fitted to all other samples of labels, and to samples without them."""
        n_samples = self.X.shape[0]
        others = np.sort(self.rng.permutation(n_samples)[:_MAX_BACKGROUND])
        background = selected(self.X, others)
        judged: list[Floats64] = [np.empty((3, 0))]  # projections, whether the label is right, weights
        for label, examples, rows in labels:
            towards = direction(self.few_shot, rows)
            weights = towards.towards.toarray().ravel() - self.few_shot.away
            samples = self.Y.indices[self.Y.indptr[label] : self.Y.indptr[label + 1]]
            rest = selected(self.X, np.setdiff1d(samples, examples))
            without = selected(background, np.flatnonzero(~np.isin(others, samples)))
            for matrix, is_right, weight in ((rest, 1.0, 1.0), (without, 0.0, n_samples / len(others))):
                z = (matrix @ weights - towards.start) / towards.spread
                judged.append(np.stack([z, np.full(len(z), is_right), np.full(len(z), weight)]))
        return _fitted(*np.concatenate(judged, axis=1))


def _fitted(z: Floats64, y: Floats64, weight: Floats64) -> Curve | None:
    """The fitted curve, rounded to the precision of the measurement; None without positives or negatives."""
    if not (0 < y.sum() < len(y)):
        return None
    rate = float((weight * y).sum() / weight.sum())
    slope, intercept = fit_logistic(compressed(z), y, weight)
    return Curve(round(slope, 4), round(intercept, 4), round(max(rate, 1e-6), 6))
