"""``tacit suggest``: labels for new samples."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from tacit.cli.options import data_argument, input_options, model_argument


@click.command(short_help="Suggest labels for new samples.")
@model_argument
@data_argument
@click.option("-k", type=click.IntRange(min=1), default=5, show_default=True, help="Labels per sample.")
@click.option("--threshold", metavar="SCORE|auto", help="Leave out labels that score lower.")
@click.option("--include", metavar="LABEL,…", help="Suggest only these labels.")
@click.option("--exclude", metavar="LABEL,…", help="Suggest none of these labels.")
@input_options
def suggest(
    model: Path, data: Path, k: int, threshold: str | None, include: str | None, exclude: str | None, **source: Any
) -> None:
    """Suggest labels for the samples of DATA (- reads one text per line), as JSON lines on stdout.

    \b
    Examples:
      tacit suggest model new.csv -k 3
      echo "a text to tag" | tacit suggest model -
    """
    from tacit.cli.source import read_unlabelled
    from tacit.ranking import NO_LABEL
    from tacit.registry import load_model

    loaded = load_model(model)
    least = _threshold(threshold, loaded)
    inputs = read_unlabelled(data, loaded, **source)
    ranking = loaded.rank(inputs, k, _names(include), _names(exclude))
    names = [str(name) for name in loaded.classes_]
    for labels, scores in zip(ranking.labels.tolist(), ranking.scores.tolist(), strict=True):
        found = [
            {"label": names[label], "score": round(score, 6)}
            for label, score in zip(labels, scores, strict=True)
            if label != NO_LABEL and score >= least
        ]
        click.echo(json.dumps({"suggestions": found}, ensure_ascii=False))


def _names(text: str | None) -> list[str] | None:
    return None if text is None else [name.strip() for name in text.split(",")]


def _threshold(text: str | None, model: Any) -> float:
    if text is None:
        return float("-inf")
    if text == "auto":
        return float(model.threshold_)
    try:
        return float(text)
    except ValueError:
        raise click.UsageError(f"--threshold is a number or 'auto'; got '{text}'") from None
