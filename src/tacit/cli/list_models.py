"""``tacit models``: list the models and their parameters."""

from __future__ import annotations

import click

from tacit.cli.tables import print_table
from tacit.core.parameters import in_order
from tacit.registry import MODELS, import_model


@click.command()
@click.argument("name", required=False)
def models(name: str | None) -> None:
    """List the models, or the parameters of one.

    \b
    Examples:
      tacit models
      tacit models OneVsAll
    """
    if name is None:
        print_table(["model", "what it is"], [[entry.name, entry.summary] for entry in MODELS.values()])
        return
    cls = import_model(name)
    rows = [[p.name, str(p.default), str(p), p.help] for p in in_order(cls).values()]
    print_table(["parameter", "default", "allowed", "what it does"], rows, title=cls.__name__)
