"""``tacit vocabulary``: the differences between a model and a newer version of its vocabulary, as acts."""

from __future__ import annotations

from pathlib import Path

import click

from tacit.cli.interrupt import keeps_model
from tacit.cli.options import PATH, model_argument
from tacit.cli.say import say
from tacit.data.vocabulary import load_vocabulary
from tacit.errors import printable
from tacit.tagger.revision import revise
from tacit.tagger.tagger import Tagger


@click.command()
@model_argument
@click.argument("newer", type=PATH, metavar="VOCABULARY")
@click.option("--vocabulary-language", metavar="TAG", default="en", show_default=True, help="Language of its names.")
@click.option("--apply", "is_applied", is_flag=True, help="Make these changes.")
def vocabulary(model: Path, newer: Path, vocabulary_language: str, is_applied: bool) -> None:
    """Show what a newer version of its VOCABULARY changes in MODEL: concepts that were added, renamed or deprecated.

    With --apply each of these is done as an act, which `tacit labels MODEL undo` takes back. Nothing is trained, and
    all other acts stay in force, but labels that were renamed get the names that they have in VOCABULARY. Deprecated
    concepts are merged into their successors, or retired if they have none.

    \b
    Examples:
      tacit vocabulary model thesaurus-2026.ttl
      tacit vocabulary model thesaurus-2026.ttl --apply
    """
    tagger = Tagger.load(model)
    if is_applied:
        keeps_model(model)
    changes = revise(tagger, load_vocabulary(newer, vocabulary_language))
    for change in changes:
        click.echo(printable(change.words) + (f"  (not possible: {change.refused})" if change.refused else ""))
    n_possible = sum(change.refused is None for change in changes)
    if not is_applied or not n_possible:
        say(f"{n_possible:,} changes; make them with --apply" if n_possible else "nothing to change")
        return
    tagger.save(model)
    say(f"{n_possible:,} changes; saved to {model}")
