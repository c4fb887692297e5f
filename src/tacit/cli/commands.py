"""The subcommands of `tacit`, and the reporting of errors."""

from __future__ import annotations

import importlib
import os
import sys

import click
from click.shell_completion import CompletionItem

from tacit._version import __version__
from tacit.cli import interrupt
from tacit.cli.say import quiet_option
from tacit.cli.startup import quick_start
from tacit.errors import TacitError, did_you_mean, printable
from tacit.progress import Stopped
from tacit.removed import OPTIONS, instead

#: Name, module and help of each command, in the order in which they are used. A command is a function of its name in
#: the module, which is imported when the command is called: ``tacit --help`` starts at once.
COMMANDS = {
    "demo": ("demo", "Try tacit on synthetic data, in a minute."),
    "start": ("train", "Make a model from a vocabulary alone."),
    "train": ("train", "Train a model on a data file."),
    "suggest": ("suggest_command", "Suggest labels for new samples."),
    "evaluate": ("evaluate", "Evaluate a model on labelled data."),
    "compare": ("evaluate", "Compare two models on labelled data."),
    "inspect": ("inspect", "Show what a model was trained on."),
    "tune": ("train", "Search for better hyperparameters of a model."),
    "find-missing": ("find_missing_command", "Find labels that are missing from tagged data."),
    "add-label": ("act_commands", "Add a label to a model, without training."),
    "labels": ("act_commands", "Rename, merge or retire labels of a model."),
    "vocabulary": ("vocabulary_command", "Compare a model with a newer version of its vocabulary."),
    "learn": ("learn", "Learn from accepted and rejected suggestions."),
    "update": ("learn", "Train a model on new samples."),
    "serve": ("serve", "Serve models over HTTP, with a web page."),
    "convert": ("convert", "Convert a data file to another format."),
    "split": ("convert", "Split a data file into training and test files."),
    "data": ("data", "List, describe or download public data sets."),
    "models": ("list_models", "List the models and their parameters."),
    "reproduce": ("reproduce", "Run the tables and figures of the papers."),
}


class LazyGroup(click.Group):
    """The commands of `COMMANDS`, with the nearest spelling for unknown ones."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - the signature is click's
        """All names."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command."""
        if cmd_name not in COMMANDS:
            raise click.UsageError(f"unknown command '{cmd_name}'{did_you_mean(cmd_name, COMMANDS)}", ctx)
        module, command_help = COMMANDS[cmd_name]
        with quick_start():
            found = importlib.import_module(f"tacit.cli.{module}")
        command: click.Command = getattr(found, cmd_name.replace("-", "_"))
        command.short_help = command_help
        if quiet_option not in command.params and command.add_help_option:
            command.params.append(quiet_option)
        return command

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Complete the name of a command without importing any."""
        found = [CompletionItem(name, help=text) for name, (_, text) in COMMANDS.items() if name.startswith(incomplete)]
        return [*found, *click.Command.shell_complete(self, ctx, incomplete)]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """List the commands without importing any."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in COMMANDS.items()])


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, message="tacit %(version)s")
def cli() -> None:
    """Assign labels from large vocabularies when labels are missing, rare or unseen.

    Start with `tacit demo`, then train on a file of your own:

    \b
      tacit train articles.csv --out model
      tacit suggest model new.csv -k 5

    `tacit COMMAND --help` has examples of each command. Commands and options are completed by the tab key after:

    \b
      eval "$(_TACIT_COMPLETE=bash_source tacit)"     # in ~/.bashrc; zsh_source in ~/.zshrc
      _TACIT_COMPLETE=fish_source tacit | source      # in fish
    """


def run() -> None:
    """Run the command line: expected errors are one line and exit code 2, a bug is a traceback and 1."""
    try:
        cli(standalone_mode=False)
    except click.exceptions.Exit as stop:
        sys.exit(stop.exit_code)
    except click.exceptions.NoArgsIsHelpError as bare:
        click.echo(bare.ctx.get_help() if bare.ctx is not None else "")
    except (Stopped, KeyboardInterrupt, click.Abort):
        interrupt.end()
    except (click.ClickException, TacitError) as error:
        message = error.format_message() if isinstance(error, click.ClickException) else str(error)
        if isinstance(error, click.NoSuchOption) and error.ctx is not None:
            message += instead(OPTIONS, f"{error.ctx.info_name} {error.option_name}")
        click.echo(f"tacit: error: {printable(' '.join(message.split()))}", err=True)
        sys.exit(2)
    except BrokenPipeError:  # the reader of our output, such as `head`, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
