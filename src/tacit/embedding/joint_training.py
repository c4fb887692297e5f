"""Stages 2 to 4 in one: a linear map whose images of label-space neighbours are near each other.

The objective is a sum over pairs (i, j) of a sample and one of its neighbours in label space, with K_ij the cosine
or inner product of z_i = Vᵀx_i and z_j:

* SGNS: log σ(γK_ij + offset) + Σ_j′ log σ(−γK_ij′ − offset) (ExMLDS Eq. 10), negatives j′ uniform;
* softmax: log exp(γK_ij) / (exp(γK_ij) + Σ_j′ exp(γK_ij′)), the loss of AnnexML.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt
from scipy import sparse

from tacit.embedding.exmlds import SppmiEmbedder
from tacit.embedding.neighbors import Neighbors, cosine_neighbors
from tacit.kernels.joint import joint_pass
from tacit.numerics.ridge import conjugate_gradients

Floats32 = npt.NDArray[np.float32]
Ints32 = npt.NDArray[np.int32]

_PATIENCE = 2  # passes without a better held-out objective before training stops
_MIN_HELD_OUT = 20  # samples; the objective of fewer says nothing
_START_STEPS = 10  # of conjugate gradients: training goes on from there
_SPARE_AXIS = 0.01  # size of random values on axes that a start leaves empty; zeros would never move


class Start(Protocol):
    """Where training begins. Picklable, without state."""

    def __call__(self, X: sparse.csr_matrix, Y: sparse.csr_matrix, seed: int) -> Floats32:
        """A map of shape (n_features, dimension) that puts samples at a distance of about 1 from 0."""
        ...


@dataclass(frozen=True)
class RandomStart:
    """Random directions, which keep the cosines of features about as they are."""

    dimension: int

    def __call__(self, X: sparse.csr_matrix, Y: sparse.csr_matrix, seed: int) -> Floats32:  # noqa: ARG002
        """A random map."""
        values = np.random.default_rng(seed).standard_normal((X.shape[1], self.dimension), dtype=np.float32)
        return values * np.float32(1 / np.sqrt(self.dimension))


@dataclass(frozen=True)
class ExmldsStart:
    """The embedding of ExMLDS1, regressed roughly."""

    dimension: int
    ridge: float

    def __call__(self, X: sparse.csr_matrix, Y: sparse.csr_matrix, seed: int) -> Floats32:
        """The map of the two-step model."""
        Z = SppmiEmbedder(self.dimension, 1.0, "positive")(X, Y, seed).samples
        V = conjugate_gradients(X, Z, self.ridge, _START_STEPS)
        squares = np.einsum("ij,ij->i", images := X @ V, images, dtype=np.float64)
        start = _SPARE_AXIS * RandomStart(self.dimension)(X, Y, seed)
        if squares.any():
            start[:, : V.shape[1]] = V / np.sqrt(squares.mean())
        return start


@dataclass(frozen=True)
class Objective:
    """What a pair counts.

    Attributes
    ----------
    loss : str
        "sgns" or "softmax".
    similarity : str
        "cosine" or "dot".
    gamma : float
        Factor of similarities.
    n_negatives : float
        Negative samples of each pair (SGNS).
    offset : float
        Added to scaled similarities (SGNS).
    """

    loss: str
    similarity: str
    gamma: float
    n_negatives: float = 1.0
    offset: float = 0.0


@dataclass(frozen=True)
class JointTrainer:
    """AdaGrad over random pairs of neighbours, until the objective of held-out samples stops rising.

    Attributes
    ----------
    objective : Objective
        What is raised.
    start : Start
        Where training begins.
    n_context : int
        Label-space neighbours that a sample is drawn to.
    block : int
        Pairs of a step, which serve each other as negative samples.
    n_passes : int
        Most passes over the samples.
    rate : float
        Size of the first steps; falls to 0 in a straight line.
    held_out : float
        Share of the samples that training is judged by and not given.
    """

    objective: Objective
    start: Start
    n_context: int
    block: int
    n_passes: int
    rate: float
    held_out: float

    def __call__(self, X: sparse.csr_matrix, Y: sparse.csr_matrix, seed: int) -> Floats32:
        """The map of shape (n_features, dimension), for samples which all have a label."""
        return self.train(X, Y, seed)[0]

    def train(self, X: sparse.csr_matrix, Y: sparse.csr_matrix, seed: int) -> tuple[Floats32, list[float]]:
        """The map and what was watched over the passes, to be raised.

        That is the mean objective of held-out pairs, at the start and after each pass; without held-out samples
        it is that of the training pairs of each pass.
        """
        rng = np.random.default_rng(seed)
        near = cosine_neighbors(Y, self.n_context)
        watched, trained = self._split(X.shape[0], rng)
        V = self.start(X[trained], Y[trained], seed)
        squares = np.zeros(len(V), np.float32)
        checks = _pairs(near, watched, rng, without=watched)
        history = [self._run(X, checks, V, squares, 0.0)] if len(watched) else []
        best, best_V = 0, V.copy() if len(watched) else V
        for step in range(self.n_passes):
            pairs = _pairs(near, rng.permutation(trained), rng, without=watched)
            seen = self._run(X, pairs, V, squares, self.rate * (1 - step / self.n_passes))
            history.append(self._run(X, checks, V, squares, 0.0) if len(watched) else seen)
            if not len(watched):
                continue
            if history[-1] > history[best]:
                best, best_V = len(history) - 1, V.copy()
            elif len(history) - 1 - best >= _PATIENCE:
                break
        return best_V, history

    def _split(self, n_samples: int, rng: np.random.Generator) -> tuple[Ints32, Ints32]:
        n_watched = int(self.held_out * n_samples)
        order = rng.permutation(n_samples).astype(np.int32)
        n_watched = n_watched if n_watched >= _MIN_HELD_OUT else 0
        return order[:n_watched], np.sort(order[n_watched:])

    def _run(
        self, X: sparse.csr_matrix, pairs: tuple[Ints32, Ints32], V: Floats32, squares: Floats32, rate: float
    ) -> float:
        what = self.objective
        options = (self.block, what.similarity == "cosine", what.loss == "softmax", what.gamma, what.offset)
        parts = (X.indptr, X.indices, X.data, *pairs, V, squares)
        return float(joint_pass(*parts, *options, float(what.n_negatives), rate))


def _pairs(near: Neighbors, rows: Ints32, rng: np.random.Generator, without: Ints32) -> tuple[Ints32, Ints32]:
    """Each row with one of its neighbours at random, but no pair whose neighbour is in `without`."""
    others = near.draw(rows, rng)
    kept = (others >= 0) & ~np.isin(others, without)
    return rows[kept], others[kept]
