"""PfastXML: FastXML for data with many missing labels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
from scipy import sparse

from tacit.arrays import Floats64
from tacit.core.parameters import Range, Tune, document_parameters
from tacit.evaluation.propensity import (
    check_propensities,
    entries,
    inverse_propensities,
    propensities_from_counts,
    values_at,
)
from tacit.trees.fastxml import FEW, FastXML, Refit, normalised_gains


@document_parameters
@dataclass(kw_only=True, eq=False, repr=False)
class PfastXML(FastXML):
    """FastXML with positives weighted by inverse propensity, to compensate for missing positives of rare labels."""

    balance: Annotated[
        float | None,
        Range(low=0, high=2),
        Tune(0, 1.5, log=False),
        "mean exponent b of the weights (n + 20)^-b in the nDCG of splits, n the count at which A and B give the "
        "propensity p of a positive, drawn per tree from 0 to twice this; None: weights 1/p, as in the paper",
    ] = 1.0
    refit: Refit = 0.5
    A: Annotated[float, Range(low=0), "propensity model: how fast the propensity rises with a label's count"] = 0.55
    B: Annotated[float, Range(above=0), "propensity model: added to a label's count"] = 1.5
    propensities: Annotated[Any, "propensities per label, or per sample and label, to use instead of A and B"] = None

    PAPER: ClassVar[Mapping[str, Any]] = {**FastXML.PAPER, "A": 0.55, "B": 1.5}
    gains_are_rescaled: ClassVar[bool] = False  # a sample with rare labels gains more than others

    @property
    def _link(self) -> None:
        return None  # scores are label frequencies divided by propensities

    def _worth(self, Y: sparse.csr_matrix) -> sparse.csr_matrix:
        return inverse_propensities(Y, self._propensities(Y)).astype(np.float32)

    def _gains(self, Y: sparse.csr_matrix) -> sparse.csr_matrix:
        return self._worth(Y) if self.balance is None else normalised_gains(Y)

    def _commonness(self, Y: sparse.csr_matrix) -> Floats64:
        """The counts at which labels would have the propensities of the positives, which are theirs by default."""
        counts = np.arange(Y.shape[0] + 1)
        by_count = propensities_from_counts(counts, Y.shape[0], self.A, self.B)
        return np.interp(values_at(self._propensities(Y), *entries(Y)), by_count, counts) + float(FEW)

    def _propensities(self, Y: sparse.csr_matrix) -> Any:
        if self.propensities is None:
            return propensities_from_counts(self.label_counts_, Y.shape[0], self.A, self.B)
        return check_propensities(self.propensities, Y.shape)
