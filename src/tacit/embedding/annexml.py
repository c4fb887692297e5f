"""AnnexML: a map trained by a softmax over label-space neighbours, from a random start."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from scipy import sparse

from tacit.arrays import Floats32
from tacit.core.features import FeatureMatrix
from tacit.core.parameters import Range, Tune, document_parameters
from tacit.embedding.joint_exmlds import PRINTED, JointModel, PairLoss, random_start


@document_parameters
@dataclass(kw_only=True, eq=False, repr=False)
class AnnexML(JointModel):
    """Labels voted by near samples, in a space whose map from features is trained by a softmax of cosines.

    `AnnexML.paper()` has the settings of the example that comes with AnnexML's own code.
    """

    rate: Annotated[float, Range(above=0), Tune(0.02, 0.5), "initial learning rate"] = 0.1

    PAPER: ClassVar[Mapping[str, Any]] = dict(PRINTED)

    def _loss(self) -> PairLoss:
        return PairLoss(is_softmax=True)

    def _start(self, X: FeatureMatrix, Y: sparse.csr_matrix, seed: int) -> Floats32:  # noqa: ARG002
        return random_start(X.shape[1], self.dimension, seed)
