"""An act: one change of a tagger after training, in the form that is stored, sent and replayed.

::

    {"id": "5f0c…", "time": "2026-03-01T12:00:00Z", "kind": "rename", "label": "motor cars", "name": "cars"}

A sample is a text or, for a tagger trained on features, an object of values by feature: in ``examples`` as
``{"features": {"17": 1.0}}``, in a judgement under ``features`` in the place of ``text``.
"""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Real
from typing import Any

from tacit.core.checks import has_half_character
from tacit.errors import ParameterError, printable

Sample = str | dict[str, float]  # a text, or values by feature

_ABOUT = frozenset(("id", "time", "kind"))
_LARGEST = 1e30  # of a number; features are stored with single precision
_SHOWN = 3  # labels or judgements that an act names in words
_SHOWN_OF_TEXT = 40  # characters
SHORT_ID = 12  # characters of an id that are shown


def new_id() -> str:
    """Create a unique id for an act."""
    return secrets.token_hex(16)


def _now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


@dataclass(eq=False, slots=True)
class Act:
    """One change of a tagger after training; immutable. `_FIELDS` lists kinds and their fields."""

    kind: str
    content: Mapping[str, Any]
    id: str = field(default_factory=new_id)  # unique among all acts, also in copies of the model
    time: str = field(default_factory=_now)

    def __post_init__(self) -> None:
        fields = _FIELDS.get(self.kind) if isinstance(self.kind, str) else None
        if fields is None:
            raise ParameterError(f"an act is one of {', '.join(_FIELDS)}; got '{self.kind}': it may need a newer tacit")
        for name, (is_right, must) in fields.items():
            if not is_right(self.content.get(name)):
                raise ParameterError(f"the field '{name}' of an act of the kind '{self.kind}' must be {must}")
        if not _is_name(self.id) or not isinstance(self.time, str) or has_half_character(self.id + self.time):
            raise ParameterError("the fields 'id' and 'time' of an act must be texts of whole characters")

    def to_json(self) -> dict[str, Any]:
        """The act as a JSON object."""
        return {"id": self.id, "time": self.time, "kind": self.kind, **self.content}

    @staticmethod
    def from_json(value: Any) -> Act:
        """Rebuild an act from the object that `to_json` returned; raises `ParameterError` for anything else."""
        if not isinstance(value, Mapping) or "kind" not in value or "id" not in value:
            raise ParameterError("an act must be a JSON object with the fields 'id' and 'kind'")
        content = {name: item for name, item in value.items() if name not in _ABOUT}
        return Act(value["kind"], content, value["id"], value.get("time") or _now())

    def __str__(self) -> str:
        return printable(_WORDS[self.kind](self.content))

    def described(self) -> str:
        """The act in words, with the start of the text that was judged, which messages for logs leave out."""
        texts = dict.fromkeys(each.get("text") or "" for each in self.content.get("judgements", ()))
        text = " ".join(next(iter(texts), "")[: 10 * _SHOWN_OF_TEXT].split())
        start = text if len(text) <= _SHOWN_OF_TEXT else f"{text[:_SHOWN_OF_TEXT].rstrip()}…"
        return printable(f"{self}{'; the first' if len(texts) > 1 else ''} for '{start}'") if start else str(self)

    def labels(self) -> list[str]:
        """The labels that the act concerns, by their names at that time."""
        found = [self.content.get(name) for name in ("label", "name", "into")]
        found += self.content.get("labels", ())
        found += (judged["label"] for judged in self.content.get("judgements", ()))
        return [label for label in dict.fromkeys(found) if label]


def in_force(acts: Sequence[Act]) -> list[Act]:
    """The acts that are in effect: neither undos nor undone; an undo can itself be undone."""
    undone: set[str] = set()
    for act in reversed(acts):
        if act.kind == "undo" and act.id not in undone:
            undone.add(act.content["of"])
    return [act for act in acts if act.kind != "undo" and act.id not in undone]


def in_words(wanted: Iterable[Act], acts: Sequence[Act]) -> list[str]:
    """Some of `acts` in words; an undo says which act it took back or, if that was an undo, reinstated."""
    by_id, roots = {act.id: act for act in acts}, dict[str, tuple[str, int]]()
    for act in acts:
        if act.kind == "undo":
            root, n_undos = roots.get(act.content["of"], (act.content["of"], 0))
            roots[act.id] = root, n_undos + 1

    def words(act: Act) -> str:
        root, n_undos = roots.get(act.id, (act.id, 0))
        what = by_id[root].described() if root in by_id else "an act"
        return f"{'took back' if n_undos % 2 else 'reinstated'}: {what}" if n_undos else what

    return [words(act) for act in wanted]


