"""ExMLDS3: samples and labels embedded together, with prior knowledge of label co-occurrence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np
from scipy import sparse

from tacit.arrays import Floats32, Mask
from tacit.core.checks import as_counts
from tacit.core.features import FeatureMatrix
from tacit.core.parameters import OneOf, Range, Tune, document_parameters
from tacit.core.ranking import Ranking
from tacit.embedding.neighbors import distinct_label_sets, unit_vectors, vote_matrix
from tacit.embedding.pipeline import PRINTED, Embedded, EmbeddingModel
from tacit.embedding.sppmi import DENSE_SHARE, Eigenvalues, Matrix, Shift, factorise, sample_counts, sppmi
from tacit.kernels.dense import row_products
from tacit.kernels.score import top_k
from tacit.runtime.tasks import row_blocks
from tacit.store.declared import Csr

if TYPE_CHECKING:
    from typing_extensions import Self

_SCORES_AT_A_TIME = 2**22


def joint_counts(sets: sparse.csr_matrix, cooccurrence: sparse.csr_matrix, weights: Any) -> Matrix:
    """A = [[μ₂M, μ₃Y], [μ₃Yᵀ, μ₁C]] (ExMLDS Algorithm 3, step 1), with weights μ₁, μ₂, μ₃."""
    label_weight, sample_weight, membership_weight = np.array(weights, np.float32)
    members = membership_weight * sets
    labels = (label_weight * cooccurrence).astype(np.float32)
    samples = sample_counts(sets)
    n_sets, n_nodes = sets.shape[0], sum(sets.shape)
    if not isinstance(samples, np.ndarray):
        if samples.nnz + labels.nnz < DENSE_SHARE * n_nodes**2:
            blocks = [[sample_weight * samples, members], [members.T, labels]]
            return sparse.csr_matrix(sparse.bmat(blocks, format="csr"))
        samples = samples.toarray()
    joint = np.empty((n_nodes, n_nodes), np.float32)
    joint[:n_sets, :n_sets] = samples
    joint[:n_sets, :n_sets] *= sample_weight
    joint[:n_sets, n_sets:] = members.toarray()
    joint[n_sets:, :n_sets] = joint[:n_sets, n_sets:].T
    joint[n_sets:, n_sets:] = labels.toarray()
    return joint


@document_parameters
@dataclass(kw_only=True, eq=False, repr=False)
class ExMLDS3(EmbeddingModel):
    """Labels voted by near samples and by near labels, embedded together; copes with missing labels.

    Differs from the paper as ExMLDS1 does, and in that labels that co-occur with a neighbour's get votes, samples
    without labels help to learn the map, and the label-embedding score has a weight and is never negative.
    `ExMLDS3.paper()` is Algorithms 3 and 4.
    """

    ridge: Annotated[float, Range(above=0), Tune(0.1, 20), "penalty on the squared size of the regressor"] = 2.0
    n_neighbors: Annotated[int, Range(low=1), Tune(5, 100), "near samples that vote in each cluster"] = 20
    shift: Shift = 1.0
    eigenvalues: Eigenvalues = "positive"
    label_weight: Annotated[float, Range(low=0), "weight μ₁ of the co-occurrence of labels"] = 1.0
    sample_weight: Annotated[float, Range(low=0), "weight μ₂ of the labels that samples share"] = 1.0
    membership_weight: Annotated[float, Range(low=0), "weight μ₃ of the labels of a sample"] = 1.0
    unlabelled_share: Annotated[float, Range(low=0, high=1), "weight of the map that unlabelled samples teach"] = 0.5
    completion: Annotated[
        float, Range(low=0, high=1), Tune(0, 1, log=False), "fraction of votes for labels that co-occur with those seen"
    ] = 0.8
    label_share: Annotated[float, Range(low=0), Tune(0, 2, log=False), "weight of label-embedding scores"] = 0.5
    label_scores: Annotated[str, OneOf(("positive", "all")), "which of these count (paper: all)"] = "positive"

    PAPER: ClassVar[Mapping[str, Any]] = {
        **PRINTED,
        "eigenvalues": "all",
        "unlabelled_share": 0.0,
        "completion": 0.0,
        "label_share": 1.0,
        "label_scores": "all",
    }

    given_label_: Annotated[sparse.csr_matrix, Csr("float32", ("n_labels", "n_labels"))] = field(init=False)

    def fit(self, X: Any, Y: Any, *, label_names: Sequence[Any] | None = None, cooccurrence: Any = None) -> Self:
        """Learn from samples and their labels, as every model does, and from co-occurrence.

        `cooccurrence`, a dense or sparse (n_labels, n_labels) matrix, says how often labels occur together, from any
        source; by default it is counted in Y.
        """
        return self._fit_checked(X, Y, label_names, cooccurrence=cooccurrence)

    def _fit(self, X: FeatureMatrix, Y: sparse.csr_matrix, cooccurrence: Any = None, **data: Any) -> None:
        counts = as_counts(Y.T @ Y if cooccurrence is None else cooccurrence, "cooccurrence", (Y.shape[1],) * 2)
        super()._fit(X, Y, cooccurrence=counts, **data)
        self.given_label_ = conditional_shares(counts)

    def _unlabelled_share(self) -> float:
        return self.unlabelled_share

    def _embed(self, X: FeatureMatrix, Y: sparse.csr_matrix, seed: int, **data: Any) -> Embedded:  # noqa: ARG002
        """Embed the samples of a cluster together with all labels."""
        sets = distinct_label_sets(Y)  # ExMLDS Algorithm 3
        n_sets, n_labels = sets.matrix.shape
        n_equal = np.concatenate([sets.counts, np.ones(n_labels)]).astype(np.float64)
        weights = (self.label_weight, self.sample_weight, self.membership_weight)
        similarities = sppmi(joint_counts(sets.matrix, data["cooccurrence"], weights), n_equal, self.shift)
        is_positive = self.eigenvalues == "positive"
        Z = factorise(similarities, n_equal, self.dimension, seed=seed, positive=is_positive)
        return Z[:n_sets][sets.of_sample], Z[n_sets:]

    @property
    def _link(self) -> None:
        return None  # scores are a sum of votes and label scores, each scaled to unit length

    def _rank(self, X: FeatureMatrix, k: int, allowed: Mask | None) -> Ranking:
        n_labels = self.training_labels_.shape[1]
        mask = np.ones(n_labels, np.bool_) if allowed is None else allowed
        blocks = row_blocks(X.shape[0], max(1, _SCORES_AT_A_TIME // n_labels))
        return Ranking.concatenate([self._rank_block(X[start:stop], k, mask) for start, stop in blocks])

    def _rank_block(self, X: FeatureMatrix, k: int, allowed: Mask) -> Ranking:
        """ExMLDS Algorithm 4, with two weights where the paper has none."""
        votes = vote_matrix(self._panels(X), self.vote_power, self.training_labels_)
        # Differs from the paper: labels that often co-occur with those of a neighbour get votes too, because the
        # neighbour may miss them. The more labels are missing, the more this gains.
        votes = (1 - self.completion) * votes + self.completion * (votes @ self.given_label_)
        scores = unit_vectors(votes.toarray())
        if self.label_share > 0:
            scores += np.float32(self.label_share) * self._label_scores(X)
        labels, best = top_k(scores, allowed, k)
        is_open = best <= (0 if self.label_scores == "positive" else -np.inf)
        return Ranking(np.where(is_open, np.int32(-1), labels), np.where(is_open, np.float32(-np.inf), best))

    def _label_scores(self, X: FeatureMatrix) -> Floats32:
        """s₂ = Z₂Vx over its norm (ExMLDS Algorithm 4, steps 3 and 4), averaged over learners."""
        scores = np.zeros((X.shape[0], self.training_labels_.shape[1]), np.float32)
        for cells, weight in self._probes(X):
            for cell, rows in cells:
                if cell.label_points is None:
                    continue
                products = row_products(cell.embed(X[rows]), cell.label_points)
                if self.label_scores == "positive":
                    # Differs from the paper: a negative score counts as 0, the score of an unrelated label.
                    products = np.maximum(products, 0)
                scores[rows] += weight[rows, None] * unit_vectors(products)
        return scores


def conditional_shares(counts: sparse.csr_matrix) -> sparse.csr_matrix:
    """The share of samples with label i that have label j: C_ij / C_ii, or over the row's maximum without C_ii."""
    most = counts.max(axis=1).toarray().ravel()
    scale = np.divide(1, most, out=np.zeros_like(most), where=most > 0)
    shares = sparse.csr_matrix(sparse.diags_array(scale) @ counts, dtype=np.float32)
    shares.sort_indices()
    return shares
