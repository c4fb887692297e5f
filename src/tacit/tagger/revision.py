"""A newer version of a vocabulary as acts: its concepts that were added, renamed, replaced or deprecated."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

from tacit.data.vocabulary import Vocabulary
from tacit.errors import ParameterError, TacitError
from tacit.store.acts import Act

if TYPE_CHECKING:
    from tacit.tagger.tagger import Tagger


class Change(NamedTuple):
    """An act, what it does in words, and the reason why it does not apply, if so."""

    act: Act
    words: str
    refused: TacitError | None


def revise(tagger: Tagger, newer: Vocabulary) -> list[Change]:
    """Let the labels of a tagger follow a newer version of its vocabulary; each difference is an act."""
    if tagger.vocabulary_ is None:
        raise ParameterError("the model has no vocabulary that could be compared; train it with --vocabulary")
    known = tagger.vocabulary_.own_ids
    if known.isdisjoint(newer.ids):
        raise ParameterError(f"no concept of the model's vocabulary is in the new one, such as '{min(known)}'")
    older, tagger.vocabulary_ = tagger.vocabulary_, tagger.vocabulary_.extended_by(newer)
    added = {key: tagger._addition(key) for key in newer.ids if key not in known and tagger.known(key) is None}
    changes = [(act, f"add '{newer.name_of(key)}'") for key, act in added.items()]
    changes += _renamed(tagger, newer, older)
    changes += _deprecated(tagger, newer, {key: act.content["name"] for key, act in added.items()})
    later, refused = tagger._changes.tried([act for act, _ in changes])
    tagger._become(later)
    return [Change(act, words, refused.get(act.id)) for act, words in changes]


def _renamed(tagger: Tagger, newer: Vocabulary, older: Vocabulary) -> Iterator[tuple[Act, str]]:
    state = tagger._state
    for key, name in zip(newer.ids, newer.names, strict=True):
        column = state.known(key) if key in older.own_ids else None
        if column is not None and state.is_suggested[column]:
            label = state.name(column)
            if (before := tagger.readable(label)) != name:
                back = "back " if older.name_of(key) == name else ""
                yield Act("rename", {"label": label, "name": name}), f"rename '{before}' {back}to '{name}'"


def _deprecated(tagger: Tagger, newer: Vocabulary, added: Mapping[str, str]) -> Iterator[tuple[Act, str]]:
    state, done = tagger._state, set[int]()
    for old, successor in newer.deprecated.items():
        column = state.known(old)
        if column is None or column in done or not state.is_suggested[column]:
            continue
        done.add(column)
        label = state.name(column)
        shown, into = tagger.readable(label), newer.name_of(successor) if successor else ""
        goal = state.known(successor) if successor else None
        if not successor:
            yield Act("retire", {"label": label}), f"retire '{shown}', which is deprecated"
        elif successor in added or (goal is not None and goal != column):
            target = added[successor] if goal is None else state.name(goal)
            yield Act("merge", {"labels": [label], "into": target}), f"merge '{shown}' into '{into}', its successor"
        elif goal is None:  # a concept that is no label: this one becomes it
            by_id = tagger.vocabulary_ is not None and label in tagger.vocabulary_.own_ids
            yield Act("rename", {"label": label, "name": successor if by_id else into}), f"rename '{shown}' to '{into}'"
