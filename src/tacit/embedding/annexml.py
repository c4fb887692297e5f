"""AnnexML: a map trained by a softmax over label-space neighbours, from a random start."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from tacit.core.parameters import Range, Tune, document_parameters
from tacit.embedding.joint_exmlds import PRINTED, JointModel


@document_parameters
@dataclass(kw_only=True, eq=False, repr=False)
class AnnexML(JointModel):
    """Labels voted by near samples, in a space whose map from features is trained by a softmax of cosines.

    `AnnexML.paper()` has the settings of the example that comes with AnnexML's own code.
    """

    rate: Annotated[float, Range(above=0), Tune(0.02, 0.5), "initial learning rate"] = 0.1

    PAPER: ClassVar[Mapping[str, Any]] = dict(PRINTED)
