"""Selecting the rows of the test set such that every label keeps a training row.

The label matrix is given twice, by row and by label. Every kernel visits each stored entry a bounded number of times.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from tacit.arrays import Ints32, Ints64, Mask
from tacit.kernels.ragged import Lists, list_at

NO_ROW = -1


class _Parts(NamedTuple):
    """Training rows of each label, how many labels keep a row from moving, and the rows that have moved."""

    n_train: Ints64
    blocked: Ints32
    in_test: Mask


@njit(nogil=True, cache=True)
def _count_wanting(by_row: Lists, wanting: Mask) -> Ints32:
    """For each row, how many of its labels still need a row."""
    counts = np.zeros(len(by_row.starts) - 1, np.int32)
    for row in range(len(counts)):
        for label in list_at(by_row, row):
            counts[row] += wanting[label]
    return counts


@njit(nogil=True, cache=True)
def _best_row(rows: Ints32, gain: Ints32, blocked: Ints32, priority: Ints64) -> int:
    """The row that covers most labels still in need of one, ties by lowest priority number; or NO_ROW."""
    best = NO_ROW
    for row in rows:
        if blocked[row] > 0:
            continue
        if best == NO_ROW or gain[row] > gain[best] or (gain[row] == gain[best] and priority[row] < priority[best]):
            best = row
    return best


@njit(nogil=True, cache=True)
def _satisfy(labels: Ints32, by_label: Lists, wanting: Mask, gain: Ints32) -> int:
    """Mark the labels of a chosen row as covered, which lowers the gain of other rows; return how many."""
    satisfied = 0
    for label in labels:
        if wanting[label]:
            wanting[label] = False
            satisfied += 1
            for row in list_at(by_label, label):
                gain[row] -= 1
    return satisfied


@njit(nogil=True, cache=True)
def cover_labels(by_row: Lists, by_label: Lists, label_order: Ints64, priority: Ints64) -> Mask:
    """A small set of rows that together hold every label of `label_order` (greedy, in that order)."""
    wanting = np.zeros(len(by_label.starts) - 1, np.bool_)
    wanting[label_order] = True
    gain = _count_wanting(by_row, wanting)
    blocked = np.zeros(len(gain), np.int32)
    chosen = np.zeros(len(gain), np.bool_)
    for label in label_order:
        if wanting[label]:
            row = _best_row(list_at(by_label, label), gain, blocked, priority)
            chosen[row] = True
            _satisfy(list_at(by_row, row), by_label, wanting, gain)
    return chosen


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
    by_row: Lists,
    by_label: Lists,
    label_order: Ints64,
    row_order: Ints64,
    parts: _Parts,
    n_test: int,
    n_most: int,
    n_spare: int,
) -> int:
    """Move a row of each label of `label_order`, where one may move; return how many rows moved.

    These are at most `n_test` rows, or `n_most` while more than `n_spare` labels are still without one.
    """
    priority = np.empty(len(row_order), np.int64)
    priority[row_order] = np.arange(len(row_order))
    wanting = np.zeros(len(parts.n_train), np.bool_)
    wanting[label_order] = True
    gain = _count_wanting(by_row, wanting)
    taken, n_wanting = 0, len(label_order)
    for label in label_order:
        if taken >= (n_most if n_wanting > n_spare else n_test):
            break
        if wanting[label]:
            row = _best_row(list_at(by_label, label), gain, parts.blocked, priority)
            if row != NO_ROW:
                labels = list_at(by_row, row)
                n_wanting -= _satisfy(labels, by_label, wanting, gain)
                _move_to_test(row, labels, by_label, parts)
                taken += 1
    return taken


@njit(nogil=True, cache=True)
def choose_test_rows(
    by_row: Lists,
    by_label: Lists,
    label_order: Ints64,
    row_order: Ints64,
    pinned: Mask,
    n_test: int,
    n_most: int,
    n_spare: int,
) -> Mask:
    """Mark `n_test` rows for the test part, fewer where fewer may move; every label keeps a training row.

    First the labels of `label_order` get a test row each, which may take up to `n_most` rows while more than
    `n_spare` labels have none. Then rows are taken in `row_order` whose labels have on average less than their
    share in the test set; then any row that may move. Pinned rows never move.
    """
    n_rows = len(by_row.starts) - 1
    n_all = by_label.starts[1:] - by_label.starts[:-1]
    parts = _Parts(n_all.copy(), pinned.astype(np.int32), np.zeros(n_rows, np.bool_))
    for label in range(len(n_all)):
        if n_all[label] == 1:
            parts.blocked[by_label.ids[by_label.starts[label]]] += 1
    taken = _represent_labels(by_row, by_label, label_order, row_order, parts, n_test, n_most, n_spare)
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
