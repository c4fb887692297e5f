"""Memory of this process: measurements, a limit, and room on disk for arrays that the limit does not allow."""

from __future__ import annotations

import ctypes
import functools
import math
import mmap
import os
import signal
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tacit.errors import TacitError
from tacit.sizes import format_size

if sys.platform != "win32":
    import resource

_STATUS = Path("/proc/self/status")
_RESERVE = 32 << 20  # bytes below a limit reserved for small allocations: stacks of threads, Python objects
_WATCH_SECONDS = 0.02
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3  # options of mallopt
_MOST_KEPT = 32 << 20  # bytes of an array whose memory is kept; glibc takes no more
_LARGE = 64  # an array that takes this part of the limit goes to disk
_AGAIN_SECONDS = 0.25  # an interruption is lost where Python ignores errors, as in callbacks of the garbage collector


# -- readings ---------------------------------------------------------------------------------------------


def resident_bytes() -> int:
    """Resident memory of this process; 0 if the system does not report it."""
    return _status("VmRSS")


def data_bytes() -> int:
    """Writable memory allocated by this process; 0 if the system does not report it."""
    return _status("VmData")


def peak_bytes() -> int:
    """Peak resident memory of this process; 0 if the system does not report it."""
    if _STATUS.exists():
        return _status("VmHWM")  # getrusage would include the memory of the parent before exec
    if sys.platform == "win32":
        return 0
    return int(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)


def _status(field: str) -> int:
    try:
        lines = _STATUS.read_text(encoding="ascii").splitlines()
    except OSError:
        return 0
    return next((1024 * int(line.split()[1]) for line in lines if line.startswith(field)), 0)


def forget_peak() -> None:
    """Return freed memory to the system and reset the peak (Linux only)."""
    return_freed()
    if sys.platform == "linux":
        with suppress(OSError):
            Path("/proc/self/clear_refs").write_text("5", encoding="ascii")


def return_freed() -> None:
    """Return freed memory to the system (glibc only)."""
    if (trim := _allocator("malloc_trim")) is not None:
        trim(0)


@functools.lru_cache(maxsize=1)
def keep_freed() -> None:
    """Let this process use freed memory again, as much as glibc keeps by itself.

    Dask sets its workers to return every freed array to the system. To get it anew, page by page, takes a sixth of a
    training.
    """
    if (set_option := _allocator("mallopt")) is not None:
        set_option(_M_MMAP_THRESHOLD, _MOST_KEPT)
        set_option(_M_TRIM_THRESHOLD, 2 * _MOST_KEPT)


def _allocator(name: str) -> Any:
    """A function of glibc's allocator; None elsewhere."""
    return getattr(ctypes.CDLL(None), name, None) if sys.platform == "linux" else None


# -- room on disk -----------------------------------------------------------------------------------------


