"""What long work tells its user: a bar per stage, and a line when a kernel is compiled.

Silent by default, so that a library call prints nothing; ``with tacit.show_progress():`` shows it on stderr.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

logger = logging.getLogger("tacit")
_bars: ContextVar[Any] = ContextVar("tacit_progress_bars", default=None)


@contextmanager
def show_progress() -> Iterator[None]:
    """Show the progress of all work inside the block on stderr."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bars:
        token = _bars.set(bars)
        try:
            yield
        finally:
            _bars.reset(token)


@contextmanager
def stage(what: str, total: int | None) -> Iterator[Callable[[int], None]]:
    """A stage of `total` steps; yields a function that counts steps done."""
    bars = _bars.get()
    if bars is None:
        yield lambda _steps: None
        return
    bar = bars.add_task(what, total=total)
    try:
        yield lambda steps: bars.advance(bar, steps)
    finally:
        bars.remove_task(bar)


def announce(message: str) -> None:
    """Tell the user one line: above the bars where they are shown, else to the log."""
    bars = _bars.get()
    if bars is None:
        logger.info(message)
    else:
        bars.console.print(message, style="dim")
