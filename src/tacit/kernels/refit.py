"""Residuals of a forest on its training samples, by leaf."""

from __future__ import annotations

import numpy as np
from numba import njit

from tacit.arrays import Floats32, Ints32, UInts32, UInts64


@njit(nogil=True, cache=True)
def add_residuals(
    leaves: Ints32,
    leaf_starts: UInts64,
    leaf_labels: UInts32,
    leaf_scores: Floats32,
    y_starts: UInts64,
    y_labels: UInts32,
    y_values: Floats32,
    residuals: Floats32,
    sums: Floats32,
) -> None:
    """Add to `sums`, for each label of each leaf, the residuals of the leaf's samples: value minus mean score.

    ``leaves[sample, tree]`` is the sample's leaf in a tree; a mean score is that of the sample's leaves. `residuals`,
    by label, are room, all 0.
    """
    share = np.float32(1.0 / leaves.shape[1])
    for sample in range(len(leaves)):
        for leaf in leaves[sample]:
            for at in range(leaf_starts[leaf], leaf_starts[leaf + 1]):
                residuals[leaf_labels[at]] -= share * leaf_scores[at]
        for at in range(y_starts[sample], y_starts[sample + 1]):
            residuals[y_labels[at]] += y_values[at]
        for leaf in leaves[sample]:
            for at in range(leaf_starts[leaf], leaf_starts[leaf + 1]):
                sums[at] += residuals[leaf_labels[at]]
        for leaf in leaves[sample]:
            for at in range(leaf_starts[leaf], leaf_starts[leaf + 1]):
                residuals[leaf_labels[at]] = 0.0
        for at in range(y_starts[sample], y_starts[sample + 1]):
            residuals[y_labels[at]] = 0.0
