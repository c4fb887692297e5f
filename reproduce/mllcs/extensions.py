"""Two extensions that the ML-LCS paper names as future work, tried on validation data.

`python -m reproduce.mllcs.extensions` prints the comparison; it needs TACIT_DATA. Both are the factor model of
`tacit.LFM`, whose labels are Bernoulli with log-odds u·v, with one more latent variable:

- **exposure**: a label that a sample does not have was considered with probability μ_l only. An absent label has the
  likelihood μ_l (1 − p) + 1 − μ_l, and the posterior that it was considered is its weight in the steps for U and V;
- **mixture**: a sample belongs to one of C factor models, which a softmax of its features chooses.

With μ = 1 and C = 1 the model is `LFM`. EM is generalised: every step raises the bound, so the objective never falls.
Matrices of samples × labels are dense. The test part of Bibtex is not read.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse
from scipy.optimize import minimize
from scipy.special import expit, log_softmax, logsumexp, softmax
from sklearn.cluster import KMeans
from threadpoolctl import threadpool_limits

import tacit
from reproduce.report import aligned, figures, spread
from reproduce.sets import Source
from tacit.arrays import Floats, Floats32, Floats64
from tacit.core.ranking import Ranking
from tacit.data.split import hide_positives, random_split
from tacit.latent.em import climb_rows, eigen, preconditioner
from tacit.latent.model import initial_factors, polya_gamma_mean, with_constant
from tacit.numerics.ridge import ridge_solver
from tacit.numerics.rows import unit_rows

Regress = Callable[[Floats32, Floats], Floats32]

SEEDS = (0, 1, 2)
HIDDEN = (0.0, 0.5)
_PRECISION = 1.0  # of U, V and W, as in the paper; of the gate too
_SAMPLE_STEPS = 2  # of conjugate gradients, as `LFM` has
_GATE_STEPS = 10
_NO_SHARE = 1e-7  # responsibility below which a sample does not count in a regression


@dataclass(frozen=True)
class Variant:
    """A model to train; the defaults are those of `LFM`.

    Attributes
    ----------
    n_components : int
        Factor models in the mixture.
    n_factors : int
        Length of the latent vectors of each.
    exposure : tuple of float, optional
        Parameters, above 1, of the Beta prior of μ; without it μ is 1.
    n_sweeps : int
        Sweeps of EM.
    """

    n_components: int = 1
    n_factors: int = 100
    exposure: tuple[float, float] | None = None
    n_sweeps: int = 40

    def first_exposure(self, n_labels: int) -> Floats32:
        """The mean of the prior for every label."""
        a, b = self.exposure or (1.0, 0.0)
        return np.full(n_labels, a / (a + b), np.float32)


@dataclass(frozen=True, eq=False)
class Component:
    """One factor model: factors of samples and labels, and the regression from features."""

    U: Floats32
    V: Floats32
    W: Floats32


@dataclass(frozen=True, eq=False)
class Fitted:
    """The parameters, the responsibilities of components for training samples, and the objective in each sweep."""

    components: tuple[Component, ...]
    gate: Floats64
    exposure: Floats32
    shares: Floats64
    trace: Floats64

    def probabilities(self, X: sparse.csr_matrix) -> Floats:
        """Probabilities that labels are relevant to new samples; times `exposure`, that they are also assigned."""
        X = with_constant(unit_rows(X))
        shares = softmax(X @ self.gate, axis=1)
        parts = [expit(X @ one.W @ one.V.T) for one in self.components]
        return np.asarray(sum(share[:, None] * part for share, part in zip(shares.T, parts, strict=True)))


# -- the labels of samples --------------------------------------------------------------------------------


def exposure_weights(xi: Floats, Y: Floats, exposure: Floats) -> Floats:
    """Posterior probabilities that labels were considered; 1 for those that a sample has."""
    considered = exposure * expit(-xi)
    return np.where(Y > 0, 1, considered / (considered + (1 - exposure)))


def label_log_likelihoods(xi: Floats, Y: Floats, exposure: Floats) -> Floats64:
    """Log-likelihood of the labels of every sample, with exposure summed out."""
    with np.errstate(divide="ignore"):  # an exposure of 1
        log_not = np.log1p(-exposure)
    absent = np.logaddexp(np.log(exposure) - np.logaddexp(0, xi), log_not)
    present = np.log(exposure) - np.logaddexp(0, -xi)
    return np.asarray(np.where(Y > 0, present, absent).sum(axis=1, dtype=np.float64))


# -- EM ---------------------------------------------------------------------------------------------------


def fit(X: sparse.csr_matrix, Y: sparse.csr_matrix, variant: Variant, seed: int) -> Fitted:
    """Train by EM; the components start from clusters of the features, which only the first sweep keeps."""
    X, labels = with_constant(unit_rows(X)), Y.toarray().astype(np.float32)
    n_samples, n_labels = labels.shape
    shares = _first_shares(X, variant.n_components, seed)
    starts = [
        initial_factors(n_samples, X.shape[1], n_labels, n_labels, variant.n_factors, seed + 1000 * number)
        for number in range(variant.n_components)
    ]
    components = tuple(Component(one.U, one.V, one.W) for one in starts)
    gate = _fit_gate(X, shares, np.zeros((X.shape[1], variant.n_components)))
    fitted = Fitted(components, gate, variant.first_exposure(n_labels), shares, np.empty(0))
    regress = _regression(X, variant.n_components)
    for _ in range(variant.n_sweeps):
        fitted = _sweep(fitted, X, labels, variant.exposure, regress)
    return fitted


def _first_shares(X: sparse.csr_matrix, n_components: int, seed: int) -> Floats64:
    if n_components == 1:
        return np.ones((X.shape[0], 1))
    cluster_of = KMeans(n_components, n_init=1, random_state=seed).fit_predict(X)
    return np.asarray(np.eye(n_components)[cluster_of])


def _sweep(
    fitted: Fitted, X: sparse.csr_matrix, Y: Floats, prior: tuple[float, float] | None, regress: Regress
) -> Fitted:
    """Samples and regressions, then responsibilities and the objective, then labels, exposure and gate."""
    exposure = fitted.exposure
    moved = (_move_samples(one, X, Y, exposure) for one in fitted.components)
    components = [replace(one, W=regress(one.U, share)) for one, share in zip(moved, fitted.shares.T, strict=True)]
    joint = log_softmax(X @ fitted.gate, axis=1) + np.stack(
        [_log_joint(one, X, Y, exposure) for one in components], axis=1
    )
    shares = softmax(joint, axis=1)
    objective = logsumexp(joint, axis=1).sum() + _log_prior(components, fitted.gate, exposure, prior)
    if prior is not None:
        exposure = _next_exposure(components, shares, Y, exposure, prior)
    return Fitted(
        tuple(_move_labels(one, share, Y, exposure) for one, share in zip(components, shares.T, strict=True)),
        _fit_gate(X, shares, fitted.gate),
        exposure,
        shares,
        np.append(fitted.trace, objective),
    )


def _log_joint(one: Component, X: sparse.csr_matrix, Y: Floats, exposure: Floats) -> Floats64:
    """Log-density of the labels and factors of every sample, up to a constant that all components share."""
    distances = ((one.U - X @ one.W) ** 2).sum(axis=1, dtype=np.float64)
    return np.asarray(label_log_likelihoods(one.U @ one.V.T, Y, exposure) - _PRECISION / 2 * distances)


def _log_prior(
    components: Sequence[Component], gate: Floats, exposure: Floats, prior: tuple[float, float] | None
) -> float:
    squares = sum(float(np.sum(values.astype(np.float64) ** 2)) for one in components for values in (one.V, one.W))
    total = -_PRECISION / 2 * (squares + float(np.sum(gate**2)))
    if prior is not None:
        a, b = prior
        total += float(np.sum((a - 1) * np.log(exposure) + (b - 1) * np.log1p(-exposure)))
    return total


def _weights(xi: Floats, Y: Floats, exposure: Floats) -> tuple[Floats, Floats]:
    """Slopes and Pólya-Gamma weights of all entries, each times the posterior of exposure."""
    posterior = exposure_weights(xi, Y, exposure)
    return posterior * (Y - expit(xi)), posterior * polya_gamma_mean(xi)


def _move_samples(one: Component, X: sparse.csr_matrix, Y: Floats, exposure: Floats) -> Component:
    """Better factors of the samples; responsibilities multiply a sample's whole problem, and cancel."""
    slopes, weights = _weights(one.U @ one.V.T, Y, exposure)
    residual = slopes @ one.V + np.float32(_PRECISION) * (X @ one.W - one.U)
    precondition = preconditioner(eigen(one.V.T @ one.V), weights.mean(axis=1, dtype=np.float64), _PRECISION)
    change, _ = climb_rows(residual, precondition, one.V, weights, _PRECISION, _SAMPLE_STEPS)
    return replace(one, U=one.U + change)


