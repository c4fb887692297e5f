"""What long work tells its user, and hears from them: a bar per stage, a line when a kernel is compiled, Ctrl-C.

Silent by default, so that a library call prints nothing; ``with tacit.show_progress():`` shows it on stderr. In a
library call Ctrl-C is Python's; the command line sets `asked_to_stop` instead, and work stops between two steps.
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
drafts: set[Path] = set()  # files that have not taken their names yet: what ends the process at once removes them


class Stopped(BaseException):
    """Work that was asked to stop has stopped, with what it had finished in order."""


def stop_if_asked() -> None:
    """Raise `Stopped` if the user wants that; a thread that was given a task goes on with it."""
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
    """A stage of `total` steps; yields a function that counts steps done, after each of which the user can stop it."""
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
    """Tell the user one line: above the bars where they are shown, else to the log."""
    bars = _bars.get()
    if bars is None:
        logger.info(message)
    else:
        bars.console.print(message, style="dim", markup=False, highlight=False, soft_wrap=True)
