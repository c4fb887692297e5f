"""``tacit labels`` and ``tacit add-label``: labels changed, and added, without training."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
from scipy import sparse

from tacit.cli.interrupt import keeps_model
from tacit.cli.options import PATH, input_options, model_argument, vocabulary_language_option
from tacit.cli.say import say
from tacit.cli.source import stream_unlabelled
from tacit.data.vocabulary import load_vocabulary
from tacit.errors import printable
from tacit.store.acts import SHORT_ID, in_force, in_words
from tacit.tagger.tagger import Tagger


@click.group(invoke_without_command=True)
@model_argument
@click.pass_context
def labels(context: click.Context, model: Path) -> None:
    """Change the labels of MODEL without training, or list the changes since training.

    \b
    Examples:
      tacit labels model
      tacit labels model rename "motor cars" cars
      tacit labels model merge car cars automobile --into cars
      tacit labels model retire "telex"
      tacit labels model history --json > acts.jsonl
      tacit labels model undo 5f0c2a1b
    """
    context.obj = model
    if context.invoked_subcommand is None:
        tagger = Tagger.load(model)
        acts = in_force(tagger.acts_)
        for act in acts:
            _print_act(tagger, act.id, act.described())
        n_acts = len(acts)
        click.echo(f"{tagger.n_suggested_:,} labels, {n_acts:,} {'act' if n_acts == 1 else 'acts'} since training")


def _print_act(tagger: Tagger, act_id: str, words: str, remark: str = "") -> None:
    remark = "  (does not apply)" if act_id in tagger.left_out_ else remark
    click.echo(printable(f"{act_id[:SHORT_ID]}  {words}") + remark)


@labels.command()
@click.argument("label")
@click.argument("name")
@click.pass_obj
def rename(model: Path, label: str, name: str) -> None:
    """Rename LABEL to NAME; the former name is still accepted, and a concept of the vocabulary keeps its id."""
    _change(model, lambda tagger: tagger.rename_label(label, name))


@labels.command()
@click.argument("names", nargs=-1, required=True, metavar="LABEL…")
@click.option("--into", required=True, metavar="LABEL", help="One of the labels, or a new name.")
@click.pass_obj
def merge(model: Path, names: tuple[str, ...], into: str) -> None:
    """Merge several labels into one, which is suggested wherever any of them would be."""
    _change(model, lambda tagger: tagger.merge_labels(names, into))


@labels.command()
@click.argument("label")
@click.pass_obj
def retire(model: Path, label: str) -> None:
    """Never suggest LABEL again."""
    _change(model, lambda tagger: tagger.retire_label(label))


@labels.command()
@click.argument("act", metavar="[ID]", required=False)
@click.pass_obj
def undo(model: Path, act: str | None) -> None:
    """Undo an act of any kind: the last one, or that with an ID, of which the start is enough."""
    _change(model, lambda tagger: tagger.undo(None if act is None else _whole_id(tagger, act)))


@labels.command()
@click.option("--json", "as_json", is_flag=True, help="One act per line, as `tacit learn` reads them.")
@click.pass_obj
def history(model: Path, as_json: bool) -> None:
    """Show all acts since training with their ids, including those that were undone."""
    tagger = Tagger.load(model)
    if as_json:
        for act in tagger.acts_:
            line = json.dumps(act.to_json(), ensure_ascii=False)
            click.echo(line.encode(errors="backslashreplace"))  # half a character, as JSON writes it
        return
    current = {act.id for act in in_force(tagger.acts_)}
    for act, words in zip(tagger.acts_, in_words(tagger.acts_, tagger.acts_), strict=True):
        remark = "" if act.kind == "undo" or act.id in current else "  (taken back)"
        _print_act(tagger, act.id, f"{act.time}  {words}", remark)


def _whole_id(tagger: Tagger, given: str) -> str:
    ids = [act.id for act in tagger.acts_]
    found = [given] if given in ids else [each for each in ids if given and each.startswith(given)]
    if len(found) != 1:
        what = f"{len(found)} acts have an id that starts with '{given}'" if found else f"no act has the id '{given}'"
        raise click.UsageError(f"{what}; see `tacit labels MODEL history`")
    return found[0]


def _change(model: Path, change: Callable[[Tagger], Any]) -> None:
    """Load a model, change it and record the change; on an error the model folder stays as it was."""
    tagger = Tagger.load(model)
    keeps_model(model)
    done = change(tagger) or tagger.history()[-1]
    tagger.save(model)
    say(f"{done}; saved to {model}")


@click.command()
@model_argument
@click.argument("name")
@click.option("--cooccurs", metavar="LABEL=COUNT", multiple=True, help="A label, and how many samples have both.")
@click.option("--example", "examples", metavar="TEXT", multiple=True, help="A text that has the label.")
@click.option("--examples", "file", type=PATH, help="A file of samples that have the label.")
@click.option("--description", metavar="TEXT", help="A text that describes it.")
@click.option("--parent", metavar="LABEL", help="A broader label.")
@click.option("--vocabulary", type=PATH, help="SKOS, CSV, TSV or JSON that has the label.")
@vocabulary_language_option
@input_options
def add_label(
    model: Path, name: str, cooccurs: tuple[str, ...], examples: tuple[str, ...], file: Path | None,
    description: str | None, parent: str | None, vocabulary: Path | None, vocabulary_language: str,
    **source: Any,
) -> None:  # fmt: skip
    """Add the label NAME to MODEL from co-occurring labels, example texts, a description, or its name and parent.

    \b
    Examples:
      tacit add-label model "heat pump" --cooccurs heating=40 --cooccurs electricity=25
      tacit add-label model "heat pump" --examples pumps.txt
      tacit add-label model "heat pump" --vocabulary thesaurus.ttl
    """
    tagger = Tagger.load(model)
    if vocabulary is not None:
        tagger.vocabulary_ = load_vocabulary(vocabulary, vocabulary_language)
    from_file = None if file is None else _samples(tagger, file, source)
    known_by: dict[str, Any] = {
        "cooccurs": dict(map(_count, cooccurs)) or None,
        "examples": [*examples, *(from_file or ())] or None if tagger.takes_texts else from_file,
        "description": description,
        "parent": parent,
    }
    keeps_model(model)
    label = tagger.add_label(name, **known_by)
    tagger.save(model)
    also = "" if tagger.readable(label) == label else f" ({tagger.readable(label)})"
    say(f"{tagger.history()[-1]}{also}; saved to {model}")


def _count(assignment: str) -> tuple[str, float]:
    label, _, count = assignment.rpartition("=")
    try:
        return label, float(count)
    except ValueError:
        raise click.UsageError(f"--cooccurs must be LABEL=COUNT; got '{assignment}'") from None


def _samples(tagger: Tagger, file: Path, source: dict[str, Any]) -> Any:
    blocks = [block.samples for block in stream_unlabelled(file, tagger, **source)]
    return [text for block in blocks for text in block] if tagger.takes_texts else sparse.vstack(blocks, format="csr")
