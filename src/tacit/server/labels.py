"""Search in the labels of a tagger, and acts with their names."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakKeyDictionary

from tacit.store.acts import Act, in_force

if TYPE_CHECKING:
    from tacit.data.vocabulary import Vocabulary
    from tacit.tagger.state import Ground
    from tacit.tagger.tagger import Tagger


class _Entry(NamedTuple):
    """A label with all its spellings, the name first, as they are and case-folded."""

    column: int
    label: str
    n_samples: int
    spellings: list[str]
    folded: list[str]


#: By model: the history up to the last act that is not a judgement, which changes no name, and the labels after it.
_entries: WeakKeyDictionary[Ground, tuple[str, list[_Entry]]] = WeakKeyDictionary()


def find_labels(tagger: Tagger, search: str, offset: int, limit: int) -> tuple[int, list[dict[str, Any]]]:
    """The number of labels with `search` in any of their names, and a page of them.

    Labels whose name starts with it come first, then those of which another name does; each by frequency.
    """
    wanted = search.casefold().strip()
    found = []
    for entry in _entries_of(tagger):
        match = _match(wanted, entry.folded)
        if match is not None:
            found.append((match, entry))
    found.sort(key=lambda pair: (pair[0][0], -pair[1].n_samples, pair[1].column))
    n_learned = len(tagger._state.ground.classes)
    page = [
        {
            "label": entry.label,
            "name": entry.spellings[0],
            "matched": entry.spellings[place],
            "count": entry.n_samples,
            "added": entry.column >= n_learned,
        }
        for (_, place), entry in found[offset : offset + limit]
    ]
    return len(found), page


def find_acts(tagger: Tagger, offset: int, limit: int) -> tuple[int, list[dict[str, Any]]]:
    """The number of acts in force, and a page of them, the latest first."""
    found = [act for act in reversed(in_force(tagger.acts_)) if act.id not in tagger.left_out_]
    page = found[offset : offset + limit]
    return len(found), [{"id": act.id, "time": act.time, "act": _in_words(tagger, act)} for act in page]


def _in_words(tagger: Tagger, act: Act) -> str:
    """What an act did, with the names of labels in the vocabulary."""
    named: dict[str, Any] = {**act.content}
    for field in ("label", "into"):
        if field in named:
            named[field] = tagger.readable(named[field])
    if "labels" in named:
        named["labels"] = [tagger.readable(label) for label in named["labels"]]
    if "judgements" in named:
        named["judgements"] = [{**each, "label": tagger.readable(each["label"])} for each in named["judgements"]]
    return str(replace(act, content=named))


def _match(wanted: str, spellings: list[str]) -> tuple[int, int] | None:
    """How well a label matches, 0 best, and by which of its spellings; a URI must be typed from its beginning."""
    inside = None
    for place, spelling in enumerate(spellings):
        if spelling.startswith(wanted):
            return min(place, 1), place
        if inside is None and wanted in spelling and "://" not in spelling:
            inside = 2, place
    return inside


def _entries_of(tagger: Tagger) -> list[_Entry]:
    state = tagger._state
    settled, entries = _entries.get(state.ground, (None, []))
    if settled != state._settled:
        counts = tagger.counts_for(len(state)).tolist()
        entries = [
            _Entry(column, label, counts[column], spellings, [spelling.casefold() for spelling in spellings])
            for column, label in enumerate(map(str, state.names.tolist()))
            if state.is_suggested[column]
            for spellings in [_spellings(tagger.vocabulary_, label, tagger.readable(label))]
        ]
        _entries[state.ground] = state._settled, entries
    return entries


def _spellings(vocabulary: Vocabulary | None, label: str, name: str) -> list[str]:
    others = vocabulary.names_of(label) if vocabulary is not None and label in vocabulary else []
    return list(dict.fromkeys([name, label, *others]))
