"""The objective of skip-gram with negative sampling, as it is written down."""

from __future__ import annotations

import numpy as np


def pair_objective(vector, context, negatives):
    """log σ(⟨z, c⟩) + Σ log σ(−⟨z, c′⟩)."""
    terms = -np.log1p(np.exp(-(vector @ context)))
    return terms - sum(np.log1p(np.exp(vector @ negative)) for negative in negatives)


def numeric_gradient(function, at, step=1e-5):
    """Central differences."""
    gradient = np.zeros_like(at)
    for place in np.ndindex(at.shape):
        up, down = at.copy(), at.copy()
        up[place] += step
        down[place] -= step
        gradient[place] = (function(up) - function(down)) / (2 * step)
    return gradient
