"""The columns of a file beside texts and labels, kept so that its samples can be written with them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse


@dataclass(frozen=True, eq=False)
class Table:
    """The records of a file, a row for each sample.

    Attributes
    ----------
    records : list of mappings
        All fields of each sample.
    label_field : str or None
        The field with the labels; None if there is none.
    label_cells : list of lists of str
        The labels of each sample as the file spells them.
    Y : csr_matrix
        The same labels as they were read, to tell which rows have changed since.
    separator : str
        What separates labels in a cell; empty where labels are lists.
    delimiter : str
        What separates the cells of a row; empty where fields are named in each record.
    """

    records: Sequence[Mapping[str, Any]]
    label_field: str | None
    label_cells: Sequence[Sequence[str]]
    Y: sparse.csr_matrix
    separator: str = ""
    delimiter: str = ""

    def rows(self, rows: npt.NDArray[np.integer[Any]]) -> Table:
        """Select rows."""
        return replace(
            self,
            records=[self.records[row] for row in rows],
            label_cells=[self.label_cells[row] for row in rows],
            Y=self.Y[rows],
        )

    def unchanged(self, Y: sparse.csr_matrix) -> list[bool]:
        """For each row, whether it has the labels that it had in the file."""
        return [np.array_equal(_positives(self.Y, row), _positives(Y, row)) for row in range(Y.shape[0])]


def _positives(Y: sparse.csr_matrix, row: int) -> npt.NDArray[np.integer[Any]]:
    part = slice(Y.indptr[row], Y.indptr[row + 1])
    found: npt.NDArray[np.integer[Any]] = Y.indices[part][Y.data[part] > 0]
    return found
