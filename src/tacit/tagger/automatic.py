"""``model="auto"``: choose a model that is good without tuning, by the size of the data."""

from __future__ import annotations

from typing import NamedTuple

from scipy import sparse

#: Above this cost of one classifier per label, label trees reach the same precision at a fraction of the cost.
MAX_ONE_VS_ALL = 5e10
_OF_A_SAMPLE = 50
#: Where names of labels are weighed too and labels have few samples, names say more than a classifier that costs more.
_MAX_WITH_NAMES = 5e9
_FEW_SAMPLES = 10  # per label


class DataSize(NamedTuple):
    """Samples, labels, non-zero features of all samples, and positives."""

    n_samples: int
    n_labels: int
    n_entries: int
    n_positives: int

    @classmethod
    def of(cls, X: sparse.csr_matrix, Y: sparse.csr_matrix, n_dimensions: int = 0) -> DataSize:
        """The size of these samples, with vectors of `n_dimensions` beside X."""
        n_samples, n_labels = Y.shape
        return cls(n_samples, n_labels, X.nnz + n_dimensions * n_samples, Y.nnz)

    @property
    def cost(self) -> float:
        """Of one classifier per label: features, each sample as much as `_OF_A_SAMPLE` more, times labels."""
        return float(self.n_entries + _OF_A_SAMPLE * self.n_samples) * self.n_labels


CANDIDATES = ("OneVsAll", "LabelTree")


def choose(size: DataSize, *, with_names: bool = False) -> tuple[str, str]:
    """The model for data of a size, and why; `with_names` if names of labels are weighed against what it says."""
    shown = f"{size.n_samples:,} samples and {size.n_labels:,} labels"
    is_few = size.n_positives < _FEW_SAMPLES * size.n_labels
    if with_names and is_few and _MAX_WITH_NAMES < size.cost <= MAX_ONE_VS_ALL:
        return ("LabelTree", f"{shown}, few samples per label: names and label trees suffice, and are faster")
    if size.cost <= MAX_ONE_VS_ALL:
        return ("OneVsAll", f"{shown}: one classifier per label is affordable, and the most accurate")
    return ("LabelTree", f"{shown}: label trees are as accurate as one classifier per label, and much faster")
