"""A weighted ensemble of models; the weights are optimised for a chosen metric on held-out samples."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np
from scipy import sparse

from tacit.arrays import Floats32, Floats64, Ids, Ints32, Mask
from tacit.core.base import Estimator
from tacit.core.features import FeatureMatrix
from tacit.core.labels import positives
from tacit.core.parameters import Range, check_values, document_parameters
from tacit.core.ranking import NO_LABEL, NO_SCORE, Ranking
from tacit.data.repeats import groups_of, one_of_each, unlike
from tacit.errors import ParameterError
from tacit.evaluation.metrics import evaluate, read_metric
from tacit.numerics.rows import sorted_set
from tacit.registry import find_model
from tacit.store.declared import Array, Items

_FEW_SAMPLES = 20  # below this, none are held out and weights are learned on the training samples themselves
_MOST_SAMPLES = 10_000  # held out; more would only slow down the search
_TRIED = (0.0, 0.05, 0.1, 0.2, 0.35, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 5.0)  # weights, relative to a sum of 1
_TRIED_FOR_TAIL = (-0.5, -0.35, -0.2, -0.1, -0.05, *_TRIED)  # members may already favour the tail too much
_ROUNDS = 5


@document_parameters
@dataclass(kw_only=True, eq=False, repr=False)
class Blend(Estimator):
    """A weighted ensemble of registered models: a label's score is a weighted sum of the scores of the members.

    The members are trained on a part of the samples, and the weights are chosen for the best `target` on the rest; then
    the members are trained again on all samples. There is one more weight, for log(1/propensity): ranking by
    probability is optimal for P@k, ranking by probability/propensity for PSP@k, and the weight interpolates.
    """

    models: Annotated[Any, "names of registered models, or pairs (name, parameters)"] = (
        "OneVsAll",
        ("LabelTree", {"n_trees": 2, "C": 0.4, "tolerance": 0.4}),
    )
    target: Annotated[str, "metric to optimise: 'P@1', 'PSP@3', …, or a sum as 'P@1+P@1+PSP@1'"] = "P@5+PSP@5"
    depth: Annotated[int, Range(low=1), "number of labels taken from each member"] = 100
    validation: Annotated[float, Range(above=0, below=1), "fraction of the samples held out for the weights"] = 0.1

    takes_dense: ClassVar[bool] = True

    members_: Annotated[list[Estimator], Items("n_members", is_filled=True)] = field(init=False)
    takes_log_: Annotated[Mask, Array("bool", ("n_members",))] = field(init=False)  # of scores that are never negative
    scales_: Annotated[Floats64, Array("float64", ("n_members",))] = field(init=False)
    weights_: Annotated[Floats64, Array("float64", ("n_members+1",))] = field(init=False)  # last: of log(1/propensity)

    def _fit(self, X: FeatureMatrix, Y: sparse.csr_matrix) -> None:
        target = read_target(self.target)
        learned, held_out = self._split(X, Y)
        members = self._trained(X[learned], Y[learned])
        rankings = _rankings(members, X[held_out], min(self.depth, Y.shape[1]), None)
        self._learn_weights(rankings, positives(Y[held_out]), target)
        self.members_ = self._trained(X, Y) if len(learned) < X.shape[0] else members

    def _split(self, X: FeatureMatrix, Y: sparse.csr_matrix) -> tuple[Ids, Ids]:
        """Training and held-out samples; if there are too few samples to split, all of them are used for both."""
        everything, groups = np.arange(Y.shape[0]), groups_of(X)
        order = one_of_each(np.random.default_rng(self.random_state).permutation(Y.shape[0]), groups)
        held_out = np.sort(order[: min(max(1, int(self.validation * len(order))), _MOST_SAMPLES)])
        learned = unlike(held_out, groups)
        if len(order) < _FEW_SAMPLES or not all(positives(Y[rows]).nnz for rows in (learned, held_out)):
            return everything, everything
        return learned, held_out

    def _trained(self, X: FeatureMatrix, Y: sparse.csr_matrix) -> list[Estimator]:
        """Train the members one after the other; each runs its own tasks in parallel."""
        members = []
        for name, parameters in _pairs(self.models):
            cls = find_model(name)
            check_values([cls], parameters)
            members.append(cls(**{"random_state": self.random_state, "n_jobs": self.n_jobs, **parameters}))
        return [member.fit(X, Y, label_names=list(self.classes_)) for member in members]

    def _learn_weights(self, rankings: Sequence[Ranking], Y: sparse.csr_matrix, target: Counter[str]) -> None:
        scores = [ranking.scores[ranking.labels != NO_LABEL] for ranking in rankings]
        self.takes_log_ = np.array([len(known) > 0 and bool((known >= 0).all()) for known in scores])
        self.scales_ = np.ones(len(rankings))
        known = [evidence[np.isfinite(evidence)] for evidence in self._evidence(rankings)]
        self.scales_ = np.array([float(each.std(dtype=np.float64)) or 1.0 if each.size else 1.0 for each in known])
        candidates, propensities = self._candidates(rankings), self.propensities_for(Y.shape[1])
        ks = sorted({read_metric(metric)[1] for metric in target})

        def value(weights: Floats64) -> float:
            found = evaluate(candidates.ranked(weights, max(ks)), Y, propensities, ks)
            return sum(times * found[metric] for metric, times in target.items())

        self.weights_ = best_weights(value, len(rankings))

    def _evidence(self, rankings: Sequence[Ranking]) -> list[Floats32]:
        """The evidence of each member for the labels it ranks, on comparable scales; -inf for padding."""
        found, tiny = [], float(np.finfo(np.float32).tiny)
        for ranking, takes_log, scale in zip(rankings, self.takes_log_, self.scales_, strict=True):
            scores = np.log(np.maximum(ranking.scores, tiny)) if takes_log else ranking.scores.astype(np.float64)
            found.append(np.where(ranking.labels == NO_LABEL, NO_SCORE, scores / scale).astype(np.float32))
        return found

    def _candidates(self, rankings: Sequence[Ranking]) -> _Candidates:
        tail = -np.log(self.propensities_for(len(self.classes_)))
        return _joined([ranking.labels for ranking in rankings], self._evidence(rankings), tail)

    def _rank(self, X: FeatureMatrix, k: int, allowed: Mask | None) -> Ranking:
        include = None if allowed is None else np.flatnonzero(allowed)
        depth = min(max(self.depth, k), len(self.classes_) if include is None else len(include))
        return self._candidates(_rankings(self.members_, X, depth, include)).ranked(self.weights_, k)


def _pairs(models: Any) -> list[tuple[str, Mapping[str, Any]]]:
    """Names and parameters of the members."""
    pairs = [(item, {}) if isinstance(item, str) else item for item in models] if isinstance(models, Sequence) else []
    is_pair = [isinstance(pair, list | tuple) and len(pair) == 2 and isinstance(pair[1], Mapping) for pair in pairs]
    if isinstance(models, str) or not pairs or not all(is_pair):
        raise ParameterError(
            f"parameter 'models' must be a list of model names or pairs (name, parameters); got {models!r}"
        )
    return pairs


def _rankings(members: Sequence[Estimator], X: FeatureMatrix, depth: int, include: Ids | None) -> list[Ranking]:
    """The labels that each member has a score for."""
    rankings = []
    for member in members:
        found = member.rank(X, depth, include=include)
        is_scored = found.scores > member.unranked_score
        padded = np.where(is_scored, found.labels, NO_LABEL), np.where(is_scored, found.scores, NO_SCORE)
        rankings.append(Ranking(*padded))
    return rankings


def read_target(target: str) -> Counter[str]:
    """How often each metric is in a sum."""
    metrics = Counter(map(str.strip, target.split("+")))
    for metric in metrics:
        read_metric(metric)
    return metrics


def best_weights(value: Callable[[Floats64], float], n_members: int) -> Floats64:
    """Weights of the members (sum 1) and of log(1/propensity) that maximise `value`, by coordinate search."""
    starts = [*np.eye(n_members, n_members + 1), np.append(np.full(n_members, 1 / n_members), 0.0)]
    values = [value(weights) for weights in starts]
    best: Floats64 = starts[int(np.argmax(values))]
    most = max(values)
    for _ in range(_ROUNDS):
        before = most
        for place in range(n_members + 1):
            for tried in _TRIED if place < n_members else _TRIED_FOR_TAIL:
                weights = best.copy()
                weights[place] = tried
                if weights[:-1].sum() == 0:
                    continue
                weights /= weights[:-1].sum() if place < n_members else 1.0
                if (found := value(weights)) > most:
                    best, most = weights, found
        if most == before:
            break
    return best


class _Candidates(NamedTuple):
    """The labels ranked by any member, in ascending order for each sample and padded, and their evidence."""

    labels: Ints32
    evidence: list[Floats32]  # one for each member, and log(1/propensity) as the last

    def ranked(self, weights: Floats64, k: int) -> Ranking:
        """The best k by the weighted sum of the evidence."""
        total = np.zeros_like(self.evidence[0])
        for part, weight in zip(self.evidence, weights, strict=True):
            total += np.float32(weight) * part
        total[self.labels == NO_LABEL] = NO_SCORE
        order = np.argsort(-total, axis=1, kind="stable")[:, :k]  # labels rise: equal scores, smaller first
        best = np.take_along_axis(self.labels, order, axis=1), np.take_along_axis(total, order, axis=1)
        return Ranking(*best).resized(k)


def _joined(labels: Sequence[Ints32], evidence: Sequence[Floats32], tail: Floats64) -> _Candidates:
    """Merge the members' labels; for a label that a member does not rank, its lowest evidence is used."""
    n_rows, n_labels = len(labels[0]), len(tail)
    keys = [(np.arange(n_rows)[:, None] * n_labels + each)[each != NO_LABEL] for each in labels]
    union = sorted_set(np.concatenate(keys))
    row, label = np.divmod(union, n_labels)
    column = np.arange(len(union)) - np.searchsorted(row, row)
    joined = np.full((n_rows, int(column.max(initial=0)) + 1), NO_LABEL, np.int32)
    joined[row, column] = label
    parts = []
    for key, ranked, values in zip(keys, labels, evidence, strict=True):
        least = np.where(np.isfinite(values), values, np.inf).min(axis=1, keepdims=True)
        part = np.repeat(np.where(np.isfinite(least), least, 0), joined.shape[1], axis=1).astype(np.float32)
        places = np.searchsorted(union, key)
        part[row[places], column[places]] = values[ranked != NO_LABEL]
        parts.append(part)
    return _Candidates(joined, [*parts, tail[np.maximum(joined, 0)].astype(np.float32)])
