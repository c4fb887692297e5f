"""The common type of predictions: for each sample its best labels with their scores."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import sparse

from tacit.errors import DataError

NO_LABEL = -1
NO_SCORE = -np.inf


@dataclass(frozen=True, eq=False)
class Ranking:
    """The best labels of each sample, best first.

    `labels` holds their column numbers, int32 of shape (n_samples, k), and `scores` their scores, float32,
    non-increasing along a row; -1 and -inf where a sample has fewer than k.
    """

    labels: npt.NDArray[np.int32]
    scores: npt.NDArray[np.float32]

    def __post_init__(self) -> None:
        labels = np.ascontiguousarray(self.labels, dtype=np.int32)
        scores = np.ascontiguousarray(self.scores, dtype=np.float32)
        if labels.ndim != 2 or labels.shape != scores.shape:
            raise DataError(f"a ranking needs two (n, k) arrays of one shape; got {labels.shape} and {scores.shape}")
        object.__setattr__(self, "labels", labels)
        object.__setattr__(self, "scores", scores)

    def __len__(self) -> int:
        return len(self.labels)

    @classmethod
    def empty(cls, n_samples: int, k: int) -> Ranking:
        """Without a label at any place."""
        return cls(np.full((n_samples, k), NO_LABEL, np.int32), np.full((n_samples, k), NO_SCORE, np.float32))

    @property
    def k(self) -> int:
        """Length of the ranking of each sample."""
        return int(self.labels.shape[1])

    def top(self, k: int) -> Ranking:
        """The first `k` places."""
        return Ranking(self.labels[:, :k], self.scores[:, :k])

    def rows(self, rows: npt.NDArray[np.integer] | slice) -> Ranking:
        """The ranking of some of the samples."""
        return Ranking(self.labels[rows], self.scores[rows])

    def resized(self, k: int) -> Ranking:
        """With exactly `k` places, padded or cut."""
        if k == self.k:
            return self
        more = ((0, 0), (0, max(k - self.k, 0)))
        labels, scores = self.labels[:, :k], self.scores[:, :k]
        return Ranking(np.pad(labels, more, constant_values=NO_LABEL), np.pad(scores, more, constant_values=NO_SCORE))

    def sorted(self) -> Ranking:
        """Best first; labels with equal scores keep their order."""
        order = np.argsort(-self.scores, axis=1, kind="stable")
        return Ranking(np.take_along_axis(self.labels, order, axis=1), np.take_along_axis(self.scores, order, axis=1))

    def to_csr(self, n_labels: int) -> sparse.csr_matrix:
        """Scores as a sparse (n_samples, n_labels) matrix, column ids sorted; a score of 0 is stored."""
        filled = self.labels != NO_LABEL
        indptr = np.concatenate([[0], np.cumsum(filled.sum(axis=1))])
        matrix = sparse.csr_matrix((self.scores[filled], self.labels[filled], indptr), shape=(len(self), n_labels))
        matrix.sort_indices()
        return matrix

    def to_dense(self) -> npt.NDArray[np.float32]:
        """Scores by column, for a ranking of all labels."""
        dense = np.empty_like(self.scores)
        np.put_along_axis(dense, self.labels, self.scores, axis=1)
        return dense

    @staticmethod
    def concatenate(parts: list[Ranking]) -> Ranking:
        """Rankings of consecutive blocks of samples as one, padded to the longest."""
        k = max(part.k for part in parts)
        parts = [part.resized(k) for part in parts]
        return Ranking(np.concatenate([part.labels for part in parts]), np.concatenate([part.scores for part in parts]))
