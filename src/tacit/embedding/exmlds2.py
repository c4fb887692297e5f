"""ExMLDS2: embed samples by skip-gram with negative sampling over label-space neighbours (ExMLDS Eq. 3)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
from scipy import sparse

from tacit.core.features import FeatureMatrix
from tacit.core.parameters import OneOf, Range, Tune, document_parameters
from tacit.embedding.neighbors import ContextSpace, LabelSets, Neighbors, Nodes, cosine_neighbors, label_nodes
from tacit.embedding.pipeline import PRINTED, Embedded, EmbeddingModel
from tacit.embedding.sgns import NegativesPer, Term, nce_offsets, negatives_of_pairs, train_sgns


@document_parameters
@dataclass(kw_only=True, eq=False, repr=False)
class ExMLDS2(EmbeddingModel):
    """Labels voted by near samples, in a space learned by skip-gram over samples with similar labels.

    Differs from the paper, where Eq. 3 is over samples and counts all pairs alike, and negative samples are uniform:
    here pairs of label sets are drawn by their cosine and the number of their samples, negative samples by frequency.
    `ExMLDS2.paper()` has Eq. 3 with the settings printed under "Hyperparameters" for small data sets.
    """

    n_neighbors: Annotated[int, Range(low=1), Tune(5, 100), "near samples that vote in each cluster"] = 20
    nodes: Nodes = "sets"
    n_context: Annotated[int, Range(low=1), Tune(20, 200), "nearest label sets that a sample is drawn to"] = 100
    context_space: ContextSpace = "labels"
    n_negatives: Annotated[int, Range(low=1), Tune(2, 20), "negative samples for each near one"] = 5
    negatives_per: NegativesPer = "pair"
    noise_power: Annotated[float, Range(low=0), "negatives are drawn by frequency to this power (0: uniform)"] = 1.0
    objective: Annotated[str, OneOf(("sgns", "nce")), "negative sampling or noise-contrastive estimation"] = "sgns"
    n_passes: Annotated[int, Range(low=1), "passes over all pairs"] = 30
    rate: Annotated[float, Range(above=0), Tune(0.03, 0.3), "initial learning rate"] = 0.1

    PAPER: ClassVar[Mapping[str, Any]] = {
        **PRINTED,
        "nodes": "samples",
        "n_negatives": 15,
        "negatives_per": "sample",
        "noise_power": 0.0,
        "n_passes": 35,
    }

    def _embed(self, X: FeatureMatrix, Y: sparse.csr_matrix, seed: int, **data: Any) -> Embedded:  # noqa: ARG002
        """SGNS, or NCE, over pairs of a label set and its nearest label sets."""
        sets = label_nodes(Y, self.nodes)
        rows = sets.matrix if self.context_space == "labels" else sets.means(X)
        terms = [self._term(sets, cosine_neighbors(rows, self.n_context))]
        size = (len(sets.counts), self.dimension)
        vectors, _ = train_sgns(*size, terms, n_passes=self.n_passes, rate=self.rate, seed=seed)
        return vectors[sets.of_sample], None

    def _term(self, sets: LabelSets, near: Neighbors) -> Term:
        """All pairs of samples that are neighbours: alike (ExMLDS Eq. 3), or between label sets, by similarity."""
        first, second, similarities = near.pairs()
        counts = sets.counts.astype(np.float64)
        weights = counts[first] * counts[second]
        if self.nodes == "sets":
            weights = weights * similarities
        n_sets = len(sets.counts)
        # Uniform over samples (ExMLDS Eq. 3): a set by how many samples have it. Otherwise #(j) to a power.
        by_pairs = np.bincount(second, weights, minlength=n_sets) ** self.noise_power
        noise = counts if self.noise_power == 0 else by_pairs.astype(np.float64)
        negatives = negatives_of_pairs(first, weights, self.n_negatives, self.negatives_per, counts[first])
        offsets = nce_offsets(first, weights) if self.objective == "nce" else 0.0
        nodes = np.arange(n_sets, dtype=np.int32)
        return Term(first, second, weights, nodes, noise, negatives, offsets)
