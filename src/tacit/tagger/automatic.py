"""``model="auto"``: a model that is good without tuning, by the size of the data."""

from __future__ import annotations

from typing import NamedTuple

from scipy import sparse

#: What a linear classifier per label costs is the features of all samples times the labels; above, trees over labels
#: reach the same precision in a fraction of it.
MAX_ONE_VS_ALL = 5e10


class Choice(NamedTuple):
    """A registered model, and why it was chosen."""

    model: str
    reason: str


CANDIDATES = ("OneVsAll", "LabelTree")


def choose(X: sparse.csr_matrix, Y: sparse.csr_matrix) -> Choice:
    """The model for these samples and labels."""
    n_samples, n_labels = Y.shape
    size = f"{n_samples:,} samples and {n_labels:,} labels"
    if X.nnz * n_labels <= MAX_ONE_VS_ALL:
        return Choice("OneVsAll", f"{size}: a classifier for every label is affordable, and the most precise")
    return Choice("LabelTree", f"{size}: trees over the labels are as precise as a classifier each, and much faster")
