"""What people taught, brought to a tagger: the acts of a feedback log, replayed."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tacit.errors import ParameterError, TacitError
from tacit.server.feedback import Record, read_log

if TYPE_CHECKING:
    from tacit.tagger.tagger import Tagger

_LEARNED = "feedback"  # in the card of a tagger: the number of the last act that it knows, by log


class FieldError(ParameterError):
    """What cannot be done, and the field of the request that asks for it."""

    def __init__(self, message: str, field: str) -> None:
        super().__init__(message)
        self.field = field


class UnknownLabelError(FieldError):
    """A label that the tagger does not have."""

    def __init__(self, label: str, field: str) -> None:
        super().__init__(f"unknown label '{label}'", field)
        self.label = label


def column_of(tagger: Tagger, label: str, field: str) -> int:
    """The column of a label by any of its names."""
    amended = tagger.amended()
    name = tagger.spelled(label)
    if not amended.is_known(name):
        raise UnknownLabelError(label, field)
    if amended.is_retired(name):
        raise FieldError(f"the label '{label}' was retired", field)
    return amended.find(name)


def taught(tagger: Tagger, records: Sequence[Record]) -> tuple[Tagger, dict[int, TacitError]]:
    """A tagger that knows these acts, too, and why those that it cannot know are left out, by number.

    The tagger that is given stays as it is; the two share what takes room. Judgements that follow one another are
    learned at once, which is much faster and gives the same.
    """
    later = copy.copy(tagger)
    refused: dict[int, TacitError] = {}
    for act, group in groupby(records, key=lambda record: record.act):
        judged: list[tuple[str, str, bool]] = []
        for record in group:
            try:
                if act == "add":
                    _add(later, record.content)
                else:
                    judged.extend(_judgements(later, record.content))
            except TacitError as error:  # noqa: PERF203 - one bad act must not stop the others
                refused[record.number] = error
        if judged:
            later.learn(judged)
    return later, refused


def _add(tagger: Tagger, content: Mapping[str, Any]) -> None:
    for label in content.get("cooccurs") or ():
        column_of(tagger, label, f"cooccurs.{label}")
    if content.get("parent"):
        column_of(tagger, content["parent"], "parent")
    known_by = {name: content[name] for name in ("cooccurs", "examples", "description", "parent") if content.get(name)}
    try:
        tagger.add_label(content["name"], **known_by)
    except ParameterError as error:
        is_taken = tagger.amended().is_known(content["name"])
        raise FieldError(str(error), "name" if is_taken or not known_by else next(iter(known_by))) from None


def _judgements(tagger: Tagger, content: Mapping[str, Any]) -> list[tuple[str, str, bool]]:
    judged = []
    for place, each in enumerate(content["judgements"]):
        column_of(tagger, each["label"], f"judgements[{place}].label")
        judged.append((each["text"], each["label"], each["accepted"]))
    return judged


def last_learned(tagger: Tagger, log: str) -> int:
    """The number of the last act of a log that is saved with the tagger."""
    return int(tagger.card_.get(_LEARNED, {}).get(log, 0))


def learn_from_log(tagger: Tagger, path: Path) -> str:
    """Let a tagger learn what is new in a feedback log, and remember that it did; says what was done."""
    found = read_log(path)
    records = found.in_force(last_learned(tagger, found.log))
    later, refused = taught(tagger, records)
    tagger.amendments_ = later.amendments_
    numbers = [record.number for record in found.records]
    tagger.card_ = {**tagger.card_, _LEARNED: {**tagger.card_.get(_LEARNED, {}), found.log: max(numbers, default=0)}}
    done = f"learned {len(records) - len(refused):,} new acts of {path}"
    if refused:
        number, reason = next(iter(refused.items()))
        done += f"; left out {len(refused):,} that do not fit the model (line {number + 1}: {reason})"
    return done
