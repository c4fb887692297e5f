"""Co-occurrence counts as users give them, on the scale of the training labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from scipy import sparse

from tacit.arrays import Floats32, Floats64, Mask
from tacit.core.checks import as_counts, check_indices
from tacit.errors import DataError
from tacit.store.declared import Csr


@dataclass(frozen=True, eq=False)
class Cooccurrence:
    """How often seen labels (rows) occur with all labels (columns)."""

    counts: Annotated[sparse.csr_matrix, Csr("float32", ("n_seen", "n_counted"))]
    unobserved: Annotated[sparse.csr_matrix, Csr("float32", ("n_seen", "n_counted"))]  # 1 where a count is unknown

    @property
    def n_labels(self) -> int:
        """Number of seen and unseen labels."""
        return int(self.counts.shape[1])

    def columns(self, chosen: Any) -> Cooccurrence:
        """The counts of all seen labels with the chosen labels."""
        return Cooccurrence(self.counts[:, chosen], self.unobserved[:, chosen])

    def rows(self, chosen: Any) -> Cooccurrence:
        """The counts of the chosen seen labels."""
        return Cooccurrence(self.counts[chosen], self.unobserved[chosen])

    def scaled(self, scales: Floats64) -> Cooccurrence:
        """Every row multiplied by its factor."""
        return Cooccurrence(_csr(sparse.diags_array(scales) @ self.counts), self.unobserved)

    def dense(self) -> tuple[Floats32, Floats32]:
        """Counts, and a mask of those observed (1 or 0), as arrays."""
        return self.counts.toarray(), 1 - self.unobserved.toarray()

    def is_counted(self) -> Mask:
        """Whether each label occurs with a seen one."""
        return np.asarray(self.counts.sum(axis=0)).ravel() > 0


def _csr(matrix: Any) -> sparse.csr_matrix:
    result = sparse.csr_matrix(matrix, dtype=np.float32)
    result.sort_indices()
    return result


def read_cooccurrence(matrix: Any, n_seen: int, what: str = "cooccurrence") -> Cooccurrence:
    """Check counts given as a dense or sparse matrix of any numeric type; NaN is unobserved."""
    if sparse.issparse(matrix):
        check_indices(matrix, what)
    else:
        try:
            matrix = sparse.coo_matrix(np.asarray(matrix, dtype=np.float64))
        except (TypeError, ValueError) as error:
            raise DataError(f"{what} must be a matrix of counts ({error})") from error
    if matrix.shape[0] != n_seen:
        raise DataError(
            f"{what} must have a row for each of the {n_seen} labels of Y (seen labels by all labels); "
            f"got shape {matrix.shape}"
        )
    known = matrix.tocoo(copy=True)
    is_unknown = np.isnan(known.data)
    known.data[is_unknown] = 0
    places = (known.row[is_unknown], known.col[is_unknown])
    unknown = sparse.csr_matrix((np.ones(is_unknown.sum(), np.float32), places), shape=known.shape)
    return Cooccurrence(_csr(as_counts(known.tocsr(), what, known.shape)), _csr(unknown))


def row_scales(cooccurrence: Cooccurrence, positives: Floats64) -> Floats64:
    """N_s / M_ss: factors that bring counts from another source to the scale of the training labels.

    A row without a count of the label with itself takes the median factor of the other rows.
    """
    own = cooccurrence.counts.diagonal().astype(np.float64)
    known = (own > 0) & (positives > 0)
    if not known.any():
        return np.ones(len(own))
    scales = np.divide(positives, own, out=np.zeros_like(own), where=known)
    return np.asarray(np.where(known, scales, np.median(scales[known])))