def _regression(X: sparse.csr_matrix, n_components: int) -> Regress:
    """The function from factors and responsibilities of samples to the best regression from features."""
    if n_components == 1:
        solve = ridge_solver(X, 1.0)
        return lambda U, _: solve(U).astype(np.float32)

    def weighted(U: Floats32, share: Floats) -> Floats32:
        rows = np.flatnonzero(share > _NO_SHARE)
        roots = np.sqrt(share[rows]).astype(np.float32)
        solve = ridge_solver(sparse.csr_matrix(sparse.diags(roots) @ X[rows]), 1.0)
        return solve(roots[:, None] * U[rows]).astype(np.float32)

    return weighted


def _move_labels(one: Component, share: Floats, Y: Floats, exposure: Floats) -> Component:
    """One step of the factors of the labels, of the best length."""
    slopes, weights = (share.astype(np.float32)[:, None] * part for part in _weights(one.U @ one.V.T, Y, exposure))
    residual = slopes.T @ one.U - np.float32(_PRECISION) * one.V
    gram = eigen((share.astype(np.float32)[:, None] * one.U).T @ one.U)
    mean_weights = weights.sum(axis=0, dtype=np.float64) / max(share.sum(), 1.0)
    precondition = preconditioner(gram, mean_weights, _PRECISION)
    change, _ = climb_rows(residual, precondition, one.U, np.ascontiguousarray(weights.T), _PRECISION, 1)
    return replace(one, V=one.V + change)


