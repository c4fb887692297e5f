"""AnnexML: a map trained by a softmax over label-space neighbours, from a random start."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from tacit.embedding.joint_exmlds import JointModel, JointTrainer, PairLoss
from tacit.parameters import Range, Tune, document_parameters


@document_parameters
@dataclass(kw_only=True, eq=False, repr=False)
class AnnexML(JointModel):
    """Labels voted by near samples, in a space whose map from features is trained by a softmax of cosines."""

    rate: Annotated[float, Range(above=0), Tune(0.02, 0.5), "size of the first steps"] = 0.1

    def _trainer(self) -> JointTrainer:
        return self._trainer_for(PairLoss("softmax", self.similarity, self.gamma), start="random")
