"""``tacit evaluate``: how good a model is on data whose labels are known."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tacit.cli.options import data_argument, input_options, model_argument

if TYPE_CHECKING:
    from tacit.data.dataset import Dataset

KS = (1, 3, 5)


@click.command(short_help="Measure a model on labelled data.")
@model_argument
@data_argument
@click.option("--json", "as_json", is_flag=True, help="Print the metrics as JSON.")
@input_options
def evaluate(model: Path, data: Path, as_json: bool, **source: Any) -> None:
    """Measure MODEL on DATA: precision, nDCG and their propensity-scored forms, overall and by label frequency.

    \b
    Example: tacit evaluate model test.txt
    """
    from tacit.cli.source import read
    from tacit.registry import load_model

    loaded = load_model(model)
    dataset = read(data, **source)
    if as_json:
        click.echo(json.dumps(metrics_of(loaded, dataset)[0], indent=1))
    else:
        print_evaluation(loaded, dataset)


def metrics_of(model: Any, dataset: Dataset) -> tuple[dict[str, float], list[Any]]:
    """Metrics of a model or tagger on a data set, overall and by band."""
    from tacit import metrics
    from tacit.bands import evaluate_by_band
    from tacit.cli.source import inputs_of
    from tacit.labels import aligned

    ranking = model.rank(inputs_of(model, dataset), max(KS))
    truth = aligned(dataset.Y, dataset.label_names, model.classes_)
    weights = model.propensities_for(truth.shape[1])
    overall = metrics.evaluate(ranking, truth, propensities=weights, ks=KS)
    return overall, evaluate_by_band(ranking, truth, model.counts_for(truth.shape[1]), ks=KS)


def print_evaluation(model: Any, dataset: Dataset) -> None:
    """Print the metrics of one model."""
    from tacit.cli.tables import print_bands, print_metrics

    name = type(model).__name__
    overall, bands = metrics_of(model, dataset)
    print_metrics({name: overall}, KS)
    click.echo()
    print_bands({name: bands}, max(KS))
