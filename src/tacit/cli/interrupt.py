"""Ctrl-C: one line that says what is kept and how to resume, and exit code 130.

Python raises KeyboardInterrupt wherever the main thread happens to be, also within compiled kernels and callbacks,
which ends in a traceback or a crash. So Ctrl-C raises nothing here: it requests a stop, and long work stops between two
steps (see `tacit.progress`). If no step ends within `PATIENCE`, or at a second Ctrl-C, the process ends at once. That
is safe: a file gets its final name only when it is complete.
"""

from __future__ import annotations

import atexit
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from tacit import progress

EXIT_CODE = 130
PATIENCE = 2.0  # seconds from Ctrl-C to the end of the process
_NOTHING = "nothing was written; run the same command to start again"


@dataclass
class _Now:
    """How this process currently handles Ctrl-C."""

    kept: Callable[[], str] = lambda: _NOTHING
    watch: _Listener | None = None


_now = _Now()


def keeps(message: str | Callable[[], str] = _NOTHING) -> None:
    """Set the message for an interruption, which says what is kept; a function is called at that moment."""
    _now.kept = message if callable(message) else lambda: message


def keeps_model(model: Path) -> None:
    """Set the message for a command that changes a model atomically."""
    keeps(f"{model} has the complete change or none of it; see: tacit labels {model} history")


@contextmanager
def interruptible() -> Iterator[None]:
    """Handle Ctrl-C around a command in the main thread; does nothing if the process ignores Ctrl-C."""
    keeps()
    is_main = threading.current_thread() is threading.main_thread()
    if not is_main or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    _now.watch = _Listener()
    try:
        yield
    finally:
        hand_over()
        atexit.unregister(_ignore)
        atexit.register(_ignore)  # registered last, so run first: from here on Ctrl-C is ignored


def hand_over() -> None:
    """Leave Ctrl-C to Python again, or to a library with its own handler."""
    if _now.watch is not None:
        watch, _now.watch = _now.watch, None
        watch.close()


def end() -> None:
    """End the process after an interruption."""
    if _now.watch is None or not _now.watch.has_heard:
        print(_line(), file=sys.stderr)
        sys.exit(EXIT_CODE)
    with suppress(OSError, ValueError):
        sys.stdout.flush()
    _now.watch.end()


def _line() -> str:
    try:
        kept = _now.kept()
    except Exception:  # noqa: BLE001 - whatever it is, the process must end
        kept = "run the same command to resume or restart"
    return f"tacit: interrupted; {kept}"


def _ignore() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)


class _Listener:
    """Receives Ctrl-C in a separate thread, which runs even while the main thread is in a kernel."""

    def __init__(self) -> None:
        self.has_heard = False
        self._ending = threading.Lock()
        self._near, self._far = socket.socketpair()
        self._far.setblocking(False)
        progress.asked_to_stop.clear()
        # In this order: what arrives before the thread listens waits in the socket.
        self._fd_before = signal.set_wakeup_fd(self._far.fileno(), warn_on_full_buffer=False)
        signal.signal(signal.SIGINT, _handle)
        self._thread = threading.Thread(target=self._listen, name="tacit-interrupt", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Restore the previous signal handling."""
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.set_wakeup_fd(self._fd_before)
        self._far.close()
        self._thread.join()
        self._near.close()
        progress.asked_to_stop.clear()

    def end(self) -> None:
        """Print the message and end the process without any cleanup: threads may still be in kernels."""
        self._ending.acquire()  # never released: a second caller waits until the process ends
        erase = "\r\x1b[2K\x1b[?25h" if os.isatty(2) else ""  # a progress bar, which hides the cursor
        with suppress(OSError):
            os.write(2, f"{erase}{_line()}\n".encode(errors="replace"))
        for draft in list(progress.drafts):
            with suppress(OSError):
                draft.unlink()
        os._exit(EXIT_CODE)

    def _listen(self) -> None:
        while received := self._near.recv(1):
            if received[0] != signal.SIGINT or _is_of_memory():
                continue
            self.has_heard = True
            progress.asked_to_stop.set()
            self._near.settimeout(PATIENCE)
            with suppress(TimeoutError):
                if not self._near.recv(1):  # the command has ended by itself
                    return
            self.end()


def _handle(_signal: int, _frame: FrameType | None) -> None:
    if _is_of_memory():
        raise KeyboardInterrupt


def _is_of_memory() -> bool:
    """Whether the signal came from the watch thread of `tacit.memory.memory_limit`, not from the user."""
    return any(getattr(thread, "tripped", False) for thread in threading.enumerate())
