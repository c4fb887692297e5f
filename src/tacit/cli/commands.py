"""The subcommands of `tacit`, and how errors reach the user.

Modules of this package import click alone at the top, so that ``tacit --help`` starts at once.
"""

from __future__ import annotations

import os
import sys

import click

from tacit._version import __version__
from tacit.cli import interrupt
from tacit.cli.add_label import add_label
from tacit.cli.compare import compare
from tacit.cli.convert import convert
from tacit.cli.data import data
from tacit.cli.demo import demo
from tacit.cli.evaluate import evaluate
from tacit.cli.find_missing import find_missing
from tacit.cli.inspect import inspect
from tacit.cli.labels import labels
from tacit.cli.learn import learn
from tacit.cli.models import models
from tacit.cli.serve import serve
from tacit.cli.split import split
from tacit.cli.suggest import suggest
from tacit.cli.train import train
from tacit.cli.tune import tune
from tacit.cli.update import update
from tacit.errors import TacitError, did_you_mean, printable
from tacit.progress import Stopped


class _Group(click.Group):
    """Subcommands in the order they are used in, with the nearest spelling for unknown ones."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - the signature is click's
        return list(self.commands)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in self.commands:
            raise click.UsageError(f"there is no command '{args[0]}'{did_you_mean(args[0], self.commands)}", ctx)
        return super().resolve_command(ctx, args)


@click.group(cls=_Group, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, message="tacit %(version)s")
def cli() -> None:
    """Assign labels out of large vocabularies when labels are missing, rare or unseen.

    Start with `tacit demo`, then train on a file of your own:

    \b
      tacit train articles.csv --out model
      tacit suggest model new.csv -k 5
    """


for command in (
    demo,
    train,
    suggest,
    evaluate,
    compare,
    inspect,
    tune,
    find_missing,
    add_label,
    labels,
    learn,
    update,
    serve,
    convert,
    split,
    data,
    models,
):
    cli.add_command(command)


def run() -> None:
    """Run the command line: expected errors are one line and exit code 2, a bug is a traceback and 1."""
    try:
        cli(standalone_mode=False)
    except click.exceptions.Exit as stop:
        sys.exit(stop.exit_code)
    except (Stopped, KeyboardInterrupt, click.Abort):
        interrupt.end()
    except click.ClickException as error:
        _fail(error.format_message())
    except TacitError as error:
        _fail(str(error))
    except BrokenPipeError:  # the reader of our output, such as `head`, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)


def _fail(message: str) -> None:
    click.echo(f"tacit: error: {printable(' '.join(message.split()))}", err=True)
    sys.exit(2)
