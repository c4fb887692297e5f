"""PfastreXML: PfastXML, re-ranked by tail classifiers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar

from scipy import sparse

from tacit.core.base import Estimator
from tacit.core.labels import positives
from tacit.core.parameters import OneOf, Range, Tune, document_parameters
from tacit.errors import ParameterError
from tacit.numerics.rows import label_means, largest_entries, unit_rows
from tacit.trees.fastxml import Refit
from tacit.trees.pfastxml import PfastXML
from tacit.trees.tail import (
    Centres,
    Nearness,
    exact_centres,
    offsets_with_odds,
    offsets_with_own_odds,
    squared_lengths,
    unbiased_squares,
)


@document_parameters
@dataclass(kw_only=True, eq=False, repr=False)
class PfastreXML(PfastXML):
    """PfastXML with labels re-ranked by the distance of a sample from the centre of each label."""

    refit: Refit = 1.5
    alpha: Annotated[
        float,
        Range(low=0, high=1),
        Tune(0.5, 1, log=False),
        "weight of the trees in the score; tail classifiers have 1 - alpha",
    ] = 0.97
    gamma: Annotated[
        float, Range(above=0), Tune(3, 100), "how fast a label's probability falls with the distance from its centre"
    ] = 30.0
    tail: Annotated[str, OneOf(("mean", "exact")), "label centres: mean of the samples, or maximum likelihood"] = "mean"
    beta: Annotated[
        float | None,
        Range(above=0),
        "odds against a label at its centre; None, with tail='mean': even odds at the mean distance of its samples",
    ] = None
    correct_lengths: Annotated[
        bool, "free the length of a mean from what few samples add to it (tail='mean'); False: as in the paper"
    ] = True
    centre_features: Annotated[int, Range(low=1), "number of features kept in a centre, the largest"] = 100

    centres_: Centres = field(init=False)

    PAPER: ClassVar[Mapping[str, Any]] = {
        **PfastXML.PAPER,
        "alpha": 0.8,
        "gamma": 30.0,
        "tail": "mean",
        "beta": 1.0,
        "correct_lengths": False,
        "centre_features": 2**31 - 1,
    }
    unranked_score: ClassVar[float] = Estimator.unranked_score

    def _fit(self, X: sparse.csr_matrix, Y: sparse.csr_matrix) -> None:
        super()._fit(X, Y)
        relevant = positives(Y)
        unit = X if self.normalize else unit_rows(X)
        beta = 1.0 if self.beta is None else self.beta
        if self.tail == "exact":
            centres = self._exact_centres(unit, relevant, beta)
            offsets = offsets_with_odds(squared_lengths(centres), beta, self.gamma)
        else:
            means = label_means(unit, relevant)  # PfastreXML section 2.3
            centres = largest_entries(means, self.centre_features)
            squares = unbiased_squares(centres, unit, relevant) if self.correct_lengths else squared_lengths(centres)
            own = self.beta is None
            offsets = offsets_with_own_odds(squares) if own else offsets_with_odds(squares, beta, self.gamma)
        self.centres_ = Centres.of(centres, offsets)

    def _exact_centres(self, X: sparse.csr_matrix, Y: sparse.csr_matrix, beta: float) -> sparse.csr_matrix:
        propensities = self._propensities(Y)
        if propensities.ndim != 1:
            raise ParameterError("tail='exact' needs one propensity per label; pass a 1-D array, or choose tail='mean'")
        return exact_centres(
            X, Y, propensities, gamma=self.gamma, beta=beta, n_largest=self.centre_features, n_jobs=self.n_jobs
        )

    def _nearness(self) -> Nearness:
        return Nearness(self.centres_, self.alpha, self.gamma)
