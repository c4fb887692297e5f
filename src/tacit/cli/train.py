"""``tacit train``, ``tacit tune`` and ``tacit start``: data, or a vocabulary alone, to a model folder."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import click

from tacit import tuning
from tacit.cli.evaluate import print_evaluation, ranking_of
from tacit.cli.interrupt import keeps
from tacit.cli.options import (
    COUNT,
    PATH,
    all_of,
    computing_options,
    data_argument,
    labelled_options,
    max_memory_option,
    parsed,
    vector_options,
    vocabulary_language_option,
)
from tacit.cli.say import is_quiet, progress_shown, say
from tacit.cli.source import read_labelled, remember_columns
from tacit.cli.tables import percent, print_metrics, print_table
from tacit.core.parameters import check_space, declared_space, parse_parameters
from tacit.data.cooccurrence import load_cooccurrence
from tacit.data.dataset import Dataset, as_wide_as, features_of, label_lists, samples_of, texts_of
from tacit.data.repeats import groups_of
from tacit.data.split import random_split
from tacit.data.vocabulary import load_vocabulary
from tacit.errors import ParameterError
from tacit.evaluation.metrics import KS, METRICS, read_metric
from tacit.registry import import_model
from tacit.runtime.checkpoint import checkpoint
from tacit.runtime.memory import memory_limit
from tacit.sizes import format_seconds, parse_seconds
from tacit.store import folder
from tacit.store.packing import name_of
from tacit.tagger.automatic import CANDIDATES
from tacit.tagger.dry_run import estimate
from tacit.tagger.naming import are_short, language_of, start_tagger
from tacit.tagger.tagger import Tagger
from tacit.tagger.training import check_takes_cooccurrence
from tacit.tagger.update import needs_training_data
from tacit.text.encoders import load_encoder
from tacit.text.vectorizer import FEATURES, TextVectorizer

_model_options = all_of(
    click.option("--param", "assignments", metavar="NAME=VALUE", multiple=True, help="Set a parameter of the model."),
    click.option(
        "--features", type=click.Choice(list(FEATURES)), default="words", show_default=True, help="Features of texts."
    ),
    click.option("--valid", metavar="DATA|SHARE", help="Validate on this file, or on a share of DATA."),
)


@click.command()
@data_argument
@click.option("--model", "name", default="auto", show_default=True, help="Model, or module:Class; see: tacit models")
@click.option("--out", type=PATH, required=True, help="Folder for the model.")
@_model_options
@click.option("--target", default="f1", show_default=True, help="Goal of the stored threshold: f1, precision=0.8, …")
@click.option("--no-calibrate", is_flag=True, help="Leave scores uncalibrated; trains once, not twice.")
@click.option("--keep-texts", is_flag=True, help="Keep the training data in the model, for examples and updates.")
@click.option("--cooccurrence", type=PATH, help="How often labels occur together: lines label<TAB>label<TAB>count.")
@click.option("--vocabulary", type=PATH, help="Names of labels: SKOS, CSV, TSV or JSON.")
@vocabulary_language_option
@click.option("--language", default="auto", show_default=True, help="Language of the texts, such as en, or none.")
@click.option("--no-names", is_flag=True, help="Do not look for labels' names in texts.")
@vector_options
@max_memory_option
@click.option("--keep-acts", "acts", flag_value="keep", help="Replay the changes and feedback of the model at OUT.")
@click.option("--discard-acts", "acts", flag_value="discard", help="Drop the changes and feedback of the model at OUT.")
@click.option("--dry-run", is_flag=True, help="Estimate time, memory and model size roughly, and stop.")
@computing_options
@labelled_options
def train(
    data: Path, name: str, out: Path, assignments: tuple[str, ...], valid: str | None,
    cooccurrence: Path | None, vocabulary: Path | None, vocabulary_language: str, language: str, no_names: bool,
    encoder: str | None, vectors: Path | None, max_memory: int | None, acts: Any, dry_run: bool, no_calibrate: bool,
    seed: int, jobs: int, **options: Any,
) -> None:  # fmt: skip
    """Train a model on DATA and save it.

    A model at OUT that has acts (labels added or changed, feedback) is replaced only with --keep-acts or
    --discard-acts. If training is interrupted, a checkpoint remains in OUT.partial, and the same command resumes from
    there. With --max-memory, large features are kept on disk, and training stops with an error at the limit.

    With --cooccurrence, labels that DATA does not have are suggested, too, by the labels that they occur with. With
    --encoder or --vectors, texts are known by their meaning besides their words.

    \b
    Examples:
      tacit train articles.csv --text title,body --labels tags --out model
      tacit train train.txt --model OneVsAll --param C=0.5 --valid dev.txt --out model
      tacit train large.jsonl --max-memory 8G --out model
      tacit train articles.csv --model MomentMatching --cooccurrence pairs.tsv --out model
      tacit train articles.csv --encoder model2vec:minishlab/potion-base-8M --out model
    """
    own = {key: options.pop(key) for key in ("target", "keep_texts", "features")}
    own |= {"language": None if language == "none" else language, "names": not no_names, "encoder": encoder}
    tagger = _tagger(name, assignments, random_state=seed, n_jobs=jobs, calibrate=not no_calibrate, **own)
    if cooccurrence is not None:
        check_takes_cooccurrence(tagger.model)
    if encoder is not None:
        load_encoder(encoder)  # before the data are read
    folder.check_target(out)
    if acts is None:
        folder.refuse_acts(out)
    if vocabulary is not None:
        tagger.vocabulary = load_vocabulary(vocabulary, vocabulary_language)
    with memory_limit(max_memory, next(filter(Path.exists, out.absolute().parents))):
        dataset, held_out = read_labelled(data, options, vectors=vectors), None
        if valid is not None:
            dataset, held_out = split_off(dataset, valid, seed, options)
        learned_from: dict[str, Any] = {
            "label_names": dataset.label_names,
            "validation": None if held_out is None else (samples_of(held_out)[0], label_lists(held_out)),
        }
        if cooccurrence is not None:
            counts, names = load_cooccurrence(cooccurrence, dataset.label_names)
            if n_new := len(names) - dataset.n_labels:
                say(f"labels of {cooccurrence} that no sample has: {n_new:,}, such as {names[-n_new]!r}")
            learned_from |= {"label_names": names, "cooccurrence": counts}
        if dry_run:
            with progress_shown():
                expected = estimate(tagger, dataset, **learned_from)
            click.echo(str(expected))
            return
        _train_and_save(tagger, dataset, out, held_out=held_out, acts=acts, **learned_from)


def _train_and_save(
    tagger: Tagger, dataset: Dataset, out: Path, *, held_out: Dataset | None = None, acts: Any = None, **options: Any
) -> None:
    with progress_shown(), checkpoint(out.with_name(out.name + ".partial")) as kept:
        nothing = "nothing was finished; run the same command to start again"
        finished = f"finished tasks are kept in {kept.folder}; run the same command to resume"
        keeps(lambda: finished if kept.n_kept() else nothing)
        tagger.fit(*samples_of(dataset), **options)
    remember_columns(tagger, dataset)
    tagger.save(out, acts=acts)
    keeps(f"the model is trained and saved to {out}; for its metrics: tacit evaluate {out} DATA")
    if kept.remove():
        say(f"{kept.folder} has the checkpoint of another training; delete it unless you resume that", err=True)
    say(f"trained on {len(dataset):,} samples and {dataset.n_labels:,} labels; saved to {out}")
    if tagger.left_out_:
        say(f"acts that do not apply to this model: {len(tagger.left_out_):,}; see: tacit labels {out} history")
    if not is_quiet():
        _print_results(tagger, held_out)
    if lacking := needs_training_data(tagger):
        say(f"{lacking}; to keep them, train with --keep-texts")


def _tagger(name: str, assignments: tuple[str, ...], **own: Any) -> Tagger:
    automatic = name.lower() == "auto"
    cls = import_model(CANDIDATES[0] if automatic else name)
    parameters = parse_parameters(cls, assignments)
    if shared := sorted(parameters.keys() & own.keys()):
        how = f"set by --target, --seed or --jobs; that of {cls.__name__} alone is set in Python"
        raise ParameterError(f"'{shared[0]}' is a parameter of the whole tagger, {how}")
    return Tagger(model="auto" if automatic else name_of(cls), **own, **parameters)


def _print_results(tagger: Tagger, held_out: Dataset | None) -> None:
    if held_out is not None:
        print_evaluation(tagger, held_out, ranking_of(tagger, held_out))
    elif tagger.card_["held_out_metrics"]:
        print_metrics({f"{tagger.card_['model']}, held out": tagger.card_["held_out_metrics"]}, KS)
    if tagger.calibration_ is not None:
        click.echo(f"scores are probabilities: {tagger.calibration_.summary}")
        click.echo(f"threshold for {tagger.target}: {tagger.threshold_:.3f}")


def split_off(dataset: Dataset, valid: str, seed: int, source: dict[str, Any]) -> tuple[Dataset, Dataset]:
    """The training set and the validation set: a file, or a share of the data."""
    try:
        share = float(valid)
    except ValueError:
        held_out = read_labelled(Path(valid), {**source, "labels_path": None})
        if dataset.X is not None and dataset.texts is None:
            held_out.X = as_wide_as(dataset.X.shape[1], features_of(held_out))
        return dataset, held_out
    if not 0 < share < 1:
        raise ParameterError(f"valid must be a file, or a share above 0 and below 1; got {valid}")
    rest, held_out_rows = random_split(len(dataset), share, seed, groups=groups_of(samples_of(dataset)[0]))
    return dataset.rows(rest), dataset.rows(held_out_rows)


@click.command()
@data_argument
@click.option("--model", "name", required=True, help="Model to tune, or module:Class; see: tacit models")
@click.option("--target", default="P@5", show_default=True, help=f"Metric: {', '.join(METRICS)}, with a number.")
@click.option("--budget", metavar="TIME", callback=parsed(parse_seconds), help="Time, such as 2h.  [default: 10m]")
@click.option("--trials", metavar="N", type=COUNT, help="Number of trials; no time limit by default.")
@click.option("--storage", type=PATH, help="File for finished trials: the same command resumes from there.")
@_model_options
@computing_options
@labelled_options
def tune(
    data: Path, name: str, target: str, budget: float | None, trials: int | None, storage: Path | None,
    valid: str | None, assignments: tuple[str, ...], features: str, seed: int, jobs: int, **source: Any,
) -> None:  # fmt: skip
    """Search for the hyperparameters of a model that are best for a metric on DATA.

    Trials are judged on --valid, by default a quarter of DATA. Parameters given by --param are not searched. Prints all
    trials and the command that trains with the best parameters.

    \b
    Examples:
      tacit tune train.txt --model OneVsAll --target PSP@1 --budget 10m
      tacit tune articles.csv --model FastXML --valid 0.2 --trials 50 --storage trials.db
    """
    tuning.import_optuna()
    cls = import_model(name)
    fixed = parse_parameters(cls, assignments)
    check_space(cls, declared_space(cls), fixed)
    read_metric(target)
    dataset = read_labelled(data, source)
    kept, held_out = split_off(dataset, valid or "0.25", seed, source)
    X, X_valid = _inputs(features, kept, held_out)
    if storage is not None:
        keeps(f"finished trials are kept in {storage}; run the same command to resume")
    with progress_shown():
        found = tuning.tune(
            name_of(cls), X, label_lists(kept), target=target, validation=(X_valid, label_lists(held_out)),
            budget_seconds=budget, n_trials=trials, storage=storage, fixed=fixed, seed=seed, n_jobs=jobs,
        )  # fmt: skip
    _print_trials(found)
    best = {**fixed, **found.parameters}
    click.echo(f"\ntrain with: {_command(data, found.model, best, {'features': features, **source})}")


def _inputs(features: str, *parts: Dataset) -> list[Any]:
    """Features of the parts of a data set; of texts, as a tagger learns them from the first part."""
    if parts[0].texts is None:
        return [features_of(part) for part in parts]
    first, *others = map(texts_of, parts)
    language = language_of(first, "auto") if are_short(first) else None
    vectorizer = TextVectorizer(features=features, language=language)
    return [vectorizer.fit_transform(first), *map(vectorizer.transform, others)]


def _print_trials(found: tuning.Tuning) -> None:
    rows = [
        [
            " ".join(f"{name}={value}" for name, value in trial.parameters.items()) or "defaults",
            f"{trial.share:.0%}",
            percent(trial.score),
            format_seconds(trial.seconds),
        ]
        for trial in found.trials
    ]
    title = f"{found.model}, {found.target} in percent"
    print_table(["parameters", "samples", found.target, "time"], rows, title=title)
    on_subset = "" if found.share == 1 else f" (on {found.share:.0%} of the samples; a larger budget uses more)"
    best = f"\n{percent(found.score)}, compared with {percent(found.default_score)} for the defaults"
    click.echo((best if found.parameters else "\nnothing was better than the defaults") + on_subset)


def _command(data: Path, name: str, parameters: dict[str, Any], options: dict[str, Any]) -> str:
    words = ["tacit", "train", str(data), "--model", name, "--out", "model"]
    words += [word for name, value in parameters.items() for word in ("--param", f"{name}={value}")]
    for option, value in options.items():
        words += [f"--{option.replace('_', '-')}", str(value)] if value else []
    return shlex.join(words)


@click.command()
@click.argument("vocabulary", type=PATH)
@click.option("--out", type=PATH, required=True, help="Folder for the model.")
@click.option("--language", default="en", show_default=True, help="Language of the names to read, or none: no stems.")
def start(vocabulary: Path, out: Path, language: str) -> None:
    """Make a model from a VOCABULARY alone: it suggests the concepts whose names are in a text.

    No training texts are needed. Scores order the suggestions; they are no measured probabilities. Feedback (`tacit
    learn`) improves them, and `tacit train --vocabulary` replaces them once there are tagged texts.

    \b
    Examples:
      tacit start thesaurus.ttl --out model
      echo "heat pumps in old houses" | tacit suggest model -
    """
    folder.check_target(out)
    folder.refuse_acts(out, "choose another folder")
    keeps()
    names = load_vocabulary(vocabulary, "en" if language in ("auto", "none") else language)
    tagger = start_tagger(names, None if language == "none" else language)
    tagger.save(out)
    also = " (deprecated ones are left out)" if names.deprecated else ""
    say(f"{len(tagger.classes_):,} concepts, known by their names{also}; saved to {out}")
