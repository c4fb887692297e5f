"""The options of suggestions, and the one implementation of suggesting."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tacit.core.checks import as_count, is_blank
from tacit.core.labels import Names, label_mask
from tacit.core.ranking import NO_LABEL, NO_SCORE, Ranking
from tacit.errors import ParameterError
from tacit.tagger.inputs import Inputs
from tacit.tagger.scores import Scores
from tacit.tagger.state import State

DECIMALS = 6  # of scores in files and responses
K = 5  # suggestions per sample if neither a number nor a threshold is given


class Suggestion(NamedTuple):
    """A label for a text, with its score: the probability that it is right, if the tagger is calibrated."""

    label: str
    score: float


@dataclass(frozen=True)
class Wish:
    """The options of suggestions, as documented at `Tagger.suggest`."""

    k: int | None = None
    threshold: float | str | None = None
    include: Sequence[str | int] | npt.NDArray[np.integer] | None = None
    exclude: Sequence[str | int] | npt.NDArray[np.integer] | None = None
    damp_head: float = 0.0

    def __post_init__(self) -> None:
        if self.k is not None:
            object.__setattr__(self, "k", as_count(self.k, "k"))
        if not 0 <= self.damp_head <= 1:
            raise ParameterError(f"damp_head must be between 0 and 1; got {self.damp_head}")
        if isinstance(self.threshold, str):
            with suppress(ValueError):
                object.__setattr__(self, "threshold", float(self.threshold))
        if self.threshold != self.threshold:
            raise ParameterError("threshold must be a number or a target; got nan")


def rank(
    scores: Scores, state: State, samples: Inputs, wish: Wish, propensities: Callable[[int], npt.NDArray[np.float64]]
) -> Ranking:
    """The labels of each sample that a wish selects, best first."""
    least = scores.threshold_for(wish.threshold)
    allowed = label_mask(state.names, wish.include, wish.exclude, state.find)
    k, is_measured = wish.k, isinstance(wish.threshold, str) and scores.calibration is not None
    if k is None and (wish.threshold is None or is_measured):
        # Targets were measured on rankings of this length; longer ones would let more suggestions pass.
        k = K if wish.threshold is None else scores.n_places
    # As long as in calibration, so that the first places do not depend on k.
    depth = None if k is None else max(k, scores.n_places)
    ranking = state.rank(scores, samples, depth, allowed, least)
    is_kept = (ranking.labels != NO_LABEL) & (ranking.scores >= least)
    labels, values = np.where(is_kept, ranking.labels, NO_LABEL), np.where(is_kept, ranking.scores, NO_SCORE)
    if wish.damp_head > 0:
        shares = propensities(len(state))
        discount = (shares.min() / shares) ** wish.damp_head
        values = np.where(is_kept, values * discount[labels], NO_SCORE)
    found = Ranking(labels, values).sorted()
    longest = int(is_kept.sum(axis=1).max(initial=0)) if k is None else k
    return found.top(longest)


def are_known(samples: Inputs, texts: Any) -> npt.NDArray[np.bool_]:
    """Which texts have anything that a suggestion could be based on: a word or part of a name, or a vector."""
    has_evidence: npt.NDArray[np.bool_] = np.diff(samples.X.indptr) > 0
    if samples.matches is not None:
        has_evidence |= np.diff(samples.matches.words.indptr) > 0
    if samples.vectors is not None:
        has_evidence |= samples.vectors.any(axis=1)
    has_evidence[np.fromiter(map(is_blank, texts), np.bool_, samples.shape[0])] = False
    return has_evidence


def of_known(ranking: Ranking, known: npt.NDArray[np.bool_]) -> Ranking:
    """The ranking without labels for texts that are not known, which the model would give its most frequent ones."""
    if known.all():
        return ranking
    keep = known[:, None]
    return Ranking(np.where(keep, ranking.labels, NO_LABEL), np.where(keep, ranking.scores, NO_SCORE))


def named(ranking: Ranking, names: Names) -> list[list[Suggestion]]:
    """The labels of each sample by name."""
    return [
        [Suggestion(str(names[label]), score) for label, score in zip(labels, scores, strict=True) if label != NO_LABEL]
        for labels, scores in zip(ranking.labels.tolist(), ranking.scores.tolist(), strict=True)
    ]
