"""Nearest neighbours and votes the slow way."""

from __future__ import annotations

import numpy as np


def nearest_points(queries, points, k):
    """Ids of the k largest inner products, ties to the smaller id."""
    products = np.float32(queries.astype(np.float64) @ points.astype(np.float64).T)
    return np.argsort(-products, axis=1, kind="stable")[:, :k]


def nearest_rows(matrix, k):
    """Per row the (neighbour, product) list, nearest first; ties to the next row after it, cyclically."""
    n = len(matrix)
    products = matrix @ matrix.T
    return [
        sorted(
            ((other, products[row, other]) for other in range(n) if other != row and products[row, other] > 0),
            key=lambda pair: (-pair[1], (pair[0] - row) % n),
        )[:k]
        for row in range(n)
    ]


def rank_votes(voters, weights, Y, label_weights, k):
    """Per row the (label, score) list of positive sums, best first; ties to the smaller label."""
    ranked = []
    for row_voters, row_weights in zip(voters, weights, strict=True):
        sums = sum((w * Y[v] for v, w in zip(row_voters, row_weights, strict=True) if v >= 0), np.zeros(Y.shape[1]))
        ranked.append(rank_scores(sums * label_weights, label_weights > 0, k))
    return ranked


def rank_scores(scores, allowed, k, above=0):
    """The (column, score) list of allowed scores above `above`, best first; ties to the smaller column."""
    order = np.argsort(-scores, kind="stable")
    return [(int(c), float(scores[c])) for c in order if allowed[c] and scores[c] > above][:k]
