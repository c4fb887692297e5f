"""The equations and algorithms of the ExMLDS paper as they are printed, loop by loop."""

from __future__ import annotations

import math

import numpy as np


def cosine(a, b):
    lengths = np.linalg.norm(a) * np.linalg.norm(b)
    return round(float(a @ b / lengths), 5) if lengths else 0.0


def nearest(rows, k, similarity=cosine):
    """N_k(i) of all rows: the k others of the largest positive similarity; ties go to the next rows in cyclic order."""
    n = len(rows)
    found = []
    for i in range(n):
        values = {j: similarity(rows[i], rows[j]) for j in range(n) if j != i}
        order = sorted((-value, (j - i) % n, j) for j, value in values.items() if value > 0)
        found.append([j for *_, j in order[:k]])
    return found


def log_sigma(x):
    return -math.log1p(math.exp(-x))


def even_sum(vectors, contexts, near, n_negatives):
    """Σ_i (Σ_{j ∈ N(i)} log σ(⟨z_i, c_j⟩) + n₋/n Σ_j′ log σ(−⟨z_i, c_j′⟩)): Eq. 3.

    An i without any j takes no part.
    """
    total = 0.0
    for i, others in enumerate(near):
        total += sum(log_sigma(vectors[i] @ contexts[j]) for j in others)
        if others:
            negatives = sum(log_sigma(-vectors[i] @ context) for context in contexts)
            total += n_negatives / len(contexts) * negatives
    return total


def factors(matrix, dimension):
    """U S^½ of the singular value decomposition (Algorithm 2, steps 2 and 3)."""
    left, values, _ = np.linalg.svd(matrix)
    return (left * np.sqrt(values))[:, :dimension]


def mean_labels(query, points, Y, k):
    """Eq. 1 and Algorithm 1, steps 3 and 4: the mean label vector of the k nearest points."""
    cosines = [query @ point / (np.linalg.norm(query) * np.linalg.norm(point)) for point in points]
    return Y[np.argsort(cosines)[::-1][:k]].mean(axis=0)


def label_correlation_scores(query, points, Y, labels, k):
    """Algorithm 4 for a query Vx, points VX and label vectors Z₂."""
    votes, products = mean_labels(query, points, Y, k), labels @ query
    return votes / np.linalg.norm(votes) + products / np.linalg.norm(products)
