"""New arrays: aligned in memory, or in files where a memory limit leaves no place for large ones."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tacit.errors import TacitError
from tacit.kernels.aligned import ALIGNMENT, aligned
from tacit.sizes import format_size


@dataclass
class _Disk:
    """Files for large arrays. They have no name: the system deletes each with its array."""

    folder: Path | None = None  # None: arrays are in memory
    least_bytes: int = 0
    entries: int = 1 << 20

    def new(self, size: int, dtype: npt.DTypeLike) -> npt.NDArray[Any]:
        n_bytes = size * np.dtype(dtype).itemsize
        try:
            with tempfile.TemporaryFile(dir=self.folder) as file:
                if hasattr(os, "posix_fallocate"):
                    os.posix_fallocate(file.fileno(), 0, n_bytes)  # a full disk is an error here, not a signal later
                return np.asarray(np.memmap(file, dtype, "w+", shape=size))
        except OSError as error:
            reason = f"{format_size(n_bytes)} for features cannot be written ({error.strerror or error})"
            raise TacitError(f"{self.folder}: {reason}; free some space, or allow more memory") from error


_disk = _Disk()


@contextmanager
def large_on_disk(folder: Path, least_bytes: int, entries: int | None = None) -> Iterator[None]:
    """Inside the block `new_array` of at least so many bytes, and all of `to_disk`, is in memory-mapped files.

    `entries` are the `entries_at_once`, if they are to be others.
    """
    before = _disk.folder, _disk.least_bytes, _disk.entries
    _disk.folder, _disk.least_bytes, _disk.entries = folder, least_bytes, entries or _disk.entries
    try:
        yield
    finally:
        _disk.folder, _disk.least_bytes, _disk.entries = before


def entries_at_once() -> int:
    """How many entries of a matrix that may be larger than memory are worked on at a time."""
    return _disk.entries


def is_large_on_disk() -> bool:
    """Whether large arrays go to disk."""
    return _disk.folder is not None


def new_array(size: int, dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    """A new array of one dimension whose values are not set, aligned as those of `aligned_zeros`."""
    n_bytes = size * np.dtype(dtype).itemsize
    if _disk.folder is not None and n_bytes >= max(_disk.least_bytes, 1):
        return _disk.new(size, dtype)
    return aligned(np.empty(n_bytes + ALIGNMENT, np.uint8), n_bytes).view(dtype)


def to_disk(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """A copy of an array on disk, if large arrays go there; otherwise the array itself."""
    if _disk.folder is None or not array.nbytes:
        return array
    moved = _disk.new(array.size, array.dtype)
    moved[:] = array
    return moved
