"""Tasks that the workers of a cluster can import, and what tests measure of a cluster."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

N_BYTES = 8_000_000


def data() -> npt.NDArray[np.float64]:
    return np.random.default_rng(0).random(N_BYTES // 8)


def total(matrix: npt.NDArray[np.float64], factor: int) -> float:
    assert matrix.flags.writeable  # otherwise kernels would be compiled again
    assert matrix.ctypes.data % 16 == 0
    return float(factor * matrix.sum())


def fails(number: int) -> None:
    raise FileNotFoundError(f"no file {number}")


@contextmanager
def bytes_sent() -> Iterator[list[int]]:
    """Bytes that this process sends to others; with a local cluster, it is client and scheduler."""
    from distributed.comm.tcp import TCP

    sent: list[int] = []
    write = TCP.write

    async def counted(self: Any, *arguments: Any, **options: Any) -> int:
        sent.append(await write(self, *arguments, **options))
        return sent[-1]

    TCP.write = counted
    try:
        yield sent
    finally:
        TCP.write = write


def first_waits(folder: str, number: int) -> int:
    """The number of a task; the first one waits for a file."""
    while number == 0 and not (Path(folder) / "go").exists():
        time.sleep(0.01)
    return number
