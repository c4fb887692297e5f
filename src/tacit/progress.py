"""Progress of long work: a bar per stage, messages, and stopping on Ctrl-C.

Silent by default, so that a library call prints nothing; ``with tacit.show_progress():`` shows progress on stderr. In
a library call Ctrl-C raises KeyboardInterrupt; the command line sets `asked_to_stop`, and work stops between two steps.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any

logger = logging.getLogger("tacit")
_bars: ContextVar[Any] = ContextVar("tacit_progress_bars", default=None)
asked_to_stop = threading.Event()
drafts: set[Path] = set()  # files without their final name yet; deleted if the process must end at once


class Stopped(BaseException):
    """Work has stopped on request; what was finished is intact."""


def stop_if_asked() -> None:
    """Raise `Stopped` in the main thread if the user has asked to stop; worker threads finish their task."""
    if asked_to_stop.is_set() and threading.current_thread() is threading.main_thread():
        raise Stopped


@contextmanager
def show_progress() -> Iterator[None]:
    """Show the progress of all work inside the block on stderr."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    console = Console(stderr=True)
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bars:
        token = _bars.set(bars)
        try:
            yield
        finally:
            _bars.reset(token)


@contextmanager
def stage(what: str, total: int | None) -> Iterator[Callable[[int], None]]:
    """A stage of `total` steps; yields a function that counts finished steps, and stops after one if asked to."""
    bars = _bars.get()
    bar = None if bars is None else bars.add_task(what, total=total)

    def advance(steps: int) -> None:
        if bars is not None:
            bars.advance(bar, steps)
        stop_if_asked()

    try:
        yield advance
    finally:
        if bars is not None:
            bars.remove_task(bar)


def announce(message: str) -> None:
    """Show a one-line message: above the progress bars if they are shown, otherwise in the log."""
    bars = _bars.get()
    if bars is None:
        logger.info(message)
    else:
        bars.console.print(message, style="dim", markup=False, highlight=False, soft_wrap=True)
