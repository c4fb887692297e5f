"""A weighted ensemble of models; the weights are optimised for a chosen metric on held-out samples."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar

import numpy as np
import numpy.typing as npt
from scipy import sparse

from tacit.arrays import Floats32, Floats64, Ids, Mask
from tacit.core.base import Estimator
from tacit.core.features import FeatureMatrix
from tacit.core.labels import positives
from tacit.core.parameters import Range, check_values, document_parameters
from tacit.core.ranking import NO_LABEL, NO_SCORE, Ranking
from tacit.data.repeats import groups_of, one_of_each, unlike
from tacit.errors import ParameterError
from tacit.evaluation.metrics import evaluate, read_metric
from tacit.evaluation.propensity import propensities_from_counts
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

    A share of the samples is held out, the members are trained on the others, and the weights are chosen for the best
    `target` on the held-out set; then the members are trained again on all samples. There is one more weight, for
    log(1/propensity): ranking by probability is optimal for P@k, ranking by probability/propensity for PSP@k, and the
    weight interpolates between the two.
    """

    models: Annotated[Any, "names of registered models, or pairs (name, parameters)"] = (
        "OneVsAll",
        ("LabelTree", {"n_trees": 2, "C": 0.4, "tolerance": 0.4}),
    )
    target: Annotated[
        str | dict,  # type: ignore[type-arg]  # of str to float; checks of parameters know plain types alone
        "metric to optimise: 'P@1', 'PSP@3', …, a sum 'P@1+PSP@1', or weights by metric",
    ] = "P@5+PSP@5"
    depth: Annotated[int, Range(low=1), "number of labels taken from each member"] = 100
    validation: Annotated[float, Range(above=0, below=1), "share of the samples held out for the weights"] = 0.1
    refit: Annotated[bool, "train the members again on all samples once the weights are known"] = True
    A: Annotated[float, Range(low=0), "propensity model: how fast the propensity rises with a label's count"] = 0.55
    B: Annotated[float, Range(above=0), "propensity model: added to a label's count"] = 1.5

    takes_dense: ClassVar[bool] = True

    members_: Annotated[list[Estimator], Items("n_members", is_filled=True)] = field(init=False)
    takes_log_: Annotated[npt.NDArray[np.bool_], Array("bool", ("n_members",))] = field(  # scores never negative
        init=False
    )
    scales_: Annotated[npt.NDArray[np.float64], Array("float64", ("n_members",))] = field(init=False)
    weights_: Annotated[npt.NDArray[np.float64], Array("float64", ("n_members+1",))] = field(  # last: log(1/propensity)
        init=False
    )

    def _fit(self, X: FeatureMatrix, Y: sparse.csr_matrix) -> None:
        target = read_target(self.target)
        learned, held_out = self._split(X, Y)
        members = self._trained(X[learned], Y[learned])
        rankings = self._rankings(members, X[held_out], min(self.depth, Y.shape[1]), None)
        self._learn_weights(rankings, positives(Y[held_out]), target)
        self.members_ = self._trained(X, Y) if self.refit and len(learned) < X.shape[0] else members

    def _untrained(self) -> list[Estimator]:
        members = []
        for name, parameters in _pairs(self.models):
            cls = find_model(name)
            check_values([cls], parameters)
            members.append(cls(**{"random_state": self.random_state, "n_jobs": self.n_jobs, **parameters}))
        return members

    def _split(self, X: FeatureMatrix, Y: sparse.csr_matrix) -> tuple[Ids, Ids]:
        """Training and held-out samples; if there are too few samples to split, all of them are used for both."""
        everything, groups = np.arange(Y.shape[0]), groups_of(X)
        order = one_of_each(np.random.default_rng(self.random_state).permutation(Y.shape[0]), groups)
        n_held_out = min(max(1, int(self.validation * len(order))), _MOST_SAMPLES)
        held_out = np.sort(order[:n_held_out])
        learned = unlike(held_out, groups)
        if len(order) < _FEW_SAMPLES or not all(positives(Y[rows]).nnz for rows in (learned, held_out)):
            return everything, everything
        return learned, held_out

    def _trained(self, X: FeatureMatrix, Y: sparse.csr_matrix) -> list[Estimator]:
        """Train the members one after the other; each runs its own tasks in parallel."""
        return [member.fit(X, Y, label_names=list(self.classes_)) for member in self._untrained()]

    @staticmethod
    def _rankings(members: Sequence[Estimator], X: FeatureMatrix, depth: int, include: Any) -> list[Ranking]:
        """The labels that each member has a score for."""
        rankings = []
        for member in members:
            found = member.rank(X, depth, include=include)
            is_scored = found.scores > member.unranked_score
            rankings.append(
                Ranking(np.where(is_scored, found.labels, NO_LABEL), np.where(is_scored, found.scores, NO_SCORE))
            )
        return rankings

    def _learn_weights(self, rankings: Sequence[Ranking], Y: sparse.csr_matrix, target: Mapping[str, float]) -> None:
        scores = [ranking.scores[ranking.labels != NO_LABEL] for ranking in rankings]
        self.takes_log_ = np.array([len(known) > 0 and bool((known >= 0).all()) for known in scores])
        self.scales_ = np.ones(len(rankings))
        deviations = [part[np.isfinite(part)] for part in self._evidence(rankings)]
        spreads = [float(part.std(dtype=np.float64)) if part.size else 0.0 for part in deviations]
        self.scales_ = np.array([spread if spread > 0 else 1.0 for spread in spreads])
        candidates, propensities = self._candidates(rankings), self._propensities()
        ks = sorted({read_metric(metric)[1] for metric in target})

        def value(weights: Floats64) -> float:
            found = evaluate(candidates.ranked(weights, max(ks)), Y, propensities, ks)
            return sum(share * found[metric] for metric, share in target.items())

        self.weights_ = best_weights(value, len(rankings))

    def _propensities(self) -> Floats64:
        return propensities_from_counts(self.label_counts_, self.n_samples_, self.A, self.B)

    def _evidence(self, rankings: Sequence[Ranking]) -> list[Floats32]:
        """The evidence of each member for the labels it ranks, on comparable scales; -inf for padding."""
        found, tiny = [], float(np.finfo(np.float32).tiny)
        for ranking, takes_log, scale in zip(rankings, self.takes_log_, self.scales_, strict=True):
            scores = np.log(np.maximum(ranking.scores, tiny)) if takes_log else ranking.scores.astype(np.float64)
            found.append(np.where(ranking.labels == NO_LABEL, NO_SCORE, scores / scale).astype(np.float32))
        return found

    def _candidates(self, rankings: Sequence[Ranking]) -> _Pool:
        labels = [ranking.labels for ranking in rankings]
        return _Pool.of(labels, self._evidence(rankings), -np.log(self._propensities()))

    def _rank(self, X: FeatureMatrix, k: int, allowed: Mask | None) -> Ranking:
        include = None if allowed is None else np.flatnonzero(allowed)
        depth = min(max(self.depth, k), len(self.classes_) if include is None else len(include))
        return self._candidates(self._rankings(self.members_, X, depth, include)).ranked(self.weights_, k)


