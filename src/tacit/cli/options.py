"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

Function = TypeVar("Function", bound=Callable[..., Any])

data_argument = click.argument("data", type=click.Path(path_type=Path))
model_argument = click.argument("model", type=click.Path(path_type=Path))
seed_option = click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Random seed.")
jobs_option = click.option("--jobs", type=int, default=-1, help="Tasks at a time.  [default: all cores]")


def input_options(function: Function) -> Function:
    """How to read a data file: `data_format`, `text`, `labels`, `labels_path`."""
    for option in (
        click.option("--labels-path", type=click.Path(path_type=Path), help="Label names, or the labels of a pair."),
        click.option("--labels", metavar="FIELD", help="Field that holds the labels of a text file."),
        click.option("--text", metavar="FIELD,…", help="Field or fields that hold the text."),
        click.option("--format", "data_format", metavar="NAME", help="Format of the data.  [default: detected]"),
    ):
        function = option(function)
    return function
