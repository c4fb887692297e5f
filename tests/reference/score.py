"""Slow, plain twins of the kernels in tacit.kernels.score: sort all labels, keep the first k."""

from __future__ import annotations

import numpy as np


def ranked(pairs, k):
    """`pairs` of (label, score) as arrays of k labels and scores, best first."""
    best = sorted(pairs, key=lambda pair: (-pair[1], pair[0]))[:k]
    padding = [(-1, -np.inf)] * (k - len(best))
    labels, scores = zip(*(best + padding), strict=True) if k else ((), ())
    return np.array(labels, dtype=np.int32), np.array(scores, dtype=np.float32)


def top_k(scores, allowed, k):
    rows = [
        ranked([(label, score) for label, score in enumerate(row) if not len(allowed) or allowed[label]], k)
        for row in scores
    ]
    return np.array([labels for labels, _ in rows]), np.array([scores for _, scores in rows])
