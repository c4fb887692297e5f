"""``tacit data``: list and download public data sets."""

from __future__ import annotations

from pathlib import Path

import click

from tacit.cli.options import PATH
from tacit.cli.say import is_quiet
from tacit.cli.tables import print_table
from tacit.data import catalog


@click.command()
@click.argument("name", required=False)
@click.option("--fetch", is_flag=True, help="Download the data set.")
@click.option("--folder", type=PATH, envvar="TACIT_DATA", help="Folder of data sets.  [env: TACIT_DATA]")
def data(name: str | None, fetch: bool, folder: Path | None) -> None:
    """List the public data sets that can be downloaded, describe one, or download it.

    \b
    Examples:
      tacit data
      tacit data eurlex57k --fetch --folder ~/data
    """
    if name is None:
        rows = [
            [entry.name, f"{entry.n_train:,}", f"{entry.n_test:,}", f"{entry.n_labels:,}", entry.description]
            for entry in catalog.CATALOG.values()
        ]
        print_table(["name", "train", "test", "labels", "what it is"], rows)
        return
    entry = catalog.entry(name)
    if fetch:
        files = catalog.fetch(entry.name, folder, progress=not is_quiet())
    else:
        files = {} if folder is None else catalog.find(entry.name, folder)
        click.echo(f"{entry.name}: {entry.description}\n  cite: {entry.citation}")
        click.echo(f"  {entry.n_train:,} training and {entry.n_test:,} test samples, {entry.n_labels:,} labels")
        for url in entry.files:
            click.echo(f"  file: {url}")
    for part, path in files.items():
        click.echo(f"{part}: {path}")
