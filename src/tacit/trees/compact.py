"""Numbers in few bits: ids in 16 where they fit, values as whole steps of each row's largest."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt


def smallest_ids(ids: npt.NDArray[Any], size: int) -> npt.NDArray[Any]:
    """Ids below `size` in the smallest type that kernels read."""
    return ids.astype(np.uint16 if size <= 1 << 16 else np.int32)


def quantised(
    values: npt.NDArray[Any], starts: npt.NDArray[np.int64], dtype: npt.DTypeLike
) -> tuple[npt.NDArray[Any], npt.NDArray[np.float32]]:
    """Values as levels, and the step of each row: ``values ≈ levels · step``.

    A value keeps a level of at least 1 in size: a label stays in its leaf, however faint. Values below zero need a
    signed `dtype`.
    """
    sizes = np.diff(starts)
    largest = np.zeros(len(sizes))
    if values.size:
        filled = np.flatnonzero(sizes)
        largest[filled] = np.maximum.reduceat(np.abs(values), starts[filled])
    steps = (largest / np.iinfo(dtype).max).astype(np.float32)
    shares = np.divide(values, np.repeat(largest, sizes), out=np.zeros(len(values)), where=values != 0)
    levels = np.rint(shares * np.iinfo(dtype).max)
    return np.where(levels == 0, np.sign(values), levels).astype(dtype), steps
