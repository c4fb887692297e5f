"""Slow, plain twins of the kernels in tacit.kernels.rare_split."""

from __future__ import annotations

import numpy as np


def row_sets(matrix):
    """Label ids of each row."""
    return [set(matrix.indices[a:b].tolist()) for a, b in zip(matrix.indptr, matrix.indptr[1:], strict=False)]


def choose_test_rows(matrix, label_order, row_order, n_test):
    rows = row_sets(matrix)
    n_rows, n_labels = matrix.shape
    priority = np.argsort(row_order)
    test = set()

    def holders(label):
        return [row for row in range(n_rows) if label in rows[row]]

    def may_move(row):
        others = [labels for other, labels in enumerate(rows) if other != row and other not in test]
        return row not in test and rows[row] <= set().union(*others)

    wanting = set(label_order.tolist())
    for label in label_order:
        candidates = [row for row in holders(label) if may_move(row)]
        if label in wanting and candidates and len(test) < n_test:
            row = max(candidates, key=lambda row: (len(rows[row] & wanting), -priority[row]))
            test.add(row)
            wanting -= rows[row]

    share = n_test / n_rows
    n_all = [len(holders(label)) for label in range(n_labels)]
    bare = {row for row in range(n_rows) if not rows[row]}

    def shortage(row):
        if row in bare:
            return share * len(bare) - len(bare & test)
        # in column order, as floating-point sums depend on it
        return sum(share - len(test & set(holders(label))) / n_all[label] for label in sorted(rows[row]))

    for balanced in (True, False):
        for row in row_order.tolist():
            if len(test) < n_test and may_move(row) and (not balanced or shortage(row) > 0):
                test.add(row)
    return np.isin(np.arange(n_rows), list(test))