def _pairs(models: Any) -> list[tuple[str, Mapping[str, Any]]]:
    """Names and parameters of the members, checked."""
    if isinstance(models, str) or not isinstance(models, Sequence) or not models:
        raise ParameterError(
            f"parameter 'models' must be a list of model names or pairs (name, parameters); got {models!r}"
        )
    pairs = []
    for item in models:
        is_pair = isinstance(item, list | tuple) and len(item) == 2 and isinstance(item[1], Mapping)
        if not (isinstance(item, str) or is_pair):
            raise ParameterError(f"a model of 'models' must be a name or a pair (name, parameters); got {item!r}")
        pairs.append((item, {}) if isinstance(item, str) else tuple(item))
    return pairs


def read_target(target: str | Mapping[str, float]) -> dict[str, float]:
    """Weights by metric, from a metric, a sum of metrics or a mapping."""
    weights = dict.fromkeys(map(str.strip, target.split("+")), 1.0) if isinstance(target, str) else dict(target)
    for metric, weight in weights.items():
        read_metric(metric)
        if isinstance(weight, bool) or not isinstance(weight, int | float) or not weight >= 0:
            raise ParameterError(f"parameter 'target' must give {metric} a weight of at least 0; got {weight!r}")
    if not any(weights.values()):
        raise ParameterError("parameter 'target' must give at least one metric a weight above 0")
    return weights


def best_weights(value: Callable[[Floats64], float], n_members: int) -> Floats64:
    """Weights of the members (sum 1) and of log(1/propensity) that maximise `value`, by coordinate search."""
    starts = [np.append(np.eye(n_members)[i], 0.0) for i in range(n_members)]
    starts.append(np.append(np.full(n_members, 1 / n_members), 0.0))
    values = [value(weights) for weights in starts]
    best = starts[int(np.argmax(values))]
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


@dataclass(frozen=True, eq=False)
class _Pool:
    """The labels ranked by any member, in ascending order for each sample, and their evidence."""

    labels: npt.NDArray[np.int32]  # of shape (n_samples, n_candidates); -1 where a sample has fewer
    evidence: list[Floats32]  # of the same shape: one for each member, and log(1/propensity) as the last

    @staticmethod
    def of(labels: Sequence[npt.NDArray[np.int32]], evidence: Sequence[Floats32], tail: Floats64) -> _Pool:
        """Merge the members' labels; for a label that a member does not rank, its lowest evidence is used."""
        joined = np.concatenate(labels, axis=1)
        order = np.argsort(joined, axis=1, kind="stable")
        ordered = np.take_along_axis(joined, order, axis=1)
        is_new = (ordered != NO_LABEL) & (np.diff(ordered, axis=1, prepend=NO_LABEL) != 0)
        place = np.empty_like(joined)
        np.put_along_axis(place, order, np.cumsum(is_new, axis=1, dtype=np.int32) - 1, axis=1)
        n_candidates = max(int(is_new.sum(axis=1).max(initial=0)), 1)
        found = np.full((len(joined), n_candidates), NO_LABEL, dtype=np.int32)
        parts, first = [], 0
        for its_labels, its_evidence in zip(labels, evidence, strict=True):
            row, column = np.nonzero(its_labels != NO_LABEL)
            at = place[row, first + column]
            found[row, at] = its_labels[row, column]
            least = np.where(np.isfinite(its_evidence), its_evidence, np.inf).min(axis=1, keepdims=True)
            part = np.repeat(np.where(np.isfinite(least), least, 0), n_candidates, axis=1).astype(np.float32)
            part[row, at] = its_evidence[row, column]
            parts.append(part)
            first += its_labels.shape[1]
        return _Pool(found, [*parts, tail[np.maximum(found, 0)].astype(np.float32)])

    def ranked(self, weights: Floats64, k: int) -> Ranking:
        """The best k by the weighted sum of the evidence."""
        total = np.zeros_like(self.evidence[0])
        for part, weight in zip(self.evidence, weights, strict=True):
            total += np.float32(weight) * part
        total[self.labels == NO_LABEL] = NO_SCORE
        order = np.argsort(-total, axis=1, kind="stable")[:, :k]  # labels rise: equal scores, smaller first
        return Ranking(
            np.take_along_axis(self.labels, order, axis=1), np.take_along_axis(total, order, axis=1)
        ).resized(k)
