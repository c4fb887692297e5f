"""Objectives of the ExMLDS paper that gain nothing over those that tacit has: NCE, and Eq. 5 to 8 by gradient steps."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated, Any, NamedTuple

import numpy as np
from scipy import sparse

from tacit.arrays import Floats, Floats32, Floats64, Ints32, Mask
from tacit.core.features import FeatureMatrix
from tacit.core.parameters import Range, document_parameters
from tacit.embedding.exmlds1 import ExMLDS1
from tacit.embedding.exmlds3 import ExMLDS3
from tacit.embedding.neighbors import cosine_neighbors, distinct_label_sets
from tacit.embedding.pipeline import Embedded
from tacit.embedding.spectrum import leading_factor
from tacit.embedding.sppmi import sample_counts
from tacit.kernels.skip_gram import Pairs, sgns_pass

_SLICES = 50  # of a pass; in each, every term of the objective has its steps


@document_parameters
@dataclass(kw_only=True, eq=False, repr=False)
class ContrastiveExMLDS1(ExMLDS1):
    """ExMLDS1 with the optimum of noise-contrastive estimation, log(#(i, j)/#(j)) − log shift (appendix A2).

    Logarithms of probabilities are at most 0: clipped at 0, they leave something only if the shift is below 1.
    """

    shift: Annotated[float, Range(above=0, below=1), "divides the probabilities"] = 0.001

    def _embed(self, X: FeatureMatrix, Y: sparse.csr_matrix, seed: int, **data: Any) -> Embedded:  # noqa: ARG002
        sets = distinct_label_sets(Y)
        weights = sets.counts.astype(np.float64)
        similarities = log_conditionals(sparse.csr_matrix(sample_counts(sets.matrix)), weights, self.shift)
        return left_factor(similarities, weights, self.dimension, seed)[sets.of_sample], None


def log_conditionals(counts: sparse.csr_matrix, weights: Floats64, shift: float) -> sparse.csr_matrix:
    """max(log(#(i, j)/#(j)) − log shift, 0), which is not symmetric."""
    degrees = counts @ weights
    logs = np.log(counts.data / (shift * degrees[counts.indices]))
    found = sparse.csr_matrix((np.maximum(logs, 0).astype(np.float32), counts.indices, counts.indptr), counts.shape)
    found.eliminate_zeros()
    return found


def left_factor(similarities: sparse.csr_matrix, weights: Floats64, dimension: int, seed: int) -> Floats:
    """US^½ of the singular value decomposition of B = W^½ S W^½, a row for each distinct node.

    The left singular vectors of B are the eigenvectors of BBᵀ, to the squared values.
    """
    roots, transposed = np.sqrt(weights).astype(np.float32)[:, None], similarities.T.tocsr()
    scaled = leading_factor(
        lambda block: np.asarray(roots * (similarities @ (roots**2 * (transposed @ (roots * block))))),
        len(weights), dimension, seed=seed,
    )  # fmt: skip
    lengths = np.linalg.norm(scaled, axis=0)  # scaled = US
    return np.asarray(scaled / np.sqrt(lengths) / roots)


class Term(NamedTuple):
    """A term of Eq. 5: pairs of nodes that are near, the nodes that negative samples are drawn from, and its weight."""

    first: Ints32
    second: Ints32
    noise: Mask
    weight: float


@document_parameters
@dataclass(kw_only=True, eq=False, repr=False)
class SteppedExMLDS3(ExMLDS3):
    """ExMLDS3 that climbs Eq. 5 to 8 by stochastic gradient steps instead of factorising Algorithm 3's matrix."""

    n_negatives: Annotated[int, Range(low=1), "negative samples of each node in each term, n₋¹ = n₋² = n₋³"] = 15
    n_context: Annotated[int, Range(low=1), "near samples, and near labels, that are drawn together"] = 100
    n_passes: Annotated[int, Range(low=1), "passes over all pairs"] = 35
    rate: Annotated[float, Range(above=0), "initial learning rate"] = 0.1

    def _embed(self, X: FeatureMatrix, Y: sparse.csr_matrix, seed: int, **data: Any) -> Embedded:  # noqa: ARG002
        weights = (self.label_weight, self.sample_weight, self.membership_weight)
        terms = joint_terms(Y, data["cooccurrence"], weights, self.n_context)
        nodes = climb(terms, self.dimension, self.n_negatives, self.n_passes, self.rate, seed)
        return nodes[: Y.shape[0]], nodes[Y.shape[0] :]


def joint_terms(
    Y: sparse.csr_matrix, cooccurrence: sparse.csr_matrix, weights: tuple[float, float, float], n_context: int
) -> list[Term]:
    """Labels with near labels (Eq. 6), samples with near samples (Eq. 7), samples with their labels (Eq. 8)."""
    n_samples, n_labels = Y.shape
    is_label = np.arange(n_samples + n_labels) >= n_samples
    first, second, _ = cosine_neighbors(cooccurrence, n_context).pairs()
    near_samples = cosine_neighbors(Y, n_context).pairs()[:2]
    members = Y.tocoo()
    offset = np.int32(n_samples)
    return [
        Term(first + offset, second + offset, is_label, weights[0]),
        Term(*near_samples, ~is_label, weights[1]),
        Term(members.row.astype(np.int32), members.col.astype(np.int32) + offset, is_label, weights[2]),
    ]


def climb(terms: list[Term], dimension: int, n_negatives: int, n_passes: int, rate: float, seed: int) -> Floats32:
    """Vectors of all nodes; each step draws a pair of one term, in proportion to its weight and its pairs."""
    rng = np.random.default_rng(seed)
    scale = np.float32(0.3 / np.sqrt(dimension))
    vectors = scale * rng.standard_normal((len(terms[0].noise), dimension), dtype=np.float32)
    terms = [term for term in terms if term.weight > 0 and len(term.first)]
    sizes = np.array([len(term.first) for term in terms])
    odds = sizes * [term.weight for term in terms]
    pairs = [_pairs(term, n_negatives) for term in terms]
    state = np.array([seed], np.uint64)
    for start, stop in pairwise(np.linspace(rate, 0, n_passes * _SLICES + 1)):
        for term, each, n_steps in zip(
            terms, pairs, rng.multinomial(sizes.sum() // _SLICES + 1, odds / odds.sum()), strict=True
        ):
            sgns_pass(vectors, vectors, each, np.cumsum(term.noise, dtype=np.float64),
                      np.linspace(start, stop, n_steps, endpoint=False), state)  # fmt: skip
    return vectors


def _pairs(term: Term, n_negatives: int) -> Pairs:
    """All pairs alike; a first node has n₋ negative samples, however many pairs it has (the printed factor n₋/n)."""
    negatives = n_negatives / np.bincount(term.first)[term.first]
    return Pairs(term.first, term.second, np.arange(1.0, len(term.first) + 1), negatives)
