"""What is like a text: training samples, by their features, whose labels vote; and labels, by vectors of meaning."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse

from tacit.arrays import Floats32
from tacit.kernels.dense import Rows
from tacit.kernels.knn import similar_rows
from tacit.kernels.score import top_k
from tacit.numerics.rows import entry_blocks, largest_entries, stacked, unit_rows
from tacit.runtime.tasks import row_blocks
from tacit.store.declared import Array, Csr

_N_SIMILAR = 30
_FEATURES_PER_SAMPLE = 32  # the largest; enough to tell which samples are alike
_POWER = 3  # of similarities in votes
_N_NEAREST = 10  # labels of a text that are candidates for their meaning
_VALUES_PER_BLOCK = 8_000_000  # similarities in memory at a time
_LONGEST = 1.001  # of a vector of unit length, rounded


class Votes(NamedTuple):
    """Labels of training samples that are like others: one entry for each label of each such training sample."""

    rows: npt.NDArray[np.intp]  # the sample
    labels: npt.NDArray[np.intp]  # a label that a similar training sample has
    similarities: Floats32  # of that training sample
    shares: Floats32  # of that training sample in the votes
    best: Floats32  # the largest similarity of each sample

    def without(self, hidden: npt.NDArray[np.bool_]) -> Votes:
        """The same where no sample has the hidden labels."""
        return self._entries(~hidden[self.labels])

    def of_rows(self, rows: npt.NDArray[np.intp]) -> Votes:
        """Those of some of the samples."""
        place = np.full(len(self.best), -1)
        place[rows] = np.arange(len(rows))
        shown = self._entries(place[self.rows] >= 0)
        return shown._replace(rows=place[shown.rows], best=self.best[rows])

    def _entries(self, shown: npt.NDArray[np.bool_]) -> Votes:
        rows, labels, similarities, shares, best = self
        return Votes(rows[shown], labels[shown], similarities[shown], shares[shown], best)


@dataclass(frozen=True, eq=False)
class SampleIndex:
    """Training samples by feature, and the labels of each."""

    by_feature: Annotated[sparse.csr_matrix, Csr("float32", ("n_features", "n_indexed"))]
    labels: Annotated[sparse.csr_matrix, Csr("float32", ("n_indexed", "n_labels"))]

    @staticmethod
    def of(X: sparse.csr_matrix, Y: sparse.csr_matrix) -> SampleIndex:
        """An index of samples; Y holds ones."""
        return SampleIndex(_largest(X).T.tocsr(), Y.astype(np.float32))

    def extended(self, X: sparse.csr_matrix, Y: sparse.csr_matrix, columns: npt.NDArray[np.intp]) -> SampleIndex:
        """The same with further samples; `columns` are those that the labels known so far have in Y."""
        old = self.labels
        moved = sparse.csr_matrix((old.data, columns[old.indices], old.indptr), shape=(old.shape[0], Y.shape[1]))
        features = sparse.hstack([self.by_feature, _largest(X).T], format="csr")
        return SampleIndex(features, sparse.vstack([moved.sorted_indices(), Y], format="csr").astype(np.float32))

    @cached_property
    def _largest(self) -> npt.NDArray[np.float32]:
        """The largest value of each feature."""
        return np.asarray(self.by_feature.max(axis=1).todense(), np.float32).ravel()

    def votes(self, X: sparse.csr_matrix) -> Votes:
        """The labels of the training samples that are most like each row of X."""
        queries = _largest(X)
        index, n_points = Rows.of(self.by_feature), self.by_feature.shape[1]
        similar, similarities = similar_rows(Rows.of(queries), index, self._largest, n_points, _N_SIMILAR)
        rows, places = np.nonzero(similar >= 0)
        weights = np.where(similar >= 0, similarities, 0) ** _POWER
        shares = weights / np.maximum(weights.sum(axis=1, keepdims=True), np.finfo(np.float32).tiny)
        samples = similar[rows, places]
        sizes = np.diff(self.labels.indptr)[samples]
        firsts = np.cumsum(sizes) - sizes
        entries = np.repeat(self.labels.indptr[samples] - firsts, sizes) + np.arange(sizes.sum())
        return Votes(
            np.repeat(rows, sizes),
            self.labels.indices[entries].astype(np.intp),
            np.repeat(similarities[rows, places], sizes),
            np.repeat(shares[rows, places], sizes),
            np.maximum(similarities.max(axis=1, initial=0), 0),
        )


def _largest(X: sparse.csr_matrix) -> sparse.csr_matrix:
    blocks = (X[first:last] for first, last in entry_blocks(X))
    return stacked(largest_entries(unit_rows(block), _FEATURES_PER_SAMPLE) for block in blocks)


class Nearest(NamedTuple):
    """The labels nearest to each sample, the most similar first, and the vectors that tell how near others are."""

    labels: npt.NDArray[np.int32]
    similarities: Floats32
    vectors: Floats32
    of_labels: Floats32

    def of_rows(self, rows: npt.NDArray[np.intp]) -> Nearest:
        """The same for some of the samples."""
        return Nearest(self.labels[rows], self.similarities[rows], self.vectors[rows], self.of_labels)

    def similarity(self, rows: npt.NDArray[np.intp], labels: npt.NDArray[np.intp]) -> Floats32:
        """The similarity of pairs of a sample and a label."""
        found = np.empty(len(rows), np.float32)
        for block in row_blocks(len(rows), _VALUES_PER_BLOCK // max(self.vectors.shape[1], 1)):
            part = slice(*block)
            found[part] = np.einsum("ij,ij->i", self.vectors[rows[part]], self.of_labels[labels[part]])
        return found


@dataclass(frozen=True, eq=False)
class Meaning:
    """A vector of unit length for each label; zero for a label without a name."""

    labels: Annotated[Floats32, Array("float32", ("n_named", "n_dimensions"), up_to=_LONGEST)]

    def nearest(self, vectors: Floats32) -> Nearest:
        """The labels nearest to vectors of unit length."""
        k, n_rows = min(_N_NEAREST, len(self.labels)), max(1, _VALUES_PER_BLOCK // max(len(self.labels), 1))
        blocks = row_blocks(len(vectors), n_rows) or [(0, 0)]
        parts = [top_k(vectors[slice(*block)] @ self.labels.T, np.empty(0, np.bool_), k) for block in blocks]
        labels, similarities = (np.concatenate(columns) for columns in zip(*parts, strict=True))
        return Nearest(labels, similarities, vectors, self.labels)

    def ordered(self, order: npt.NDArray[np.intp]) -> Meaning:
        """The same for labels in another order; those at -1 are new, and nothing is known of them."""
        return Meaning(np.where(order[:, None] >= 0, self.labels[order], np.float32(0)))

    def with_later(self, columns: Sequence[int], vectors: Floats32, n_labels: int) -> Meaning:
        """The same for `n_labels` labels, some of which have another vector now."""
        labels = np.pad(self.labels, ((0, n_labels - len(self.labels)), (0, 0)))
        labels[list(columns)] = vectors
        return replace(self, labels=labels)
