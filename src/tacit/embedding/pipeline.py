"""The pipeline all models of this family share: partition, embed, regress, vote.

A learner is one partition of the samples; a cell is one cluster of it, and the unit of work. Models differ
in the embedder they give to the cells.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Annotated, Any, Protocol

import numpy as np
import numpy.typing as npt
from scipy import sparse

from tacit.base import Estimator, Link, Mask
from tacit.checks import as_count
from tacit.embedding.neighbors import Neighbors, embedded_neighbors, unit_vectors
from tacit.embedding.partition import bounded_clusters, nearest_clusters
from tacit.embedding.search import Search, approximate_neighbors, build_index, open_index, recall, wants_index
from tacit.embedding.search import what_is_wrong as index_problem
from tacit.embedding.unlabelled import Regressor
from tacit.embedding.voting import Panel, merged_neighbors, vote, vote_weights
from tacit.labels import positives
from tacit.numerics.compact import as_halves
from tacit.parameters import Range, Tune
from tacit.ranking import Ranking
from tacit.store.declared import Array, Csr, Items, Sizes
from tacit.tasks import run_tasks, task_seeds


@dataclass(frozen=True, eq=False)
class Embedded:
    """What an embedder gives: a vector for each sample and, in some models, for each label."""

    samples: npt.NDArray[np.floating[Any]]
    labels: npt.NDArray[np.floating[Any]] | None = None


class Embedder(Protocol):
    """Stage 2 and 3: from the features and labels of a cluster to vectors. Picklable, without state."""

    def __call__(self, X: sparse.csr_matrix, Y: sparse.csr_matrix, seed: int) -> Embedded:
        """Embed the samples, each of which has a label."""
        ...


@dataclass(frozen=True, eq=False)
class Cell:
    """A trained cluster.

    Attributes
    ----------
    samples : int32 array of shape (n,)
        Its training samples.
    weights : float16 or float32 array of shape (n_features, dimension)
        The map from features to the embedding; by far the largest part of a model, so kept at half precision where
        that can hold it.
    points : float32 array of shape (n, dimension)
        Where that map puts the samples, as unit vectors.
    label_points : float32 array of shape (dimension, n_labels) or None
        Embedded labels, as columns.
    index : uint8 array or None
        A search index of the points, where they are many.
    recall : float
        Share of the nearest points that a search finds; 1 without an index.
    """

    samples: Annotated[npt.NDArray[np.int32], Array("int32", ("n_points",), below="n_samples", is_filled=True)]
    weights: Annotated[npt.NDArray[np.floating[Any]], Array("float16 float32", ("n_features", "dimension"))]
    points: Annotated[npt.NDArray[np.float32], Array("float32", ("n_points", "dimension"))]
    label_points: Annotated[npt.NDArray[np.float32] | None, Array("float32", ("dimension", "n_labels"))]
    index: Annotated[npt.NDArray[np.uint8] | None, Array("uint8", ("",))] = None
    recall: float = 1.0

    def what_is_wrong(self, sizes: Sizes) -> tuple[str, str] | None:
        """Whoever searches an index follows it blindly."""
        reason = "" if self.index is None else index_problem(self.index, sizes["n_points"], sizes["dimension"])
        return ("index", f"must be a search index of the points: {reason}") if reason else None

    def neighbors(self, X: sparse.csr_matrix, k: int) -> Neighbors:
        """The nearest of its training samples (ExMLDS Algorithm 1, step 3)."""
        queries = self.embed(X)
        if self.index is None:
            near = embedded_neighbors(queries, self.points, k)
        else:
            near = approximate_neighbors(self._open_index, queries, k)
        return Neighbors(np.where(near.samples < 0, -1, self.samples[near.samples]), near.similarities)

    @cached_property
    def _open_index(self) -> Any:
        assert self.index is not None  # noqa: S101
        return open_index(self.index)

    def embed(self, X: sparse.csr_matrix) -> npt.NDArray[np.float32]:
        """Where the map puts samples (ExMLDS Algorithm 1, step 2), as unit vectors."""
        return unit_vectors(_mapped(X, self.weights))


def _mapped(X: sparse.csr_matrix, weights: npt.NDArray[np.floating[Any]]) -> npt.NDArray[np.float32]:
    used = np.unique(X.indices)  # few for a single sample: only their weights are converted
    columns = np.searchsorted(used, X.indices).astype(np.int32)
    compact = sparse.csr_matrix((X.data, columns, X.indptr), shape=(X.shape[0], len(used)))
    mapped: npt.NDArray[np.float32] = compact @ weights[used].astype(np.float32, copy=False)
    return mapped


@dataclass(frozen=True, eq=False)
class Learner:
    """One partition of the training samples with a trained cell for each cluster."""

    centers: Annotated[npt.NDArray[np.float32], Array("float32", ("n_cells", "n_features"))]
    cells: Annotated[list[Cell], Items("n_cells", is_filled=True)]


@dataclass(frozen=True, eq=False)
class Division:
    """The labelled samples of each cluster, which are cut, and the others, which follow the nearest centre."""

    centers: npt.NDArray[np.float32]
    labelled: list[npt.NDArray[np.int32]]
    others: list[npt.NDArray[np.int32]]


def fit_partition(
    X: sparse.csr_matrix, labelled: npt.NDArray[np.int32], others: npt.NDArray[np.int32], max_cluster: int, seed: int
) -> Division:
    """A task: cut the samples into clusters."""
    partition = bounded_clusters(X[labelled], max_cluster, seed)
    nearest = nearest_clusters(X[others], partition.centers, 1).clusters[:, 0]
    return Division(
        partition.centers,
        [labelled[rows] for rows in partition.clusters],
        [others[nearest == cluster] for cluster in range(len(partition.clusters))],
    )


def fit_cell(
    X: sparse.csr_matrix,
    Y: sparse.csr_matrix,
    samples: npt.NDArray[np.int32],
    others: npt.NDArray[np.int32],
    embedder: Embedder,
    regressor: Regressor,
    is_indexed: bool,
    n_neighbors: int,
    seed: int,
) -> Cell:
    """A task: embed the samples of a cluster by their labels and learn the map from features."""
    features = X[samples]
    embedded = embedder(features, Y[samples], seed)
    weights = regressor(features, embedded.samples, X[others])
    cell = searchable_cell(samples, features, weights, is_indexed, n_neighbors)
    if embedded.labels is None:
        return cell
    return replace(cell, label_points=np.ascontiguousarray(embedded.labels.T, np.float32))


def searchable_cell(
    samples: npt.NDArray[np.int32],
    features: sparse.csr_matrix,
    weights: npt.NDArray[np.float32],
    is_indexed: bool,
    n_neighbors: int,
) -> Cell:
    """A cell whose samples are where the map puts them."""
    kept = as_halves(weights)
    # Differs from the paper: neighbours are sought among the regressed samples, not among their embeddings.
    # A new sample is regressed too, so both sides carry the same error.
    points = unit_vectors(_mapped(features, kept))
    if not is_indexed:
        return Cell(samples, kept, points, None)
    index = build_index(points)
    return Cell(samples, kept, points, None, index, recall(open_index(index), points, n_neighbors))


@dataclass(kw_only=True, eq=False, repr=False)
class NeighborModel(Estimator):
    """Models whose labels are voted by near samples, in the clusters of several learners."""

    normalize: Annotated[bool, "divide rows of X by their length"] = True
    n_learners: Annotated[int, Range(low=1), "partitions that vote (one where all is one cluster)"] = 5
    max_cluster: Annotated[int, Range(low=2), "largest number of samples in a cluster"] = 6000
    dimension: Annotated[int, Range(low=1), Tune(50, 400), "length of the embedded vectors"] = 150
    n_probes: Annotated[int, Range(low=1), "nearest clusters that a sample is sent to in each learner"] = 2
    n_neighbors: Annotated[int, Range(low=1), Tune(5, 100), "near samples that vote in each cluster"] = 30
    vote_power: Annotated[float, Range(low=0), Tune(1, 20), "votes weigh similarity to this power; 0: all alike"] = 6.0
    search: Search = "auto"

    learners_: Annotated[list[Learner], Items("n_cast", is_filled=True)] = field(init=False)
    training_labels_: Annotated[sparse.csr_matrix, Csr("float32", ("n_samples", "n_labels"))] = field(init=False)

    @property
    def _link(self) -> Link | None:
        return "identity"  # the share of the near samples that have a label

    def _rank(self, X: sparse.csr_matrix, k: int, allowed: Mask | None) -> Ranking:
        return vote(self._panels(X), self.vote_power, self.training_labels_, k, allowed, self._label_weights())

    def _label_weights(self) -> npt.NDArray[np.float32] | None:
        """How much a vote for each label counts; None where all count alike."""
        return None

    def neighbors(self, X: Any, k: int = 5) -> Neighbors:
        """The `k` training samples that count most in the ranking of each sample.

        Their similarities are cosines in the embedded space, averaged over the learners; a learner that does
        not find a sample among the nearest counts as 0.

        Parameters
        ----------
        X : CSR, CSC or dense matrix of shape (n_samples, n_features)
            Features.
        k : int
            Neighbours per sample; places beyond those that vote hold -1 and -inf.
        """
        self._check_fitted()
        k = as_count(k, "k")
        return merged_neighbors(self._panels(self._features(X)), self.n_samples_, k)

    @property
    def search_recall_(self) -> float:
        """Share of the nearest training samples that searches find, averaged over all clusters; 1 if exact."""
        self._check_fitted()
        return float(np.mean([cell.recall for learner in self.learners_ for cell in learner.cells]))

    def _panels(self, X: sparse.csr_matrix) -> list[Panel]:
        return [
            Panel(cluster_neighbors(probe, X, self.n_neighbors), probe.share)
            for learner in self.learners_
            for probe in self._probes(learner, X)
        ]

    def _probes(self, learner: Learner, X: sparse.csr_matrix) -> list[Probe]:
        # Differs from the paper: a sample near the border of two clusters asks both. It costs no training and
        # gains as much as two more learners on Delicious.
        route = nearest_clusters(X, learner.centers, self.n_probes)
        shares = vote_weights(route.similarities, self.vote_power) / np.float32(len(self.learners_))
        return [Probe(cells_of(learner, route.clusters[:, i]), shares[:, i]) for i in range(shares.shape[1])]


@dataclass(kw_only=True, eq=False, repr=False)
class EmbeddingModel(NeighborModel):
    """Models that embed samples by their labels, then regress; each adds its embedder."""

    ridge: Annotated[float, Range(above=0), Tune(0.05, 20), "penalty on the squared size of the regressor"] = 1.0
    l1: Annotated[float, Range(low=0), "penalty on the absolute size of its predictions (ADMM)"] = 0.0

    def _fit_pipeline(
        self, X: sparse.csr_matrix, Y: sparse.csr_matrix, embedder: Embedder, unlabelled_share: float = 0.0
    ) -> None:
        """Train all cells of all learners."""
        Y = positives(Y)
        is_labelled = np.diff(Y.indptr) > 0
        labelled, others = (np.flatnonzero(rows).astype(np.int32) for rows in (is_labelled, ~is_labelled))
        # Where all samples are one cluster all learners would be copies, or nearly so.
        n_learners = self.n_learners if len(labelled) > self.max_cluster else 1
        seeds = task_seeds(self.random_state, 2 * n_learners)
        divisions = run_tasks(
            fit_partition,
            [{"seed": seed} for seed in seeds[:n_learners]],
            n_jobs=self.n_jobs,
            what="partitions",
            X=X,
            labelled=labelled,
            others=others if unlabelled_share > 0 else others[:0],
            max_cluster=self.max_cluster,
        )
        tasks = [
            task
            for division, seed in zip(divisions, seeds[n_learners:], strict=True)
            for task in self._cells(division, seed)
        ]
        cells = iter(
            run_tasks(
                fit_cell,
                tasks,
                n_jobs=self.n_jobs,
                what="clusters",
                X=X,
                Y=Y,
                embedder=embedder,
                regressor=Regressor(self.ridge, self.l1, unlabelled_share),
                n_neighbors=self.n_neighbors,
            )
        )
        self.learners_ = [Learner(each.centers, [next(cells) for _ in each.labelled]) for each in divisions]
        self.training_labels_ = Y

    def _cells(self, division: Division, seed: int) -> list[dict[str, Any]]:
        seeds = task_seeds(seed, len(division.labelled))
        return [
            {"samples": samples, "others": others, "seed": seed, "is_indexed": wants_index(self.search, len(samples))}
            for samples, others, seed in zip(division.labelled, division.others, seeds, strict=True)
        ]


@dataclass(frozen=True, eq=False)
class Probe:
    """The cell that each row is sent to, as cells with their rows, and how much that cell counts for the row."""

    cells: list[tuple[Cell, npt.NDArray[np.intp]]]
    share: npt.NDArray[np.float32]


def cluster_neighbors(probe: Probe, X: sparse.csr_matrix, n_neighbors: int) -> Neighbors:
    """The nearest training samples in the cell of each row (ExMLDS Algorithm 1, step 3)."""
    width = min(n_neighbors, max((len(cell.samples) for cell, _ in probe.cells), default=0))
    samples = np.full((X.shape[0], width), -1, np.int32)
    similarities = np.full((X.shape[0], width), -np.inf, np.float32)
    for cell, rows in probe.cells:
        near = cell.neighbors(X[rows], n_neighbors)
        n_found = near.samples.shape[1]
        samples[rows, :n_found] = near.samples
        similarities[rows, :n_found] = near.similarities
    return Neighbors(samples, similarities)


def cells_of(learner: Learner, cluster: npt.NDArray[np.intp]) -> list[tuple[Cell, npt.NDArray[np.intp]]]:
    """The cells that rows are sent to, each with its rows."""
    return [(learner.cells[chosen], np.flatnonzero(cluster == chosen)) for chosen in np.unique(cluster)]
