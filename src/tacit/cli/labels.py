"""``tacit labels``: labels renamed, merged and retired without training."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tacit.cli.options import model_argument

if TYPE_CHECKING:
    from tacit.tagger.tagger import Tagger


@click.group(short_help="Rename, merge or retire labels of a model.", invoke_without_command=True)
@model_argument
@click.pass_context
def labels(context: click.Context, model: Path) -> None:
    """Change the labels of MODEL without training, or list what was changed since.

    \b
    Examples:
      tacit labels model
      tacit labels model rename "motor cars" cars
      tacit labels model merge car cars automobile --into cars
      tacit labels model retire "telex"
      tacit labels model undo
    """
    context.obj = model
    if context.invoked_subcommand is None:
        from tacit.tagger.tagger import Tagger

        tagger = Tagger.load(model)
        for place, act in enumerate(tagger.history(), 1):
            click.echo(f"{place}. {act}")
        click.echo(f"{len(tagger.classes_):,} labels, {len(tagger.amendments_):,} acts since training")


@labels.command()
@click.argument("label")
@click.argument("name")
@click.pass_obj
def rename(model: Path, label: str, name: str) -> None:
    """Call LABEL NAME; its former name is still understood."""
    _change(model, lambda tagger: tagger.rename_label(label, name))


@labels.command()
@click.argument("names", nargs=-1, required=True, metavar="LABEL…")
@click.option("--into", required=True, metavar="LABEL", help="One of the labels, or a new name.")
@click.pass_obj
def merge(model: Path, names: tuple[str, ...], into: str) -> None:
    """Make several labels one, suggested where any of them was."""
    _change(model, lambda tagger: tagger.merge_labels(names, into))


@labels.command()
@click.argument("label")
@click.pass_obj
def retire(model: Path, label: str) -> None:
    """Never suggest LABEL again."""
    _change(model, lambda tagger: tagger.retire_label(label))


@labels.command()
@click.pass_obj
def undo(model: Path) -> None:
    """Take the last act back, whatever it was."""
    from tacit.tagger.tagger import Tagger

    tagger = Tagger.load(model)
    done = tagger.undo()
    tagger.save(model)
    click.echo(f"took back: {done}; saved to {model}")


def _change(model: Path, change: Callable[[Tagger], Any]) -> None:
    """Load, change and save a model; the old one stays if anything goes wrong."""
    from tacit.tagger.tagger import Tagger

    tagger = Tagger.load(model)
    change(tagger)
    tagger.save(model)
    click.echo(f"{tagger.history()[-1]}; saved to {model}")
