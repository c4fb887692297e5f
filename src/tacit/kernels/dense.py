"""Sparse and dense rows: the one place that knows how they are stored and multiplied.

The dense part of samples reaches kernels as a tuple: values (rows × features) as float32, or the bits of float16 as
uint16, of which the other one is empty; the table of all float16 numbers; and a factor per row. Arrays are read-only,
so that a kernel is compiled once for all of them. Where there is no dense part, kernels get None instead: what they do
with dense rows is then not compiled at all.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from tacit.arrays import Floats32, Integers, Ints32, Ints64, UInts16

DenseRows = tuple[Floats32, UInts16, Floats32, Floats32]

TILE = 32  # rows that are multiplied together
_COLUMNS = 256  # of a matrix that stay in the cache while rows are multiplied with them


class Rows(NamedTuple):
    """A CSR matrix."""

    starts: Integers
    ids: Integers
    values: Floats32

    @staticmethod
    def of(matrix: Any) -> Rows:
        """The arrays of a SciPy matrix; its columns, if it is CSC."""
        return Rows(matrix.indptr, matrix.indices, matrix.data)


@njit(nogil=True, cache=True)
def gather(dense: DenseRows, rows: Ints64, tile: Floats32) -> None:
    """The scaled dense rows, one below the other in `tile`; what is left of it becomes 0."""
    values, bits, table, scales = dense
    for place in range(len(tile)):
        if place >= len(rows):
            tile[place] = 0
        elif len(bits) > 0:
            for feature in range(tile.shape[1]):
                tile[place, feature] = scales[rows[place]] * table[bits[rows[place], feature]]
        else:
            for feature in range(tile.shape[1]):
                tile[place, feature] = scales[rows[place]] * values[rows[place], feature]


@njit(nogil=True, cache=True)
def add_row_product(x: Floats32, right: Floats32, first: int, last: int, out: Floats32) -> None:
    """``out += x @ right`` in some columns; four rows of `right` at a time, an operation on whole vectors."""
    start, stop = np.uint64(first), np.uint64(last)  # loops over signed numbers would not be vectorised
    axis = 0
    while axis + 4 <= len(right):
        x0, x1, x2, x3 = x[axis], x[axis + 1], x[axis + 2], x[axis + 3]
        for column in range(start, stop):
            out[column] += (x0 * right[axis, column] + x1 * right[axis + 1, column]) + (
                x2 * right[axis + 2, column] + x3 * right[axis + 3, column]
            )
        axis += 4
    while axis < len(right):
        for column in range(start, stop):
            out[column] += x[axis] * right[axis, column]
        axis += 1


@njit(nogil=True, cache=True)
def add_products(left: Floats32, right: Floats32, out: Floats32) -> None:
    """``out += left @ right`` in an order of additions that does not depend on the number of rows."""
    n_columns = right.shape[1]
    for first in range(0, n_columns, _COLUMNS):
        for row in range(len(left)):
            add_row_product(left[row], right, first, min(first + _COLUMNS, n_columns), out[row])


@njit(nogil=True, cache=True)
def dot(a: Floats32, b: Floats32) -> np.float32:
    """Inner product in eight lanes, written out: as fast as reordered sums, but the same bits on every machine."""
    zero = np.float32(0)
    s0, s1, s2, s3, s4, s5, s6, s7 = zero, zero, zero, zero, zero, zero, zero, zero
    whole = len(a) - len(a) % 8
    for i in range(0, whole, 8):
        s0 += a[i] * b[i]
        s1 += a[i + 1] * b[i + 1]
        s2 += a[i + 2] * b[i + 2]
        s3 += a[i + 3] * b[i + 3]
        s4 += a[i + 4] * b[i + 4]
        s5 += a[i + 5] * b[i + 5]
        s6 += a[i + 6] * b[i + 6]
        s7 += a[i + 7] * b[i + 7]
    total = ((s0 + s1) + (s2 + s3)) + ((s4 + s5) + (s6 + s7))
    for i in range(whole, len(a)):
        total += a[i] * b[i]
    return total


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
