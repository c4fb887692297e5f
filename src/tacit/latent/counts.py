"""Co-occurrence counts as users give them, on the scale of the training labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from tacit.checks import as_counts, check_indices
from tacit.errors import DataError
from tacit.store.declared import Csr


@dataclass(frozen=True, eq=False)
class Cooccurrence:
    """How often seen labels (rows) occur with all labels (columns).

    Attributes
    ----------
    counts : csr_matrix of float32, shape (n_seen, n_labels)
        Counts; an absent entry is 0.
    unobserved : csr_matrix of float32, of that shape
        1 where the count is not known.
    """

    counts: Annotated[sparse.csr_matrix, Csr("float32", ("n_seen", "n_counted"))]
    unobserved: Annotated[sparse.csr_matrix, Csr("float32", ("n_seen", "n_counted"))]

    @property
    def n_labels(self) -> int:
        """Seen and unseen labels."""
        return int(self.counts.shape[1])

    def columns(self, chosen: Any) -> Cooccurrence:
        """The counts with some labels."""
        return Cooccurrence(self.counts[:, chosen], self.unobserved[:, chosen])

    def rows(self, chosen: Any) -> Cooccurrence:
        """The counts of some seen labels."""
        return Cooccurrence(self.counts[chosen], self.unobserved[chosen])

    def scaled(self, scales: npt.NDArray[np.float64]) -> Cooccurrence:
        """Every row times its scale."""
        return Cooccurrence(_csr(sparse.diags_array(scales) @ self.counts), self.unobserved)

    def dense(self) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]:
        """Counts and whether they are observed (1 or 0), as arrays."""
        return self.counts.toarray(), 1 - self.unobserved.toarray()


def _csr(matrix: Any) -> sparse.csr_matrix:
    result = sparse.csr_matrix(matrix, dtype=np.float32)
    result.sort_indices()
    return result


def read_cooccurrence(matrix: Any, n_seen: int, what: str = "cooccurrence") -> Cooccurrence:
    """Check counts given as a dense or sparse matrix of any numeric type; NaN is unobserved."""
    unknown, known = _split_unknown(matrix, what)
    if len(known.shape) != 2 or known.shape[0] != n_seen:
        raise DataError(
            f"{what} must have a row for each of the {n_seen} labels of Y (seen labels by all labels); "
            f"got shape {known.shape}"
        )
    counts = as_counts(known, what, known.shape)
    return Cooccurrence(_csr(counts), _csr(unknown))


def _split_unknown(matrix: Any, what: str) -> tuple[Any, Any]:
    """Where NaN stands, and the matrix with 0 in its place; other faults are left to `as_counts`."""
    if sparse.issparse(matrix):
        check_indices(matrix, what)
        known = matrix.tocoo(copy=True)
        is_unknown = np.isnan(known.data) if known.dtype.kind == "f" else np.zeros(len(known.data), bool)
        known.data[is_unknown] = 0
        places = (known.row[is_unknown], known.col[is_unknown])
        return sparse.csr_matrix((np.ones(is_unknown.sum(), np.float32), places), shape=known.shape), known.tocsr()
    try:
        known = np.array(matrix, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"{what} must be a matrix of counts ({error})") from error
    is_unknown = np.isnan(known)
    known[is_unknown] = 0
    return is_unknown, known


def row_scales(cooccurrence: Cooccurrence, positives: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """N_s / M_ss: what brings counts from another source to the scale of the training labels.

    A row without a count of the label itself takes the median of the others.
    """
    own = cooccurrence.counts.diagonal().astype(np.float64)
    known = (own > 0) & (positives > 0)
    if not known.any():
        return np.ones(len(own))
    scales = np.divide(positives, own, out=np.zeros_like(own), where=known)
    return np.asarray(np.where(known, scales, np.median(scales[known])))
