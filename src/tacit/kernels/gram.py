"""Inner products of sparse 0/1 rows, and of dense rows at chosen places."""

from __future__ import annotations

import numpy as np
from numba import njit

from tacit.arrays import Floats32, Ints32
from tacit.kernels.dense import Rows, add_products, dot


@njit(nogil=True, cache=True)
def gram(Y: Rows, by_column: Rows) -> Floats32:
    """``Y @ Y.T`` of a sparse 0/1 matrix as a dense array."""
    n_rows = len(Y.starts) - 1
    result = np.zeros((n_rows, n_rows), np.float32)
    for row in range(n_rows):
        products = result[row]
        for entry in range(Y.starts[row], Y.starts[row + 1]):
            column = Y.ids[entry]
            for other in range(by_column.starts[column], by_column.starts[column + 1]):
                products[by_column.ids[other]] += 1
    return result


@njit(nogil=True, cache=True)
def products_at(indptr: Ints32, indices: Ints32, rows: Floats32) -> Floats32:
    """The entries of ``rows @ rows.T`` at the stored places of a CSR matrix, in its order."""
    result = np.empty(len(indices), np.float32)
    for row in range(len(indptr) - 1):
        for entry in range(indptr[row], indptr[row + 1]):
            result[entry] = dot(rows[row], rows[indices[entry]])
    return result


@njit(nogil=True, cache=True)
def row_products(left: Floats32, right: Floats32) -> Floats32:
    """``left @ right`` in an order of additions that does not depend on the number of rows."""
    result = np.zeros((len(left), right.shape[1]), np.float32)
    add_products(left, right, result)
    return result
