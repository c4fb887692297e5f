"""``tacit data``: list and download public data sets."""

from __future__ import annotations

from pathlib import Path

import click
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TransferSpeedColumn

from tacit.cli.interrupt import keeps
from tacit.cli.options import PATH
from tacit.cli.tables import print_table
from tacit.data import catalog
from tacit.data.catalog import CATALOG, CatalogEntry, fetch, find


@click.command()
@click.argument("name", required=False)
@click.option("--fetch", is_flag=True, help="Download the data set, or resume an interrupted download.")
@click.option("--folder", type=PATH, envvar="TACIT_DATA", help="Folder of data sets.  [env: TACIT_DATA]")
def data(name: str | None, fetch: bool, folder: Path | None) -> None:
    """List the public data sets, describe one, or download it.

    \b
    Examples:
      tacit data
      tacit data eurlex57k --fetch --folder ~/data
    """
    if name is None:
        _list(folder)
        return
    entry = catalog.entry(name)
    if not fetch:
        _describe(entry, folder)
        return
    for part, path in _fetch(entry, folder).items():
        click.echo(f"{part}: {path}")


def _list(folder: Path | None) -> None:
    rows = [
        [
            entry.name,
            f"{entry.n_train:,}",
            f"{entry.n_test:,}",
            f"{entry.n_features:,}" if entry.n_features else "text",
            f"{entry.n_labels:,}",
            "yes" if folder is not None and find(entry.name, folder) else "",
            entry.description,
        ]
        for entry in CATALOG.values()
    ]
    print_table(["name", "train", "test", "features", "labels", "here", "what it is"], rows)


def _describe(entry: CatalogEntry, folder: Path | None) -> None:
    click.echo(f"{entry.name}: {entry.description}")
    click.echo(f"  {entry.n_train:,} training and {entry.n_test:,} test samples, {entry.n_labels:,} labels")
    click.echo(f"  home: {entry.home}\n  cite: {entry.citation}\n  licence: {entry.licence or 'not stated'}")
    for file in entry.files:
        click.echo(f"  file: {file.url} (SHA-256 {file.sha256 or 'not known; recorded at the first download'})")
    here = find(entry.name, folder) if folder is not None else {}
    for part, path in here.items():
        click.echo(f"  {part}: {path}")
    if not here:
        click.echo(f"  {entry.instructions(folder or Path('TACIT_DATA'))}")


def _fetch(entry: CatalogEntry, folder: Path | None) -> dict[str, Path]:
    keeps("what was downloaded is kept; run the same command to resume")
    with Progress(BarColumn(), DownloadColumn(), TransferSpeedColumn(), console=Console(stderr=True)) as bars:
        bar = bars.add_task(entry.name, total=None)
        return fetch(entry.name, folder, progress=lambda done, total: bars.update(bar, completed=done, total=total))
