"""Samples with the same label set: their rows of any co-occurrence matrix are equal, so one stands for all."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import sparse


@dataclass(frozen=True, eq=False)
class LabelSets:
    """The distinct label sets of some samples.

    Attributes
    ----------
    matrix : csr_matrix, shape (n_sets, n_labels)
        Each set once, in order of first appearance.
    of_sample : array of shape (n_samples,)
        The set of each sample.
    counts : array of shape (n_sets,)
        How many samples have each set.
    """

    matrix: sparse.csr_matrix
    of_sample: npt.NDArray[np.intp]
    counts: npt.NDArray[np.int64]

    def means(self, X: sparse.csr_matrix) -> sparse.csr_matrix:
        """The mean of the rows of X of the samples of each set."""
        n_sets, n_samples = len(self.counts), len(self.of_sample)
        shares = 1 / self.counts[self.of_sample].astype(np.float32)
        average = sparse.csr_matrix((shares, (self.of_sample, np.arange(n_samples))), shape=(n_sets, n_samples))
        return sparse.csr_matrix(average @ X)


def distinct_label_sets(Y: sparse.csr_matrix) -> LabelSets:
    """Group the rows of a 0/1 matrix with sorted indices."""
    ids: dict[bytes, int] = {}
    first: list[int] = []
    of_sample = np.empty(Y.shape[0], np.intp)
    for row in range(Y.shape[0]):
        content = Y.indices[Y.indptr[row] : Y.indptr[row + 1]].tobytes()
        known = ids.setdefault(content, len(first))
        if known == len(first):
            first.append(row)
        of_sample[row] = known
    return LabelSets(Y[first], of_sample, np.bincount(of_sample, minlength=len(first)))
