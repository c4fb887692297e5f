"""``tacit evaluate``: how good a model is on data whose labels are known."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tacit.cli.options import data_argument, input_options, model_argument

if TYPE_CHECKING:
    from tacit.bands import BandResult
    from tacit.data.dataset import Dataset
    from tacit.ranking import Ranking

KS = (1, 3, 5)


@click.command(short_help="Measure a model on labelled data.")
@model_argument
@data_argument
@click.option("--report", type=click.Path(path_type=Path), help="Write a report here, one HTML file.")
@click.option("--json", "as_json", is_flag=True, help="Print the metrics as JSON.")
@input_options
def evaluate(model: Path, data: Path, report: Path | None, as_json: bool, **source: Any) -> None:
    """Measure MODEL on DATA: precision, nDCG and their propensity-scored forms, overall and by label frequency.

    The report adds intervals, curves, best and worst labels and examples.

    \b
    Examples:
      tacit evaluate model test.txt
      tacit evaluate model test.csv --report report.html
    """
    from tacit.cli.source import read
    from tacit.registry import load_model

    if report is not None:
        from tacit.report.write import check_report_path, write_report

        check_report_path(report)
    loaded = load_model(model)
    dataset = read(data, **source)
    ranking = ranking_of(loaded, dataset)
    if report is not None:
        write_report(report, loaded, dataset, ranking=ranking, model_name=str(model), data_name=str(data))
    if as_json:
        click.echo(json.dumps(metrics_of(loaded, dataset, ranking)[0], indent=1))
    else:
        print_evaluation(loaded, dataset, ranking)
    if report is not None:
        click.echo(f"report: {report}", err=as_json)


def ranking_of(model: Any, dataset: Dataset) -> Ranking:
    """What a model or tagger suggests, further than the metrics look: the report draws curves from the rest."""
    from tacit.cli.source import inputs_of
    from tacit.tagger.calibration import N_PLACES

    ranking: Ranking = model.rank(inputs_of(model, dataset), N_PLACES)
    return ranking


def metrics_of(model: Any, dataset: Dataset, ranking: Ranking) -> tuple[dict[str, float], list[BandResult]]:
    """Metrics of a ranking by a model or tagger, overall and by band."""
    from tacit import metrics
    from tacit.bands import evaluate_by_band
    from tacit.labels import aligned

    truth = aligned(dataset.Y, dataset.label_names, model.classes_)
    weights = model.propensities_for(truth.shape[1])
    overall = metrics.evaluate(ranking, truth, propensities=weights, ks=KS)
    return overall, evaluate_by_band(ranking, truth, model.counts_for(truth.shape[1]), ks=KS)


def print_evaluation(model: Any, dataset: Dataset, ranking: Ranking | None = None) -> None:
    """Print the metrics of one model."""
    from tacit.cli.tables import print_bands, print_metrics

    name = type(getattr(model, "model_", model)).__name__
    overall, bands = metrics_of(model, dataset, ranking_of(model, dataset) if ranking is None else ranking)
    print_metrics({name: overall}, KS)
    click.echo()
    print_bands({name: bands}, max(KS))
