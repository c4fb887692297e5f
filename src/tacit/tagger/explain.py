"""Why a label is suggested: evidence from features, labels, training samples and acts.

The importance of a feature is the score lost when it is left out (occlusion), which works with every model.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy import sparse

from tacit.arrays import Floats32, Ids, Mask
from tacit.names.index import Matches
from tacit.numerics.rows import unit_rows
from tacit.store.acts import in_force
from tacit.tagger.changes import Changes
from tacit.tagger.inputs import Inputs
from tacit.tagger.parts import Learned, Plan

if TYPE_CHECKING:
    from tacit.tagger.tagger import Tagger


_MAX_FEATURES = 500  # of a sample that are left out in turn, largest first
_N_SUGGESTIONS = 20  # other suggestions for the sample that are considered


class FeatureEvidence(NamedTuple):
    """A feature, and by how much the score falls without it; 0 if other features make up for it."""

    feature: str
    loss: float


class LabelEvidence(NamedTuple):
    """Another suggested label: its score, and the share of its training samples that have the explained label too."""

    label: str
    score: float
    share: float


class SampleEvidence(NamedTuple):
    """A training sample with the label, and its cosine similarity."""

    row: int
    text: str
    similarity: float


@dataclass(frozen=True)
class Explanation:
    """The evidence for a suggestion, strongest first.

    Attributes
    ----------
    label : str
        The label.
    score : float
        Its score for the sample: a probability, if the tagger is calibrated.
    features : list of FeatureEvidence
        Features without which the score would be lower.
    labels : list of LabelEvidence
        Other suggestions that the label co-occurred with in training.
    samples : list of SampleEvidence
        Training samples that have the label, most similar first; only if the tagger keeps them.
    acts : list of str
        Acts on the label since training.
    names : list of str
        Names of the label that are in the text, where names count.
    names_in_part : list of str
        Names of which only some words are in the text, where names count.
    """

    label: str
    score: float
    features: list[FeatureEvidence] = field(default_factory=list)
    labels: list[LabelEvidence] = field(default_factory=list)
    samples: list[SampleEvidence] = field(default_factory=list)
    acts: list[str] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    names_in_part: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        lines = [f"{self.label}: {self.score:.3f}", *(f"  its name '{name}' is in the text" for name in self.names)]
        lines += [f"  part of its name '{name}' is in the text" for name in self.names_in_part]
        lines += [f"  without '{feature}' {-loss:+.3f}" for feature, loss in self.features]
        lines += [f"  {share:.0%} of '{label}' ({score:.2f}) have it" for label, score, share in self.labels]
        lines += [f"  like sample {row} ({near:.2f}): {text[:80]}" for row, text, near in self.samples]
        return "\n".join(lines + [f"  {act}" for act in self.acts])


def explain(tagger: Tagger, text: Any, label: str, n: int = 10) -> Explanation:
    """The evidence for a label, suggested or not, of one text or row of features: at most `n` pieces of each kind."""
    sample = tagger._samples([text] if isinstance(text, str) else text)
    x = sample.X
    changes = tagger._changes
    state = changes.state
    column = state.find(label)
    features = occlusion(lambda rows: _finely(changes, _like(sample, rows), column), x, n, _MAX_FEATURES)
    kept = np.ones((len(features) + 1, x.nnz), np.bool_)
    kept[np.arange(len(features)), features] = False
    variants = _variants(x, kept)
    scores = state.scores(changes.scores, _like(sample, variants), [column])[:, 0].astype(np.float64)
    losses = np.maximum(scores[-1] - scores[:-1], 0)
    names = [feature_name(tagger, int(x.indices[place])) for place in features]
    return Explanation(
        state.name(column),
        float(scores[-1]),
        [FeatureEvidence(name, float(loss)) for name, loss in zip(names, losses, strict=True)],
        _labels(changes, tagger.relations_, sample, column, n),
        _samples(tagger, x, column, n),
        [str(act) for act in in_force(changes.acts) if any(state.leads_to(name) == column for name in act.labels())],
        *_names(tagger, sample.matches, column),
    )


def _names(tagger: Tagger, matches: Matches | None, column: int) -> tuple[list[str], list[str]]:
    """The names of a label that are in a text as a whole, and those that are in part."""
    vocabulary, state, scores = tagger.vocabulary_, tagger._state, tagger._changes.scores
    evidence = scores.names or scores.later
    if evidence is None or matches is None:
        return [], []
    members = state.members(column)
    called = state.later_names(column)
    for label in map(str, state.ground.classes[[each for each in members if each < len(state.ground.classes)]]):
        called += vocabulary.names_of(label) if vocabulary is not None and label in vocabulary else [label]
    index = evidence.index
    names = matches.names, index.partly_named(matches, evidence.counts.weights, evidence.least_share)[1]
    found = [
        {index.stems_at(name) for name in each[np.isin(index.labels[each], list(members))].tolist()} for each in names
    ]
    whole, in_part = ([name for name in dict.fromkeys(called) if index.stems_in(name) in stems] for stems in found)
    return whole, in_part


def _like(sample: Inputs, rows: sparse.csr_matrix) -> Inputs:
    """Variants of one sample, in which the same names are found."""
    return sample.with_rows(rows, np.zeros(rows.shape[0], np.intp))


def _finely(changes: Changes, rows: Inputs, column: int) -> Floats32:
    """Scores that tell samples apart which are equally probable: those of the model, or log-odds of a changed label."""
    part = changes.state.part(column)
    if isinstance(part, Learned) and column < changes.scores.n_labels:
        return np.asarray(changes.scores.uncalibrated(rows, 1, [column]).scores[:, 0])
    plan = Plan([part], changes.state.ground.few_shot)
    return np.asarray(plan.log_odds(changes.scores, rows)[:, 0], dtype=np.float32)


def occlusion(score: Callable[[sparse.csr_matrix], Floats32], x: sparse.csr_matrix, n: int, at_most: int) -> Ids:
    """Indices, within the sample `x`, of the `n` features whose removal lowers the score most.

    If no single removal lowers it, because features are redundant, those with the highest score on their own. Of a
    sample with more than `at_most` features, only the largest are tried.
    """
    tried = np.sort(np.argsort(-np.abs(x.data), kind="stable")[:at_most])
    chosen = np.zeros((len(tried) + 1, x.nnz), np.bool_)
    chosen[np.arange(len(tried)), tried] = True
    for kept, sign in ((~chosen, -1), (chosen, 1)):
        scores = score(_variants(x, kept)).astype(np.float64)
        effects = sign * (scores[:-1] - scores[-1])
        best = np.argsort(-effects, kind="stable")[:n]
        if (effects[best] > 0).any():
            return np.asarray(tried[best[effects[best] > 0]])
    return tried[:0]


def _variants(x: sparse.csr_matrix, kept: Mask) -> sparse.csr_matrix:
    """Copies of a sample, each with some of its entries."""
    entries = np.nonzero(kept)[1]
    indptr = np.concatenate([[0], np.cumsum(kept.sum(axis=1))])
    return sparse.csr_matrix((x.data[entries], x.indices[entries], indptr), shape=(len(kept), x.shape[1]))


def feature_name(tagger: Tagger, feature: int) -> str:
    """The word behind a feature, or its number."""
    return str(feature) if tagger.vectorizer_ is None else str(tagger.vectorizer_.feature_names_[feature])


def _labels(
    changes: Changes, relations: sparse.csr_matrix | None, sample: Inputs, column: int, n: int
) -> list[LabelEvidence]:
    """Other suggestions for the sample that often co-occur with the label."""
    if relations is None or column >= relations.shape[1]:  # a label that training did not know
        return []
    ranking = changes.state.rank(changes.scores, sample, _N_SUGGESTIONS)
    counts = relations.diagonal()
    found = []
    for other, score in zip(ranking.labels[0].tolist(), ranking.scores[0].tolist(), strict=True):
        if 0 <= other < relations.shape[0] and other != column and counts[other] > 0:
            together = max(relations[other, column], relations[column, other])  # each row keeps its largest only
            found.append(LabelEvidence(changes.state.name(other), score, float(together / counts[other])))
    found = [evidence for evidence in found if evidence.share > 0]
    return sorted(found, key=lambda evidence: -evidence.score * evidence.share)[:n]


def _samples(tagger: Tagger, x: sparse.csr_matrix, column: int, n: int) -> list[SampleEvidence]:
    """The nearest training samples with the label."""
    kept = tagger.training_
    if kept is None or column >= kept.labels.shape[1]:
        return []
    rows = np.flatnonzero(kept.labels[:, [column]].toarray().ravel() > 0)
    near = np.asarray((unit_rows(kept.features[rows]) @ unit_rows(x).T).toarray()).ravel()
    best = np.argsort(-near, kind="stable")[:n]
    return [
        SampleEvidence(int(rows[place]), kept.texts[rows[place]] if kept.texts else "", float(near[place]))
        for place in best
        if near[place] > 0
    ]
