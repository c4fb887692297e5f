"""The random numbers of kernels: splitmix64, so that they do not depend on the version of a library."""

from __future__ import annotations

import numpy as np
from numba import njit

STEP = np.uint64(0x9E3779B97F4A7C15)  # is added to the state before each number


@njit(nogil=True, cache=True)
def mixed(state: np.uint64) -> np.uint64:
    """The 64 random bits of a state."""
    bits = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return bits ^ (bits >> np.uint64(31))
