"""``tacit update``: train a model on new samples."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from tacit.cli.interrupt import keeps
from tacit.cli.options import data_argument, input_options, jobs_option, model_argument
from tacit.cli.say import progress_shown, say
from tacit.cli.source import inputs_of
from tacit.data.load import load_data
from tacit.store import folder
from tacit.tagger.tagger import Tagger


@click.command()
@model_argument
@data_argument
@jobs_option
@input_options
def update(model: Path, data: Path, jobs: int, **source: Any) -> None:
    """Train MODEL on the new samples of DATA, and say what was done.

    Popularity and MLLCS are trained incrementally. Any other model is trained again on its old training data, if they
    were kept (tacit train --keep-texts), and the new samples together. All changes of labels and all feedback stay in
    force.

    \b
    Example: tacit update model new.csv
    """
    tagger = Tagger.load(model)
    tagger.set_params(n_jobs=jobs)
    before = folder.stamp(model)
    keeps(lambda: _kept(model, folder.stamp(model) == before))
    dataset = load_data(data, **source)
    with progress_shown():
        done = tagger.update(inputs_of(tagger, dataset), dataset.Y, label_names=dataset.label_names)
    tagger.save(model)
    say(f"{done}; saved to {model}")


def _kept(model: Path, is_as_before: bool) -> str:
    if is_as_before:
        return f"{model} is unchanged; run the same command to start again"
    return f"{model} has been trained on the samples and saved; do not give them again"
