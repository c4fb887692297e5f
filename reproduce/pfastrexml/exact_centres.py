"""PfastreXML with label centres of maximum likelihood (Eq. 43 to 46), of which the means of samples are the limit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy import sparse

from tacit.arrays import Floats64, Mask
from tacit.core.labels import positives
from tacit.core.parameters import document_parameters
from tacit.numerics.rows import label_means, largest_entries, unit_rows
from tacit.trees.pfastrexml import Centres, PfastreXML, offsets, squared_lengths

_ASCENTS = 50
_HALVINGS = 20
_RELATIVE_GAIN = 1e-7  # of the likelihood; the ascent stops below it

Likelihood = Callable[[Floats64], tuple[float, Floats64, float]]


@document_parameters
@dataclass(kw_only=True, eq=False, repr=False)
class ExactPfastreXML(PfastreXML):
    """PfastreXML whose centres are exact; it costs a pass over the data per label and step."""

    def _fit(self, X: sparse.csr_matrix, Y: sparse.csr_matrix) -> None:
        super()._fit(X, Y)
        relevant, beta = positives(Y), 1.0 if self.beta is None else self.beta
        unit = X if self.normalize else unit_rows(X)
        exact = exact_centres(unit, relevant, self._propensities(relevant), self.gamma, beta)
        centres = largest_entries(exact, self.centre_features)
        self.centres_ = Centres.of(centres, offsets(squared_lengths(centres), beta, self.gamma))


def exact_centres(
    X: sparse.csr_matrix, Y: sparse.csr_matrix, propensities: Floats64, gamma: float, beta: float
) -> sparse.csr_matrix:
    """Centres of maximum likelihood, by gradient ascent from the means; X has unit rows."""
    X, columns, rows = X.astype(np.float64), Y.tocsc(), []
    means = label_means(X, Y).astype(np.float64)
    for label in range(Y.shape[1]):
        is_positive = columns[:, [label]].toarray().ravel() > 0
        centre = means[[label]].toarray().ravel()
        if is_positive.any():
            propensity = float(propensities[label])
            centre = ascend(partial(likelihood, X, is_positive, propensity=propensity, gamma=gamma, beta=beta), centre)
        rows.append(sparse.csr_matrix(centre))
    return sparse.vstack(rows, format="csr")


def ascend(likelihood_at: Likelihood, centre: Floats64) -> Floats64:
    """Maximum-likelihood centre, by gradient ascent with line search."""
    value, gradient, curvature = likelihood_at(centre)
    step = 1 / curvature
    for _ in range(_ASCENTS):
        before = value
        for _ in range(_HALVINGS):
            candidate = centre + step * gradient
            value, new_gradient, curvature = likelihood_at(candidate)
            if value >= before:
                break
            step /= 2
        else:
            return centre
        centre, gradient = candidate, new_gradient
        step = min(2 * step, 1 / curvature)
        if value - before <= _RELATIVE_GAIN * abs(before):
            break
    return centre


def likelihood(
    X: sparse.csr_matrix, is_positive: Mask, centre: Floats64, propensity: float, gamma: float, beta: float
) -> tuple[float, Floats64, float]:
    """Log-likelihood of one label's observed values at a centre, its gradient, and the scale of its curvature."""
    squares = np.asarray(X.multiply(X).sum(axis=1)).ravel()
    distances = np.maximum(squares - 2 * (X @ centre) + centre @ centre, 0)
    log_v = np.log(beta) + gamma / 2 * distances
    log_one_plus_v = np.logaddexp(0, log_v)
    relevant = np.exp(-log_one_plus_v)  # 1/(1 + v)
    observed = np.where(is_positive, np.log(propensity) - log_one_plus_v, np.log1p(-propensity * relevant))
    irrelevant = np.exp(log_v - log_one_plus_v)  # v/(1 + v)
    # PfastreXML Eq. 45 with the sign of section 2.3: positives attract, negatives repel.
    u = irrelevant * np.where(is_positive, 1.0, -propensity * relevant / (1 - propensity * relevant))
    gradient = gamma * (X.T @ u - u.sum() * centre)  # Eq. 44
    return float(observed.sum()), np.asarray(gradient), float(gamma * np.abs(u).sum() + 1e-12)
