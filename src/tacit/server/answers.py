"""What the service says of a tagger: its card, its labels and acts, and the evidence for a label."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import asdict, replace
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from tacit.store.acts import Act, in_force
from tacit.tagger.suggest import DECIMALS

if TYPE_CHECKING:
    from tacit.server.served_models import Served
    from tacit.tagger.state import Ground
    from tacit.tagger.tagger import Tagger

#: The file in a model folder that ``tacit evaluate MODEL DATA --report MODEL/report.html`` writes.
REPORT = "report.html"
_TEXTS_TRIED, _BEST_LENGTH, _LONGEST = 100, 300, 1000  # of an example
_N_WORDS, _WORDS_TRIED, _SHORTEST_WORD = 3, 1000, 4
_WORD = re.compile(r"\w+")


# -- the card of a model ----------------------------------------------------------------------------------


def card_of(served: Served) -> dict[str, Any]:
    """A served model, by the names of `ServedModel`."""
    tagger = served.tagger
    held_out = tagger.card_.get("held_out_metrics") or {}
    error, spread = (tagger.card_.get(f"calibration_{what}") for what in ("error", "spread"))
    return {
        "name": served.name,
        "kind": type(tagger.model_).__name__,
        "labels": tagger.n_suggested_,
        "samples": tagger.card_.get("samples"),
        "calibrated": tagger.calibration_ is not None and tagger.calibration_.is_measured,
        "calibration_error": None if error is None else round(error, DECIMALS),
        "calibration_samples": tagger.card_.get("calibration_samples"),
        "calibration_spread": None if spread is None else round(spread, DECIMALS),
        "metrics": {name: round(value, DECIMALS) for name, value in held_out.items()},
        "threshold": round(tagger.threshold_, DECIMALS),
        "example": _example(tagger),
        "report": report_of(served) is not None,
        "acts": served.n_acts,
        "max_batch": served.max_batch,
        "loaded": served.loaded_at,
    }


def report_of(served: Served) -> bytes | None:
    """The report in the model folder, unless it is on a model that was trained on other data."""
    try:
        content = (served.folder / REPORT).read_bytes()
    except OSError:
        return None
    fingerprint = str(served.tagger.card_.get("fingerprint", ""))
    return content if fingerprint and fingerprint.encode() in content else None


def _example(tagger: Tagger) -> str | None:
    """A training text of moderate length, if the model keeps them; otherwise frequent words."""
    texts = [] if tagger.training_ is None else tagger.training_.texts[:_TEXTS_TRIED]
    if texts:
        return min(texts, key=lambda text: abs(len(text) - _BEST_LENGTH))[:_LONGEST]
    if tagger.vectorizer_ is None:
        return None
    by_frequency = np.argsort(tagger.vectorizer_.idf_, kind="stable")[:_WORDS_TRIED]
    words = (tagger.vectorizer_.feature_names_[column] for column in by_frequency)
    long = (word for word in words if word.isalpha() and len(word) >= _SHORTEST_WORD)
    return " ".join(islice(long, _N_WORDS)) or None


# -- labels and acts --------------------------------------------------------------------------------------


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
    matches = ((_match(wanted, entry.folded), entry) for entry in _entries_of(tagger))
    found = [(match, entry) for match, entry in matches if match is not None]
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


def _match(wanted: str, spellings: list[str]) -> tuple[int, int] | None:
    """How well a label matches, 0 best, and by which of its spellings; a URI must be typed from its beginning."""
    starts = (place for place, spelling in enumerate(spellings) if spelling.startswith(wanted))
    inside = (place for place, spelling in enumerate(spellings) if wanted in spelling and "://" not in spelling)
    first = next(starts, None)
    if first is not None:
        return min(first, 1), first
    first = next(inside, None)
    return None if first is None else (2, first)


def _entries_of(tagger: Tagger) -> list[_Entry]:
    state, vocabulary = tagger._state, tagger.vocabulary_
    settled, entries = _entries.get(state.ground, (None, []))
    if settled == state.settled:
        return entries
    counts = tagger.counts_for(len(state)).tolist()
    entries = []
    for column, label in enumerate(map(str, state.names.tolist())):
        if state.is_suggested[column]:
            others = vocabulary.names_of(label) if vocabulary is not None and label in vocabulary else []
            spellings = list(dict.fromkeys([tagger.readable(label), label, *others]))
            folded = [spelling.casefold() for spelling in spellings]
            entries.append(_Entry(column, label, counts[column], spellings, folded))
    _entries[state.ground] = state.settled, entries
    return entries


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
    if act.kind == "rename" and tagger.vocabulary_ is not None and act.content["label"] in tagger.vocabulary_:
        named["label"] = tagger.vocabulary_.name_of(act.content["label"])  # it is readable by its new name
    if "labels" in named:
        named["labels"] = [tagger.readable(label) for label in named["labels"]]
    if "judgements" in named:
        named["judgements"] = [{**each, "label": tagger.readable(each["label"])} for each in named["judgements"]]
    return replace(act, content=named).described()


# -- the evidence for a label -----------------------------------------------------------------------------


def reasons(tagger: Tagger, text: str, label: str, n: int) -> dict[str, Any]:
    """What `Tagger.explain` finds, by the names of `ExplainAnswer`."""
    found = tagger.explain(text, label, n)
    words = _words(tagger, text, [feature for feature, _ in found.features])
    return {
        **asdict(found),
        "name": tagger.readable(found.label),
        "score": round(found.score, DECIMALS),
        "features": [
            {"feature": feature, "words": spelled, "loss": round(loss, DECIMALS)}
            for (feature, loss), spelled in zip(found.features, words, strict=True)
        ],
        "labels": [
            {"label": other, "name": tagger.readable(other), "score": round(score, DECIMALS), "share": share}
            for other, score, share in found.labels
        ],
        "samples": [
            {"text": sample, "similarity": near, "labels": _labels(tagger, row)} for row, sample, near in found.samples
        ],
    }


def _words(tagger: Tagger, text: str, features: Sequence[str]) -> list[list[str]]:
    """The words of a text that each feature stands for: a stem has several forms, an n-gram is in several words."""
    vectorizer = tagger.vectorizer_
    words = list(dict.fromkeys(_WORD.findall(text)))
    if vectorizer is None or not words:
        return [[] for _ in features]
    columns = vectorizer.transform(words).tocsc()
    position = vectorizer.positions()
    return [[words[row] for row in sorted(columns[:, position[feature]].indices)] for feature in features]


def _labels(tagger: Tagger, row: int) -> list[str]:
    """The names of the labels that a training sample has."""
    if tagger.training_ is None:
        return []
    own = tagger.training_.labels[row]
    return [tagger.readable(str(tagger.classes_[column])) for column in own.indices[own.data > 0].tolist()]
