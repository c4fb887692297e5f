"""``model="auto"``: choose a model that is good without tuning, by the size of the data."""

from __future__ import annotations

from typing import NamedTuple

from scipy import sparse

#: The cost of one classifier per label: non-zero features of all samples, each of which costs as much as `_OF_A_SAMPLE`
#: more, times labels. Above this limit, label trees reach the same precision at a fraction of the cost.
MAX_ONE_VS_ALL = 5e10
_OF_A_SAMPLE = 50


class Choice(NamedTuple):
    """A registered model, and why it was chosen."""

    model: str
    reason: str


CANDIDATES = ("OneVsAll", "LabelTree")


def choose(X: sparse.csr_matrix, Y: sparse.csr_matrix) -> Choice:
    """The model for these samples and labels."""
    n_samples, n_labels = Y.shape
    size = f"{n_samples:,} samples and {n_labels:,} labels"
    if (X.nnz + _OF_A_SAMPLE * n_samples) * n_labels <= MAX_ONE_VS_ALL:
        return Choice("OneVsAll", f"{size}: one classifier per label is affordable, and the most accurate")
    return Choice("LabelTree", f"{size}: label trees are as accurate as one classifier per label, and much faster")
