"""``tacit labels`` and ``tacit add-label``: labels changed, and added, without training."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
from scipy import sparse

from tacit.cli.interrupt import keeps_model
from tacit.cli.options import PATH, input_options, model_argument
from tacit.cli.say import say
from tacit.cli.source import read_vocabulary, stream_unlabelled
from tacit.cli.tables import print_table
from tacit.errors import printable
from tacit.store.acts import SHORT_ID, Act, in_force, in_words, short_ids
from tacit.tagger.tagger import Tagger

_CANDIDATES = 3  # shown of the acts that an id may mean
_MISFIT = "  (does not apply)"


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
      tacit labels model history
      tacit labels model undo
    """
    context.obj = model
    if context.invoked_subcommand is None:
        tagger = Tagger.load(model)
        rows = listed(tagger)
        for row in rows:
            click.echo(row)
        n_acts = len(rows)
        click.echo(f"{tagger.n_suggested_:,} labels, {n_acts:,} {'act' if n_acts == 1 else 'acts'} since training")


def listed(tagger: Tagger) -> list[str]:
    """The acts in force, numbered, with the ids that `undo` takes."""
    ids = short_ids(tagger.acts_)
    return [
        printable(f"{row}. {ids[act.id]}  {act.described()}") + (_MISFIT if act.id in tagger.left_out_ else "")
        for row, act in enumerate(in_force(tagger.acts_), 1)
    ]


@labels.command()
@click.argument("label")
@click.argument("name")
@click.pass_obj
def rename(model: Path, label: str, name: str) -> None:
    """Rename LABEL to NAME; the former name is still accepted, and a concept of the vocabulary keeps its id.

    \b
    Example: tacit labels model rename "motor cars" cars
    """
    _change(model, lambda tagger: tagger.rename_label(label, name))


@labels.command()
@click.argument("names", nargs=-1, required=True, metavar="LABEL…")
@click.option("--into", required=True, metavar="LABEL", help="One of the labels, or a new name.")
@click.pass_obj
def merge(model: Path, names: tuple[str, ...], into: str) -> None:
    """Merge several labels into one, which is suggested wherever any of them would be.

    \b
    Example: tacit labels model merge car cars automobile --into cars
    """
    _change(model, lambda tagger: tagger.merge_labels(names, into))


@labels.command()
@click.argument("label")
@click.pass_obj
def retire(model: Path, label: str) -> None:
    """Never suggest LABEL again.

    \b
    Example: tacit labels model retire telex
    """
    _change(model, lambda tagger: tagger.retire_label(label))


@labels.command()
@click.argument("act", metavar="[ROW|ID]", required=False)
@click.pass_obj
def undo(model: Path, act: str | None) -> None:
    """Undo an act of any kind: the last one, or that of a ROW of `tacit labels MODEL`, or with an ID (see `history`).

    \b
    Examples:
      tacit labels model undo
      tacit labels model undo 3
      tacit labels model undo 5f0c2a1b
    """
    _change(model, lambda tagger: tagger.undo(None if act is None else _chosen(tagger, act).id))


@labels.command()
@click.option("--json", "as_json", is_flag=True, help="One act per line, as `tacit learn` reads them.")
@click.pass_obj
def history(model: Path, as_json: bool) -> None:
    """Show all acts since training with their ids, including those that were undone.

    \b
    Examples:
      tacit labels model history
      tacit labels model history --json > acts.jsonl
    """
    tagger = Tagger.load(model)
    current = {act.id for act in in_force(tagger.acts_)}
    ids, words = short_ids(tagger.acts_), in_words(tagger.acts_, tagger.acts_)
    for act, said in zip(tagger.acts_, words, strict=True):
        if as_json:
            line = json.dumps(act.to_json(), ensure_ascii=False)
            click.echo(line.encode(errors="backslashreplace"))  # half a character, as JSON writes it
            continue
        remark = "" if act.kind == "undo" or act.id in current else "  (taken back)"
        remark = _MISFIT if act.id in tagger.left_out_ else remark
        click.echo(printable("  ".join(filter(None, [ids[act.id], act.time, act.who, said]))) + remark)


