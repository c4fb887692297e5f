"""``tacit compare``: whether one model is better than another."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from tacit.cli.options import PATH, data_argument, input_options, seed_option
from tacit.cli.say import say
from tacit.cli.source import inputs_of
from tacit.cli.tables import LEGEND, percent, print_table
from tacit.comparison import Difference, compare_models
from tacit.data.load import load_data
from tacit.tagger.tagger import Tagger


@click.command()
@click.argument("a", type=PATH)
@click.argument("b", type=PATH)
@data_argument
@click.option("--resamples", type=click.IntRange(min=1), default=1000, show_default=True, help="Bootstrap resamples.")
@click.option("--json", "as_json", is_flag=True, help="Print the differences as JSON.")
@seed_option
@input_options
def compare(a: Path, b: Path, data: Path, resamples: int, as_json: bool, seed: int, **source: Any) -> None:
    """Compare the models A and B on DATA: metrics of both, and confidence intervals of the differences.

    \b
    Example: tacit compare old-model new-model test.txt
    """
    models = [Tagger.load(path) for path in (a, b)]
    dataset = load_data(data, **source)
    inputs = [inputs_of(model, dataset) for model in models]
    differences = compare_models(
        models[0], inputs[0], models[1], inputs[1], dataset.Y, dataset.label_names, n_bootstrap=resamples, seed=seed
    )
    if as_json:
        click.echo(json.dumps([asdict(difference) for difference in differences], indent=1))
    else:
        _print(differences, len(dataset))


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
    click.echo(f"\n{_verdict(differences)}")


def _verdict(differences: list[Difference]) -> str:
    better = {name: [one.metric for one in differences if one.winner == name] for name in "AB"}
    if not better["A"] and not better["B"]:
        return "No clear difference between the two models; more samples might show one."
    parts = [f"{name} is better in {', '.join(metrics)}" for name, metrics in better.items() if metrics]
    if len(parts) == 2:
        return f"{parts[0]}; {parts[1]}. Choose by the metric that matters to you."
    name = "A" if better["A"] else "B"
    every = len(better[name]) == len(differences)
    return f"{name} is better in every metric." if every else f"{parts[0]}; in none is it clearly worse."
