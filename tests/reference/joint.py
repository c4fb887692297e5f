"""The joint objective and its training pass, as they are written down, in float64."""

from __future__ import annotations

import numpy as np


def similarities(images, is_cosine):
    if is_cosine:
        lengths = np.linalg.norm(images, axis=1, keepdims=True)
        images = np.divide(images, lengths, out=np.zeros_like(images), where=lengths > 0)
    return images @ images.T


def log_sigmoid(x):
    return -np.logaddexp(0, -x)


def block_objective(images, is_cosine, loss, gamma, offset, n_negatives):
    """Rows a and n + a are pairs; the negative samples of a are the other rows below n."""
    n = len(images) // 2
    K = gamma * similarities(images, is_cosine)
    total = 0.0
    for a in range(n):
        pair, negatives = K[a, n + a], np.delete(K[a, :n], a)
        if loss == "softmax":
            total += pair - np.logaddexp.reduce([pair, *negatives])
        else:
            weight = n_negatives / max(n - 1, 1)
            total += log_sigmoid(pair + offset) + weight * log_sigmoid(-negatives - offset).sum()
    return total


def map_objective(V, X, first, second, **loss):
    """The objective of one block of pairs of rows of a dense X, as a function of the map."""
    return block_objective(X[np.concatenate([first, second])] @ V, **loss)


def graph_partition_pass(X, centers, sums, squares, order, chosen, positives, negatives, rate, l1):
    """FTRL-proximal ascent of log σ(c·x) for positives and log σ(−c·x) for negatives, a sample at a time."""
    for place, row in enumerate(order):
        best = chosen[place] if chosen[place] >= 0 else int(np.argmax(X[row] @ centers))
        for other, sign in ((positives[place], 1.0), (negatives[place], -1.0)):
            if other < 0:
                continue
            logit = X[other] @ centers[:, best]
            slope = sign / (1 + np.exp(sign * logit))
            for feature in np.flatnonzero(X[other]):
                gradient = -slope * X[other, feature]
                old, new = squares[feature, best], squares[feature, best] + gradient**2
                sums[feature, best] += gradient - (np.sqrt(new) - np.sqrt(old)) / rate * centers[feature, best]
                squares[feature, best] = new
                z = sums[feature, best]
                centers[feature, best] = 0 if abs(z) <= l1 else -(z - np.sign(z) * l1) * rate / (1 + np.sqrt(new))
