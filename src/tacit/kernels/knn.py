"""Nearest neighbours: among dense points, among sparse rows, and the votes they cast."""

from __future__ import annotations

import numpy as np
from numba import njit

from tacit.arrays import Floats32, Ints32, Ints64
from tacit.kernels.best import insert, insert_value
from tacit.kernels.dense import Rows

_SLACK = 1e-5  # more than the rounding of sums of products of unit vectors


@njit(nogil=True, cache=True)
def nearest_points(
    rough: Floats32, queries: Floats32, points: Floats32, k: int, slack: float
) -> tuple[Ints32, Floats32]:
    """The `k` points with the largest inner product with each query, best first; ties go to the smaller id.

    `rough` holds the inner products as a matrix product gives them, exact to `slack`. All points that may be
    among the best are scored again in a fixed order of additions, so that the answer for a query depends
    neither on the other queries nor on the library behind the product.
    """
    n_queries, n_points = rough.shape
    ids = np.full((n_queries, k), -1, np.int32)
    scores = np.full((n_queries, k), -np.inf, np.float32)
    best = np.empty(k, np.float32)
    for query in range(n_queries):
        best[:] = -np.inf
        for point in range(n_points):
            insert_value(best, rough[query, point])
        floor = best[k - 1] - slack
        for point in range(n_points):
            if rough[query, point] >= floor:
                exact = 0.0
                for axis in range(points.shape[1]):
                    exact += np.float64(queries[query, axis]) * np.float64(points[point, axis])
                insert(ids[query], scores[query], point, np.float32(exact), 0)
    return ids, scores


@njit(nogil=True, cache=True)
def nearest_rows(X: Rows, by_column: Rows, k: int) -> tuple[Ints32, Floats32]:
    """The `k` other rows of a sparse matrix with the largest positive inner product with each row, best first.

    Of rows that are equally near, those next after the row itself come first (the last row is followed by the
    first), so that no row is everybody's neighbour by its place alone. Open places hold -1 and -inf.
    """
    n_rows = len(X.starts) - 1
    ids = np.full((n_rows, k), -1, np.int32)
    scores = np.full((n_rows, k), -np.inf, np.float32)
    products = np.zeros(n_rows, np.float32)
    touched, touched_by = np.empty(n_rows, np.int32), np.full(n_rows, -1, np.int32)
    for row in range(n_rows):
        n_touched = 0
        for entry in range(X.starts[row], X.starts[row + 1]):
            column, value = X.ids[entry], X.values[entry]
            for other_entry in range(by_column.starts[column], by_column.starts[column + 1]):
                other = by_column.ids[other_entry]
                if touched_by[other] != row:  # a product may come back to 0 on the way
                    touched_by[other] = row
                    touched[n_touched] = other
                    n_touched += 1
                products[other] += value * by_column.values[other_entry]
        for place in range(n_touched):
            other = touched[place]
            if other != row and products[other] > 0:
                insert(ids[row], scores[row], other, products[other], row)
            products[other] = 0
    return ids, scores


@njit(nogil=True, cache=True)
def similar_rows(X: Rows, by_column: Rows, largest: Floats32, n_points: int, k: int) -> tuple[Ints32, Floats32]:
    """The `k` of `n_points` sparse points, given by column, of the largest positive inner product with each row.

    Columns are taken by falling bound: the value of the row times the largest value of a point. As soon as the columns
    left cannot lift a new point among the best, only the points that may still be among them are looked up in these
    columns, whose lists are the longest. Values are at least 0, and the points of a column rise.

    Best first; of those that are equally near, the one met first. Open places hold -1 and -inf.
    """
    n_rows = len(X.starts) - 1
    ids = np.full((n_rows, k), -1, np.int32)
    scores = np.full((n_rows, k), -np.inf, np.float32)
    products = np.zeros(n_points, np.float32)
    touched = np.empty(n_points, np.int32)
    for row in range(n_rows):
        columns, values = X.ids[X.starts[row] : X.starts[row + 1]], X.values[X.starts[row] : X.starts[row + 1]]
        bounds = values * largest[columns]
        order = np.argsort(-bounds, kind="mergesort")
        rest = bounds.sum()
        n_touched, floor = 0, np.float32(0)
        for place in range(len(order)):
            column, value = columns[order[place]], values[order[place]]
            start, stop = by_column.starts[column], by_column.starts[column + 1]
            if n_touched >= k:
                floor = max(floor, np.partition(products[touched[:n_touched]], n_touched - k)[n_touched - k])
            if rest + _SLACK < floor:  # no point that shares only what is left gets among the best
                n_touched = _forget_below(products, touched, n_touched, floor - rest - _SLACK)
                for kept in range(n_touched):
                    point = touched[kept]
                    at = start + np.searchsorted(by_column.ids[start:stop], point)
                    if at < stop and by_column.ids[at] == point:
                        products[point] += max(value * by_column.values[at], np.float32(0))
            else:
                for entry in range(start, stop):
                    point, product = by_column.ids[entry], value * by_column.values[entry]
                    if product > 0:
                        if products[point] == 0:
                            touched[n_touched] = point
                            n_touched += 1
                        products[point] += product
            rest -= bounds[order[place]]
        for place in range(n_touched):
            point = touched[place]
            insert(ids[row], scores[row], point, products[point], point + 1)
            products[point] = 0
    return ids, scores


@njit(nogil=True, cache=True)
def _forget_below(products: Floats32, touched: Ints32, n: int, floor: float) -> int:
    """Keep the first `n` points whose product reaches `floor`, in order, and set the others to 0; returns how many."""
    n_kept = 0
    for place in range(n):
        point = touched[place]
        if products[point] >= floor:
            touched[n_kept] = point
            n_kept += 1
        else:
            products[point] = 0
    return n_kept


@njit(nogil=True, cache=True)
def rank_votes(
    voters: Ints32, weights: Floats32, indptr: Ints64, indices: Ints32, label_weights: Floats32, k: int
) -> tuple[Ints32, Floats32]:
    """The `k` allowed labels with the largest sums of the weights of the samples that have them.

    A label's sum counts times its own weight; a label of weight 0 is not allowed. Voter -1 casts no vote; labels
    without votes leave places open (-1, -inf); ties go to the smaller label.
    """
    n_rows = len(voters)
    labels = np.full((n_rows, k), -1, np.int32)
    scores = np.full((n_rows, k), -np.inf, np.float32)
    sums = np.zeros(len(label_weights), np.float64)
    touched = np.empty(len(label_weights), np.int32)
    for row in range(n_rows):
        n_touched = 0
        for place in range(voters.shape[1]):
            voter, weight = voters[row, place], weights[row, place]
            if voter < 0 or weight <= 0:
                continue
            for entry in range(indptr[voter], indptr[voter + 1]):
                label = indices[entry]
                if label_weights[label] > 0:
                    if sums[label] == 0:
                        touched[n_touched] = label
                        n_touched += 1
                    sums[label] += weight
        for label in touched[:n_touched]:
            insert(labels[row], scores[row], label, np.float32(sums[label] * label_weights[label]), 0)
            sums[label] = 0
    return labels, scores
