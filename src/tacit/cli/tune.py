"""``tacit tune``: search for better hyperparameters within a time budget."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from tacit import tuning
from tacit.cli.options import (
    PATH,
    cluster_option,
    data_argument,
    input_options,
    jobs_option,
    max_memory_option,
    seed_option,
)
from tacit.cli.say import progress_shown
from tacit.cli.tables import percent, print_table
from tacit.cli.train import check_out, features_option, split_off, train_and_save
from tacit.data.dataset import Dataset, features_of, texts_of
from tacit.data.load import load_data
from tacit.labels import aligned, read_labels
from tacit.memory import memory_limit
from tacit.metrics import METRICS, read_metric
from tacit.parameters import Tune, parameters_of, parse_parameters, unknown_parameter
from tacit.registry import find_model
from tacit.sizes import format_seconds, parse_size
from tacit.store import folder
from tacit.tagger.naming import are_short, language_of
from tacit.tagger.tagger import Tagger
from tacit.tuning import Tuning
from tacit.vectorizer import FEATURES, TextVectorizer

_UNITS = {"": 1, "s": 1, "m": 60, "h": 3600}


@click.command()
@data_argument
@click.option("--model", "name", required=True, help="Model to tune; see: tacit models")
@click.option("--target", default="P@5", show_default=True, help=f"Metric: {', '.join(METRICS)}, with a number.")
@click.option("--budget", default="10m", show_default=True, metavar="TIME", help="Time to search, such as 90s or 2h.")
@click.option("--valid", metavar="DATA|SHARE", help="Validation file, or share of DATA.  [default: 3 folds]")
@click.option("--search", "spaces", metavar="NAME=LOW:HIGH|A,B,…", multiple=True, help="Search space of a parameter.")
@click.option("--param", "assignments", metavar="NAME=VALUE", multiple=True, help="Fix a parameter.")
@features_option(None)
@click.option("--out", type=PATH, help="Train with the best parameters and save here.")
@max_memory_option
@seed_option
@jobs_option
@cluster_option
@input_options
def tune(
    data: Path, name: str, target: str, budget: str, valid: str | None, spaces: tuple[str, ...],
    assignments: tuple[str, ...], features: str | None, out: Path | None, max_memory: str | None, seed: int, jobs: int,
    **source: Any,
) -> None:  # fmt: skip
    """Search for the hyperparameters of a model that are best for a metric on DATA.

    Prints all trials and the command that trains with the best parameters.

    \b
    Examples:
      tacit tune train.txt --model OneVsAll --target PSP@1 --budget 10m
      tacit tune articles.csv --model FastXML --valid 0.2 --out model
    """
    cls = find_model(name)
    fixed = parse_parameters(cls, assignments)
    space = {**tuning.declared_space(cls), **dict(_parse_space(cls, text) for text in spaces)}
    tuning.check_space(cls, space, fixed)
    read_metric(target)
    seconds = _parse_duration(budget)
    limit = None if max_memory is None else parse_size(max_memory)
    if out is not None:
        check_out(out)
        folder.refuse_acts(out)
    dataset = load_data(data, **source)
    X, validation, kept = _samples(dataset, features, valid, seed, source)
    with progress_shown():
        found = tuning.tune(
            cls.__name__, X, kept, target=target, validation=validation, budget_seconds=seconds, fixed=fixed,
            space=space, seed=seed, n_jobs=jobs,
        )  # fmt: skip
    _print(found)
    best = {**fixed, **({} if features is None else {"features": features}), **found.parameters}
    command = _command(data, found.model, best, source)
    if out is None:
        click.echo(f"\ntrain with: {command}")
        return
    click.echo()
    with memory_limit(limit):
        train_and_save(
            Tagger(found.model, random_state=seed, n_jobs=jobs, **best),
            dataset,
            out,
            label_names=dataset.label_names,
            max_memory=limit,
        )


def _samples(
    dataset: Dataset, features: str | None, valid: str | None, seed: int, source: dict[str, Any]
) -> tuple[Any, tuple[Any, Any] | None, Any]:
    """Training features, the validation set (or None), and training labels; of texts, several features by name."""
    kept, held_out = split_off(dataset, valid, seed, source)
    parts = [kept] if held_out is None else [kept, held_out]
    if dataset.texts is None:
        found: list[Any] = [features_of(part) for part in parts]
    else:
        names, texts = FEATURES if features is None else (features,), [texts_of(part) for part in parts]
        by_name = {name: _vectorised(name, texts) for name in names}
        found = [{name: each[place] for name, each in by_name.items()} for place in range(len(parts))]
    if held_out is None:
        return found[0], None, kept.Y
    labels = read_labels(dataset.Y, dataset.label_names).names
    return found[0], (found[1], aligned(held_out.Y, held_out.label_names, labels)), kept.Y


def _vectorised(features: str, texts: list[Sequence[str]]) -> list[Any]:
    """Features of training texts, as a tagger makes them, and of further texts."""
    language = language_of(texts[0], "auto") if are_short(texts[0]) else None
    vectorizer = TextVectorizer(features=features, language=language)
    return [vectorizer.fit_transform(texts[0]), *map(vectorizer.transform, texts[1:])]


def _parse_duration(text: str) -> float:
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([smh]?)", text.strip().lower())
    seconds = float(match[1]) * _UNITS[match[2]] if match else 0.0
    if seconds <= 0:
        raise click.UsageError(f"--budget must be a time such as 90s, 10m or 2h; got '{text}'")
    return seconds


def _parse_space(cls: Any, text: str) -> tuple[str, Any]:
    """``"C=0.1:10"`` or ``"loss=logistic,squared_hinge"`` as a parameter and its search space."""
    name, _, where = text.partition("=")
    known = parameters_of(cls)
    if name not in known:
        raise unknown_parameter(cls, name)
    low, colon, high = where.partition(":")
    if not colon:
        return name, Tune(choices=tuple(known[name].parse(choice) for choice in where.split(",")))
    try:
        ends = float(low), float(high)
    except ValueError:
        ends = (1.0, 0.0)
    if not ends[0] < ends[1]:
        raise click.UsageError(f"--search must be name=low:high or name=a,b,…; got '{text}'")
    return name, Tune(*ends, log=ends[0] > 0)


def _print(found: Tuning) -> None:
    rows = [
        [
            " ".join(f"{name}={value}" for name, value in trial.parameters.items()) or "defaults",
            f"{100 * trial.share:.0f} %",
            percent(trial.score),
            format_seconds(trial.seconds),
        ]
        for trial in found.trials
    ]
    print_table(
        ["parameters", "samples", found.target, "time"], rows, title=f"{found.model}, {found.target} in percent"
    )
    share = "" if found.share == 1 else f" (on {100 * found.share:.0f} % of the samples; a larger budget uses more)"
    if found.parameters:
        click.echo(f"\n{percent(found.score)}, compared with {percent(found.default_score)} for the defaults{share}")
    else:
        click.echo(f"\nnothing was better than the defaults, {percent(found.default_score)}{share}")


def _command(data: Path, name: str, parameters: dict[str, Any], source: dict[str, Any]) -> str:
    words = ["tacit", "train", str(data), "--model", name, "--out", "model"]
    own = {"features": parameters["features"]} if "features" in parameters else {}
    words += [word for name, value in parameters.items() if name not in own for word in ("--param", f"{name}={value}")]
    for option, value in (own | source).items():
        words += [f"--{option.replace('_', '-')}", str(value)] if value else []
    return shlex.join(words)
