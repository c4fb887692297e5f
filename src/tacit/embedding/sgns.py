"""Skip-gram with negative sampling (SGNS) by gradient steps: the objective whose optimum SPPMI approximates.

With pairs drawn in proportion to counts #(i, j) and k negative samples in proportion to #(j), the optimum of
untied vectors is PMI − log k; with uniform negative samples it is log(#(i, j) n / (#(i) k)).
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tacit.kernels.sgns import sgns_pass
from tacit.numerics.arrays import Floats32, Floats64, Ints32


@dataclass(frozen=True, eq=False)
class Term:
    """One sum of the objective: pairs that should be near, and the source of their negative samples.

    Attributes
    ----------
    first, second : int32 arrays
        The two nodes of each pair.
    pair_weights : array
        Pairs are drawn in proportion to these.
    noise_nodes : int32 array
        The nodes that negative samples are drawn from.
    noise_weights : array
        Negative samples are drawn in proportion to these.
    n_negatives : int
        Negative samples for each pair.
    weight : float
        The weight μ of the term.
    offsets : array of one number per node
        Added to the inner products of a first node; 0 for SGNS, −log P(i) for NCE.
    """

    first: Ints32
    second: Ints32
    pair_weights: Floats64
    noise_nodes: Ints32
    noise_weights: Floats64
    n_negatives: int
    offsets: Floats64
    weight: float = 1.0


def nce_offsets(first: Ints32, weights: Floats64, n_nodes: int) -> Floats64:
    """Offsets that turn SGNS into noise-contrastive estimation, optimum log(#(i, j)/#(j)) − log k (appendix A2).

    The sum of inner product and offset reaches the SGNS optimum log(#(i, j)|D| / (#(i)#(j))) − log k. The offset
    −log P(i) = −log(#(i)/|D|) takes its part of it, so the inner product alone reaches the optimum above.
    """
    marginal = np.bincount(first, weights, minlength=n_nodes)
    marginal = np.where(marginal > 0, marginal, marginal.sum())
    offsets: Floats64 = -np.log(marginal / marginal.sum())
    return offsets


def train_sgns(
    n_nodes: int, dimension: int, terms: Sequence[Term], *, n_passes: int, rate: float, seed: int, tied: bool = True
) -> tuple[Floats32, Floats32]:
    """Vectors of all nodes, and their context vectors (the same array where they are tied).

    Parameters
    ----------
    n_nodes : int
        Number of vectors to learn.
    dimension : int
        Length of the vectors.
    terms : sequence of Term
        The objective; terms take turns in every pass (ExMLDS Eq. 5).
    n_passes : int
        Passes over the pairs of each term.
    rate : float
        Learning rate of the first steps; it falls to 0 linearly.
    seed : int
        The same seed gives the same vectors.
    tied : bool
        One vector per node, as in ExMLDS Eq. 3; otherwise each node has a second vector as a context.
    """
    rng = np.random.default_rng(seed)
    scale = np.float32(0.3 / np.sqrt(dimension))
    vectors = scale * rng.standard_normal((n_nodes, dimension), dtype=np.float32)
    contexts = vectors if tied else scale * rng.standard_normal((n_nodes, dimension), dtype=np.float32)
    state = np.array([seed], np.uint64)
    ends = np.linspace(1, 0, n_passes + 1)
    for start, stop in itertools.pairwise(ends):
        for term in terms:
            pairs = (term.first, term.second, np.cumsum(term.pair_weights))
            noise = (term.noise_nodes, np.cumsum(term.noise_weights), term.offsets, term.n_negatives)
            rates = rate * term.weight * np.linspace(start, stop, len(term.first), endpoint=False)
            sgns_pass(vectors, contexts, *pairs, *noise, rates, state)
    return vectors, contexts
