"""Unbiased estimates of losses on the *complete* labels, from the *observed* labels.

A relevant label l of sample i is observed with the known propensity ``p_il``, an irrelevant one never. Theorems and
equations are those of the supplementary material of the PfastreXML paper (Jain, Prabhu and Varma, 2016).

Every estimator returns one loss per sample. Observed labels are a sparse or dense 0/1 matrix; propensities are given
per label (1-D) or per sample and label (sparse or dense, where absent entries of a sparse matrix are 0).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from tacit.arrays import Floats64
from tacit.core.labels import Matrix, relevant_labels
from tacit.errors import DataError, ParameterError
from tacit.evaluation.propensity import as_values, check_propensities, entries, inverse_propensities, values_at


def unbiased_loss(
    Y_observed: Matrix, label_losses: Any, propensities: Any, normalizer: npt.ArrayLike = 1.0
) -> Floats64:
    """Estimate of a loss that sums over the relevant labels (Theorems 4.1 and 4.2).

    `label_losses` are ``L*_l(1, ŷ_l)``, the loss of each label if it is relevant, in the form of propensities. Each
    sample's loss is divided by `normalizer`, ``g*(y*, ŷ)`` of the complete labels, one number or one per sample.
    """
    observed = relevant_labels(Y_observed, "Y_observed")
    weights = inverse_propensities(observed, propensities)
    weights.data *= _at_positives(observed, label_losses, "label_losses")
    sums = _row_sums(weights)  # PfastreXML Theorem 4.1: Σ_{l: y_l=1} L*_l / p_l
    return sums / _check_normalizer(normalizer, observed.shape[0])  # PfastreXML Theorem 4.2


def unbiased_normalized_loss(Y_observed: Matrix, label_losses: Any, label_normalizers: Any) -> Floats64:
    """Estimate of a loss divided by an unknown ``g*(y*)``, if propensities are ``g_l / g*`` (Corollary 4.2.1).

    Neither the propensities nor ``g*`` need to be known, only their product: `label_normalizers`, ``g_l``, above 0.
    """
    observed = relevant_labels(Y_observed, "Y_observed")
    normalizers = _at_positives(observed, label_normalizers, "label_normalizers")
    if not (np.isfinite(normalizers) & (normalizers > 0)).all():
        raise DataError("label_normalizers must be finite and above 0 at every observed label")
    terms = observed.copy()
    terms.data = _at_positives(observed, label_losses, "label_losses") / normalizers  # PfastreXML Corollary 4.2.1
    return _row_sums(terms)


def unbiased_hamming(Y_observed: Matrix, scores: Matrix, propensities: Any) -> Floats64:
    """Estimate of the squared loss ``‖y* − ŷ‖²`` (Theorem 4.4); `scores`, ``ŷ``, are a sparse or dense matrix."""
    observed = relevant_labels(Y_observed, "Y_observed")
    predicted = _check_scores(scores, observed.shape)
    weights = inverse_propensities(observed, propensities)
    weights.data *= 1 - 2 * values_at(predicted, *entries(observed))
    squares = predicted.multiply(predicted) if sparse.issparse(predicted) else predicted**2
    return _row_sums(weights) + _row_sums(squares)  # PfastreXML Theorem 4.4


def unbiased_targets(Y_observed: Matrix, propensities: Any) -> sparse.csr_matrix:
    """Targets ``y / p`` whose squared loss differs from `unbiased_hamming` by a constant."""
    return inverse_propensities(relevant_labels(Y_observed, "Y_observed"), propensities)


def concentration_bound(rho: float, max_relevant: npt.ArrayLike, n_samples: int, delta: float = 0.05) -> float:
    """How far the mean estimate of `n_samples` samples may be from its expectation (Theorem 4.3).

    `rho` is the largest part that one label can have in an estimate (`loss_rho`, `hamming_rho`), and `max_relevant` is
    ``L*_i``, the largest number of labels that can be relevant to a sample: one number or one per sample. The bound
    holds with probability at least ``1 − delta``.
    """
    if n_samples < 1 or not 0 < delta < 1 or not (np.isfinite(rho) and rho >= 0):
        message = "n_samples must be at least 1, delta between 0 and 1, and rho a number of at least 0"
        raise ParameterError(f"{message}; got {n_samples}, {delta} and {rho}")
    relevant = np.asarray(max_relevant, dtype=np.float64)
    if relevant.shape not in {(), (n_samples,)} or not (relevant >= 0).all():
        raise DataError(f"max_relevant must be one number or one for each of {n_samples} samples, all at least 0")
    root_mean_square = np.sqrt(np.mean(relevant**2))
    # PfastreXML Theorem 4.3: ρ L̄ √(log(2/δ) / 2N)
    return float(rho * root_mean_square * np.sqrt(np.log(2 / delta) / (2 * n_samples)))


def loss_rho(label_losses: Any, propensities: Any, shape: tuple[int, int], normalizer: npt.ArrayLike = 1.0) -> float:
    """``ρ = max |L*_l / (p_il g*_i)|`` of `unbiased_loss`, over all of `shape`, or the propensities that are stored."""
    losses = as_values(label_losses, shape, "label_losses")
    return _largest_part(losses, check_propensities(propensities, shape), _check_normalizer(normalizer, shape[0]))


def hamming_rho(scores: Matrix, propensities: Any) -> float:
    """``ρ = max |1 − 2ŷ_il| / p_il`` of `unbiased_hamming`, for `concentration_bound`."""
    # Differs from the paper: its ρ = max 1/p leaves out |1 − 2ŷ|, which exceeds 1 for scores outside [0, 1].
    predicted = _dense(_check_scores(scores, np.shape(scores)))
    return _largest_part(1 - 2 * predicted, check_propensities(propensities, predicted.shape), np.ones(len(predicted)))


def _largest_part(values: Any, probabilities: Any, normalizer: Floats64) -> float:
    """Largest ``|value / (p g)|``; absent propensities have no part."""
    values, probabilities = _dense(values), _dense(probabilities)
    parts = np.divide(values, probabilities, out=np.zeros(np.broadcast(values, probabilities).shape),
                      where=probabilities > 0)  # fmt: skip
    return float((np.abs(parts).max(axis=-1, initial=0.0) / np.abs(normalizer)).max(initial=0.0))


def _dense(values: Any) -> Floats64:
    return values.toarray() if sparse.issparse(values) else np.asarray(values)


def _at_positives(observed: sparse.csr_matrix, values: Any, what: str) -> Floats64:
    return values_at(as_values(values, observed.shape, what), *entries(observed))


def _row_sums(matrix: Any) -> Floats64:
    return np.asarray(matrix.sum(axis=1), dtype=np.float64).ravel()


def _check_normalizer(normalizer: npt.ArrayLike, n_samples: int) -> Floats64:
    values = np.asarray(normalizer, dtype=np.float64)
    if values.shape not in {(), (n_samples,)} or not (np.isfinite(values) & (values != 0)).all():
        raise DataError(f"normalizer must be one number or one for each of {n_samples} samples, all but 0 and finite")
    return np.broadcast_to(values, (n_samples,))


def _check_scores(scores: Any, shape: tuple[int, ...]) -> Any:
    """Scores as a CSR matrix or a dense array of float64."""
    if len(shape) != 2 or np.shape(scores) != tuple(shape):
        raise DataError(f"scores must be a matrix with the shape of the labels, {tuple(shape)}; got {np.shape(scores)}")
    return as_values(scores, shape, "scores")
