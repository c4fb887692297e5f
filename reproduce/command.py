"""The command ``python -m reproduce``."""

from __future__ import annotations

import os
from pathlib import Path

import click

from reproduce import document
from reproduce.cache import Cache, default_folder
from reproduce.papers import PAPERS, find_entry
from reproduce.report import aligned
from reproduce.tables import Options
from tacit.cli.tables import print_table
from tacit.errors import TacitError


@click.command(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.argument("paper", required=False)
@click.argument("entry", required=False)
@click.option("--seeds", type=click.IntRange(min=1), help="Number of seeds, 0 and up.  [default: as in the docs]")
@click.option("--only", multiple=True, metavar="METHOD", help="Only this method, by its name in the table; repeatable.")
@click.option("--set", "sets", multiple=True, metavar="SET", help="Only this data set, such as bibtex; repeatable.")
@click.option("--toy", is_flag=True, help="Run at toy size on synthetic data: whether it runs, not what it finds.")
@click.option("--cached", is_flag=True, help="Show what is in the cache, run nothing.")
@click.option("--folder", type=click.Path(path_type=Path), help="Folder of results.  [default: in the user's cache]")
def main(
    paper: str | None, entry: str | None, seeds: int | None, only: tuple[str, ...], sets: tuple[str, ...],
    toy: bool, cached: bool, folder: Path | None,
) -> None:  # fmt: skip
    """Run a table, figure or theorem of a paper, and set it beside the printed figures.

    \b
    Examples:
      python -m reproduce                      list all entries
      python -m reproduce exmlds table4        run one
      python -m reproduce docs                 write docs/reproduction.md from the results
    """  # noqa: D301 - click reads \\b as "do not wrap"
    options = Options(Cache(folder or default_folder()), seeds, only, sets, toy, runs=not cached)
    if paper is None or (entry is None and paper in PAPERS):
        _list(paper)
    elif paper == "docs":
        if "TACIT_DATA" not in os.environ:  # without the sets, what was run on them would be left out
            raise click.UsageError("set TACIT_DATA to the folder with the public benchmark sets to write the page")
        document.write(Options(options.cache, seeds, runs=False))
        click.echo(f"wrote {document.PATH}")
    else:
        _show(paper, entry or "", options)


def _list(paper: str | None) -> None:
    rows = [
        [name, entry.name, entry.title]
        for name, (_, entries) in PAPERS.items()
        for entry in entries
        if paper in {None, name}
    ]
    print_table(["paper", "entry", "what it shows"], rows)


def _show(paper: str, name: str, options: Options) -> None:
    try:
        entry = find_entry(paper, name)
        report = entry.report(options)
    except TacitError as error:
        raise click.UsageError(str(error)) from None
    click.echo(f"{entry.paper} {entry.name}: {entry.title}")
    shown = report.without_empty_columns()
    if shown.rows:
        click.echo("\n".join(aligned(shown.header, shown.rows)))
    for line in (*report.notes, *report.judgement):
        click.echo(line)
