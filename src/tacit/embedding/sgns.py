"""Skip-gram with negative sampling: the objective whose optimum SPPMI approximates, by gradient steps.

With pairs drawn in proportion to counts #(i, j) and k negative samples in proportion to #(j), the optimum of
untied vectors is PMI − log k; with uniform negative samples it is log(#(i, j) n / (#(i) k)).
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tacit.kernels.sgns import sgns_pass

Floats32 = npt.NDArray[np.float32]
Floats64 = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Term:
    """One sum of the objective: pairs that should be near, and where their negative samples come from.

    Attributes
    ----------
    first, second : int32 arrays
        The two nodes of each pair.
    pair_weights : array
        Pairs are drawn in proportion to these.
    noise_nodes : int32 array
        The nodes that negative samples come from.
    noise_weights : array
        Negative samples are drawn in proportion to these.
    n_negatives : int
        Negative samples for each pair.
    weight : float
        μ: how much the term counts.
    offsets : array of one number per node
        Added to the inner products of a first node; 0 for SGNS, −log P(i) for NCE.
    """

    first: npt.NDArray[np.int32]
    second: npt.NDArray[np.int32]
    pair_weights: Floats64
    noise_nodes: npt.NDArray[np.int32]
    noise_weights: Floats64
    n_negatives: int
    offsets: Floats64
    weight: float = 1.0


def nce_offsets(
    first: npt.NDArray[np.int32], weights: npt.NDArray[np.float64], n_nodes: int
) -> npt.NDArray[np.float64]:
    """Offsets that turn SGNS into noise-contrastive estimation, optimum log(#(i, j)/#(j)) − log k (appendix A2).

    SGNS reaches log(#(i, j)|D| / (#(i)#(j))) − log k; adding −log P(i) = −log(#(i)/|D|) outside the inner product
    leaves the rest for it.
    """
    marginal = np.bincount(first, weights, minlength=n_nodes)
    marginal = np.where(marginal > 0, marginal, marginal.sum())
    offsets: Floats64 = -np.log(marginal / marginal.sum())
    return offsets


def train_sgns(
    n_nodes: int,
    dimension: int,
    terms: Sequence[Term],
    *,
    n_passes: int,
    rate: float,
    seed: int,
    tied: bool = True,
) -> tuple[Floats32, Floats32]:
    """Vectors of all nodes, and their context vectors (the same array where they are tied).

    Parameters
    ----------
    n_nodes : int
        How many vectors to learn.
    dimension : int
        Their length.
    terms : sequence of Term
        The objective; terms take turns in every pass (ExMLDS Eq. 5).
    n_passes : int
        Passes over the pairs of each term.
    rate : float
        Size of the first steps; falls to 0 in a straight line.
    seed : int
        The same seed gives the same vectors.
    tied : bool
        One vector per node, as in ExMLDS Eq. 3; otherwise each node has another one as a context.
    """
    rng = np.random.default_rng(seed)
    scale = np.float32(0.3 / np.sqrt(dimension))
    vectors = scale * rng.standard_normal((n_nodes, dimension), dtype=np.float32)
    contexts = vectors if tied else scale * rng.standard_normal((n_nodes, dimension), dtype=np.float32)
    state = np.array([seed], np.uint64)
    ends = np.linspace(1, 0, n_passes + 1)
    for start, stop in itertools.pairwise(ends):
        for term in terms:
            sgns_pass(
                vectors,
                contexts,
                term.first,
                term.second,
                np.cumsum(term.pair_weights),
                term.noise_nodes,
                np.cumsum(term.noise_weights),
                term.offsets,
                term.n_negatives,
                rate * term.weight * np.linspace(start, stop, len(term.first), endpoint=False),
                state,
            )
    return vectors, contexts
