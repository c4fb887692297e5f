"""The best of many, best first: lists that are inserted into."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from tacit.arrays import Floats32, Ints32, Mask


class Places(NamedTuple):
    """Where the best labels of each row go: -1 and -inf, and stay so where there are fewer."""

    labels: Ints32
    scores: Floats32
    allowed: Mask  # labels that may be ranked


@njit(nogil=True, cache=True, inline="always")
def insert(ids: Ints32, scores: Floats32, new: int, score: float, first: int) -> None:
    """Insert `new` into a list of the best, of which -1 are open places, if it is among them; the last drops out.

    Equal scores are in the order of ids from `first` on, and around the end; ``new + 1`` puts `new` behind all of them.
    """
    turn, place = np.uint32(new - first), len(ids) - 1
    if ids[place] >= 0:
        if score < scores[place] or (score == scores[place] and turn >= np.uint32(ids[place] - first)):
            return
    while place > 0 and (
        ids[place - 1] < 0
        or scores[place - 1] < score
        or (scores[place - 1] == score and np.uint32(ids[place - 1] - first) > turn)
    ):
        ids[place], scores[place] = ids[place - 1], scores[place - 1]
        place -= 1
    ids[place], scores[place] = new, score


@njit(nogil=True, cache=True, inline="always")
def insert_value(largest: Floats32, value: float) -> None:
    """The same for values alone."""
    place = len(largest) - 1
    if not value > largest[place]:
        return
    while place > 0 and largest[place - 1] < value:
        largest[place] = largest[place - 1]
        place -= 1
    largest[place] = value