@dataclass
class _Disk:
    """Where large arrays of this process go; a part of a file is mapped at a time, and arrays take it from the start.

    Files have no name: the system deletes each with the last array in it, even if the process is killed.
    """

    folder: Path | None = None  # None: to memory
    least_bytes: int = 0
    entries: int = 1 << 20
    part: Any = None
    n_taken: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def take(self, n_bytes: int) -> memoryview:
        n_bytes = -(-n_bytes // _ALIGNMENT) * _ALIGNMENT
        with self.lock:
            if self.part is None or self.n_taken + n_bytes > len(self.part):
                self.part, self.n_taken = self._mapped(max(n_bytes, _PART)), 0
            self.n_taken += n_bytes
            return memoryview(self.part)[self.n_taken - n_bytes : self.n_taken]

    def _mapped(self, n_bytes: int) -> mmap.mmap:
        try:
            with tempfile.TemporaryFile(dir=self.folder) as file:
                if hasattr(os, "posix_fallocate"):
                    os.posix_fallocate(file.fileno(), 0, n_bytes)  # a full disk is an error here, not a signal later
                else:
                    file.truncate(n_bytes)
                return mmap.mmap(file.fileno(), n_bytes)  # shared, so that it does not count as memory of the process
        except OSError as error:
            reason = f"{format_size(n_bytes)} for features cannot be written ({error.strerror or error})"
            raise TacitError(f"{self.folder}: {reason}; free some space, or allow more memory") from error


_PART = 64 << 20  # bytes of a file with many small arrays
_ALIGNMENT = 64  # bytes, a cache line
_disk = _Disk()


@contextmanager
def large_on_disk(folder: Path, least_bytes: int, entries: int | None = None) -> Iterator[None]:
    """Inside the block `room` for at least so many bytes, and all of `to_disk`, is in memory-mapped files.

    `entries` are the `entries_at_once`, if they are to be others.
    """
    before = _disk.folder, _disk.least_bytes, _disk.entries
    _disk.folder, _disk.least_bytes, _disk.entries = folder, least_bytes, entries or _disk.entries
    try:
        yield
    finally:
        _disk.folder, _disk.least_bytes, _disk.entries = before
        _disk.part = None


def entries_at_once() -> int:
    """How many entries of a matrix that may be larger than memory are worked on at a time."""
    return _disk.entries


def is_large_on_disk() -> bool:
    """Whether there is room on disk for large arrays."""
    return _disk.folder is not None


def aligned_zeros(shape: tuple[int, ...], dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    """Zeros that begin with a cache line, so that rows of a power of two of bytes are in as few lines as can be.

    NumPy aligns to 16 bytes: training with weights in rows of 128 bytes took a fifth longer.
    """
    n_bytes = math.prod(shape) * np.dtype(dtype).itemsize
    return _aligned(np.zeros(n_bytes + _ALIGNMENT, np.uint8), n_bytes).view(dtype).reshape(shape)


def _aligned(buffer: npt.NDArray[np.uint8], n_bytes: int) -> npt.NDArray[np.uint8]:
    start = -buffer.ctypes.data % _ALIGNMENT
    return buffer[start : start + n_bytes]


def room(size: int, dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    """A new array of one dimension whose values are not set, aligned as those of `aligned_zeros`."""
    n_bytes = size * np.dtype(dtype).itemsize
    if _disk.folder is None or n_bytes < max(_disk.least_bytes, 1):
        return _aligned(np.empty(n_bytes + _ALIGNMENT, np.uint8), n_bytes).view(dtype)
    return np.frombuffer(_disk.take(n_bytes), dtype, count=size)


def to_disk(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """A copy of an array on disk, if there is room for large arrays there; otherwise the array itself."""
    if _disk.folder is None or not array.nbytes:
        return array
    moved = np.frombuffer(_disk.take(array.nbytes), array.dtype, count=array.size)
    moved[:] = array
    return moved


# -- limit ------------------------------------------------------------------------------------------------


@contextmanager
def memory_limit(limit: int | None, folder: Path | None = None) -> Iterator[None]:
    """Limit the memory of this process inside the block: more is a TacitError, not a killed process.

    With a `folder`, arrays that would take much of it are in memory-mapped files there: features, above all. Only
    Linux supports the limit; elsewhere, and with None, there is none.
    """
    if limit is not None and folder is not None:
        with large_on_disk(folder, limit // _LARGE), memory_limit(limit):
            yield
        return
    if limit is None or sys.platform != "linux":
        yield
        return
    held = data_bytes()
    if held + 2 * _RESERVE > limit:
        raise TacitError(
            f"{format_size(limit)} of memory are too few: this process holds {format_size(held)} before it begins; "
            f"allow at least {format_size(held + 4 * _RESERVE)}"
        )
    before = resource.getrlimit(resource.RLIMIT_DATA)
    lift = functools.partial(resource.setrlimit, resource.RLIMIT_DATA, before)
    watch = _Watch(limit - _RESERVE, lift)
    is_deaf = watch.is_main and signal.getsignal(signal.SIGINT) is signal.SIG_IGN  # as for a background job of a script
    if is_deaf:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    resource.setrlimit(resource.RLIMIT_DATA, (limit, before[1]))
    try:
        watch.start()
        yield
        watch.stop()
    except (MemoryError, KeyboardInterrupt) as error:
        watch.stop()
        if isinstance(error, KeyboardInterrupt) and not watch.tripped:
            raise
        raise TacitError(
            f"more than the allowed {format_size(limit)} of memory is needed; allow more, run one task at a time "
            "(--jobs 1), train fewer trees or learners (--param n_trees=…), or choose a smaller model"
        ) from error
    finally:
        watch.stop()
        lift()
        if is_deaf:
            signal.signal(signal.SIGINT, signal.SIG_IGN)


class _Watch(threading.Thread):
    """Interrupts the main thread when many small allocations bring the process near its limit.

    A single large allocation fails with a MemoryError. Without the watch, small ones would fail too, such as the stack
    of a new thread, for whose start Python then waits forever.
    """

    def __init__(self, most_bytes: int, lift: Callable[[], None]) -> None:
        super().__init__(daemon=True)
        self.most_bytes = most_bytes
        self.lift = lift
        self.tripped = False
        self.is_main = threading.current_thread() is threading.main_thread()
        self._over = threading.Event()

    def run(self) -> None:
        """Check the memory of this process until the watch is stopped."""
        while not self._over.wait(_AGAIN_SECONDS if self.tripped else _WATCH_SECONDS):
            if self.tripped or (data_bytes() > self.most_bytes and self.is_main):
                self.tripped = True
                self.lift()
                signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    def stop(self) -> None:
        """Stop the watch; a second call does nothing."""
        self._over.set()
        while self.is_alive():
            try:
                self.join()
            except KeyboardInterrupt:  # noqa: PERF203 - once
                if not self.tripped:  # its own interruption may arrive while an error is being handled
                    raise
