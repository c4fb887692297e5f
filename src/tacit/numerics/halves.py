"""Weights at half precision, where it can hold them."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

_LARGEST_ERROR = 2.0**-10  # of all values together, relative; rounding alone is below half of it


def as_halves(values: npt.NDArray[np.float32]) -> npt.NDArray[np.floating[Any]]:
    """The values as float16, or as they are where float16 cannot hold them.

    Features far below unit length lead to weights beyond its largest number, features far above it to weights so
    small that few of their digits, or none, would be left.
    """
    with np.errstate(over="ignore"):
        halves = values.astype(np.float16)
    if not np.isfinite(halves).all():
        return values
    scale = np.abs(values).max(initial=0) or np.float32(1)  # or squares of small numbers would vanish themselves
    error = np.linalg.norm((halves.astype(np.float32) - values) / scale)
    return halves if error <= _LARGEST_ERROR * np.linalg.norm(values / scale) else values
