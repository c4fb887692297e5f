"""Compact storage: half precision and 16-bit ids."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from tacit.arrays import Floats32

_LARGEST_ERROR = 2.0**-10  # relative error of the array; rounding normal float16 numbers gives at most half of it


def as_halves(values: Floats32) -> npt.NDArray[np.floating[Any]]:
    """The values as float16, or unchanged if float16 would lose too much.

    Samples far below unit length lead to weights that overflow float16, samples far above it to weights that underflow.
    """
    with np.errstate(over="ignore"):
        halves = values.astype(np.float16)
    if not np.isfinite(halves).all():
        return values
    scale = np.abs(values).max(initial=0) or np.float32(1)  # otherwise squares of small numbers underflow
    error = np.linalg.norm((halves.astype(np.float32) - values) / scale)
    return halves if error <= _LARGEST_ERROR * np.linalg.norm(values / scale) else values


@cache
def all_halves() -> Floats32:
    """A table of all float16 values as float32, indexed by their bits."""
    return np.arange(1 << 16, dtype=np.uint16).view(np.float16).astype(np.float32)


def smallest_ids(ids: npt.NDArray[Any], size: int) -> npt.NDArray[Any]:
    """Ids below `size` in the smallest type that kernels support."""
    return ids.astype(np.uint16 if size <= 1 << 16 else np.int32)
