"""``tacit evaluate`` and ``tacit compare``: metrics of a model on labelled data, and whether another is better."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from tacit.cli.options import (
    PATH,
    data_argument,
    json_option,
    labelled_options,
    model_argument,
    seed_option,
    vector_options,
)
from tacit.cli.say import say
from tacit.cli.source import load_tagger, read_labelled
from tacit.cli.tables import LEGEND, percent, print_bands, print_metrics, print_table
from tacit.core.ranking import Ranking
from tacit.data.dataset import Dataset, inputs_of
from tacit.evaluation.bands import BandResult, evaluate_by_band
from tacit.evaluation.metrics import KS, bootstrap_intervals
from tacit.evaluation.metrics import evaluate as metrics_at
from tacit.report.write import check_report_path, write_report
from tacit.tagger.comparison import Difference, compare_models
from tacit.tagger.overlap import note_on_overlap, share_in_training
from tacit.tagger.tagger import Tagger


@click.command()
@model_argument
@data_argument
@click.option("--report", type=PATH, help="Write an HTML report to this file.")
@json_option
@vector_options
@labelled_options
def evaluate(
    model: Path, data: Path, report: Path | None, as_json: bool, encoder: str | None, vectors: Path | None,
    **source: Any,
) -> None:  # fmt: skip
    """Evaluate MODEL on DATA: precision, nDCG and their propensity-scored forms, overall and by label frequency.

    The report adds confidence intervals, curves, the best and worst labels, and examples. JSON has the metrics, their
    95 % confidence intervals, and the same by label frequency.

    \b
    Examples:
      tacit evaluate model test.txt
      tacit evaluate model test.csv --report report.html
      tacit evaluate model test.csv --json > metrics.json
    """
    if report is not None:
        check_report_path(report)
    tagger = load_tagger(model, encoder)
    dataset = read_labelled(data, source, tagger, vectors, err=as_json)
    ranking = ranking_of(tagger, dataset)
    if report is not None:
        write_report(report, tagger, dataset, ranking=ranking, model_name=str(model), data_name=str(data))
    known = share_in_training(tagger, inputs_of(tagger, dataset))
    if as_json:
        click.echo(json.dumps(_as_json(tagger, dataset, ranking) | {"share_in_training": known}, indent=1))
    else:
        print_evaluation(tagger, dataset, ranking)
    if note := note_on_overlap(known, str(data)):
        click.echo(note, err=True)
    if report is not None:
        say(f"report: {report}", err=as_json)


def _as_json(tagger: Tagger, dataset: Dataset, ranking: Ranking) -> dict[str, Any]:
    overall, bands = metrics_of(tagger, dataset, ranking)
    truth = tagger.truth(dataset.Y, dataset.label_names)
    intervals = bootstrap_intervals(ranking, truth, tagger.propensities_for(truth.shape[1]))
    return {**overall, "samples": len(dataset), "intervals": intervals, "bands": [asdict(band) for band in bands]}


def ranking_of(tagger: Tagger, dataset: Dataset) -> Ranking:
    """The ranking of a tagger, deeper than the metrics need: the report draws its curves from it."""
    return tagger.rank(inputs_of(tagger, dataset), tagger.n_places_)


def metrics_of(tagger: Tagger, dataset: Dataset, ranking: Ranking) -> tuple[dict[str, float], list[BandResult]]:
    """Metrics of a ranking by a tagger, overall and by band."""
    truth = tagger.truth(dataset.Y, dataset.label_names)
    overall = metrics_at(ranking, truth, propensities=tagger.propensities_for(truth.shape[1]))
    return overall, evaluate_by_band(ranking, truth, tagger.counts_for(truth.shape[1]))


def print_evaluation(tagger: Tagger, dataset: Dataset, ranking: Ranking) -> None:
    """Print the metrics of one tagger."""
    name = tagger.model_name_
    overall, bands = metrics_of(tagger, dataset, ranking)
    print_metrics({name: overall}, KS)
    click.echo()
    print_bands({name: bands}, max(KS))


@click.command()
@click.argument("a", type=PATH)
@click.argument("b", type=PATH)
@data_argument
@json_option
@seed_option
@labelled_options
def compare(a: Path, b: Path, data: Path, as_json: bool, seed: int, **source: Any) -> None:
    """Compare the models A and B on DATA: metrics of both, and confidence intervals of the differences.

    \b
    Example: tacit compare old-model new-model test.txt
    """
    models = [Tagger.load(path) for path in (a, b)]
    dataset = read_labelled(data, source, models[0], err=as_json)
    inputs = [inputs_of(model, dataset) for model in models]
    differences = compare_models(models[0], inputs[0], models[1], inputs[1], dataset.Y, dataset.label_names, seed=seed)
    if as_json:
        click.echo(json.dumps([asdict(difference) for difference in differences], indent=1))
    else:
        _print(differences, len(dataset))
    for path, model, samples in zip((a, b), models, inputs, strict=True):
        if note := note_on_overlap(share_in_training(model, samples), str(data), str(path)):
            click.echo(note, err=True)


def _print(differences: list[Difference], n_samples: int) -> None:
    rows = [
        [
            one.metric,
            percent(one.a),
            percent(one.b),
            f"{100 * one.difference:+.2f} ({100 * one.interval[0]:+.2f} to {100 * one.interval[1]:+.2f})",
            f"{one.winner} is better" if one.winner else "no clear difference",
        ]
        for one in differences
    ]
    title = f"{n_samples:,} samples, percent; in brackets the 95 % confidence interval of the difference"
    print_table(["metric", "A", "B", "B - A", "verdict"], rows, title=title)
    say(LEGEND)
