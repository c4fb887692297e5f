"""From what a caller says to an act: names resolved, samples in the form that acts hold, everything checked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy import sparse

from tacit.data.vocabulary import Vocabulary
from tacit.errors import ActError, DataError, LabelError, ParameterError, RetiredLabelError
from tacit.store.acts import Act
from tacit.tagger.samples import as_samples

if TYPE_CHECKING:
    from tacit.tagger.tagger import Tagger


class Preview(NamedTuple):
    """A sample that a label would tag: its row, its text (empty for features) and its score."""

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
    """The act that adds a label; from the vocabulary what is not given, if it knows the label."""
    state, vocabulary = tagger._state, tagger.vocabulary_
    called = as_name(name)
    _check_counts(cooccurs or {})
    if vocabulary is not None and name in vocabulary:
        called = _concept(tagger, vocabulary, name)
        if cooccurs is None and examples is None and description is None:
            description = vocabulary.text_of(name)
            parent = parent or _parent(tagger, vocabulary, name)
    state.check_name(called)
    content: dict[str, Any] = {"name": called}
    if cooccurs:
        columns = {state.find(label, f"cooccurs.{label}"): float(count) for label, count in cooccurs.items()}
        content["cooccurs"] = {state.name(column): count for column, count in columns.items()}
    if examples is not None:
        samples = as_samples(examples, tagger.vectorizer_)
        content["examples"] = [each if isinstance(each, str) else {"features": each} for each in samples]
    if description is not None and tagger.vectorizer_ is not None:
        content["description"] = description
    if parent:
        content["parent"] = state.name(state.find(parent, "parent"))
    return Act("add", content)


def _concept(tagger: Tagger, vocabulary: Vocabulary, name: str) -> str:
    """What a concept of the vocabulary is called as a label; an error if there is one already."""
    try:
        label = tagger._name_now(name)
    except RetiredLabelError:
        raise
    except LabelError:
        place = vocabulary.find(name)
        labels = tagger._state.ground.index
        by_id = sum(concept in labels for concept in vocabulary.ids)
        by_name = sum(concept in labels for concept in vocabulary.names)
        return vocabulary.ids[place] if by_id > by_name else vocabulary.names[place]
    also = "" if label == name else f" is the label '{label}', which"
    raise ActError(f"'{name}'{also} is there already; to teach it, judge suggestions of it", "name")


def _parent(tagger: Tagger, vocabulary: Vocabulary, name: str) -> str | None:
    """The first concept above that is a label."""
    for above in vocabulary.parents_of(name):
        try:
            return tagger._name_now(above)
        except LabelError:  # noqa: PERF203 - the next one may be
            continue
    return None


def _check_counts(cooccurs: Mapping[str, float]) -> None:
    for label, count in cooccurs.items():
        if isinstance(count, bool) or not isinstance(count, int | float | np.number) or not 0 <= count < np.inf:
            message = f"cooccurs must give a count of at least 0 for each label; '{label}' has {count!r}"
            raise ActError(message, f"cooccurs.{label}")
    if cooccurs and not any(cooccurs.values()):
        message = "cooccurs must have a count above 0; a label that occurs with no other needs examples"
        raise ActError(message, "cooccurs")


def merge(tagger: Tagger, labels: Sequence[str], into: str) -> Act:
    """The act that makes several labels one."""
    if isinstance(labels, str):
        raise ParameterError(f"labels must be a list of labels; got the single text '{labels}'")
    try:
        into = tagger._name_now(into)
    except LabelError:
        into = as_name(into)
    return Act("merge", {"labels": [tagger._name_now(label) for label in labels], "into": into})


def judge(tagger: Tagger, judgements: Iterable[tuple[Any, str, bool]]) -> Act:
    """The act that records suggestions as accepted or rejected."""
    judged = list(judgements)
    if not judged:
        raise DataError("there are no judgements to learn from; give at least one")
    state = tagger._state
    names = [state.name(state.find(label, f"judgements[{i}].label")) for i, (_, label, _) in enumerate(judged)]
    given: Any = [sample for sample, _, _ in judged]
    if tagger.vectorizer_ is None:
        rows = [sparse.csr_matrix(np.atleast_2d(row) if not sparse.issparse(row) else row) for row in given]
        given = sparse.vstack(rows, format="csr")
    samples = as_samples(given, tagger.vectorizer_)
    return Act(
        "judge",
        {
            "judgements": [
                {"text" if isinstance(sample, str) else "features": sample, "label": name, "accepted": bool(verdict)}
                for sample, name, (_, _, verdict) in zip(samples, names, judged, strict=True)
            ]
        },
    )


def preview(tagger: Tagger, name: str, texts: Any, n: int, known_by: dict[str, Any]) -> list[Preview]:
    """The samples that a label would tag first."""
    evidence = {key: known_by.pop(key, None) for key in ("cooccurs", "examples", "description", "parent")}
    if known_by:
        raise ParameterError(f"preview_label has no parameter '{min(known_by)}'")
    act = add(tagger, name, **evidence)
    later, refused = tagger._changes.tried([act])
    if refused:
        raise refused[act.id]
    if texts is not None:
        X, shown = tagger._features(texts), list(texts) if tagger.vectorizer_ is not None else []
    elif tagger.training_ is not None:
        X, shown = tagger.training_.features, tagger.training_.texts
    else:
        raise ParameterError("a preview needs texts: this tagger keeps none; give some or train with keep_texts")
    scores = later.state.scores(later.scores, X, [len(later.state) - 1])[:, 0]
    best = np.argsort(-scores, kind="stable")[:n]
    return [Preview(int(row), shown[row] if shown else "", float(scores[row])) for row in best]
