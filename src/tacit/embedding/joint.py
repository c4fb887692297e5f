"""JointExMLDS: the embedding and its regressor learned as one, by SGNS on label-space neighbours."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from tacit.base import Link
from tacit.embedding.graph_partition import graph_clusters
from tacit.embedding.joint_training import ExmldsStart, JointTrainer, Objective, RandomStart
from tacit.embedding.neighbors import Neighbors, cosine_neighbors
from tacit.embedding.partition import bounded_clusters
from tacit.embedding.pipeline import Cell, Learner, NeighborModel, searchable_cell
from tacit.embedding.search import wants_index
from tacit.labels import positives
from tacit.parameters import OneOf, Range, Tune, document_parameters
from tacit.progress import announce
from tacit.tasks import run_tasks, task_seeds

Ints32 = npt.NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Division:
    """The centres of clusters and the samples of each."""

    centers: npt.NDArray[np.float32]
    clusters: list[Ints32]


def label_graph(Y: sparse.csr_matrix, labelled: Ints32, n_context: int) -> Neighbors:
    """A task: the nearest samples of each labelled sample in label space, by their places among these."""
    return cosine_neighbors(Y[labelled], n_context)


def fit_division(
    X: sparse.csr_matrix, labelled: Ints32, near: Neighbors | None, max_cluster: int, seed: int
) -> Division:
    """A task: cut the labelled samples, by their label-space graph or else by their features."""
    if near is None:
        partition = bounded_clusters(X[labelled], max_cluster, seed)
    else:
        partition = graph_clusters(X[labelled], near, max_cluster, seed)
    return Division(partition.centers, [labelled[rows] for rows in partition.clusters])


def fit_joint_cell(
    X: sparse.csr_matrix,
    Y: sparse.csr_matrix,
    samples: Ints32,
    trainer: JointTrainer,
    is_indexed: bool,
    n_neighbors: int,
    seed: int,
) -> Cell:
    """A task: learn the map of a cluster."""
    features = X[samples]
    present = np.unique(features.indices)
    trained = trainer(features[:, present], Y[samples], seed)
    weights = np.zeros((X.shape[1], trained.shape[1]), np.float32)
    weights[present] = trained
    return searchable_cell(samples, features, weights, is_indexed, n_neighbors)


@dataclass(kw_only=True, eq=False, repr=False)
class JointModel(NeighborModel):
    """Base of the models whose map is trained directly; each adds its objective and where training starts."""

    n_learners: Annotated[int, Range(low=1), "partitions that vote, or seeds where all is one cluster"] = 3
    dimension: Annotated[int, Range(low=1), Tune(50, 300), "length of the embedded vectors"] = 150
    partition: Annotated[
        str, OneOf(("graph", "features")), "clusters of label-space neighbours, or k-means of features"
    ] = "graph"
    similarity: Annotated[str, OneOf(("cosine", "dot")), "what is high between near samples in training"] = "cosine"
    gamma: Annotated[float, Range(above=0), Tune(3, 30), "factor of similarities in the loss"] = 10.0
    n_context: Annotated[int, Range(low=1), Tune(5, 50), "label-space neighbours that a sample is drawn to"] = 10
    block: Annotated[int, Range(low=2, high=1000), "pairs of a step, each other's negative samples"] = 64
    n_passes: Annotated[int, Range(low=1), "most passes over the samples"] = 10
    rate: Annotated[float, Range(above=0), Tune(0.002, 0.1), "size of the first steps"] = 0.01
    held_out: Annotated[float, Range(low=0, below=1), "share of a cluster that tells when to stop (0: never)"] = 0.05
    tail_power: Annotated[
        float, Range(low=0), Tune(0, 0.5, log=False), "votes are divided by propensity to this power (0: plain votes)"
    ] = 0.1

    @abstractmethod
    def _trainer(self) -> JointTrainer:
        """What the cells are trained by."""

    def _fit(self, X: sparse.csr_matrix, Y: sparse.csr_matrix) -> None:
        Y = positives(Y)
        labelled = np.flatnonzero(np.diff(Y.indptr)).astype(np.int32)
        seeds = task_seeds(self.random_state, 2 * self.n_learners)
        divisions = self._divisions(X, Y, labelled, seeds[: self.n_learners])
        tasks = [
            task
            for division, seed in zip(divisions, seeds[self.n_learners :], strict=True)
            for task in self._cells(division, seed)
        ]
        announce(str(Memory.needed([len(task["samples"]) for task in tasks], X.shape[1], self.dimension)))
        shared = {"X": X, "Y": Y, "trainer": self._trainer(), "n_neighbors": self.n_neighbors}
        cells = iter(run_tasks(fit_joint_cell, tasks, n_jobs=self.n_jobs, what="clusters", **shared))
        self.learners_ = [Learner(each.centers, [next(cells) for _ in each.clusters]) for each in divisions]
        self.training_labels_ = Y

    def _divisions(
        self, X: sparse.csr_matrix, Y: sparse.csr_matrix, labelled: Ints32, seeds: list[int]
    ) -> list[Division]:
        near = None
        if self.partition == "graph" and len(labelled) > self.max_cluster:
            graph = {"Y": Y, "labelled": labelled, "n_context": self.n_context}
            (near,) = run_tasks(label_graph, [{}], n_jobs=self.n_jobs, what="label-space neighbours", **graph)
        shared = {"X": X, "labelled": labelled, "near": near, "max_cluster": self.max_cluster}
        tasks = [{"seed": seed} for seed in seeds]
        return run_tasks(fit_division, tasks, n_jobs=self.n_jobs, what="partitions", **shared)

    def _cells(self, division: Division, seed: int) -> list[dict[str, Any]]:
        seeds = task_seeds(seed, len(division.clusters))
        return [
            {"samples": samples, "seed": seed, "is_indexed": wants_index(self.search, len(samples))}
            for samples, seed in zip(division.clusters, seeds, strict=True)
        ]

    @property
    def _link(self) -> Link | None:
        return "identity" if self.tail_power == 0 else None

    def _label_weights(self) -> npt.NDArray[np.float32] | None:
        # Differs from the paper: rare labels, which are left out most often, count more.
        weights = self.propensities_for(len(self.classes_)) ** -self.tail_power
        return weights.astype(np.float32)


@dataclass(frozen=True)
class Memory:
    """Bytes of the cells of a model, and a bound of what training the largest of them needs beside its data."""

    cells: int
    training: int

    @classmethod
    def needed(cls, sizes: list[int], n_features: int, dimension: int) -> Memory:
        """For clusters of these sizes, searched exactly."""
        per_cluster = (2 * dimension + 4) * n_features  # weights at half precision, a centre
        per_sample = 4 * dimension + 4  # a point, its number
        most = max(sizes)
        # A start has 4 maps at a time (conjugate gradients), a co-occurrence matrix, and twice a basis of up to
        # 4 directions for each axis; training has 2 maps.
        training = 16 * dimension * n_features + 4 * most**2 + 8 * (4 * dimension + 100) * most
        return cls(len(sizes) * per_cluster + sum(sizes) * per_sample, training)

    def __str__(self) -> str:
        return (
            f"the clusters take {self.cells / 1e6:,.0f} MB, training up to {self.training / 1e6:,.0f} MB for each task"
        )


@document_parameters
@dataclass(kw_only=True, eq=False, repr=False)
class JointExMLDS(JointModel):
    """Labels voted by near samples, in a space whose map from features is trained directly by SGNS."""

    loss: Annotated[str, OneOf(("sgns", "softmax")), "negative sampling, or the softmax of AnnexML"] = "sgns"
    n_negatives: Annotated[
        float, Range(above=0), Tune(5, 50), "how many negative samples count as one near one (SGNS)"
    ] = 20.0
    offset: Annotated[float, "added to scaled similarities (SGNS); 0 as in the paper"] = -5.0
    start: Annotated[str, OneOf(("exmlds1", "random")), "training begins here ('random': take a rate of 0.1)"] = (
        "exmlds1"
    )
    ridge: Annotated[float, Range(above=0), "penalty on the squared size of the map it begins with"] = 1.0

    def _trainer(self) -> JointTrainer:
        start = ExmldsStart(self.dimension, self.ridge) if self.start == "exmlds1" else RandomStart(self.dimension)
        what = Objective(self.loss, self.similarity, self.gamma, self.n_negatives, self.offset)
        return JointTrainer(what, start, self.n_context, self.block, self.n_passes, self.rate, self.held_out)
