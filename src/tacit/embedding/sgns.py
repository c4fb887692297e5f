"""Skip-gram with negative sampling (SGNS) by gradient steps: the objective whose optimum SPPMI approximates.

With pairs drawn in proportion to counts #(i, j) and k negative samples in proportion to #(j), the optimum of
untied vectors is PMI − log k; with uniform negative samples it is log(#(i, j) n / (#(i) k)).
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from tacit.arrays import Floats32, Floats64, Ints32
from tacit.core.parameters import OneOf
from tacit.kernels.skip_gram import Noise, Pairs, sgns_pass

NegativesPer = Annotated[
    str, OneOf(("pair", "sample")), "what the negative samples are counted for: a pair, or a sample as Eq. 3 is printed"
]


@dataclass(frozen=True, eq=False)
class Term:
    """One sum of the objective: Σ w (log σ(⟨z, c⟩ + o) + m E log σ(−⟨z, c′⟩ − o)) over pairs that should be near.

    Attributes
    ----------
    first, second : int32 arrays
        The two nodes of each pair.
    pair_weights : array
        w of each pair.
    noise_nodes : int32 array
        The nodes that negative samples are drawn from.
    noise_weights : array
        Negative samples are drawn in proportion to these.
    negatives : float or array of one number per pair
        m, the negative samples of a pair.
    offsets : float or array of one number per pair
        o, added to inner products; 0 for SGNS, −log P(i) for NCE.
    weight : float
        The weight μ of the term.
    """

    first: Ints32
    second: Ints32
    pair_weights: Floats64
    noise_nodes: Ints32
    noise_weights: Floats64
    negatives: float | Floats64
    offsets: float | Floats64 = 0.0
    weight: float = 1.0


def even_term(
    pairs: tuple[Ints32, Ints32], noise_nodes: Ints32, n_negatives: float, per: str, weight: float = 1.0
) -> Term:
    """A sum in which all pairs count alike and negative samples are uniform (ExMLDS Eq. 3, 6, 7 and 8).

    With `per` "sample", the printed factor n₋/n: a first node has n₋ negative samples, however many pairs it has.
    Otherwise every pair has n₋, as in word2vec.
    """
    weights, noise = np.ones(len(pairs[0])), np.ones(len(noise_nodes))
    negatives = negatives_of_pairs(pairs[0], weights, n_negatives, per)
    return Term(*pairs, weights, noise_nodes, noise, negatives, weight=weight)


def negatives_of_pairs(
    first: Ints32, weights: Floats64, n_negatives: float, per: str, counts: Floats64 | float = 1.0
) -> Floats64 | float:
    """The negative samples of each pair, if there are n₋ of them per pair, or per sample.

    A first node that stands for several samples (`counts`, of each pair's) has n₋ for each of them.
    """
    if per == "pair":
        return n_negatives
    negatives: Floats64 = n_negatives * counts / np.bincount(first, weights)[first]
    return negatives


def nce_offsets(first: Ints32, weights: Floats64) -> Floats64:
    """Offsets that turn SGNS into noise-contrastive estimation, optimum log(#(i, j)/#(j)) − log k (appendix A2).

    The sum of inner product and offset reaches the SGNS optimum log(#(i, j)|D| / (#(i)#(j))) − log k. The offset
    −log P(i) = −log(#(i)/|D|) takes its part of it, so the inner product alone reaches the optimum above.
    """
    marginal = np.bincount(first, weights)
    offsets: Floats64 = -np.log(marginal[first] / marginal.sum())
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
        The objective is their sum (ExMLDS Eq. 5). Each step draws a pair in proportion to μw, so that weights set how
        often a pair is drawn, not how far a step goes.
    n_passes : int
        A pass has as many steps as there are pairs.
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
    if heard := [term for term in terms if term.weight > 0 and len(term.first)]:
        pairs, noise = merged(heard)
        state = np.array([seed], np.uint64)
        for start, stop in itertools.pairwise(np.linspace(1, 0, n_passes + 1)):
            rates = rate * np.linspace(start, stop, len(pairs.first), endpoint=False)
            sgns_pass(vectors, contexts, pairs, noise, rates, state)
    return vectors, contexts


def merged(terms: Sequence[Term]) -> tuple[Pairs, Noise]:
    """The pairs of all terms as one sum, each with the negative samples of its term."""
    sizes = [len(term.first) for term in terms]
    weights = np.concatenate([term.weight * term.pair_weights for term in terms])
    pairs = Pairs(
        np.concatenate([term.first for term in terms]),
        np.concatenate([term.second for term in terms]),
        np.cumsum(weights),
        np.concatenate([np.broadcast_to(term.offsets, len(term.first)) for term in terms]).astype(np.float64),
        np.concatenate([np.broadcast_to(term.negatives, len(term.first)) for term in terms]).astype(np.float64),
        np.repeat(np.arange(len(terms), dtype=np.int32), sizes),
    )
    starts = np.cumsum([0, *(len(term.noise_nodes) for term in terms)])
    nodes = np.concatenate([term.noise_nodes for term in terms])
    return pairs, Noise(nodes, np.concatenate([np.cumsum(term.noise_weights) for term in terms]), starts)
