"""Memory of this process: measurements, and a limit."""

from __future__ import annotations

import ctypes
import functools
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tacit.errors import TacitError
from tacit.sizes import format_size

if sys.platform != "win32":
    import resource

_STATUS = Path("/proc/self/status")
_RESERVE = 32 << 20  # bytes below a limit reserved for small allocations: stacks of threads, Python objects
_WATCH_SECONDS = 0.02
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
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if trim is not None:
            trim(0)
        try:
            Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
        except OSError:
            return


# -- limit ------------------------------------------------------------------------------------------------


@contextmanager
def memory_limit(limit: int | None) -> Iterator[None]:
    """Limit the memory of this process inside the block: more is a TacitError, not a killed process.

    Only Linux supports this; elsewhere, and with None, there is no limit.
    """
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
            f"more than the allowed {format_size(limit)} of memory are needed; allow more, train on fewer samples, or "
            "choose a smaller model (see: tacit models)"
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
