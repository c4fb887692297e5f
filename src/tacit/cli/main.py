"""The command `tacit`: Ctrl-C is handled before anything else is imported."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tacit.cli.interrupt import interruptible

if TYPE_CHECKING:
    from tacit.cli.commands import cli

__all__ = ["cli", "main"]


def main() -> None:
    """Run the command line."""
    with interruptible():
        from tacit.cli.commands import run

        run()


def __getattr__(name: str) -> Any:
    if name != "cli":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from tacit.cli import commands

    return commands.cli
