"""Inner products of sparse 0/1 rows, and of dense rows at chosen places."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numba import njit


@njit(nogil=True, cache=True)
def gram(
    indptr: npt.NDArray[np.int32],
    indices: npt.NDArray[np.int32],
    by_column_indptr: npt.NDArray[np.int32],
    by_column_indices: npt.NDArray[np.int32],
) -> npt.NDArray[np.float32]:
    """``Y @ Y.T`` of a sparse 0/1 matrix as a dense array."""
    n_rows = len(indptr) - 1
    result = np.zeros((n_rows, n_rows), np.float32)
    for row in range(n_rows):
        products = result[row]
        for entry in range(indptr[row], indptr[row + 1]):
            column = indices[entry]
            for other in range(by_column_indptr[column], by_column_indptr[column + 1]):
                products[by_column_indices[other]] += 1
    return result


@njit(nogil=True, cache=True, fastmath={"reassoc", "contract"})  # sums in SIMD lanes
def products_at(
    indptr: npt.NDArray[np.int32], indices: npt.NDArray[np.int32], rows: npt.NDArray[np.float32]
) -> npt.NDArray[np.float32]:
    """The entries of ``rows @ rows.T`` at the stored places of a CSR matrix, in its order."""
    result = np.empty(len(indices), np.float32)
    for row in range(len(indptr) - 1):
        for entry in range(indptr[row], indptr[row + 1]):
            other = indices[entry]
            total = np.float32(0)
            for axis in range(rows.shape[1]):
                total += rows[row, axis] * rows[other, axis]
            result[entry] = total
    return result
