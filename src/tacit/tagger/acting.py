"""Creating acts from arguments: names are resolved, samples converted, everything is checked."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy import sparse

from tacit.data.vocabulary import Vocabulary
from tacit.errors import ActError, DataError, ParameterError, brief
from tacit.store.acts import Act, are_counts, in_force
from tacit.tagger.inputs import as_samples
from tacit.text.vectorizer import features_of

if TYPE_CHECKING:
    from tacit.tagger.tagger import Tagger


class Preview(NamedTuple):
    """A sample for which a label would score high: its row from 0, its text (empty for features) and the score."""

    row: int
    text: str
    score: float


def as_name(name: Any) -> str:
    """A name for a label."""
    if not isinstance(name, str):
        raise ParameterError(f"the name of a label must be a text; got {name!r}")
    if not name.strip():
        raise ActError("a label needs a name; got a blank one", "name")
    return name


def add(
    tagger: Tagger,
    name: str,
    cooccurs: Mapping[str, float] | None = None,
    examples: Any = None,
    description: str | None = None,
    parent: str | None = None,
) -> Act:
    """The act that adds a label; missing evidence is taken from the vocabulary, if that has the label."""
    state, vocabulary = tagger._state, tagger.vocabulary_
    called = as_name(name)
    if cooccurs is not None and not are_counts(cooccurs):
        raise ActError(f"cooccurs must hold counts of at least 0 by label; got {brief(str(cooccurs))}", "cooccurs")
    if vocabulary is not None and name in vocabulary:
        called = _concept(tagger, vocabulary, name)
        if cooccurs is None and examples is None and description is None:
            description = vocabulary.text_of(name)
            parent = parent or _parent(tagger, vocabulary, name)
    state.check_name(called, is_added=True)
    content: dict[str, Any] = {"name": called}
    if cooccurs:
        columns = {state.find(label, f"cooccurs.{label}"): float(count) for label, count in cooccurs.items()}
        content["cooccurs"] = {state.name(column): count for column, count in columns.items()}
    if examples is not None:
        samples = as_samples(examples, tagger.vectorizer_)
        content["examples"] = [each if isinstance(each, str) else {"features": each} for each in samples]
    if description is not None and tagger.vectorizer_ is not None:
        content["description"] = as_samples([description], tagger.vectorizer_)[0]
    if parent:
        content["parent"] = state.name(state.find(parent, "parent"))
    return Act("add", content)


def _concept(tagger: Tagger, vocabulary: Vocabulary, name: str) -> str:
    """What a concept of the vocabulary is called as a label; an error if there is one already."""
    if tagger._state.known(name) is None or tagger._state.is_known_by_name(tagger._name_now(name)):
        place = vocabulary.find(name)
        labels = tagger._state.ground.index
        by_id = sum(concept in labels for concept in vocabulary.ids)
        by_name = sum(concept in labels for concept in vocabulary.names)
        return vocabulary.ids[place] if by_id > by_name else vocabulary.names[place]
    label = tagger._name_now(name)
    also = "" if label == name else f" is the label '{brief(label)}', which"
    raise ActError(f"'{brief(name)}'{also} exists already; to improve it, accept or reject its suggestions", "name")


def _parent(tagger: Tagger, vocabulary: Vocabulary, name: str) -> str | None:
    """The first parent concept that is a label."""
    state = tagger._state
    known = (column for column in map(state.known, vocabulary.parents_of(name)) if column is not None)
    return next((state.name(column) for column in known if state.is_suggested[column]), None)


def merge(tagger: Tagger, labels: Sequence[str], into: str) -> Act:
    """The act that makes several labels one."""
    if isinstance(labels, str):
        raise ParameterError(f"labels must be a list of labels; got the single text '{labels}'")
    into = as_name(into) if tagger._state.known(into) is None else tagger._name_now(into)
    return Act("merge", {"labels": [tagger._name_now(label) for label in labels], "into": into})


def judge(tagger: Tagger, judgements: Iterable[tuple[Any, str, bool]]) -> Act:
    """The act that records suggestions as accepted or rejected."""
    judged = list(judgements)
    if not judged:
        raise DataError("there are no judgements to learn from; give at least one")
    for place, each in enumerate(judged):
        if not isinstance(each, tuple | list) or len(each) != 3:
            raise DataError(
                f"a judgement must be a tuple of a sample, a label and a verdict (true or false); entry {place} is not"
            )
    state = tagger._state
    names = [state.name(state.find(label, f"judgements[{i}].label")) for i, (_, label, _) in enumerate(judged)]
    given: Any = [sample for sample, _, _ in judged]
    if tagger.vectorizer_ is None:
        rows = [features_of(row if sparse.issparse(row) else np.atleast_2d(row), None) for row in given]
        if {row.shape for row in rows} != {(1, tagger.n_features_in_)}:
            raise DataError(f"each sample judged must be one row of {tagger.n_features_in_} features")
        given = sparse.vstack(rows, format="csr")
    field = "features" if tagger.vectorizer_ is None else "text"
    samples = as_samples(given, tagger.vectorizer_)
    verdicts = [bool(verdict) for _, _, verdict in judged]
    parts = zip(samples, names, verdicts, strict=True)
    return Act("judge", {"judgements": [{field: row, "label": name, "accepted": yes} for row, name, yes in parts]})


def learn_once(tagger: Tagger, judgements: Sequence[tuple[Any, str, bool]]) -> int:
    """Learn those judgements that were not learned as often before; returns their number."""

    def key(judgement: Mapping[str, Any]) -> str:
        column = tagger.known(judgement["label"])  # it may have been renamed
        return json.dumps({**judgement, "label": judgement["label"] if column is None else column}, sort_keys=True)

    acts = [act for act in in_force(tagger.acts_) if act.kind == "judge"]
    known = Counter(key(judgement) for act in acts for judgement in act.content["judgements"])
    new = []
    for judgement in judge(tagger, judgements).content["judgements"]:
        known.subtract([key(judgement)])
        if known[key(judgement)] < 0:
            new.append(judgement)
    if new:
        tagger._do(Act("judge", {"judgements": new}))
    return len(new)


def preview(tagger: Tagger, name: str, texts: Any, n: int, known_by: Mapping[str, Any]) -> list[Preview]:
    """The samples with the highest score of a label, if it were added."""
    act = add(tagger, name, **known_by)
    later, refused = tagger._changes.tried([act])
    if refused:
        raise refused[act.id]
    samples = tagger._samples(texts, later)
    scores = later.state.scores(later.scores, samples, [later.state.find(act.content["name"])])[:, 0]
    best = np.argsort(-scores, kind="stable")[:n].tolist()
    return [Preview(row, texts[row] if tagger.takes_texts else "", float(scores[row])) for row in best]
