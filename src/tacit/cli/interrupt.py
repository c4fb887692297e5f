"""Ctrl-C sets a flag, at which long work looks between two steps; then one line says what is kept, with exit code 130.

If no step ends within `PATIENCE`, or at a second Ctrl-C, the process ends at once: only complete files get their names.
"""

from __future__ import annotations

import atexit
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tacit import progress

EXIT_CODE = 130
PATIENCE = 2.0  # seconds from Ctrl-C to the end of the process
_NOTHING = "nothing was written; run the same command to start again"
_kept: list[Callable[[], str]] = [lambda: _NOTHING]  # what to say
_ending = threading.Lock()


def keeps(message: str | Callable[[], str] = _NOTHING) -> None:
    """Set the message for an interruption, which says what is kept; a function is called at that moment."""
    _kept[0] = message if callable(message) else lambda: message


def keeps_model(model: Path) -> None:
    """Set the message for a command that changes a model atomically."""
    keeps(f"{model} has the complete change or none of it")


@contextmanager
def interruptible() -> Iterator[None]:
    """Handle Ctrl-C around a command in the main thread; does nothing if the process ignores Ctrl-C."""
    keeps()
    is_main = threading.current_thread() is threading.main_thread()
    if is_main and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _ask_to_stop)
        atexit.register(signal.signal, signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        hand_over()


def hand_over() -> None:
    """Leave Ctrl-C to Python again, or to a library with its own handler."""
    if signal.getsignal(signal.SIGINT) is _ask_to_stop:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _ask_to_stop(*_: object) -> None:
    if progress.asked_to_stop.is_set():
        end()
    progress.asked_to_stop.set()
    timer = threading.Timer(PATIENCE, end)
    timer.daemon = True
    timer.start()


def end() -> None:
    """Say what is kept and end the process; after Ctrl-C without any clean-up, as threads may still be in kernels."""
    was_asked = progress.asked_to_stop.is_set()
    if was_asked:
        _ending.acquire()  # never released: a second caller waits until the process ends
    erase = "\r\x1b[2K\x1b[?25h" if os.isatty(2) else ""  # a progress bar, which hides the cursor
    try:
        print(f"{erase}tacit: interrupted; {_kept[0]()}", file=sys.stderr, flush=True)
        for draft in list(progress.drafts):
            draft.unlink(missing_ok=True)
        sys.stdout.flush()
    finally:
        if was_asked:
            os._exit(EXIT_CODE)
        sys.exit(EXIT_CODE)