def parse_lines(lines: Iterable[tuple[int, str]], fail: Callable[[int, str], Exception]) -> list[Act]:
    """Parse acts from numbered lines of JSON, as ``tacit labels MODEL history --json`` writes them."""
    acts = []
    for number, line in lines:
        if line.strip():
            try:
                acts.append(Act.from_json(json.loads(line)))
            except (ValueError, RecursionError) as error:
                raise fail(number, str(error)) from None
    return acts


def _is_name(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _is_number(value: Any) -> bool:
    return not isinstance(value, bool) and isinstance(value, Real) and abs(value) <= _LARGEST  # type: ignore[operator]


def _is_example(value: Any) -> bool:
    sample = value.get("features") if isinstance(value, Mapping) else value
    if isinstance(sample, Mapping):
        return all(isinstance(feature, str) and _is_number(sample[feature]) for feature in sample)
    return isinstance(sample, str)


def _is_judgement(value: Any) -> bool:
    if not isinstance(value, Mapping) or not _is_name(value.get("label")) or value.get("accepted") not in (True, False):
        return False
    return isinstance(value.get("text"), str) or _is_example(value)


def are_counts(value: Any) -> bool:
    """Whether a value is counts by label."""
    if not isinstance(value, Mapping):
        return False
    return all(_is_name(label) and _is_number(count) and count >= 0 for label, count in value.items())


def _list_of(check: Callable[[Any], bool], at_least: int = 1) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, list | tuple) and len(value) >= at_least and all(map(check, value))


def _or_none(check: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: value is None or check(value)


_NAME = (_is_name, "a text that is not blank")
_OPTIONAL = (_or_none(lambda value: isinstance(value, str)), "a text")
_FIELDS: dict[str, dict[str, tuple[Callable[[Any], bool], str]]] = {
    "add": {
        "name": _NAME,
        "examples": (_or_none(_list_of(_is_example)), "a list of samples: texts, or objects of values by feature"),
        "cooccurs": (_or_none(are_counts), "an object of counts by label"),
        "description": _OPTIONAL,
        "parent": _OPTIONAL,
    },
    "rename": {"label": _NAME, "name": _NAME},
    "merge": {"labels": (_list_of(_is_name, at_least=0), "a list of labels"), "into": _NAME},
    "retire": {"label": _NAME},
    "judge": {"judgements": (_list_of(_is_judgement), "a list of objects with 'text', 'label' and 'accepted'")},
    "undo": {"of": _NAME},
}


def _counted(n: int, what: str) -> str:
    return f"{n:,} {what}" if n == 1 else f"{n:,} {what}s"


def _named(labels: Sequence[str]) -> str:
    return ", ".join(f"'{label}'" for label in labels[:_SHOWN]) + (", …" if len(labels) > _SHOWN else "")


def _added(content: Mapping[str, Any]) -> str:
    words = {"cooccurs": "co-occurring label", "examples": "example"}
    sources = [_counted(len(content[field]), what) for field, what in words.items() if content.get(field)]
    sources += ["a description"] if content.get("description") else []
    sources += [f"its parent '{content['parent']}'"] if content.get("parent") else []
    return f"added '{content['name']}' from {', '.join(sources) or 'its name'}"


def _judged(content: Mapping[str, Any]) -> str:
    judgements = content["judgements"]
    if len(judgements) <= _SHOWN:
        return ", ".join(f"{'accepted' if each['accepted'] else 'rejected'} '{each['label']}'" for each in judgements)
    n_accepted = sum(each["accepted"] for each in judgements)
    labels = list(dict.fromkeys(each["label"] for each in judgements))
    return f"judged {_counted(len(judgements), 'suggestion')}, {n_accepted:,} accepted, of {_named(labels)}"


_WORDS: dict[str, Callable[[Mapping[str, Any]], str]] = {
    "add": _added,
    "rename": lambda content: f"renamed '{content['label']}' to '{content['name']}'",
    "merge": lambda content: f"merged {_named(content['labels'])} into '{content['into']}'",
    "retire": lambda content: f"retired '{content['label']}'",
    "judge": _judged,
    "undo": lambda content: f"took back {content['of'][:SHORT_ID]}",
}
