"""Theorems 4.1 to 4.4 by simulation: hide labels with known propensities, many times over.

The test labels of a set count as complete, the propensities are those of its training labels, and ŷ is fixed: the five
best labels of a one-vs-all model. Every statement is computed twice: by the printed formula, and by the library's
function.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

import tacit
from reproduce.cache import Metrics
from reproduce.pfastrexml.settings import DELTA
from reproduce.recipes import source_digest
from reproduce.report import NONE, Report
from reproduce.sets import SETS, Data, Source
from reproduce.tables import Options, source_of
from tacit import losses
from tacit.data.split import keep_entries

Floats = npt.NDArray[np.float64]

N_DRAWS, N_TOY_DRAWS = 300, 50
K = 5
HEADER = (
    "set", "statement", "printed", "printed formula, here", "tacit's function", "observed as complete", "judgement",
)  # fmt: skip
_ERRORS = 3.0  # standard errors within which a mean estimate meets the truth


@dataclass(frozen=True, eq=False)
class World:
    """Complete labels, propensities and a fixed prediction.

    Attributes
    ----------
    complete : csr_matrix of shape (n_samples, n_labels)
        y*.
    propensities : array of shape (n_labels,)
    predicted : csr_matrix of shape (n_samples, n_labels)
        ŷ: 1 at the five best labels.
    """

    complete: sparse.csr_matrix
    propensities: Floats
    predicted: sparse.csr_matrix

    @classmethod
    def of(cls, data: Data) -> World:
        """From the test part of a set."""
        ranking = tacit.OneVsAll().fit(data.X, data.Y).rank(data.X_test, k=K)
        predicted = ranking.to_csr(data.Y.shape[1]).astype(np.float64)
        predicted.data[:] = 1
        return cls(data.Y_test.astype(np.float64), tacit.propensities(data.Y), predicted)

    @property
    def n_relevant(self) -> Floats:
        """Relevant labels of each sample."""
        return _row_sums(self.complete)

    @property
    def gains(self) -> sparse.csr_matrix:
        """L*_l(1, ŷ): a fifth for each of the five best labels, so that the loss is the P@5 of the complete labels."""
        return self.predicted / K

    @property
    def ideal(self) -> Floats:
        """g*(y*): the best DCG@5 of each sample, 1 for samples without labels."""
        discounts = np.cumsum(1 / np.log2(np.arange(2, K + 2)))
        n_relevant = np.minimum(self.n_relevant, K).astype(np.intp)
        return np.where(n_relevant > 0, discounts[n_relevant - 1], 1.0)

    def rows(self, rng: np.random.Generator) -> World:
        """As many samples, drawn with replacement."""
        drawn = rng.integers(self.complete.shape[0], size=self.complete.shape[0])
        return World(self.complete[drawn], self.propensities, self.predicted[drawn])

    def observed(self, rng: np.random.Generator, propensities: Floats | None = None) -> sparse.csr_matrix:
        """Each complete label kept with its propensity; `propensities` are those of the entries of `complete`."""
        kept = self.propensities[self.complete.indices] if propensities is None else propensities
        return keep_entries(self.complete, rng.random(self.complete.nnz) < kept)


@dataclass(frozen=True)
class Estimate:
    """One draw: the printed formula, the library's function, and the loss that takes observed labels as complete."""

    formula: float
    library: float
    naive: float


Simulate = Callable[[World, np.random.Generator], Estimate]


def decomposable(world: World, rng: np.random.Generator) -> Estimate:
    """Theorem 4.1, with P(y*) uniform over the samples: these are drawn with replacement, then labels are hidden."""
    return hidden_only(world.rows(rng), rng)


def hidden_only(world: World, rng: np.random.Generator) -> Estimate:
    """The same for given complete labels, whose expectation the bound of Theorem 4.3 is about."""
    y, p = world.observed(rng), world.propensities
    observed = y.multiply(world.gains)
    library = losses.unbiased_loss(y, world.gains, p)
    return Estimate(_mean(observed.multiply(1 / p)), float(library.mean()), _mean(observed))


