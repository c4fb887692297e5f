"""PfastXML: FastXML for data with many missing labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
from scipy import sparse

from tacit.parameters import Range, document_parameters
from tacit.propensity import check_propensities, inverse_propensities, propensities_from_counts
from tacit.trees.fastxml import Balance, FastXML, Refit
from tacit.trees.growth import normalised_gains


@document_parameters
@dataclass(kw_only=True, eq=False, repr=False)
class PfastXML(FastXML):
    """FastXML with positives weighted by inverse propensity, to compensate for missing positives of rare labels."""

    balance: Balance = 1.0
    refit: Refit = 0.5
    A: Annotated[float, Range(low=0), "propensity model: how fast the propensity rises with a label's count"] = 0.55
    B: Annotated[float, Range(above=0), "propensity model: added to a label's count"] = 1.5
    propensities: Annotated[Any, "propensities per label, or per sample and label, to use instead of A and B"] = None

    gains_are_rescaled: ClassVar[bool] = False  # a sample with rare labels gains more than others

    @property
    def _link(self) -> None:
        return None  # scores are label frequencies divided by propensities

    def _worth(self, Y: sparse.csr_matrix) -> sparse.csr_matrix:
        return inverse_propensities(Y, self._propensities(Y)).astype(np.float32)

    def _gains(self, Y: sparse.csr_matrix) -> sparse.csr_matrix:
        return self._worth(Y) if self.balance is None else normalised_gains(Y)

    def _propensities(self, Y: sparse.csr_matrix) -> Any:
        if self.propensities is None:
            return propensities_from_counts(self.label_counts_, Y.shape[0], self.A, self.B)
        return check_propensities(self.propensities, Y.shape)
