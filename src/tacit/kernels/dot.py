"""Inner product of two dense rows."""

from __future__ import annotations

import numpy as np
from numba import njit

from tacit.arrays import Floats32


@njit(nogil=True, cache=True)
def dot(a: Floats32, b: Floats32) -> np.float32:
    """Inner product in eight lanes, written out: as fast as reordered sums, but the same bits on every machine."""
    zero = np.float32(0)
    s0, s1, s2, s3, s4, s5, s6, s7 = zero, zero, zero, zero, zero, zero, zero, zero
    whole = len(a) - len(a) % 8
    for i in range(0, whole, 8):
        s0 += a[i] * b[i]
        s1 += a[i + 1] * b[i + 1]
        s2 += a[i + 2] * b[i + 2]
        s3 += a[i + 3] * b[i + 3]
        s4 += a[i + 4] * b[i + 4]
        s5 += a[i + 5] * b[i + 5]
        s6 += a[i + 6] * b[i + 6]
        s7 += a[i + 7] * b[i + 7]
    total = ((s0 + s1) + (s2 + s3)) + ((s4 + s5) + (s6 + s7))
    for i in range(whole, len(a)):
        total += a[i] * b[i]
    return total
