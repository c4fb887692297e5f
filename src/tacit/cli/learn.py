"""``tacit learn`` and ``tacit update``: what a model learns after its training, from feedback and from new samples."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from tacit.cli.interrupt import keeps_model
from tacit.cli.options import PATH, data_argument, jobs_option, labelled_options, model_argument
from tacit.cli.say import progress_shown, say
from tacit.cli.source import read_labelled, read_records, remember_columns, text_columns, verdict
from tacit.data.dataset import inputs_of
from tacit.data.fields import default_text_fields, joined_text, labels_of_column
from tacit.data.files import existing_file, text_lines
from tacit.errors import FileError, ParameterError, printable
from tacit.store.acts import Act, parse_lines
from tacit.store.ledger import Ledger, is_ledger
from tacit.tagger.home import learn_from
from tacit.tagger.tagger import Tagger

_OF_PAGE = re.compile("accepted(_here)*,rejected(_here)*")  # the last columns of an export of the page


@click.command()
@model_argument
@click.argument("feedback", type=PATH)
@click.option("--text", metavar="FIELD,…", help="Fields with the text in an export of the page.")
@click.option("--encoding", metavar="NAME", help="Encoding of FEEDBACK, such as cp1252.  [default: utf-8]")
def learn(model: Path, feedback: Path, text: str | None, encoding: str | None) -> None:
    """Let MODEL learn from FEEDBACK: JSON lines or CSV with the fields text, label and accepted.

    FEEDBACK may also be an export of the page of `tacit serve` (--text names the columns of its text), or a file of
    acts: that of `tacit serve --acts`, or the output of `tacit labels MODEL history --json`. Each judgement and each
    act is learned once, however often a file is given; `tacit labels MODEL undo` takes it back.

    \b
    Examples:
      echo '{"text": "a pear", "label": "cars", "accepted": false}' > feedback.jsonl
      tacit learn model feedback.jsonl
      tacit learn model acts.jsonl
    """
    tagger = Tagger.load(model)
    keeps_model(model)
    n_before = len(tagger.acts_)
    acts = _acts(existing_file(feedback))
    done = _learn_judgements(tagger, feedback, text, encoding) if acts is None else _learn_acts(tagger, feedback, acts)
    tagger.save(model)
    end = f"saved to {model}" if len(tagger.acts_) > n_before else f"{model} is unchanged"
    say(f"{printable(done)}; {end}")


def _learn_judgements(tagger: Tagger, feedback: Path, text: str | None, encoding: str | None) -> str:
    judged, skipped = _judgements(tagger, feedback, text, encoding)
    n_new = tagger.learn_once(judged)
    parts = [tagger.history()[-1] if n_new else f"nothing new in {feedback}"]
    if n_new < len(judged):
        parts.append(f"{len(judged) - n_new:,} of {len(judged):,} judgements were learned before")
    if skipped:
        parts.append(f"skipped judgements of labels that the model does not suggest: {len(skipped):,} ({skipped[0]})")
    return "; ".join(parts)


def _learn_acts(tagger: Tagger, feedback: Path, acts: Sequence[Act]) -> str:
    new, refused = learn_from(tagger, acts)
    done = f"learned {len(new) - len(refused):,} new acts from {feedback}"
    if refused:
        first = next(act for act in new if act.id in refused)
        done += f"; skipped {len(refused):,} that do not apply to the model ({first}: {refused[first.id]})"
    return done


def _acts(path: Path) -> Sequence[Act] | None:
    """The acts in a ledger or an export of one; None if the file holds judgements."""
    if is_ledger(path):
        return Ledger(path).read().acts
    first = next((line for _, line in text_lines(path) if line.strip()), "") if path.suffix == ".jsonl" else ""
    try:
        is_act = {"id", "kind"} <= json.loads(first).keys()
    except (ValueError, AttributeError, RecursionError):
        is_act = False
    return parse_lines(text_lines(path), lambda line, why: FileError(path, why, line=line)) if is_act else None


def _judgements(
    tagger: Tagger, feedback: Path, text: str | None, encoding: str | None
) -> tuple[list[tuple[Any, str, bool]], list[FileError]]:
    """Texts, labels and verdicts of a file; and what is wrong with those whose label is unknown or retired."""
    found: list[tuple[Any, str, bool]] = []
    skipped = []
    for line, record, label, is_accepted in _verdicts(feedback, text, encoding, text_columns(tagger)):
        sample = record.get("text")
        if not label or not isinstance(sample, str):
            raise FileError(feedback, "must have the fields 'text' and 'label'; add them", line=line)
        try:
            tagger.column(label)
        except ParameterError as error:
            skipped.append(FileError(feedback, str(error), line=line))
        else:
            found.append((sample, label, is_accepted))
    if skipped and not found:
        raise skipped[0]
    return found, skipped


def _verdicts(
    feedback: Path, text: str | None, encoding: str | None, preferred: Sequence[str]
) -> Iterator[tuple[int, Mapping[str, Any], str, bool]]:
    """The line, record, label and verdict of each judgement: one of each record, or those of an export of the page."""
    text_fields = tuple(name.strip() for name in text.split(",")) if text else ()
    for line, record in read_records(feedback, encoding):
        if not _OF_PAGE.fullmatch(",".join(list(record)[-2:])):
            yield line, record, str(record.get("label", "")), verdict(feedback, line, record)
            continue
        text_fields = text_fields or default_text_fields(feedback, line, record, preferred)
        sample = {"text": joined_text(feedback, line, record, text_fields)}
        for cell, is_accepted in zip(list(record.values())[-2:], (True, False), strict=True):
            for label in labels_of_column(feedback, [line], [cell], "|")[0]:
                yield line, sample, label, is_accepted


@click.command()
@model_argument
@data_argument
@jobs_option
@labelled_options
def update(model: Path, data: Path, jobs: int, **source: Any) -> None:
    """Train MODEL on the new samples of DATA, and say what was done.

    Samples that the model has, with the same labels, are left out: the same file again changes nothing.

    Popularity and MLLCS are trained incrementally. Any other model is trained again on its old training data, if they
    were kept (tacit train --keep-texts), and the new samples together. All changes of labels and all feedback stay in
    force.

    \b
    Example: tacit update model new.csv
    """
    tagger = Tagger.load(model)
    tagger.set_params(n_jobs=jobs)
    keeps_model(model)
    dataset, earlier = read_labelled(data, source, tagger), tagger.card_.get("updates", [])
    with progress_shown():
        done = tagger.update(inputs_of(tagger, dataset), dataset.Y, label_names=dataset.label_names)
    if tagger.card_.get("updates", []) == earlier:
        say(f"{done}; {model} is unchanged")
        return
    remember_columns(tagger, dataset)
    tagger.save(model)
    say(f"{done}; saved to {model}")
