"""JointExMLDS: the embedding and its regressor learned jointly, by SGNS on label-space neighbours.

Stages 2 to 4 are one: a linear map V is trained so that the images of label-space neighbours are near each other. The
objective is a sum over pairs (i, j) of a sample and one of its neighbours in label space, with K_ij the cosine or inner
product of z_i = Vᵀx_i and z_j:

* SGNS: log σ(γK_ij + offset) + Σ_j′ log σ(−γK_ij′ − offset) (ExMLDS Eq. 10), negatives j′ uniform;
* softmax: log exp(γK_ij) / (exp(γK_ij) + Σ_j′ exp(γK_ij′)), the loss of AnnexML.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
from scipy import sparse

from tacit.arrays import Floats32, Ints32, by_value
from tacit.core.base import Link
from tacit.core.features import FeatureMatrix, compacted
from tacit.core.parameters import OneOf, Range, Tune, document_parameters
from tacit.embedding.exmlds1 import embed_by_sppmi
from tacit.embedding.neighbors import Neighbors, cosine_neighbors
from tacit.embedding.pipeline import FeatureMap, NeighborModel
from tacit.kernels.dense import Rows
from tacit.kernels.joint import BlockLoss, joint_pass
from tacit.numerics.ridge import conjugate_gradients
from tacit.runtime.tasks import run_tasks

_PATIENCE = 2  # passes without a better held-out objective before training stops
_MIN_HELD_OUT = 20  # samples; the objective of fewer is too noisy
_START_STEPS = 10  # of conjugate gradients; training continues from there
_EMPTY_AXIS = 0.01  # size of random values on axes that the start leaves empty; zeros would never move

#: What JointExMLDS takes from AnnexML, as the ExMLDS paper prints it; it prints no learning rate.
PRINTED: Mapping[str, Any] = {
    "n_learners": 15,
    "dimension": 50,
    "n_neighbors": 10,
    "n_probes": 1,
    "vote_power": 0.0,
    "tail_power": 0.0,
    "held_out": 0.0,
    "idf": False,
}


def random_start(n_features: int, dimension: int, seed: int) -> Floats32:
    """A map of random directions, which roughly preserves the cosines of features."""
    values = np.random.default_rng(seed).standard_normal((n_features, dimension), dtype=np.float32)
    return values * np.float32(1 / np.sqrt(dimension))


def exmlds1_start(X: FeatureMatrix, Y: sparse.csr_matrix, dimension: int, ridge: float, seed: int) -> Floats32:
    """The map of ExMLDS1 by a rough regression, scaled so that the images of samples have a length of about 1."""
    Z = embed_by_sppmi(Y, dimension, 1.0, "positive", seed)
    V = conjugate_gradients(X, Z, ridge, _START_STEPS)
    squares = np.einsum("ij,ij->i", images := X @ V, images, dtype=np.float64)
    start = _EMPTY_AXIS * random_start(X.shape[1], dimension, seed)
    if squares.any():
        start[:, : V.shape[1]] = V / np.sqrt(squares.mean())
    return start


def _pairs(near: Neighbors, rows: Ints32, rng: np.random.Generator, without: Ints32) -> tuple[Ints32, Ints32]:
    """Each row with a random neighbour; pairs whose neighbour is in `without` are left out."""
    others = near.draw(rows, rng)
    kept = (others >= 0) & ~np.isin(others, without)
    return rows[kept], others[kept]


@dataclass(kw_only=True, eq=False, repr=False)
class JointModel(NeighborModel):
    """Base of the models whose map is trained directly: by the softmax loss, from a random start."""

    n_learners: Annotated[int, Range(low=1), "partitions that vote, or seeds where a cluster holds all"] = 3
    dimension: Annotated[int, Range(low=1), Tune(50, 300), "length of the embedded vectors"] = 150
    partition_passes: Annotated[int, Range(low=1), "passes over the samples that learn a partition"] = 10
    similarity: Annotated[str, OneOf(("cosine", "dot")), "similarity of samples in training"] = "cosine"
    gamma: Annotated[float, Range(above=0), Tune(3, 30), "factor of similarities in the loss"] = 10.0
    n_context: Annotated[int, Range(low=1), Tune(5, 50), "label-space neighbours that a sample is drawn to"] = 10
    block: Annotated[int, Range(low=2, high=1000), "pairs of a step, which serve each other as negative samples"] = 64
    n_passes: Annotated[int, Range(low=1), "largest number of passes over the samples"] = 10
    rate: Annotated[float, Range(above=0), Tune(0.002, 0.1), "initial learning rate"] = 0.01
    held_out: Annotated[float, Range(low=0, below=1), "fraction of a cluster held out for early stopping"] = 0.05
    tail_power: Annotated[
        float, Range(low=0, high=10), Tune(0, 0.5, log=False), "power of the propensity that divides votes"
    ] = 0.1

    takes_dense: ClassVar[bool] = False  # training is by rows of few features
    _differs_by_seed: ClassVar[bool] = True

    def _loss(self) -> BlockLoss:
        """The loss of a block of pairs."""
        return BlockLoss(self.similarity == "cosine", True, self.gamma, 0.0, 1.0)

    def _start(self, X: FeatureMatrix, Y: sparse.csr_matrix, seed: int) -> Floats32:  # noqa: ARG002
        """The map of shape (n_features, dimension) that training starts from."""
        return random_start(X.shape[1], self.dimension, seed)

    def _cut_options(self, Y: sparse.csr_matrix) -> dict[str, Any]:
        shared = {"rows": Y, "k": self.n_context}
        (near,) = run_tasks(cosine_neighbors, [{}], n_jobs=self.n_jobs, what="label-space neighbours", **shared)
        return {"near": near, "n_passes": self.partition_passes}

    def _learn_map(self, X: FeatureMatrix, Y: sparse.csr_matrix, seed: int, **data: Any) -> FeatureMap:  # noqa: ARG002
        present, compact = compacted(X)
        trained = self._train(compact, Y, seed)
        weights = np.zeros((X.shape[1], trained.shape[1]), np.float32)
        weights[present] = trained
        return weights, None

    def _train(self, X: sparse.csr_matrix, Y: sparse.csr_matrix, seed: int) -> Floats32:
        """The map: AdaGrad over random pairs of neighbours, until the objective of held-out samples stops rising."""
        rng = np.random.default_rng(seed)
        near = cosine_neighbors(Y, self.n_context)
        order = rng.permutation(X.shape[0]).astype(np.int32)
        n_held_out = int(self.held_out * X.shape[0])
        held_out, trained = np.split(order, [n_held_out if n_held_out >= _MIN_HELD_OUT else 0])
        trained = np.sort(trained)
        V = self._start(X[trained], Y[trained], seed)
        state = (V, np.zeros(len(V), np.float32), self.block, self._loss())
        checked = (Rows.of(X), *_pairs(near, held_out, rng, held_out), *state, 0.0)  # a rate of 0 changes nothing
        best, best_V, n_worse = joint_pass(*checked) if len(held_out) else -np.inf, V.copy(), 0
        for step in range(self.n_passes):
            pairs = _pairs(near, rng.permutation(trained), rng, held_out)
            joint_pass(Rows.of(X), *pairs, *state, self.rate * (1 - step / self.n_passes))
            if not len(held_out):
                continue
            objective = joint_pass(*checked)
            if objective > best:
                best, best_V, n_worse = objective, V.copy(), 0
            elif (n_worse := n_worse + 1) >= _PATIENCE:
                break
        return best_V if len(held_out) else V

    @property
    def _link(self) -> Link | None:
        return "identity" if self.tail_power == 0 else None

    def _label_weights(self) -> Floats32 | None:
        # Differs from the paper: rare labels, which are missing most often, count more.
        propensities = self.propensities_for(len(self.classes_))
        return np.asarray(by_value(lambda p: math.pow(p, -self.tail_power), propensities), dtype=np.float32)


@document_parameters
@dataclass(kw_only=True, eq=False, repr=False)
class JointExMLDS(JointModel):
    """Labels voted by near samples, in a space whose map from features is trained directly by SGNS.

    `JointExMLDS.paper()` has the settings of the ExMLDS paper, section "Joint Embedding and Regression".
    """

    n_negatives: Annotated[float, Range(above=0), Tune(5, 50), "negative samples for each near one"] = 20.0
    offset: Annotated[float, "added to scaled similarities; 0 as in the paper"] = -5.0
    start: Annotated[str, OneOf(("exmlds1", "random")), "start of training ('random': take a rate of 0.1)"] = "exmlds1"
    ridge: Annotated[float, Range(above=0), "penalty on the squared size of the map that training starts from"] = 1.0

    PAPER: ClassVar[Mapping[str, Any]] = {
        **PRINTED,
        "n_passes": 100,
        "partition_passes": 100,
        "gamma": 1.0,
        "offset": 0.0,
        "start": "random",
        "rate": 0.1,
    }

    def _loss(self) -> BlockLoss:
        return super()._loss()._replace(is_softmax=False, offset=self.offset, n_negatives=float(self.n_negatives))

    def _start(self, X: FeatureMatrix, Y: sparse.csr_matrix, seed: int) -> Floats32:
        if self.start == "random":
            return super()._start(X, Y, seed)
        return exmlds1_start(X, Y, self.dimension, self.ridge, seed)
