"""PfastreXML: PfastXML, re-ranked by tail classifiers: a label is likely near the centre of its samples.

``P(y_l = 1 | x) = 1/(1 + v)`` with ``v = β exp(γ/2 ‖x − μ_l‖²)`` (PfastreXML Eq. 41), x of unit length and μ_l the mean
of the label's samples. With the same odds β for all labels, P favours labels with short centres, which are the frequent
ones; by default β is set per label.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar

import numpy as np
import numpy.typing as npt
from scipy import sparse

from tacit.arrays import Floats32, Floats64, Integers, UInts64
from tacit.core.base import Estimator
from tacit.core.labels import positives
from tacit.core.parameters import Range, Tune, document_parameters
from tacit.kernels.forest_ranking import CentreLevels, quantised
from tacit.numerics.compact import smallest_ids
from tacit.numerics.rows import label_means, largest_entries, unit_rows
from tacit.store.declared import IDS, Array
from tacit.trees.fastxml import Refit
from tacit.trees.pfastxml import PfastXML


@dataclass(frozen=True, eq=False)
class Centres:
    """Quantised centres by feature; an entry is a level times its label's step. ``v = exp(γ/2 (offset − 2 x·μ_l))``."""

    starts: Annotated[UInts64, Array("uint64", ("n_features+1",), starts="n_entries")]
    labels: Annotated[npt.NDArray[Any], Array(IDS, ("n_entries",), below="n_labels")]
    levels: Annotated[Integers, Array("uint8 int16", ("n_entries",))]  # 16 bits where there are negative entries
    steps: Annotated[Floats32, Array("float32", ("n_labels",))]
    offsets: Annotated[Floats32, Array("float32", ("n_labels",))]

    @staticmethod
    def of(centres: sparse.csr_matrix, offsets: Floats64) -> Centres:
        """Quantise centres; `offsets` are computed from the entries that are kept."""
        levels, steps = quantised(centres.data, centres.indptr, np.int16 if (centres.data < 0).any() else np.uint8)
        by_feature = sparse.csr_matrix((levels, centres.indices, centres.indptr), shape=centres.shape).tocsc()
        return Centres(
            starts=by_feature.indptr.astype(np.uint64),
            labels=smallest_ids(by_feature.indices, centres.shape[0]),
            levels=by_feature.data,
            steps=steps.astype(np.float32),
            offsets=offsets.astype(np.float32),
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
    beta: Annotated[
        float | None,
        Range(above=0),
        "odds against a label at its centre; None: even odds at the mean distance of its samples",
    ] = None
    correct_lengths: Annotated[
        bool, "free the length of a centre from what few samples add to it; False: as in the paper"
    ] = True
    centre_features: Annotated[int, Range(low=1), "number of features kept in a centre, the largest"] = 100

    centres_: Centres = field(init=False)

    PAPER: ClassVar[Mapping[str, Any]] = {
        **PfastXML.PAPER,
        "alpha": 0.8,
        "gamma": 30.0,
        "beta": 1.0,
        "correct_lengths": False,
        "centre_features": 2**31 - 1,
    }
    unranked_score: ClassVar[float] = Estimator.unranked_score

    def _fit(self, X: sparse.csr_matrix, Y: sparse.csr_matrix) -> None:
        super()._fit(X, Y)
        relevant = positives(Y)
        unit = X if self.normalize else unit_rows(X)
        centres = largest_entries(label_means(unit, relevant), self.centre_features)  # PfastreXML section 2.3
        squares = unbiased_squares(centres, unit, relevant) if self.correct_lengths else squared_lengths(centres)
        self.centres_ = Centres.of(centres, offsets(squares, self.beta, self.gamma))

    def _centres(self) -> CentreLevels:
        arrays = {name: getattr(self.centres_, name) for name in CentreLevels._fields[:-2]}
        return CentreLevels(**arrays, alpha=float(self.alpha), gamma=float(self.gamma))


def offsets(squares: Floats64, beta: float | None, gamma: float) -> Floats64:
    """Offsets for the odds `beta` against a label at its centre, where ``‖x − μ‖² = 1 + ‖μ‖² − 2 x·μ``.

    With None, those for even odds at the mean distance of a label's samples from its centre, ``1 − ‖μ‖²``.
    """
    return 2 * squares if beta is None else squares + float(1 + 2 * np.log(beta) / gamma)


def squared_lengths(centres: sparse.csr_matrix) -> Floats64:
    """‖μ‖² of each centre."""
    return np.asarray(centres.multiply(centres).sum(axis=1), dtype=np.float64).ravel()


def unbiased_squares(centres: sparse.csr_matrix, X: sparse.csr_matrix, Y: sparse.csr_matrix) -> Floats64:
    """Estimates of ‖μ‖², over the features that each centre keeps, from means of the samples of labels.

    Differs from the paper: the squared length of a mean of few samples is biased upwards, by the variance of the
    samples divided by their number. Uncorrected, such a centre would seem far from every sample.
    """
    squares, counts = squared_lengths(centres), np.bincount(Y.indices, minlength=Y.shape[1])
    mean_squares = label_means(X.power(2), Y).multiply(centres != 0).sum(axis=1)
    variances = np.asarray(mean_squares, dtype=np.float64).ravel() - squares
    return np.maximum(squares - variances / np.maximum(counts, 1), 0)
