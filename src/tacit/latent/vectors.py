"""Linear scores of labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt

from tacit.base import Estimator, Mask
from tacit.store.declared import Array

Floats32 = npt.NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class LabelVectors:
    """Linear scores of labels.

    Attributes
    ----------
    columns : float32 array of shape (dimension, n_labels)
        The vector of each label.
    intercepts : float32 array of shape (n_labels,)
        What is added to the score.
    variances : float32 array of shape (dimension, n_labels), optional
        How sure the vectors are.
    """

    columns: Annotated[Floats32, Array("float32", ("dimension", "n_labels"))]
    intercepts: Annotated[Floats32, Array("float32", ("n_labels",))]
    variances: Annotated[Floats32 | None, Array("float32", ("dimension", "n_labels"))] = None

    def joined(self, other: LabelVectors) -> LabelVectors:
        """These labels, then the others."""
        both = self.variances is not None and other.variances is not None
        return LabelVectors(
            np.hstack([self.columns, other.columns]),
            np.concatenate([self.intercepts, other.intercepts]),
            np.hstack([self.variances, other.variances]) if both else None,  # type: ignore[list-item]
        )

    def chosen(self, labels: Any) -> LabelVectors:
        """Some of the labels, in the order given."""
        variances = None if self.variances is None else np.ascontiguousarray(self.variances[:, labels])
        return LabelVectors(np.ascontiguousarray(self.columns[:, labels]), self.intercepts[labels], variances)

    def silenced(self, labels: Mask) -> LabelVectors:
        """The labels with the marked ones ranked last, whatever the sample."""
        columns = np.where(labels, np.float32(0), self.columns)
        intercepts = np.where(labels, np.float32(Estimator.unranked_score), self.intercepts)
        return LabelVectors(columns, intercepts, self.variances)

    def scaled(self, slope: float, intercept: float) -> LabelVectors:
        """Vectors whose scores are slope · score + intercept."""
        by, add = np.float32(slope), np.float32(intercept)
        variances = None if self.variances is None else by * by * self.variances
        return LabelVectors(by * self.columns, by * self.intercepts + add, variances)

    def mixed(self, other: LabelVectors, shares: Floats32) -> LabelVectors:
        """Vectors whose scores have a share of another's, for each label; as sure as these."""
        columns = (1 - shares) * self.columns + shares * other.columns
        return LabelVectors(columns, (1 - shares) * self.intercepts + shares * other.intercepts, self.variances)
