"""ExMLDS2: embed samples by skip-gram with negative sampling over label-space neighbours (ExMLDS Eq. 3)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated, Any, ClassVar

import numpy as np
from scipy import sparse

from tacit.arrays import Floats32, Floats64
from tacit.core.features import FeatureMatrix
from tacit.core.parameters import OneOf, Range, Tune, document_parameters
from tacit.embedding.neighbors import LabelSets, Nodes, cosine_neighbors, label_nodes
from tacit.embedding.pipeline import PRINTED, Embedded, EmbeddingModel
from tacit.kernels.skip_gram import Pairs, sgns_pass


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
    n_negatives: Annotated[int, Range(low=1), Tune(2, 20), "negative samples for each near one"] = 5
    negatives_per: Annotated[str, OneOf(("pair", "sample")), "what has so many ('sample': as in Eq. 3)"] = "pair"
    noise_power: Annotated[float, Range(low=0), "negatives are drawn by frequency to this power (0: uniform)"] = 1.0
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
        sets = label_nodes(Y, self.nodes)
        size = (len(sets.counts), self.dimension)
        return train_sgns(*size, *self._pairs(sets), self.n_passes, self.rate, seed)[sets.of_sample], None

    def _pairs(self, sets: LabelSets) -> tuple[Pairs, Floats64]:
        """Pairs of neighbours, all alike (ExMLDS Eq. 3) or by similarity, and the weights of negative samples."""
        first, second, similarities = cosine_neighbors(sets.matrix, self.n_context).pairs()
        counts = sets.counts.astype(np.float64)
        weights = counts[first] * counts[second]
        if self.nodes == "sets":
            weights = weights * similarities
        # Uniform over samples (ExMLDS Eq. 3): a set by how many samples have it. Otherwise #(j) to a power.
        by_pairs = np.bincount(second, weights, minlength=len(counts)) ** self.noise_power
        noise = counts if self.noise_power == 0 else by_pairs.astype(np.float64)
        negatives = np.full(len(first), float(self.n_negatives))
        if self.negatives_per == "sample":  # the printed factor n₋/n: however many pairs a sample has
            negatives = self.n_negatives * counts[first] / np.bincount(first, weights)[first]
        return Pairs(first, second, np.cumsum(weights), negatives), noise


def train_sgns(
    n_nodes: int, dimension: int, pairs: Pairs, noise: Floats64, n_passes: int, rate: float, seed: int
) -> Floats32:
    """Vectors of all nodes; a pass has as many steps as there are pairs, and the rate falls to 0 linearly."""
    scale = np.float32(0.3 / np.sqrt(dimension))
    vectors = scale * np.random.default_rng(seed).standard_normal((n_nodes, dimension), dtype=np.float32)
    n_pairs = len(pairs.first)
    state = np.array([seed], np.uint64)
    for start, stop in pairwise(np.linspace(1, 0, n_passes + 1)) if n_pairs else ():
        rates = rate * np.linspace(start, stop, n_pairs, endpoint=False)
        sgns_pass(vectors, vectors, pairs, np.cumsum(noise), rates, state)
    return vectors
