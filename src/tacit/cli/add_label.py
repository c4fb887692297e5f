"""``tacit add-label``: a new label without training."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
from scipy import sparse

from tacit.cli.interrupt import keeps_model
from tacit.cli.options import PATH, input_options, model_argument
from tacit.cli.say import say
from tacit.cli.source import read_vocabulary, stream_unlabelled
from tacit.cli.tables import print_table
from tacit.tagger.tagger import Tagger


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
