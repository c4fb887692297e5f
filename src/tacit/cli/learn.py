"""``tacit learn``: from suggestions that people accepted or rejected."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tacit.cli.options import input_options, model_argument

if TYPE_CHECKING:
    from tacit.tagger.tagger import Tagger


@click.command(short_help="Learn from accepted and rejected suggestions.")
@model_argument
@click.argument("feedback", type=click.Path(path_type=Path), required=False)
@click.option("--undo", is_flag=True, help="Forget the last feedback.")
@click.option("--data", type=click.Path(path_type=Path), help="Samples that the feedback names by 'row'.")
@input_options
def learn(model: Path, feedback: Path | None, undo: bool, data: Path | None, **source: Any) -> None:
    """Let MODEL learn from FEEDBACK: JSON lines, or CSV, with the fields text, label and accepted.

    FEEDBACK may also be the log of `tacit serve`: what is new in it since the last time is learned, labels that were
    added are added.

    \b
    Examples:
      echo '{"text": "a pear", "label": "cars", "accepted": false}' > feedback.jsonl
      tacit learn model feedback.jsonl
      tacit learn model model.feedback.jsonl
      tacit learn model --undo
    """
    from tacit.tagger.tagger import Tagger

    if (feedback is None) != undo:
        raise click.UsageError("name the file of feedback, or --undo the last one")
    tagger = Tagger.load(model)
    if feedback is None:
        acts = tagger.amendments_
        if not acts or acts[-1].act != "learn":
            last = f"the last act is: {acts[-1]}; take it back with: tacit labels {model} undo" if acts else "no acts"
            raise click.UsageError(f"there is no feedback to undo ({last})")
        done = f"took back: {tagger.undo()}"
    else:
        done = _learned(tagger, feedback, data, source)
    tagger.save(model)
    click.echo(f"{done}; saved to {model}")


def _learned(tagger: Tagger, feedback: Path, data: Path | None, source: dict[str, Any]) -> str:
    """Let the tagger learn from a file; says what it learned."""
    from tacit.server.feedback import is_log
    from tacit.server.teaching import learn_from_log

    if is_log(feedback):
        return learn_from_log(tagger, feedback)
    tagger.learn(_judgements(tagger, feedback, data, source))
    return tagger.history()[-1]


def _judgements(
    tagger: Tagger, feedback: Path, data: Path | None, source: dict[str, Any]
) -> list[tuple[Any, str, bool]]:
    """Samples, labels and verdicts of a file."""
    from tacit.cli.records import read_records, verdict
    from tacit.cli.source import inputs_of, read
    from tacit.errors import FileError, ParameterError

    samples = None if data is None else inputs_of(tagger, read(data, **source))
    n_samples = 0 if samples is None else samples.shape[0] if hasattr(samples, "shape") else len(samples)
    found = []
    for line, record in read_records(feedback):
        text, row, label = record.get("text"), str(record.get("row", "")), str(record.get("label", ""))
        if not label:
            raise FileError(feedback, "must name the label judged in a field 'label'; add it", line=line)
        try:
            tagger.amended().find(tagger.spelled(label))
        except ParameterError as error:
            raise FileError(feedback, str(error), line=line) from None
        if isinstance(text, str) and tagger.vectorizer_ is not None:
            sample: Any = text
        elif row.isdigit() and int(row) < n_samples and samples is not None:
            sample = samples[int(row)]
        else:
            wanted = "'text', or 'row' with --data" if tagger.vectorizer_ is not None else "'row', with --data"
            raise FileError(feedback, f"must name its sample by a field {wanted}; add it", line=line)
        found.append((sample, label, verdict(feedback, line, record)))
    return found
