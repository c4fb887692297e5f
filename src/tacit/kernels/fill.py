"""Filling the empty places of a ranking."""

from __future__ import annotations

from numba import njit

from tacit.arrays import Floats32, Ints32


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
