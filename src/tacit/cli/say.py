"""What a command says beside its results, unless --quiet is given."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext

import click

from tacit.progress import show_progress

_QUIET = "tacit.quiet"  # where a context keeps that only results are wanted


def _be_quiet(context: click.Context, _option: click.Parameter, value: bool) -> None:
    context.meta[_QUIET] = value


quiet_option = click.Option(
    ["-q", "--quiet"], is_flag=True, expose_value=False, callback=_be_quiet, help="Print results and errors only."
)


def is_quiet() -> bool:
    """Whether the user wants results only."""
    context = click.get_current_context(silent=True)
    return context is not None and bool(context.meta.get(_QUIET))


def say(message: str = "", *, err: bool = False) -> None:
    """Print information about what a command does, unless it is to be quiet."""
    if not is_quiet():
        click.echo(message, err=err)


def progress_shown() -> AbstractContextManager[None]:
    """Show progress and announcements, unless the command is to be quiet."""
    return nullcontext() if is_quiet() else show_progress()
