"""ExMLDS2: embed samples by skip-gram with negative sampling over label-space neighbours (ExMLDS Eq. 3)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from scipy import sparse

from tacit.embedding.neighbors import ContextSpace, LabelSets, Neighbors, cosine_neighbors, distinct_label_sets
from tacit.embedding.pipeline import Embedded, EmbeddingModel
from tacit.embedding.sgns import Term, nce_offsets, train_sgns
from tacit.parameters import OneOf, Range, Tune, document_parameters


@document_parameters
@dataclass(kw_only=True, eq=False, repr=False)
class ExMLDS2(EmbeddingModel):
    """Labels voted by near samples, in a space learned by skip-gram over samples with similar labels."""

    n_neighbors: Annotated[int, Range(low=1), Tune(5, 100), "near samples that vote in each cluster"] = 20
    n_context: Annotated[int, Range(low=1), Tune(20, 200), "nearest label sets that a sample is drawn to"] = 100
    context_space: ContextSpace = "labels"
    n_negatives: Annotated[int, Range(low=1), Tune(2, 20), "negative samples for each near one"] = 5
    noise_power: Annotated[float, Range(low=0), "negatives are drawn by frequency to this power (0: uniform)"] = 1.0
    objective: Annotated[str, OneOf(("sgns", "nce")), "negative sampling or noise-contrastive estimation"] = "sgns"
    n_passes: Annotated[int, Range(low=1), "passes over all pairs"] = 30
    rate: Annotated[float, Range(above=0), Tune(0.03, 0.3), "initial learning rate"] = 0.1

    def _embed(self, X: sparse.csr_matrix, Y: sparse.csr_matrix, seed: int, **data: Any) -> Embedded:  # noqa: ARG002
        """SGNS, or NCE, over pairs of a label set and its nearest label sets."""
        sets = distinct_label_sets(Y)
        rows = sets.matrix if self.context_space == "labels" else sets.means(X)
        terms = [self._term(sets, cosine_neighbors(rows, self.n_context))]
        size = (len(sets.counts), self.dimension)
        vectors, _ = train_sgns(*size, terms, n_passes=self.n_passes, rate=self.rate, seed=seed)
        return vectors[sets.of_sample], None

    def _term(self, sets: LabelSets, near: Neighbors) -> Term:
        """All pairs of samples whose label sets are neighbours, weighted by similarity."""
        first, second, similarities = near.pairs()
        counts = sets.counts.astype(np.float64)
        weights = counts[first] * counts[second] * similarities
        n_sets = len(sets.counts)
        # Uniform over samples (ExMLDS Eq. 3): a set by how many samples have it. Otherwise #(j) to a power.
        by_pairs = np.bincount(second, weights, minlength=n_sets) ** self.noise_power
        noise = counts if self.noise_power == 0 else by_pairs.astype(np.float64)
        offsets = nce_offsets(first, weights, n_sets) if self.objective == "nce" else np.zeros(n_sets)
        nodes = np.arange(n_sets, dtype=np.int32)
        return Term(first, second, weights, nodes, noise, self.n_negatives, offsets)
