"""Labels by meaning: vectors of their names and descriptions, beside vectors of texts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, NamedTuple

import numpy as np
import numpy.typing as npt

from tacit.store.declared import Array
from tacit.tasks import row_blocks

Floats = npt.NDArray[np.float32]

_N_NEAREST = 10  # labels of a text that are candidates for their meaning
_VALUES_PER_BLOCK = 8_000_000  # similarities in memory at a time
_LONGEST = 1.001  # of a vector of unit length, rounded


class Nearest(NamedTuple):
    """The labels nearest to each sample, the most similar first, and the vectors that tell how near others are."""

    labels: npt.NDArray[np.int32]
    similarities: Floats
    vectors: Floats
    of_labels: Floats

    def of_rows(self, rows: npt.NDArray[np.intp]) -> Nearest:
        """The same for some of the samples."""
        return Nearest(self.labels[rows], self.similarities[rows], self.vectors[rows], self.of_labels)

    def similarity(self, rows: npt.NDArray[np.intp], labels: npt.NDArray[np.intp]) -> Floats:
        """The similarity of pairs of a sample and a label."""
        found = np.empty(len(rows), np.float32)
        for block in row_blocks(len(rows), _VALUES_PER_BLOCK // max(self.vectors.shape[1], 1)):
            part = slice(*block)
            found[part] = np.einsum("ij,ij->i", self.vectors[rows[part]], self.of_labels[labels[part]])
        return found


@dataclass(frozen=True, eq=False)
class Meaning:
    """A vector of unit length for each label; zero for a label without a name."""

    labels: Annotated[Floats, Array("float32", ("n_named", "n_dimensions"), up_to=_LONGEST)]

    def nearest(self, vectors: Floats) -> Nearest:
        """The labels nearest to vectors of unit length."""
        k = min(_N_NEAREST, len(self.labels))
        best, values = np.empty((len(vectors), k), np.int32), np.empty((len(vectors), k), np.float32)
        for block in row_blocks(len(vectors), max(1, _VALUES_PER_BLOCK // max(len(self.labels), 1))):
            rows = slice(*block)
            similarities = vectors[rows] @ self.labels.T
            chosen = np.argpartition(-similarities, k - 1, axis=1)[:, :k]
            found = np.take_along_axis(similarities, chosen, axis=1)
            order = np.lexsort((chosen, -found), axis=1)
            best[rows] = np.take_along_axis(chosen, order, axis=1)
            values[rows] = np.take_along_axis(found, order, axis=1)
        return Nearest(best, values, vectors, self.labels)

    def ordered(self, order: npt.NDArray[np.intp]) -> Meaning:
        """The same for labels in another order; those at -1 are new, and nothing is known of them."""
        return Meaning(np.where(order[:, None] >= 0, self.labels[order], np.float32(0)))

    def with_later(self, columns: Sequence[int], vectors: Floats, n_labels: int) -> Meaning:
        """The same for `n_labels` labels, some of which have another vector now."""
        labels = np.pad(self.labels, ((0, n_labels - len(self.labels)), (0, 0)))
        labels[list(columns)] = vectors
        return replace(self, labels=labels)
