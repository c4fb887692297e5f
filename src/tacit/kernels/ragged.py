"""Lists of different lengths in two arrays."""

from __future__ import annotations

from typing import NamedTuple

from numba import njit

from tacit.arrays import Integers


class Lists(NamedTuple):
    """Numbers, one list after another, and where each list starts; the last entry is the end."""

    starts: Integers
    ids: Integers


@njit(nogil=True, cache=True, inline="always")
def list_at(lists: Lists, place: int) -> Integers:
    """One of the lists."""
    return lists.ids[lists.starts[place] : lists.starts[place + 1]]
