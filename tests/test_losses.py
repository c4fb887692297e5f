"""The estimators are tested by simulation: hide labels with known propensities, many times over."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from tacit.errors import DataError
from tacit.losses import (
    concentration_bound,
    hamming_rho,
    loss_rho,
    unbiased_hamming,
    unbiased_loss,
    unbiased_normalized_loss,
    unbiased_targets,
)

N, L, DRAWS = 60, 15, 600


class World:
    """Complete labels, their propensities and fixed predictions."""

    def __init__(self, per_label: bool) -> None:
        rng = np.random.default_rng(3)
        self.complete = (rng.random((N, L)) < 0.3).astype(float)
        self.complete[:3] = 0
        self.probabilities = rng.uniform(0.2, 0.9, size=L if per_label else (N, L))
        self.scores = rng.normal(0.3, 0.8, size=(N, L))
        self.label_losses = np.log1p(np.exp(-self.scores))
        self.generator = rng

    def observe(self, probabilities=None):
        kept = self.probabilities if probabilities is None else probabilities
        return sparse.csr_matrix(self.complete * (self.generator.random((N, L)) < kept))


@pytest.fixture(params=["per label", "per sample and label"])
def world(request) -> World:
    return World(per_label=request.param == "per label")


def assert_only_the_estimate_meets(truth, estimates, naive):
    """The mean estimate is within 4 standard errors of the truth, the mean naive loss is not."""
    estimates, naive = np.array(estimates), np.array(naive)
    error = estimates.std(ddof=1) / np.sqrt(len(estimates))
    assert abs(estimates.mean() - truth) < 4 * error
    assert abs(naive.mean() - truth) > 4 * error
    assert abs(naive.mean() - truth) > 4 * naive.std(ddof=1) / np.sqrt(len(naive))


def test_sums_over_relevant_labels(world):
    """Theorem 4.1."""
    truth = (world.complete * world.label_losses).sum(axis=1).mean()
    draws = [world.observe() for _ in range(DRAWS)]
    assert_only_the_estimate_meets(
        truth,
        [unbiased_loss(Y, world.label_losses, world.probabilities).mean() for Y in draws],
        [Y.multiply(world.label_losses).sum() / N for Y in draws],
    )


def test_normalised_by_what_is_not_known(world):
    """Corollary 4.2.1: p_l = g_l / g*, and only g_l is handed over."""
    normalizer = 1 + world.complete.sum(axis=1)
    label_normalizers = world.generator.uniform(0.3, 0.9, size=L)
    truth = ((world.complete * world.label_losses).sum(axis=1) / normalizer).mean()
    draws = [world.observe(label_normalizers / normalizer[:, None]) for _ in range(DRAWS)]
    assert_only_the_estimate_meets(
        truth,
        [unbiased_normalized_loss(Y, world.label_losses, label_normalizers).mean() for Y in draws],
        [(Y.multiply(world.label_losses).sum(axis=1).A1 / normalizer).mean() for Y in draws],
    )


def test_squared_loss(world):
    """Theorem 4.4."""
    truth = ((world.complete - world.scores) ** 2).sum(axis=1).mean()
    draws = [world.observe() for _ in range(DRAWS)]
    assert_only_the_estimate_meets(
        truth,
        [unbiased_hamming(Y, world.scores, world.probabilities).mean() for Y in draws],
        [((Y.toarray() - world.scores) ** 2).sum(axis=1).mean() for Y in draws],
    )


def test_sparse_and_dense_arguments_agree(world):
    observed = world.observe()
    sparse_losses = np.where(world.label_losses > 0.5, world.label_losses, 0)
    kept = np.broadcast_to(world.probabilities, (N, L)) * observed.toarray()
    np.testing.assert_allclose(
        unbiased_loss(observed, sparse.coo_matrix(sparse_losses), sparse.csc_matrix(kept), 2.0),
        unbiased_loss(observed.toarray(), sparse_losses, world.probabilities, np.full(N, 2.0)),
    )
    by_sample = np.linspace(1, 3, N)  # Theorem 4.2
    sums = unbiased_loss(observed, sparse_losses, world.probabilities)
    np.testing.assert_allclose(unbiased_loss(observed, sparse_losses, world.probabilities, by_sample), sums / by_sample)
    predicted = (world.scores > 1).astype(float)
    np.testing.assert_allclose(
        unbiased_hamming(observed, sparse.csr_matrix(predicted), world.probabilities),
        unbiased_hamming(observed.toarray(), predicted, world.probabilities),
    )


def test_squared_loss_to_the_targets_differs_by_a_constant(world):
    observed = world.observe()
    targets = unbiased_targets(observed, world.probabilities).toarray()

    def difference(scores):
        to_targets = ((targets - scores) ** 2).sum(axis=1)
        return to_targets - unbiased_hamming(observed, scores, world.probabilities)

    np.testing.assert_allclose(difference(world.scores), difference(np.zeros((N, L))), atol=1e-9)


@pytest.mark.parametrize("loss", ["relevant labels", "squared"])
def test_bound_holds_at_the_promised_rate(world, loss):
    """Theorems 4.3 and 4.4; McDiarmid's inequality is loose, so far fewer than delta of the draws exceed it."""
    delta = 0.1
    if loss == "squared":
        rho = hamming_rho(world.scores, world.probabilities)
        estimate, losses = unbiased_hamming, world.scores
        truth = ((world.complete - world.scores) ** 2).sum(axis=1).mean()
    else:
        rho = loss_rho(world.label_losses, world.probabilities, (N, L))
        estimate, losses = unbiased_loss, world.label_losses
        truth = (world.complete * world.label_losses).sum(axis=1).mean()
    bound = concentration_bound(rho, world.complete.sum(axis=1), N, delta)
    deviations = np.array(
        [abs(estimate(world.observe(), losses, world.probabilities).mean() - truth) for _ in range(DRAWS)]
    )
    tightness = np.quantile(deviations, 1 - delta) / bound
    print(f"{loss}: observed over bound {tightness:.3f}, draws above the bound {(deviations > bound).mean():.3f}")
    assert (deviations <= bound).mean() >= 1 - delta
    assert 0.01 < tightness < 1  # loose, yet of the right order