def _next_exposure(
    components: Sequence[Component], shares: Floats, Y: Floats, exposure: Floats, prior: tuple[float, float]
) -> Floats32:
    """The mode of the posterior of μ, given who was considered."""
    considered = np.sum(
        [
            share @ exposure_weights(one.U @ one.V.T, Y, exposure)
            for one, share in zip(components, shares.T, strict=True)
        ],
        axis=0,
    )
    a, b = prior
    return np.asarray((considered + a - 1) / (len(Y) + a + b - 2), np.float32)


def _fit_gate(X: sparse.csr_matrix, shares: Floats64, start: Floats64) -> Floats64:
    """A few L-BFGS steps of penalised softmax regression from features to responsibilities."""
    if shares.shape[1] == 1:
        return start

    def loss(point: Floats64) -> tuple[float, Floats64]:
        gate = point.reshape(start.shape)
        logits = X @ gate
        value = -float(np.sum(shares * log_softmax(logits, axis=1))) + _PRECISION / 2 * float(point @ point)
        return value, np.asarray(X.T @ (softmax(logits, axis=1) - shares) + _PRECISION * gate).ravel()

    found = minimize(loss, start.ravel(), jac=True, method="L-BFGS-B", options={"maxiter": _GATE_STEPS})
    return np.asarray(found.x.reshape(start.shape))


# -- the comparison ---------------------------------------------------------------------------------------

VARIANTS = {
    "LFM": Variant(),
    "exposure, Beta(2, 2)": Variant(exposure=(2.0, 2.0)),
    "exposure, Beta(900, 100)": Variant(exposure=(900.0, 100.0)),
    "mixture of 2": Variant(n_components=2),
    "mixture of 4": Variant(n_components=4),
    "LFM, 25 factors": Variant(n_factors=25),
    "LFM, 50 factors": Variant(n_factors=50),
    "mixture of 2, 25 factors": Variant(n_components=2, n_factors=25),
}


def compare(X: sparse.csr_matrix, Y: sparse.csr_matrix, seeds: Sequence[int] = SEEDS) -> list[list[str]]:
    """The rows of the table: metrics on a quarter of the samples, which are not trained on."""
    rows = []
    for hidden in HIDDEN:
        case = f"{hidden:.0%} hidden" if hidden else "complete"
        for name, variant in VARIANTS.items():
            print(f"  {case}: {name} …", file=sys.stderr, flush=True)
            runs = [_measure(X, Y, variant, hidden, seed) for seed in seeds]
            for ranked_by in runs[0]:
                found = np.array([run[ranked_by] for run in runs])
                costs = [figures([found[:, 6].mean()]), figures([found[:, 7].min()])]
                rows.append([case, name, ranked_by, spread(found[:, :3]), spread(found[:, 3:6]), *costs])
    return rows


def _measure(
    X: sparse.csr_matrix, Y: sparse.csr_matrix, variant: Variant, hidden: float, seed: int
) -> dict[str, list[float]]:
    """P, PSP, CPU seconds and the least gain of a sweep, by what labels are ranked by."""
    train, valid = random_split(X.shape[0], seed=seed)
    given = hide_positives(Y[train], hidden, seed)
    start = time.process_time()
    fitted = fit(X[train], given, variant, seed)
    costs = [time.process_time() - start, float(np.diff(fitted.trace).min())]
    scores = {"p": fitted.probabilities(X[valid])}
    if variant.exposure is not None:
        scores["μp"] = fitted.exposure * scores["p"]
    propensities = tacit.propensities(Y[train])
    results = {}
    for ranked_by, values in scores.items():
        found = tacit.evaluate(_ranking(values), Y[valid], propensities)
        results[ranked_by] = [100 * found[f"{metric}@{k}"] for metric in ("P", "PSP") for k in (1, 3, 5)] + costs
    return results


def _ranking(scores: Floats) -> Ranking:
    order = np.argsort(-scores, axis=1, kind="stable")[:, :5]
    return Ranking(order.astype(np.int32), np.take_along_axis(scores, order, axis=1).astype(np.float32))


def main() -> None:
    """Print the table for Bibtex."""
    source = Source("bibtex")
    if not source.folder:
        raise SystemExit(source.left_out)
    data = source.load()
    with threadpool_limits(1):
        rows = compare(data.X, data.Y)
    header = ["labels", "model", "ranked by", "P@1/3/5", "PSP@1/3/5", "CPU s", "least gain of a sweep"]
    print("\n".join(aligned(header, rows)))


if __name__ == "__main__":
    main()
