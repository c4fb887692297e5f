"""``tacit start``: a vocabulary to a model folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from tacit.cli.interrupt import keeps
from tacit.cli.options import PATH
from tacit.cli.say import say
from tacit.cli.source import read_vocabulary
from tacit.store import folder
from tacit.tagger.naming import start_tagger


@click.command()
@click.argument("vocabulary", type=PATH)
@click.option("--out", type=PATH, required=True, help="Folder for the model.")
@click.option("--language", default="en", show_default=True, help="Language of the names to read, or none: no stems.")
def start(vocabulary: Path, out: Path, language: str, **limits: Any) -> None:
    """Make a model from a VOCABULARY alone: it suggests the concepts whose names are in a text.

    No training texts are needed. Scores order the suggestions; they are no measured probabilities. Feedback (`tacit
    learn`) improves them, and `tacit train --vocabulary` replaces them once there are tagged texts.

    \b
    Examples:
      tacit start thesaurus.ttl --out model
      echo "heat pumps in old houses" | tacit suggest model -
    """
    folder.check_target(out)
    folder.refuse_acts(out)
    keeps()
    given = None if language == "none" else language
    tagger = start_tagger(
        read_vocabulary(vocabulary, limits, "en" if language in ("auto", "none") else language), given
    )
    tagger.save(out)
    say(f"{len(tagger.classes_):,} concepts, known by their names; saved to {out}")
