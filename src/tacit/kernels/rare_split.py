"""Selecting the rows of the test set such that every label keeps a training row.

The label matrix is given twice, by row and by label. Every stored entry is visited a bounded number of times.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from tacit.arrays import Ints32, Ints64, Mask
from tacit.kernels.ragged import Lists, list_at


class _Parts(NamedTuple):
    """Training rows of each label, how many labels keep a row from moving, and the rows that have moved."""

    n_train: Ints64
    blocked: Ints32
    in_test: Mask


@njit(nogil=True, cache=True)
def _move_to_test(row: int, labels: Ints32, by_label: Lists, parts: _Parts) -> None:
    """Move a row; a label left with one training row blocks that row from moving."""
    parts.in_test[row] = True
    for label in labels:
        parts.n_train[label] -= 1
        if parts.n_train[label] == 1:
            for other in list_at(by_label, label):
                if not parts.in_test[other]:
                    parts.blocked[other] += 1
                    break


@njit(nogil=True, cache=True)
def _represent_labels(
    by_row: Lists, by_label: Lists, label_order: Ints64, row_order: Ints64, parts: _Parts, n_test: int
) -> int:
    """Move a row of each label of `label_order`, where one may move; return how many rows moved.

    It is the row with most labels that still need one; of equal rows, the first of `row_order`.
    """
    rank = np.empty(len(row_order), np.int64)
    rank[row_order] = np.arange(len(row_order))
    needs_row = np.zeros(len(parts.n_train), np.bool_)
    needs_row[label_order] = True
    gain = np.zeros(len(rank), np.int32)
    for row in range(len(rank)):
        for label in list_at(by_row, row):
            gain[row] += needs_row[label]
    taken = 0
    for label in label_order:
        if taken >= n_test or not needs_row[label]:
            continue
        best = -1
        for row in list_at(by_label, label):
            if parts.blocked[row] == 0 and (
                best < 0 or gain[row] > gain[best] or (gain[row] == gain[best] and rank[row] < rank[best])
            ):
                best = row
        if best < 0:
            continue
        for other in list_at(by_row, best):
            if needs_row[other]:
                needs_row[other] = False
                for row in list_at(by_label, other):
                    gain[row] -= 1
        _move_to_test(best, list_at(by_row, best), by_label, parts)
        taken += 1
    return taken


@njit(nogil=True, cache=True)
def choose_test_rows(by_row: Lists, by_label: Lists, label_order: Ints64, row_order: Ints64, n_test: int) -> Mask:
    """Mark `n_test` rows for the test part, fewer where fewer may move; every label keeps a training row.

    First the labels of `label_order` get a test row each. Then rows are taken in `row_order` whose labels have on
    average less than their share in the test set; then any row that may move.
    """
    n_rows = len(by_row.starts) - 1
    n_all = by_label.starts[1:] - by_label.starts[:-1]
    parts = _Parts(n_all.copy(), np.zeros(n_rows, np.int32), np.zeros(n_rows, np.bool_))
    for label in range(len(n_all)):
        if n_all[label] == 1:
            parts.blocked[by_label.ids[by_label.starts[label]]] += 1
    taken = _represent_labels(by_row, by_label, label_order, row_order, parts, n_test)
    share = n_test / n_rows
    bare_short = share * np.sum(by_row.starts[1:] == by_row.starts[:-1])  # rows without labels have a share too
    for balanced in (True, False):
        for row in row_order:
            if taken >= n_test:
                break
            if parts.in_test[row] or parts.blocked[row] > 0:
                continue
            labels = list_at(by_row, row)
            if balanced:
                shortage = bare_short if len(labels) == 0 else 0.0
                for label in labels:
                    shortage += share - (n_all[label] - parts.n_train[label]) / n_all[label]
                if shortage <= 0:
                    continue
            _move_to_test(row, labels, by_label, parts)
            taken += 1
            if len(labels) == 0:
                bare_short -= 1
    return parts.in_test
