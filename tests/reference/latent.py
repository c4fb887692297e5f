"""ML-LCS written out entry by entry."""

from __future__ import annotations

import math

import numpy as np


def penalised_log_likelihood(X, Y, M, r, U, V, B, W, lambdas, weight=1.0):
    """Log of the labels' and counts' likelihood and all priors, without constants; NaN in Y and M is unobserved."""
    lambda_u, lambda_v, lambda_beta, lambda_w = lambdas
    total = 0.0
    for n in range(len(Y)):
        for label in range(Y.shape[1]):
            if not math.isnan(Y[n, label]):
                xi = float(U[n].astype(float) @ V[label])
                total += Y[n, label] * xi - np.logaddexp(0, xi)
    for seen in range(M.shape[0]):
        for label in range(M.shape[1]):
            if not math.isnan(M[seen, label]):
                gamma = float(V[seen].astype(float) @ B[label])
                total += weight * (M[seen, label] * gamma - (M[seen, label] + r) * np.logaddexp(0, gamma))
    total -= lambda_u / 2 * np.sum((U - X @ W) ** 2)
    total -= lambda_v / 2 * np.sum(V**2) + lambda_beta / 2 * np.sum(B**2) + lambda_w / 2 * np.sum(W**2)
    return float(total)


def evidence_bound(X, Y, M, r, means, variances, W, lambdas, weight=1.0):
    """The variational lower bound with its entropies, up to the constant of W; means and variances are (U, V, B)."""
    (U, V, B), (S_U, S_V, S_B) = ([np.asarray(part, float) for part in parts] for parts in (means, variances))

    def bounded(a, b, first, first_variance, second, second_variance):
        mean = first @ second
        square = mean**2 + (first**2) @ second_variance + first_variance @ (second**2 + second_variance)
        root = math.sqrt(square)
        return (a - b / 2) * mean - b * np.logaddexp(root / 2, -root / 2)

    total = 0.0
    for n, label in zip(*np.nonzero(~np.isnan(Y)), strict=True):
        total += bounded(Y[n, label], 1, U[n], S_U[n], V[label], S_V[label])
    for seen, label in zip(*np.nonzero(~np.isnan(M)), strict=True):
        m = M[seen, label]
        total += weight * bounded(m, m + r, V[seen], S_V[seen], B[label], S_B[label])
    for off, variance, precision in zip((U - X @ W, V, B), (S_U, S_V, S_B), lambdas, strict=False):
        total -= np.sum(precision * (off**2 + variance) - 1 - np.log(precision * variance)) / 2
    return float(total - lambdas[3] / 2 * np.sum(W**2))


def polya_gamma_mean(psi):
    """E[ω] of PG(1, ψ) from its series: Σ_k 1/(2π² ((k − ½)² + ψ²/(4π²)))."""
    k = np.arange(1, 2_000_000)
    return float(np.sum(1 / (2 * np.pi**2 * ((k - 0.5) ** 2 + psi**2 / (4 * np.pi**2)))))


def moment_objective(X, Y, targets, weights, ridge, w, intercept):
    """Weighted squared differences between predicted and given co-occurrence, for one label."""
    p = 1 / (1 + np.exp(-(X @ w + intercept)))
    off = Y.T @ p - targets
    return 0.5 * np.sum(weights * off**2) + 0.5 * ridge * (np.sum(w**2) + (intercept / 3) ** 2)


def printed_em(X, Y, M, r, start, n_iterations):
    """ML-LCS Eq. 13 to 20 with all precisions 1, every system solved exactly; κ of a count is (m − r)/2.

    `start` are the first V and B. Returns U, V, B, W and Ψ.
    """
    (V, B), U, W = start, np.zeros((len(X), start[0].shape[1])), np.zeros((X.shape[1], start[0].shape[1]))
    unit, n_seen = np.eye(V.shape[1]), len(start[0])

    def mean(psi):
        return np.where(np.abs(psi) < 1e-6, 0.25, np.tanh(psi / 2) / (2 * np.where(psi == 0, 1, psi)))

    for _ in range(n_iterations):
        omega = mean(U @ V.T)  # Eq. 13
        for n in range(len(U)):  # Eq. 16
            right = (Y[n] - 0.5) @ V + X[n] @ W
            U[n] = np.linalg.solve((V.T * omega[n]) @ V + unit, right)
        W = np.linalg.solve(X.T @ X + np.eye(X.shape[1]), X.T @ U)  # Eq. 19
        omega, tau = mean(U @ V.T), (M + r) * mean(V @ B.T)  # Eq. 14
        for label in range(n_seen):  # Eq. 17
            left = (U.T * omega[:, label]) @ U + (B.T * tau[label]) @ B + unit
            V[label] = np.linalg.solve(left, (Y[:, label] - 0.5) @ U + (M[label] - r) / 2 @ B)
        tau = (M + r) * mean(V @ B.T)
        for label in range(len(B)):  # Eq. 18
            B[label] = np.linalg.solve((V.T * tau[:, label]) @ V + unit, (M[:, label] - r) / 2 @ V)
    seen = B[:n_seen]
    return U, V, B, W, np.linalg.solve(seen.T @ seen + unit, seen.T @ V[: len(seen)])  # Eq. 20
