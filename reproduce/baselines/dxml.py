"""DXML: a network maps features to the mean embedding of a sample's labels, where near samples vote.

Zhang, Yan, Wang and Zha, "Deep extreme multi-label learning", ICMR 2018 (preprint 2017). Differs: labels are embedded
at the optimum that DeepWalk approaches, by factorising the SPPMI of the expected pairs of a walk; walks may stay at a
label, which tells labels apart that occur with the same others; the loss is squared.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated

import numpy as np
from scipy import sparse
from sklearn.neural_network import MLPRegressor

from tacit.arrays import Floats32, Ints32, Mask
from tacit.core.base import Estimator, Normalize
from tacit.core.labels import positives
from tacit.core.parameters import Range, document_parameters
from tacit.core.ranking import Ranking
from tacit.embedding.neighbors import Neighbors, Panel, embedded_neighbors, unit_vectors, vote
from tacit.embedding.partition import bounded_clusters
from tacit.embedding.sppmi import Shift, factorise, sppmi
from tacit.kernels.dense import row_products
from tacit.runtime.tasks import run_tasks, task_seeds
from tacit.store.declared import Array, Csr


def walk_pairs(Y: sparse.csr_matrix, window: int) -> Floats32:
    """Expected pairs of labels at most `window` steps apart on a random walk over the graph of co-occurrence."""
    graph = (Y.T @ Y).toarray().astype(np.float64)
    degrees = graph.sum(axis=1)
    step = np.divide(graph, degrees[:, None], out=np.zeros_like(graph), where=degrees[:, None] > 0)
    pairs = reached = graph  # a walk is at each label in proportion to its degree
    for _ in range(window - 1):
        reached = reached @ step
        pairs = pairs + reached
    return np.asarray((pairs + pairs.T) / 2, np.float32)


def embed_labels(Y: sparse.csr_matrix, window: int, shift: float, dimension: int, seed: int) -> Floats32:
    """A vector for each label, from a random walk over labels that occur together."""
    alone = np.ones(Y.shape[1])
    vectors = factorise(sppmi(walk_pairs(Y, window), alone, shift), alone, dimension, seed=seed, positive=True)
    return np.asarray(vectors if vectors.shape[1] else np.ones((Y.shape[1], 1)), np.float32)  # of one label: PMI 0


@dataclass(frozen=True, eq=False)
class Network:
    """One hidden layer of rectified units."""

    first: Annotated[Floats32, Array("float32", ("n_features", "n_units"))]
    first_bias: Annotated[Floats32, Array("float32", ("n_units",))]
    second: Annotated[Floats32, Array("float32", ("n_units", "dimension"))]
    second_bias: Annotated[Floats32, Array("float32", ("dimension",))]

    def embed(self, X: sparse.csr_matrix) -> Floats32:
        """Unit vectors of samples; that of a sample is the same in any batch."""
        hidden = np.maximum(np.asarray(X @ self.first) + self.first_bias, np.float32(0))
        return unit_vectors(row_products(hidden, self.second) + self.second_bias)


def fit_network(
    X: sparse.csr_matrix, Z: Floats32, n_units: int, n_epochs: int, rate: float, decay: float, seed: int
) -> Network:
    """A task: train a network to map X to Z, by Adam."""
    options = {"alpha": decay, "learning_rate_init": rate, "random_state": seed, "batch_size": min(200, X.shape[0])}
    network = MLPRegressor(hidden_layer_sizes=(n_units,), activation="relu", solver="adam", **options)
    for _ in range(n_epochs):
        network.partial_fit(X, Z[:, 0] if Z.shape[1] == 1 else Z)
    (first, second), (first_bias, second_bias) = network.coefs_, network.intercepts_
    parts = (first, first_bias, second.reshape(n_units, -1), second_bias)
    return Network(*(np.ascontiguousarray(part, np.float32) for part in parts))


@document_parameters
@dataclass(kw_only=True, eq=False, repr=False)
class DXML(Estimator):
    """Deep extreme multi-label learning (Zhang et al., 2018)."""

    dimension: Annotated[int, Range(low=1), "length of the embedded vectors"] = 100
    window: Annotated[int, Range(low=1), "largest number of steps between labels of a pair"] = 3
    shift: Shift = 1.0
    n_units: Annotated[int, Range(low=1), "units of the hidden layer"] = 256
    n_epochs: Annotated[int, Range(low=1), "passes over the samples"] = 20
    rate: Annotated[float, Range(above=0), "learning rate"] = 0.001
    decay: Annotated[float, Range(low=0), "penalty on the squared size of the weights"] = 0.1
    max_cluster: Annotated[int, Range(low=2), "largest number of samples in a cluster"] = 6000
    n_neighbors: Annotated[int, Range(low=1), "near samples that vote"] = 20
    vote_power: Annotated[float, Range(low=0), "power of similarity in vote weights (0: equal)"] = 6.0
    normalize: Normalize = True

    network_: Network = field(init=False)
    centers_: Annotated[Floats32, Array("float32", ("n_clusters", "dimension"), is_filled=True)] = field(init=False)
    clusters_: Annotated[Ints32, Array("int32", ("n_points",), below="n_clusters")] = field(init=False)
    samples_: Annotated[Ints32, Array("int32", ("n_points",), below="n_samples", is_filled=True)] = field(init=False)
    points_: Annotated[Floats32, Array("float32", ("n_points", "dimension"))] = field(init=False)
    training_labels_: Annotated[sparse.csr_matrix, Csr("float32", ("n_samples", "n_labels"))] = field(init=False)

    def _fit(self, X: sparse.csr_matrix, Y: sparse.csr_matrix) -> None:
        self.training_labels_ = Y = positives(Y)
        self.samples_ = np.flatnonzero(np.diff(Y.indptr)).astype(np.int32)
        X, Y = X[self.samples_], Y[self.samples_]
        seeds = task_seeds(self.random_state, 3)
        V = embed_labels(Y, self.window, self.shift, min(self.dimension, Y.shape[1]), seeds[0])
        Z = unit_vectors(np.asarray(Y @ V))
        options = {"n_units": self.n_units, "n_epochs": self.n_epochs, "rate": self.rate, "decay": self.decay}
        shared = {"X": X, "Z": Z, "seed": seeds[1], **options}
        self.network_ = run_tasks(fit_network, [{}], n_jobs=1, what="networks", **shared)[0]
        self.points_ = self.network_.embed(X)
        partition = bounded_clusters(sparse.csr_matrix(self.points_), self.max_cluster, seeds[2])
        self.centers_ = partition.centers
        self.clusters_ = np.empty(len(self.samples_), np.int32)
        for cluster, rows in enumerate(partition.clusters):
            self.clusters_[rows] = cluster

    def _rank(self, X: sparse.csr_matrix, k: int, allowed: Mask | None) -> Ranking:
        queries = self.network_.embed(X)
        nearest = embedded_neighbors(queries, self.centers_, 1).samples[:, 0]
        samples = np.full((len(queries), self.n_neighbors), -1, np.int32)
        similarities = np.full(samples.shape, -np.inf, np.float32)
        for cluster in np.unique(nearest):
            rows, members = np.flatnonzero(nearest == cluster), np.flatnonzero(self.clusters_ == cluster)
            near = embedded_neighbors(queries[rows], self.points_[members], self.n_neighbors)
            width = near.samples.shape[1]
            samples[rows, :width] = self.samples_[members[near.samples]]
            similarities[rows, :width] = near.similarities
        panel = Panel(Neighbors(samples, similarities), np.ones(len(queries), np.float32))
        return vote([panel], self.vote_power, self.training_labels_, k, allowed)