def normalised(world: World, rng: np.random.Generator) -> Estimate:
    """Theorem 4.2: P(y*) is a point, and g* the ideal DCG of the complete labels."""
    y, p, g = world.observed(rng), world.propensities, world.ideal
    observed = y.multiply(world.gains).multiply(1 / g[:, None])
    library = losses.unbiased_loss(y, world.gains, p, g)
    return Estimate(_mean(observed.multiply(1 / p)), float(library.mean()), _mean(observed))


def unknown_normaliser(world: World, rng: np.random.Generator) -> Estimate:
    """Corollary 4.2.1: labels are kept with p = g_l / g*, of which only g_l is known."""
    g, g_l = world.ideal, 0.9 * world.ideal.min() * world.propensities
    y = world.observed(rng, g_l[world.complete.indices] / np.repeat(g, np.diff(world.complete.indptr)))
    observed = y.multiply(world.gains)
    library = losses.unbiased_normalized_loss(y, world.gains, g_l)
    return Estimate(_mean(observed.multiply(1 / g_l)), float(library.mean()), _mean(observed.multiply(1 / g[:, None])))


def hamming(world: World, rng: np.random.Generator) -> Estimate:
    """Theorem 4.4."""
    y, scores, p = world.observed(rng), world.predicted, world.propensities
    both = y.multiply(scores)
    formula = _mean((y - 2 * both).multiply(1 / p)) + _mean(scores.multiply(scores))
    library = losses.unbiased_hamming(y, scores, p)
    return Estimate(formula, float(library.mean()), _mean(y) - 2 * _mean(both) + _mean(scores))


def _mean(matrix: Any) -> float:
    """Mean over the samples of the sum over the labels."""
    return float(matrix.sum() / matrix.shape[0])


def _row_sums(matrix: Any) -> Floats:
    return np.asarray(matrix.sum(axis=1), dtype=np.float64).ravel()


def _gain_truth(world: World) -> float:
    return _mean(world.complete.multiply(world.gains))


def _normalised_truth(world: World) -> float:
    return float((_row_sums(world.complete.multiply(world.gains)) / world.ideal).mean())


def _hamming_truth(world: World) -> float:
    difference = world.complete - world.predicted
    return _mean(difference.multiply(difference))


def _gain_bound(world: World) -> float:
    """Theorem 4.3."""
    rho = losses.loss_rho(world.gains, world.propensities, world.complete.shape)
    return losses.concentration_bound(rho, world.n_relevant, world.complete.shape[0], DELTA)


def _hamming_bound(world: World) -> float:
    """Theorem 4.4, second part."""
    rho = losses.hamming_rho(world.predicted, world.propensities)
    return losses.concentration_bound(rho, world.n_relevant, world.complete.shape[0], DELTA)


@dataclass(frozen=True)
class Statement:
    """One statement of a theorem: how it is simulated, what must come out, and its bound, if it has one."""

    name: str
    simulate: Simulate
    truth: Callable[[World], float]
    bound: Callable[[World], float] | None = None

    def run(self, world: World, n_draws: int) -> Metrics:
        """Truth, mean and standard error of both estimates, the naive mean, and how often the bound holds."""
        rng = np.random.default_rng(0)
        draws = [self.simulate(world, rng) for _ in range(n_draws)]
        truth = self.truth(world)
        found = {"truth": truth, "naive": float(np.mean([draw.naive for draw in draws]))}
        for name in ("formula", "library"):
            values = np.array([getattr(draw, name) for draw in draws])
            found |= {name: float(values.mean()), f"{name} error": float(values.std(ddof=1) / np.sqrt(n_draws))}
            if self.bound is not None:
                bound = self.bound(world)
                gaps = np.abs(values - truth)
                within, farthest = float((gaps <= bound).mean()), float(gaps.max())
                found |= {"bound": bound, f"{name} within": within, f"{name} farthest": farthest}
        return found