def test_bound_follows_its_formula():
    assert concentration_bound(2.0, 3.0, 50, 0.1) == pytest.approx(6 * np.sqrt(np.log(20) / 100))
    per_sample = concentration_bound(2.0, [1, 7], 2, 0.1)
    assert per_sample == pytest.approx(concentration_bound(2.0, 5.0, 2, 0.1))  # root mean square of 1 and 7
    assert concentration_bound(1, 1, 400) == pytest.approx(concentration_bound(1, 1, 100) / 2)


def test_rho_is_the_largest_share(world):
    shares, normalizer = np.abs(world.label_losses / world.probabilities), np.linspace(1, 3, N)
    full = sparse.csr_matrix(np.broadcast_to(world.probabilities, (N, L)))
    for probabilities in (world.probabilities, full):
        assert loss_rho(world.label_losses, probabilities, (N, L)) == pytest.approx(shares.max())
        rho = loss_rho(sparse.csr_matrix(world.label_losses), probabilities, (N, L), normalizer)
        assert rho == pytest.approx((shares / normalizer[:, None]).max())
        expected = np.abs((1 - 2 * world.scores) / world.probabilities).max()
        assert hamming_rho(sparse.csr_matrix(world.scores), probabilities) == pytest.approx(expected)
    assert loss_rho([1.0, -4.0], [0.5, 1.0], (3, 2), [1, 0.5, 2]) == pytest.approx(8.0)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda Y: unbiased_loss(Y, np.ones(2), np.ones(3)), r"label_losses must have.*got shape \(2,\)"),
        (lambda Y: unbiased_loss(Y, np.ones(3), np.ones(2)), r"propensities must have.*got shape \(2,\)"),
        (lambda Y: unbiased_loss(Y, np.ones(3), np.zeros(3)), r"\(0, 1\]"),
        (lambda Y: unbiased_loss(Y, np.ones(3), np.ones(3), np.ones(2)), "one for each of 3 samples"),
        (lambda Y: unbiased_loss(Y, np.ones(3), np.ones(3), 0.0), "all but 0"),
        (lambda Y: unbiased_normalized_loss(Y, np.ones(3), np.zeros(3)), "above 0 at every observed"),
        (lambda Y: unbiased_hamming(Y, np.ones(3), np.ones(3)), r"\(3, 3\); got \(3,\)"),
        (lambda Y: hamming_rho(np.ones(3), np.ones(3)), "must be a matrix"),
        (lambda Y: concentration_bound(1.0, np.ones(2), 3), "each of 3 samples"),
    ],
)
def test_what_does_not_fit_is_refused(call, message):
    with pytest.raises(DataError, match=message):
        call(np.eye(3))
