"""Scores of linear models with sparse weights, and the best k labels of each sample.

One order everywhere: a higher score first, among equal scores the smaller label first. `allowed` says by label
whether it may be ranked; an empty array allows all. A sample with fewer than k labels to rank is padded with
label -1 and score -inf.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from tacit.arrays import Floats32, Ints32, Mask
from tacit.kernels.dense import TILE, Rows, add_products

_MOST_TILED = 1 << 22  # scores of several rows, which share the reading of dense weights
_TOP: int = np.int64(0)  # type: ignore[assignment]  # as an argument, a plain 0 would be compiled for separately


@njit(nogil=True, cache=True)
def _worse(labels: Ints32, scores: Floats32, a: int, b: int) -> bool:
    """Whether place `a` ranks below place `b`."""
    return bool(scores[a] < scores[b] or (scores[a] == scores[b] and labels[a] > labels[b]))


@njit(nogil=True, cache=True)
def _swap(labels: Ints32, scores: Floats32, a: int, b: int) -> None:
    labels[a], labels[b] = labels[b], labels[a]
    scores[a], scores[b] = scores[b], scores[a]


@njit(nogil=True, cache=True)
def _sift_down(labels: Ints32, scores: Floats32, size: int) -> None:
    """Restore a heap with its worst on top, of which only the top may be out of place."""
    parent = _TOP
    while True:
        child = 2 * parent + 1
        if child >= size:
            return
        if child + 1 < size and _worse(labels, scores, child + 1, child):
            child += 1
        if not _worse(labels, scores, child, parent):
            return
        _swap(labels, scores, child, parent)
        parent = child


@njit(nogil=True, cache=True)
def _offer(labels: Ints32, scores: Floats32, size: int, label: int, score: np.float32) -> int:
    """Keep the label if it is among the best so far; returns how many places are filled."""
    if size < len(labels):
        labels[size], scores[size] = label, score
        child = size
        while child > 0 and _worse(labels, scores, child, (child - 1) // 2):
            _swap(labels, scores, child, (child - 1) // 2)
            child = (child - 1) // 2
        return size + 1
    if score > scores[0] or (score == scores[0] and label < labels[0]):
        labels[0], scores[0] = label, score
        _sift_down(labels, scores, size)
    return size


@njit(nogil=True, cache=True)
def _best_first(labels: Ints32, scores: Floats32, size: int) -> None:
    """Turn the heap into a list, best first, and pad it."""
    for place in range(size, len(labels)):
        labels[place], scores[place] = -1, -np.inf
    for last in range(size - 1, 0, -1):
        _swap(labels, scores, _TOP, last)
        _sift_down(labels, scores, last)


@njit(nogil=True, cache=True)
def _select(row_scores: Floats32, allowed: Mask, labels: Ints32, scores: Floats32) -> None:
    """Rank one sample, given the scores of all labels."""
    size = _TOP
    if len(labels) == 0:
        return
    for label in range(len(row_scores)):
        # most labels are rejected here, first of all; labels are ascending, so an equal score ranks below
        if size == len(labels) and row_scores[label] <= scores[0]:
            continue
        if len(allowed) == 0 or allowed[label]:
            size = _offer(labels, scores, size, label, row_scores[label])
    _best_first(labels, scores, size)


@njit(nogil=True, cache=True)
def rank_linear(
    X: Rows, x_dense: Floats32 | None, W: Rows, w_dense: Floats32 | None, intercepts: Floats32, allowed: Mask, k: int
) -> tuple[Ints32, Floats32]:
    """The best k labels by XW + intercepts; X in CSR, W (features × labels) in CSR: the labels of a feature.

    `x_dense` and `w_dense` are further features of X and their weights, or None.
    """
    n_samples = len(X.starts) - 1
    labels = np.empty((n_samples, k), dtype=np.int32)
    scores = np.empty((n_samples, k), dtype=np.float32)
    n_tiled = 1 if x_dense is None else max(1, min(TILE, _MOST_TILED // max(1, len(intercepts))))
    tile = np.empty((n_tiled, len(intercepts)), dtype=np.float32)
    starts, weights = W.starts, W.values
    labels_of = W.ids.view(np.uint32)  # unsigned: spares the look for places counted from the end
    for first in range(0, n_samples, n_tiled):
        last = min(first + n_tiled, n_samples)
        for row in range(first, last):
            row_scores = tile[row - first]
            for label in range(len(intercepts)):
                row_scores[label] = intercepts[label]
            for entry in range(X.starts[row], X.starts[row + 1]):
                feature, value = X.ids[entry], X.values[entry]
                for place in range(starts[feature], starts[feature + 1]):
                    row_scores[labels_of[place]] += value * weights[place]
        if x_dense is not None:
            add_products(x_dense[first:last], w_dense, tile)
        for row in range(first, last):
            _select(tile[row - first], allowed, labels[row], scores[row])
    return labels, scores


@njit(nogil=True, cache=True)
def top_k(all_scores: Floats32, allowed: Mask, k: int) -> tuple[Ints32, Floats32]:
    """The best k labels of each row of a dense matrix of scores."""
    labels = np.empty((len(all_scores), k), dtype=np.int32)
    scores = np.empty((len(all_scores), k), dtype=np.float32)
    for row in range(len(all_scores)):
        _select(all_scores[row], allowed, labels[row], scores[row])
    return labels, scores


@njit(nogil=True, cache=True)
def fill_open_places(labels: Ints32, scores: Floats32, order: Ints32, score: float) -> None:
    """Fill the -1 at the end of each row with labels of `order` that the row does not hold yet, in place."""
    n_rows, k = labels.shape
    for row in range(n_rows):
        place = k
        while place > 0 and labels[row, place - 1] < 0:
            place -= 1
        if place == k:
            continue
        n_held = place
        for label in order:
            if place == k:
                break
            is_held = False
            for held in range(n_held):
                if labels[row, held] == label:
                    is_held = True
                    break
            if not is_held:
                labels[row, place] = label
                scores[row, place] = score
                place += 1
