"""Short names for the types of arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[Any]  # of float32, or float64 for sums
Floats32 = npt.NDArray[np.float32]
Floats64 = npt.NDArray[np.float64]
Ints32 = npt.NDArray[np.int32]
Ids = npt.NDArray[np.intp]
