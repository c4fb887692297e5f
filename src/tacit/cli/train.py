"""``tacit train``: a data file to a model folder."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tacit.cli.options import data_argument, input_options, jobs_option, seed_option

if TYPE_CHECKING:
    from tacit.data.dataset import Dataset


@click.command(short_help="Train a model on a data file.")
@data_argument
@click.option("--model", "name", default="OneVsAll", show_default=True, help="Model to train; see: tacit models")
@click.option("--out", type=click.Path(path_type=Path), required=True, help="Folder for the model.")
@click.option("--param", "assignments", metavar="NAME=VALUE", multiple=True, help="Set a parameter of the model.")
@click.option("--valid", metavar="DATA|SHARE", help="Evaluate on this file, or on a share held out of DATA.")
@seed_option
@jobs_option
@input_options
def train(
    data: Path, name: str, out: Path, assignments: tuple[str, ...], valid: str | None, seed: int, jobs: int,
    **source: Any,
) -> None:  # fmt: skip
    """Train a model on DATA and save it.

    An interrupted training keeps its finished parts in OUT.partial; the same command again goes on from there.

    \b
    Examples:
      tacit train articles.csv --text title,body --labels tags --out model
      tacit train train.txt --model OneVsAll --param C=0.5 --valid 0.1 --out model
    """
    from tacit.cli.evaluate import print_evaluation
    from tacit.cli.source import read
    from tacit.progress import show_progress
    from tacit.store import folder
    from tacit.tasks import checkpoint

    make_model = _check_model(name, assignments)
    folder.check_target(out)
    dataset = read(data, **source)
    dataset, held_out = _validation(dataset, valid, seed, source)
    model = make_model(dataset, random_state=seed, n_jobs=jobs)
    partial = out.with_name(out.name + ".partial")
    with show_progress(), checkpoint(partial):
        if dataset.texts is not None:
            model.fit(dataset.texts, dataset.Y, label_names=dataset.label_names)
        else:
            model.fit(dataset.X, dataset.Y, label_names=dataset.label_names)
    model.save(out)
    shutil.rmtree(partial, ignore_errors=True)
    click.echo(f"trained on {len(dataset):,} samples and {dataset.n_labels:,} labels; saved to {out}")
    if held_out is not None:
        print_evaluation(model, held_out)


def _check_model(name: str, assignments: tuple[str, ...]) -> Any:
    """A function that builds the model, once its name and parameters are known to be right."""
    from tacit.parameters import parse_parameters
    from tacit.registry import find_model

    cls = find_model(name)
    parameters = parse_parameters(cls, assignments)

    def make(dataset: Dataset, **common: Any) -> Any:
        if dataset.texts is None:
            return cls(**{**common, **parameters})
        from tacit.tagger.tagger import Tagger

        return Tagger(model=cls.__name__, **{**common, **parameters})

    return make


def _validation(
    dataset: Dataset, valid: str | None, seed: int, source: dict[str, Any]
) -> tuple[Dataset, Dataset | None]:
    """What to train on and what to evaluate on."""
    from tacit.cli.source import read
    from tacit.data.split import train_test_split

    if valid is None:
        return dataset, None
    try:
        share = float(valid)
    except ValueError:
        return dataset, read(Path(valid), **{**source, "labels_path": None})
    parts = train_test_split(dataset.Y, test_size=share, seed=seed)
    return dataset.rows(parts.train), dataset.rows(parts.test)
