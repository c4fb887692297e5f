"""``model="auto"``: choose a model that is good without tuning, by the size of the data."""

from __future__ import annotations

from typing import NamedTuple

from scipy import sparse

#: The cost of one classifier per label: non-zero features of all samples, each of which costs as much as `_OF_A_SAMPLE`
#: more, times labels. Above this limit, label trees reach the same precision at a fraction of the cost.
MAX_ONE_VS_ALL = 5e10
_OF_A_SAMPLE = 50
#: Where names of labels are weighed too and labels have few samples, names say more than a classifier that costs more.
_MAX_WITH_NAMES = 5e9
_FEW_SAMPLES = 10  # per label


class Choice(NamedTuple):
    """A registered model, and why it was chosen."""

    model: str
    reason: str


CANDIDATES = ("OneVsAll", "LabelTree")


def choose(X: sparse.csr_matrix, Y: sparse.csr_matrix, *, with_names: bool = False, n_dimensions: int = 0) -> Choice:
    """The model for these samples and labels.

    `with_names` if names of labels are weighed against what it says, and with vectors of `n_dimensions` beside X.
    """
    n_samples, n_labels = Y.shape
    size = f"{n_samples:,} samples and {n_labels:,} labels"
    cost = (X.nnz + (_OF_A_SAMPLE + n_dimensions) * n_samples) * n_labels
    if with_names and Y.nnz < _FEW_SAMPLES * n_labels and _MAX_WITH_NAMES < cost <= MAX_ONE_VS_ALL:
        return Choice("LabelTree", f"{size}, few samples per label: names and label trees suffice, and are much faster")
    if cost <= MAX_ONE_VS_ALL:
        return Choice("OneVsAll", f"{size}: one classifier per label is affordable, and the most accurate")
    return Choice("LabelTree", f"{size}: label trees are as accurate as one classifier per label, and much faster")
