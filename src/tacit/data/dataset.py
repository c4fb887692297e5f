"""Data sets in memory: samples, labels and their names."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from tacit.arrays import Integers
from tacit.errors import DataError
from tacit.numerics.rows import widened
from tacit.text.encoders import Encoded


@dataclass(eq=False)
class Dataset:
    """Samples and their labels: features, texts or both.

    In `Y`, a stored 1 is a positive, a stored 0 a known negative, an absent entry unknown.
    """

    X: sparse.csr_matrix | None
    Y: sparse.csr_matrix
    label_names: Sequence[str]  # in column order; the column numbers as text where a file has no names
    texts: Sequence[str] | None = None  # perhaps with vectors (`tacit.Encoded`)
    feature_names: list[str] | None = None
    table: Table | None = None  # all columns of the file, if they are kept to be written again
    columns: ReadColumns | None = None  # those of a file with named fields that hold the texts and the labels

    def __post_init__(self) -> None:
        if self.X is None and self.texts is None:
            raise DataError("a data set needs features (X) or texts; got neither")
        sizes = {
            "X": len(self) if self.X is None else self.X.shape[0],
            "texts": len(self) if self.texts is None else len(self.texts),
            "table": len(self) if self.table is None else len(self.table.records),
        }
        for what, n_rows in sizes.items():
            if n_rows != len(self):
                raise DataError(f"{what} has {n_rows} samples but Y has {len(self)}; they must agree")
        if len(self.label_names) != self.Y.shape[1]:
            raise DataError(f"{len(self.label_names)} label names for {self.Y.shape[1]} columns of Y")

    def __len__(self) -> int:
        return int(self.Y.shape[0])

    def __repr__(self) -> str:
        holds = "texts" if self.X is None else f"{self.X.shape[1]:,} features"
        return f"Dataset({len(self):,} samples, {len(self.label_names):,} labels, {holds})"

    def rows(self, rows: Integers) -> Dataset:
        """Select samples; labels and features stay the same."""
        texts = self.texts
        if texts is not None:
            texts = texts.rows(rows) if isinstance(texts, Encoded) else [texts[row] for row in rows]
        X = None if self.X is None else self.X[rows]
        table = None if self.table is None else self.table.rows(rows)
        return replace(self, X=X, Y=self.Y[rows], texts=texts, table=table)

    @property
    def n_labels(self) -> int:
        """Number of labels (columns of Y)."""
        return int(self.Y.shape[1])


def features_of(dataset: Dataset) -> sparse.csr_matrix:
    """The features of a data set; an error if it has none."""
    if dataset.X is None:
        raise DataError("the data set holds texts but must hold features (X); turn its texts into features first")
    return dataset.X


def as_wide_as(n_features: int, X: sparse.csr_matrix) -> sparse.csr_matrix:
    """X padded to the columns of the training data: a file without header ends at its last non-zero feature."""
    return widened(X, n_features) if X.shape[1] < n_features else X


def texts_of(dataset: Dataset) -> Sequence[str]:
    """The texts of a data set; an error if it has none."""
    if dataset.texts is None:
        raise DataError("the data set holds features but must hold texts; texts cannot be made from features")
    return dataset.texts


def inputs_of(model: Any, dataset: Dataset) -> Any:
    """The texts of a data set, or its features, whichever a tagger takes; features as wide as those of training."""
    return texts_of(dataset) if model.takes_texts else as_wide_as(model.n_features_in_, features_of(dataset))


def samples_of(dataset: Dataset) -> tuple[Any, sparse.csr_matrix]:
    """What a tagger learns from: the texts, or else the features, and the labels."""
    return dataset.X if dataset.texts is None else dataset.texts, dataset.Y


def label_lists(dataset: Dataset) -> list[list[str]]:
    """The names of the positive labels of each sample."""
    Y, names = dataset.Y, dataset.label_names
    return [
        [names[label] for label, value in zip(Y.indices[start:end], Y.data[start:end], strict=True) if value > 0]
        for start, end in itertools.pairwise(Y.indptr.tolist())
    ]


def with_labels(dataset: Dataset, pairs: Sequence[tuple[int, str]]) -> Dataset:
    """Add labels to samples: pairs of a row and a label name. Names that the data set lacks become new columns."""
    names = list(dict.fromkeys([*dataset.label_names, *(label for _, label in pairs)]))
    column_of = {name: column for column, name in enumerate(names)}
    known = dataset.Y.tocoo()
    added = np.array([(row, column_of[label]) for row, label in pairs], dtype=np.int64).reshape(-1, 2).T
    places = np.hstack([(known.row, known.col), added])
    values = np.append(known.data, np.ones(len(pairs), np.float32))
    Y = sparse.csr_matrix((values, places), shape=(len(dataset), len(names)), dtype=np.float32)
    np.minimum(Y.data, 1, out=Y.data)  # the sample may have had the label already
    return replace(dataset, Y=Y, label_names=names)


class ReadColumns(NamedTuple):
    """Where the texts and the labels of a file are."""

    text: tuple[str, ...]
    labels: tuple[str, ...]
    separator: str | None = None  # of labels in a cell


class TableStyle(NamedTuple):
    """How the cells of a CSV or TSV file are separated, and whether it opens with a byte order mark."""

    delimiter: str = ","
    has_mark: bool = False


@dataclass(frozen=True, eq=False)
class Table:
    """The records of a file, a row for each sample, kept so that samples can be written with all their columns."""

    records: Sequence[Mapping[str, Any]]  # all fields of each sample
    label_fields: tuple[str, ...]  # the fields with the labels, if there are any
    label_cells: Sequence[Sequence[str]]  # the labels of each sample as the file spells them
    Y: sparse.csr_matrix  # the same labels as they were read, to tell which rows have changed since
    separator: str | None = None  # what separates labels in a cell; None where labels are lists
    style: TableStyle | None = None

    def rows(self, rows: Integers) -> Table:
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


def _positives(Y: sparse.csr_matrix, row: int) -> Any:
    part = slice(Y.indptr[row], Y.indptr[row + 1])
    return Y.indices[part][Y.data[part] > 0]
