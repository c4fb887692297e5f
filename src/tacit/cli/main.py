"""The command `tacit`: Ctrl-C is handled before anything else is imported."""

from __future__ import annotations

from tacit.cli.interrupt import interruptible


def main() -> None:
    """Run the command line."""
    with interruptible():
        from tacit.cli.commands import run

        run()
