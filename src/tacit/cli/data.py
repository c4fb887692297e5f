"""``tacit data``: list and download public data sets."""

from __future__ import annotations

from pathlib import Path

import click
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TransferSpeedColumn

from tacit.cli.options import PATH
from tacit.cli.tables import print_table
from tacit.data import catalog
from tacit.data.catalog import CATALOG, CatalogEntry, fetch, find


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
            f"{entry.n_labels:,}",
            "yes" if folder is not None and find(entry.name, folder) else "",
            entry.description,
        ]
        for entry in CATALOG.values()
    ]
    print_table(["name", "train", "test", "labels", "here", "what it is"], rows)


def _describe(entry: CatalogEntry, folder: Path | None) -> None:
    click.echo(f"{entry.name}: {entry.description}\n  cite: {entry.citation}")
    click.echo(f"  {entry.n_train:,} training and {entry.n_test:,} test samples, {entry.n_labels:,} labels")
    for url in entry.files:
        click.echo(f"  file: {url}")
    for part, path in (find(entry.name, folder) if folder is not None else {}).items():
        click.echo(f"  {part}: {path}")


class _Bar:
    """A progress bar with the interface that pooch takes."""

    def __init__(self, bars: Progress, name: str) -> None:
        self._bars, self._bar = bars, bars.add_task(name, total=None)

    @property
    def total(self) -> float:
        return self._bars.tasks[0].total or 0

    @total.setter
    def total(self, total: float) -> None:
        self._bars.update(self._bar, total=total)

    def update(self, n_bytes: int) -> None:
        self._bars.advance(self._bar, n_bytes)

    def reset(self) -> None:
        self._bars.reset(self._bar)

    def close(self) -> None:
        """Leave the bar for the next file."""


def _fetch(entry: CatalogEntry, folder: Path | None) -> dict[str, Path]:
    with Progress(BarColumn(), DownloadColumn(), TransferSpeedColumn(), console=Console(stderr=True)) as bars:
        return fetch(entry.name, folder, progress=_Bar(bars, entry.name))