@dataclass(frozen=True)
class Theorem:
    """A theorem of the supplementary material."""

    paper: str
    name: str
    title: str
    statements: tuple[Statement, ...]
    sets: tuple[str, ...] = ("bibtex", "delicious")

    def report(self, options: Options) -> Report:
        """Simulate what is not in the cache."""
        options.check(self, self.sets)
        report = Report(list(HEADER))
        for key in self.sets:
            if not options.wants(key, options.sets):
                continue
            source = Source(key, options.is_toy)
            if not source.folder:
                report.notes.append(f"left out: {source.left_out}")
                continue
            for statement in self.statements:
                if found := self._run(statement, source, options):
                    report.rows.extend(_rows(SETS[key].name, statement, found))
        verdicts = [row[-1].split()[0].rstrip(",") for row in report.rows]
        if verdicts:
            report.judgement.append(f"{verdicts.count('holds')} of {len(verdicts)} statements hold.")
        return report

    def _run(self, statement: Statement, source: Source, options: Options) -> Metrics | None:
        n_draws = N_TOY_DRAWS if options.is_toy else N_DRAWS
        key = {
            "set": source.folder, "data": source.fingerprint, "model": self.name, "statement": statement.name,
            "measured by": [source_of(part) for part in (World, Statement, statement.simulate)],
            "source": [source_of(losses), source_digest(tacit.OneVsAll.__module__)],  # estimates, what is judged
            "draws": n_draws, "tacit": tacit.__version__, "seed": 0,
        }  # fmt: skip
        found = options.cache.get(key)
        if found is None and not options.runs:
            return options.cache.earlier(key)
        if found is None:
            found = statement.run(World.of(source.load()), n_draws)
            options.cache.put(key, found)
        return found


def _rows(name: str, statement: Statement, found: Metrics) -> Iterator[list[str]]:
    """The estimate beside the truth, and the bound."""
    estimates = [f"{found[which]:.4f} ±{found[f'{which} error']:.4f}" for which in ("formula", "library")]
    gaps = [abs(found[which] - found["truth"]) / (found[f"{which} error"] or 1) for which in ("formula", "library")]
    verdict = "holds" if max(gaps) <= _ERRORS else "does not hold"
    judged = f"{verdict}, {max(gaps):.1f} standard errors from the loss on complete labels"
    if not statement.bound:
        yield [name, statement.name, f"{found['truth']:.4f}", *estimates, f"{found['naive']:.4f}", judged]
        return
    shares = [f"{100 * found[f'{which} within']:.1f} %" for which in ("formula", "library")]
    verdict = "holds" if min(found["formula within"], found["library within"]) >= 1 - DELTA else "does not hold"
    judged = f"{verdict}, the bound is {found['bound'] / found['formula farthest']:.0f} times the farthest draw"
    printed = f"{100 * (1 - DELTA):.0f} % within {found['bound']:.3f}"
    yield [name, statement.name, printed, *shares, NONE, judged]


PAPER = "pfastrexml"

theorem41 = Theorem(
    PAPER,
    "theorem4.1",
    "the propensity-scored loss is unbiased for any distribution of complete labels",
    (Statement("E[L(y)] = E[L*(y*)]", decomposable, _gain_truth),),
)
theorem42 = Theorem(
    PAPER,
    "theorem4.2",
    "the same for losses normalised by the complete labels, if these are fixed",
    (
        Statement("E[L(y)] = L*(y*), g* known", normalised, _normalised_truth),
        Statement("Corollary 4.2.1, p = g_l / g*", unknown_normaliser, _normalised_truth),
    ),
)
theorem43 = Theorem(
    PAPER,
    "theorem4.3",
    "how far the mean estimate may be from its expectation",
    (Statement("|L − E[L]| ≤ ρ L̄ √(log(2/δ) / 2N)", hidden_only, _gain_truth, _gain_bound),),
)
theorem44 = Theorem(
    PAPER,
    "theorem4.4",
    "an unbiased estimate of the Hamming loss, with its bound",
    (
        Statement("E[L(y)] = ‖y* − ŷ‖²", hamming, _hamming_truth),
        Statement("|L − E[L]| ≤ ρ L̄ √(log(2/δ) / 2N)", hamming, _hamming_truth, _hamming_bound),
    ),
)
