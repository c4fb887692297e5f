"""Memory of this process: measurements, and a limit."""

from __future__ import annotations

import ctypes
import functools
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tacit.errors import TacitError
from tacit.numerics.storage import large_on_disk
from tacit.sizes import format_size

if sys.platform != "win32":
    import resource

_STATUS = Path("/proc/self/status")
_RESERVE = 32 << 20  # bytes below a limit reserved for small allocations: stacks of threads, Python objects
_WATCH_SECONDS = 0.02
_LARGE = 64  # an array that takes this part of the limit goes to disk
_AGAIN_SECONDS = 0.25  # an error is lost where Python ignores it, as in callbacks of the garbage collector


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
    return 0 if sys.platform == "win32" else int(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)


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
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform == "linux" else None
    if trim is not None:
        trim(0)


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
            f"{format_size(limit)} of memory is too little: this process holds {format_size(held)} before it begins; "
            f"allow at least {format_size(held + 4 * _RESERVE)}"
        )
    before = resource.getrlimit(resource.RLIMIT_DATA)
    lift = functools.partial(resource.setrlimit, resource.RLIMIT_DATA, before)
    watch = _Watch(limit - _RESERVE, lift)
    resource.setrlimit(resource.RLIMIT_DATA, (limit, before[1]))
    try:
        watch.start()
        yield
        watch.stop()
    except MemoryError as error:
        watch.stop()
        raise TacitError(
            f"more than the allowed {format_size(limit)} of memory is needed; allow more, run one task at a time "
            "(--jobs 1), train fewer trees or learners (--param n_trees=…), or choose a smaller model"
        ) from error
    finally:
        watch.stop()
        lift()


class _Watch(threading.Thread):
    """Raises a MemoryError in the thread that starts it when many small allocations come near the limit.

    A single large allocation fails by itself. Without the watch, small ones would fail too, such as the stack of a new
    thread, for whose start Python then waits forever.
    """

    def __init__(self, most_bytes: int, lift: Callable[[], None]) -> None:
        super().__init__(daemon=True)
        self.most_bytes = most_bytes
        self.lift = lift
        self.watched = ctypes.c_ulong(threading.get_ident())
        self._over = threading.Event()

    def run(self) -> None:
        """Check the memory of this process until the watch is stopped."""
        while not self._over.wait(_WATCH_SECONDS):
            if data_bytes() > self.most_bytes:
                self.lift()
                while not self._over.is_set():
                    ctypes.pythonapi.PyThreadState_SetAsyncExc(self.watched, ctypes.py_object(MemoryError))
                    self._over.wait(_AGAIN_SECONDS)

    def stop(self) -> None:
        """Stop the watch; a second call does nothing."""
        self._over.set()
        while self.is_alive():
            with suppress(MemoryError):  # its own, while another error is handled
                self.join()
        ctypes.pythonapi.PyThreadState_SetAsyncExc(self.watched, None)
