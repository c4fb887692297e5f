"""``tacit reproduce``: the papers' tables and figures, where a clone of the repository is there."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import click

import tacit

_ROOT = Path(tacit.__file__).parents[2]


@click.command(context_settings={"ignore_unknown_options": True}, add_help_option=False)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def reproduce(arguments: tuple[str, ...]) -> None:
    """Run a table, figure or theorem of a paper, as ``python -m reproduce`` does."""
    if not (_ROOT / "reproduce" / "command.py").is_file():
        raise click.ClickException(
            f"tacit reproduce needs a clone of the repository, installed with pip install -e; {_ROOT} has no reproduce/"
        )
    sys.path.insert(0, str(_ROOT))
    command: click.Command = importlib.import_module("reproduce.command").main
    command.main(list(arguments), prog_name="tacit reproduce", standalone_mode=False)