def _chosen(tagger: Tagger, given: str) -> Act:
    """The act in a row of the list or with an id, of which the start is enough."""
    found = [act for act in tagger.acts_ if act.id == given]
    if given.isdecimal() and len(given) < SHORT_ID:  # the list shows longer ids, but for those made elsewhere
        rows = in_force(tagger.acts_)
        found += [act for act in rows[max(int(given) - 1, 0) : int(given)] if act.id != given]
        what = f"there is no row {given}: `tacit labels MODEL` lists {len(rows):,} acts"
    else:
        found = found or [act for act in tagger.acts_ if given and act.id.startswith(given)]
        what = f"no act has an id that starts with '{given}'; see `tacit labels MODEL history`"
    if not found:
        raise click.UsageError(what)
    if len(found) > 1:
        ids = short_ids(tagger.acts_)
        candidates = ", ".join(f"{ids[act.id]} ({act.described()})" for act in found[:_CANDIDATES])
        more = ", …" if len(found) > _CANDIDATES else ""
        raise click.UsageError(f"'{given}' may be any of {len(found):,} acts: {candidates}{more}; give a whole id")
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
@click.option("--vocabulary-language", metavar="TAG", default="en", show_default=True, help="Language of its names.")
@click.option("--preview", metavar="DATA", type=PATH, help="Only show what it would tag.")
@click.option("-n", type=click.IntRange(min=1), default=10, show_default=True, help="Samples in the preview.")
@input_options
def add_label(
    model: Path, name: str, cooccurs: tuple[str, ...], examples: tuple[str, ...], file: Path | None,
    description: str | None, parent: str | None, vocabulary: Path | None, vocabulary_language: str,
    preview: Path | None, n: int, **source: Any,
) -> None:  # fmt: skip
    """Add the label NAME to MODEL from co-occurring labels, example texts, a description, or its name and parent.

    A preview lists samples of DATA by their rows, counted from 1.

    \b
    Examples:
      tacit add-label model "heat pump" --cooccurs heating=40 --cooccurs electricity=25
      tacit add-label model "heat pump" --examples pumps.txt --preview articles.csv
      tacit add-label model "heat pump" --vocabulary thesaurus.ttl
    """
    tagger = Tagger.load(model)
    if vocabulary is not None:
        tagger.vocabulary_ = read_vocabulary(vocabulary, source, vocabulary_language)
    known_by = {
        "cooccurs": _counts(cooccurs) or None,
        "examples": _examples(tagger, examples, file, source),
        "description": description,
        "parent": parent,
    }
    if preview is not None:
        _show(tagger, name, known_by, preview, n, source)
        return
    keeps_model(model)
    label = tagger.add_label(name, **known_by)
    tagger.save(model)
    also = "" if tagger.readable(label) == label else f" ({tagger.readable(label)})"
    say(f"{tagger.history()[-1]}{also}; saved to {model}")


def _counts(assignments: tuple[str, ...]) -> dict[str, float]:
    found = {}
    for assignment in assignments:
        label, equals, count = assignment.rpartition("=")
        try:
            found[label] = float(count)
        except ValueError:
            equals = ""
        if not equals:
            raise click.UsageError(f"--cooccurs must be LABEL=COUNT; got '{assignment}'")
    return found


def _examples(tagger: Tagger, texts: tuple[str, ...], file: Path | None, source: dict[str, Any]) -> Any:
    """Texts from the command line and from a file, or the features in a file."""
    if file is None:
        return list(texts) or None
    return [*texts, *_samples(tagger, file, source)] if tagger.takes_texts else _samples(tagger, file, source)


def _samples(tagger: Tagger, file: Path, source: dict[str, Any]) -> Any:
    """Texts or features from a file, as the tagger takes them; labels in the file are ignored."""
    blocks = [block.samples for block in stream_unlabelled(file, tagger, **source)]
    if tagger.takes_texts:
        return [text for block in blocks for text in block]
    return sparse.vstack(blocks, format="csr")


def _show(tagger: Tagger, name: str, known_by: dict[str, Any], data: Path, n: int, source: dict[str, Any]) -> None:
    """Print the samples for which the label is most probable."""
    found = tagger.preview_label(name, texts=_samples(tagger, data, source), n=n, **known_by)
    rows = [[str(row + 1), f"{score:.3f}", " ".join(text.split())[:100]] for row, text, score in found]
    print_table(["row", "score", "text"], rows, title=f"samples with the highest probability of '{name}'")
    if found and found[0].score < tagger.threshold_:
        say(
            f"all of these are below the threshold of the model ({tagger.threshold_:.3f}): with --threshold auto the "
            "label would not be suggested here; more examples or co-occurring labels raise its probability"
        )
