"""What linear classifiers minimise: a loss, and what its positives stand for when others are missing."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tacit.kernels.dual import LOGISTIC, SQUARED, SQUARED_HINGE
from tacit.propensity import FloatArray

LOSSES = {"squared_hinge": SQUARED_HINGE, "logistic": LOGISTIC, "squared": SQUARED}
POSITIVES = ("propensity", "unbiased", "equal")


@dataclass(frozen=True, eq=False)
class Objective:
    """A loss of `tacit.kernels.dual`, cost and target of the positives of each label, cost of negatives."""

    loss: int
    positive_costs: npt.NDArray[np.float32]
    positive_targets: npt.NDArray[np.float32]
    negative_cost: float


def objective_of(loss: str, positives: str, C: float, propensities: FloatArray) -> Objective:
    """The objective for labels of given propensities.

    Parameters
    ----------
    loss : str
        A key of `LOSSES`.
    positives : str
        ``"propensity"``: the losses of positives are divided by propensities (PfastreXML Theorem 4.1).
        ``"unbiased"``: in expectation over what is missing, the objective is that of the complete labels.
        ``"equal"``: all count alike.
    C : float
        Cost of the loss of a negative.
    propensities : float64 array
        Of the labels.
    """
    costs, targets = np.ones(len(propensities)), np.ones(len(propensities))
    if positives == "propensity":
        costs = 1 / propensities
    elif positives == "unbiased" and loss == "squared":
        # PfastreXML Theorem 4.4: ‖y/p − ŷ‖², with ŷ = (1 + w·x) / 2
        targets = 2 / propensities - 1
    elif positives == "unbiased":
        # Of right and wrong, ℓ(1)/p + (1 − 1/p) ℓ(−1) with ℓ(−1) = 1 − ℓ(1) is (2/p − 1) ℓ(1) and a constant:
        # Theorem 4.4 again, for ŷ of 0 and 1. A convex loss takes the place of ℓ(1) (Qaraei et al., 2021).
        costs = 2 / propensities - 1
    return Objective(LOSSES[loss], (C * costs).astype(np.float32), targets.astype(np.float32), C)
