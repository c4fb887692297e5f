"""Filling the empty places of a ranking."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numba import njit


@njit(nogil=True, cache=True)
def fill_open_places(
    labels: npt.NDArray[np.int32], scores: npt.NDArray[np.float32], order: npt.NDArray[np.int32], score: float
) -> None:
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
