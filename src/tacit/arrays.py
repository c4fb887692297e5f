"""Short names for the types of arrays, and functions of their values that are the same on every machine."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

AnyArray = npt.NDArray[Any]
Bytes = npt.NDArray[np.uint8]
Floats = npt.NDArray[Any]  # of float32, or float64 for sums
Floats32 = npt.NDArray[np.float32]
Floats64 = npt.NDArray[np.float64]
Ids = npt.NDArray[np.intp]
Integers = npt.NDArray[np.integer[Any]]
Ints8 = npt.NDArray[np.int8]
Ints16 = npt.NDArray[np.int16]
Ints32 = npt.NDArray[np.int32]
Ints64 = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]
UInts16 = npt.NDArray[np.uint16]
UInts32 = npt.NDArray[np.uint32]
UInts64 = npt.NDArray[np.uint64]


def by_value(function: Callable[[float], float], values: AnyArray) -> Floats64:
    """A function of each value by the C library; results of NumPy's `log` and `power` depend on the processor."""
    different, places = np.unique(values, return_inverse=True)
    return np.array([function(value) for value in different.tolist()], np.float64)[places]
